package jinja

import (
	"fmt"
	"slices"
)

// node is a statement or text.
type node interface {
	render(r *run) error
}

// expr is an expression.
type expr interface {
	eval(r *run) (any, error)
}

type (
	textNode   string
	outputNode struct{ e expr }
	ifNode     struct {
		conditions []expr
		bodies     [][]node
		otherwise  []node
	}
	forNode struct {
		names           []string
		over, only      expr // only may be nil
		body, otherwise []node
	}
	setNode struct {
		names []string
		of    expr // the namespace whose member is set; nil: none
		value expr // nil: the rendered body
		body  []node
	}
	macroNode struct {
		name     string
		names    []string
		defaults []expr // nil where there is none
		body     []node
	}
	groupNode []node // of a block that changes nothing
	jumpNode  bool   // true: break, false: continue
)

type (
	literal   struct{ value any }
	nameExpr  string
	attribute struct {
		of   expr
		name string
	}
	index struct{ of, at expr }
	slice struct{ of, from, to, step expr }
	call  struct {
		f      expr
		args   []expr
		names  []string // of keyword arguments
		values []expr
	}
	filter struct {
		name string
		call // f is the value that is filtered
	}
	test struct {
		name string
		not  bool
		call
	}
	unary struct {
		op string
		x  expr
	}
	binary struct {
		op   string
		a, b expr
	}
	comparison struct {
		first expr
		ops   []string
		rest  []expr
	}
	choice   struct{ condition, yes, no expr }
	listExpr []expr
	dictExpr struct{ keys, values []expr }
)

// maxDepth bounds how deeply statements and expressions nest.
const maxDepth = 200

type parser struct {
	tokens []token
	at     int
	depth  int
}

// failure is a syntax error on its way out of the parser.
type failure struct{ error }

func (p *parser) fail(format string, args ...any) {
	panic(failure{fmt.Errorf("%w: line %d: %s", ErrSyntax, p.peek().line, fmt.Sprintf(format, args...))})
}

// parse reads a template.
func parse(src string) (body []node, err error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	defer func() {
		if f, ok := recover().(failure); ok {
			err = f.error
		}
	}()
	body, end := p.body()
	if end != "" {
		p.fail("unexpected %s", end)
	}
	return body, nil
}

func (p *parser) peek() token { return p.tokens[min(p.at, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.peek()
	p.at++
	return t
}

// is reports whether the next token is the operator or name.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == tokOperator || t.kind == tokName) && t.text == text
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("%q, want %q", p.peek().text, text)
	}
}

func (p *parser) close() {
	if p.peek().kind != tokClose {
		p.fail("unexpected %q", p.peek().text)
	}
	p.at++
}

func (p *parser) name() string {
	t := p.next()
	if t.kind != tokName {
		p.fail("%q, want a name", t.text)
	}
	return t.text
}

func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d levels", maxDepth)
	}
	return func() { p.depth-- }
}

// body reads nodes up to the end or a block that none of them begins with, whose name it returns.
func (p *parser) body() (out []node, end string) {
	defer p.deeper()()
	for {
		switch t := p.next(); t.kind {
		case tokEnd:
			p.at--
			return out, ""
		case tokText:
			out = append(out, textNode(t.text))
		case tokOutput:
			out = append(out, outputNode{p.expression()})
			p.close()
		default: // tokBlock
			name := p.name()
			if n := p.statement(name); n != nil {
				out = append(out, n)
			} else {
				return out, name
			}
		}
	}
}

// until reads a body that one of the named blocks ends.
func (p *parser) until(ends ...string) ([]node, string) {
	body, end := p.body()
	if !slices.Contains(ends, end) {
		p.fail("block %q, want %v", end, ends)
	}
	return body, end
}

// statement reads the rest of the named block; nil if it ends another.
func (p *parser) statement(name string) node {
	switch name {
	case "if":
		n := &ifNode{}
		for end := "if"; end != "endif"; {
			if end == "else" {
				p.close()
				n.otherwise, end = p.until("endif")
				break
			}
			n.conditions = append(n.conditions, p.expression())
			p.close()
			var body []node
			body, end = p.until("elif", "else", "endif")
			n.bodies = append(n.bodies, body)
		}
		p.close()
		return n
	case "for":
		n := &forNode{names: p.names()}
		p.expect("in")
		n.over = p.or()
		if p.accept("if") {
			n.only = p.expression()
		}
		p.close()
		end := ""
		if n.body, end = p.until("else", "endfor"); end == "else" {
			p.close()
			n.otherwise, _ = p.until("endfor")
		}
		p.close()
		return n
	case "set":
		n := &setNode{names: p.names()}
		if len(n.names) == 1 && p.accept(".") {
			n.of, n.names[0] = nameExpr(n.names[0]), p.name()
		}
		if p.accept("=") {
			n.value = p.tuple()
			p.close()
			return n
		}
		p.close()
		n.body, _ = p.until("endset")
		p.close()
		return n
	case "macro":
		n := &macroNode{name: p.name()}
		p.expect("(")
		for !p.accept(")") {
			n.names = append(n.names, p.name())
			var def expr
			if p.accept("=") {
				def = p.expression()
			}
			n.defaults = append(n.defaults, def)
			if !p.is(")") {
				p.expect(",")
			}
		}
		p.close()
		n.body, _ = p.until("endmacro")
		if p.peek().kind == tokName {
			p.at++
		}
		p.close()
		return n
	case "generation":
		p.close()
		body, _ := p.until("endgeneration")
		p.close()
		return groupNode(body)
	case "break", "continue":
		p.close()
		return jumpNode(name == "break")
	case "elif", "else", "endif", "endfor", "endset", "endmacro", "endgeneration":
		return nil
	}
	p.fail("block %q is not supported", name)
	return nil
}

// names reads one name or several with commas between them.
func (p *parser) names() []string {
	paren := p.accept("(")
	out := []string{p.name()}
	for p.accept(",") {
		out = append(out, p.name())
	}
	if paren {
		p.expect(")")
	}
	return out
}

// tuple reads one expression or several with commas between them.
func (p *parser) tuple() expr {
	first := p.expression()
	if !p.is(",") {
		return first
	}
	list := listExpr{first}
	for p.accept(",") {
		if p.peek().kind == tokClose {
			break
		}
		list = append(list, p.expression())
	}
	return list
}
