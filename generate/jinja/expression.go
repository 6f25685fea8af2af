package jinja

import (
	"slices"
	"strconv"
)

func (p *parser) expression() expr {
	defer p.deeper()()
	x := p.or()
	for p.accept("if") {
		c := choice{condition: p.or(), yes: x}
		if p.accept("else") {
			c.no = p.expression()
		}
		x = c
	}
	return x
}

func (p *parser) or() expr {
	x := p.and()
	for p.accept("or") {
		x = binary{"or", x, p.and()}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.accept("and") {
		x = binary{"and", x, p.not()}
	}
	return x
}

func (p *parser) not() expr {
	defer p.deeper()()
	if p.accept("not") {
		return unary{"not", p.not()}
	}
	c := comparison{first: p.sum()}
	for {
		op := p.peek()
		switch {
		case op.kind == tokOperator && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, op.text), op.kind == tokName && op.text == "in":
			p.at++
		case op.kind == tokName && op.text == "not" && p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == "in":
			p.at += 2
			op.text = "not in"
		case len(c.ops) == 0:
			return c.first
		default:
			return c
		}
		c.ops = append(c.ops, op.text)
		c.rest = append(c.rest, p.sum())
	}
}

// levels are the operators of arithmetic, those that bind least first.
var levels = [][]string{{"+", "-"}, {"~"}, {"*", "/", "//", "%"}}

func (p *parser) sum() expr { return p.level(0) }

func (p *parser) level(n int) expr {
	if n == len(levels) {
		return p.power()
	}
	x := p.level(n + 1)
	for p.peek().kind == tokOperator && slices.Contains(levels[n], p.peek().text) {
		op := p.next().text
		x = binary{op, x, p.level(n + 1)}
	}
	return x
}

func (p *parser) power() expr {
	x := p.unary()
	for p.accept("**") {
		x = binary{"**", x, p.unary()}
	}
	return x
}

func (p *parser) unary() expr {
	defer p.deeper()()
	for _, op := range []string{"-", "+"} {
		if p.accept(op) {
			return p.filters(unary{op, p.operand()})
		}
	}
	return p.filters(p.postfix(p.primary()))
}

// operand reads what a sign stands before: filters apply to the value with its sign.
func (p *parser) operand() expr {
	defer p.deeper()()
	for _, op := range []string{"-", "+"} {
		if p.accept(op) {
			return unary{op, p.operand()}
		}
	}
	return p.postfix(p.primary())
}

func (p *parser) primary() expr {
	t := p.next()
	switch t.kind {
	case tokString:
		text := t.text
		for p.peek().kind == tokString { // adjacent literals are one
			text += p.next().text
		}
		return literal{text}
	case tokNumber:
		if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
			return literal{n}
		}
		x, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			p.fail("number %s", t.text)
		}
		return literal{x}
	case tokName:
		switch t.text {
		case "true", "True":
			return literal{true}
		case "false", "False":
			return literal{false}
		case "none", "None":
			return literal{nil}
		}
		return nameExpr(t.text)
	case tokOperator:
		switch t.text {
		case "(":
			if p.accept(")") {
				return listExpr{}
			}
			x := p.expression()
			if p.is(",") {
				list := listExpr{x}
				for p.accept(",") && !p.is(")") {
					list = append(list, p.expression())
				}
				x = list
			}
			p.expect(")")
			return x
		case "[":
			list := listExpr{}
			for !p.accept("]") {
				list = append(list, p.expression())
				if !p.is("]") {
					p.expect(",")
				}
			}
			return list
		case "{":
			d := dictExpr{}
			for !p.accept("}") {
				d.keys = append(d.keys, p.expression())
				p.expect(":")
				d.values = append(d.values, p.expression())
				if !p.is("}") {
					p.expect(",")
				}
			}
			return d
		}
	}
	p.at--
	p.fail("unexpected %q", t.text)
	return nil
}

func (p *parser) postfix(x expr) expr {
	for {
		switch {
		case p.accept("."):
			if t := p.peek(); t.kind == tokNumber {
				p.at++
				n, _ := strconv.ParseInt(t.text, 10, 64)
				x = index{x, literal{n}}
			} else {
				x = attribute{x, p.name()}
			}
		case p.accept("["):
			x = p.subscript(x)
		case p.is("("):
			x = p.arguments(x)
		default:
			return x
		}
	}
}

func (p *parser) subscript(x expr) expr {
	var parts [3]expr
	n := 0
	for !p.is("]") {
		if p.accept(":") {
			if n++; n > 2 {
				p.fail("more than two colons")
			}
			continue
		}
		parts[n] = p.expression()
		if !p.is(":") && !p.is("]") {
			p.fail("unexpected %q", p.peek().text)
		}
	}
	p.expect("]")
	if n == 0 {
		if parts[0] == nil {
			p.fail("an empty index")
		}
		return index{x, parts[0]}
	}
	return slice{x, parts[0], parts[1], parts[2]}
}

func (p *parser) arguments(f expr) call {
	c := call{f: f}
	p.expect("(")
	for !p.accept(")") {
		if p.peek().kind == tokName && p.at+1 < len(p.tokens) && p.tokens[p.at+1].kind == tokOperator && p.tokens[p.at+1].text == "=" {
			c.names = append(c.names, p.name())
			p.expect("=")
			c.values = append(c.values, p.expression())
		} else {
			c.args = append(c.args, p.expression())
		}
		if !p.is(")") {
			p.expect(",")
		}
	}
	return c
}

// filters reads what follows a value: filters, tests and calls.
func (p *parser) filters(x expr) expr {
	for {
		switch {
		case p.accept("|"):
			f := filter{name: p.name()}
			if p.is("(") {
				f.call = p.arguments(nil)
			}
			f.f = x
			x = f
		case p.accept("is"):
			t := test{not: p.accept("not")}
			t.name = p.name()
			switch k := p.peek(); {
			case p.is("("):
				t.call = p.arguments(nil)
			case k.kind == tokString, k.kind == tokNumber, k.kind == tokName && !slices.Contains([]string{"else", "or", "and", "if", "is", "in", "not"}, k.text),
				p.is("["), p.is("{"):
				t.args = []expr{p.postfix(p.primary())}
			}
			t.f = x
			x = t
		case p.is("("):
			x = p.arguments(x)
		default:
			return x
		}
	}
}
