package office

import (
	"encoding/xml"
	"strings"
	"unicode"
	"unicode/utf8"

	"searchd/extract/content"
)

// maxMath is the depth to which formulas are read.
const maxMath = 100

// formulaReader writes a formula (OMML) on one line, as Word does: (a+b)/2, x^2, √(y), ∑_(i=1)^n i.
type formulaReader struct {
	prefix string // of its elements; empty: no formula is read
	stack  []*formulaElement
	deep   int // elements beyond maxMath
	text   bool
}

// formulaElement is an open element of a formula.
type formulaElement struct {
	name                string
	all                 strings.Builder     // its text, in order
	parts               map[string][]string // texts of its children, by their names
	chr, begin, end, by string              // what its properties say; NUL: nothing
	noBar               bool
}

// token takes a token; done reports the end of the formula with its text.
func (m *formulaReader) token(t xml.Token) (text string, done bool) {
	switch t := t.(type) {
	case xml.StartElement:
		if t.Name.Space != m.prefix {
			return "", false
		}
		if m.text = t.Name.Local == "t"; len(m.stack) >= maxMath {
			m.deep++
			return "", false
		}
		if n := len(m.stack); n > 0 {
			m.stack[n-1].property(t, m.stack)
		}
		m.stack = append(m.stack, &formulaElement{name: t.Name.Local, chr: "\x00", begin: "\x00", end: "\x00", by: "\x00"})
	case xml.EndElement:
		if t.Name.Space != m.prefix {
			return "", false
		}
		if m.text = false; m.deep > 0 {
			m.deep--
			return "", false
		}
		n := len(m.stack) - 1
		if n < 0 {
			return "", true
		}
		s := m.stack[n].String()
		if m.stack = m.stack[:n]; n == 0 {
			m.prefix = ""
			return s, true
		}
		m.stack[n-1].add(t.Name.Local, s)
	case xml.CharData:
		if n := len(m.stack); m.text && n > 0 {
			m.stack[n-1].all.WriteString(strings.Map(func(r rune) rune {
				if r >= 0x2061 && r <= 0x2064 { // operators that cannot be seen
					return -1
				}
				return r
			}, string(t)))
		}
	}
	return "", false
}

// property takes a property of the element that encloses e.
func (e *formulaElement) property(t xml.StartElement, stack []*formulaElement) {
	if !strings.HasSuffix(e.name, "Pr") || len(stack) < 2 {
		return
	}
	of, v := stack[len(stack)-2], content.Attr(t, "val")
	switch t.Name.Local {
	case "chr":
		of.chr = v
	case "begChr":
		of.begin = v
	case "endChr":
		of.end = v
	case "sepChr":
		of.by = v
	case "type":
		of.noBar = v == "noBar"
	}
}

func (e *formulaElement) add(name, s string) {
	if e.parts == nil {
		e.parts = map[string][]string{}
	}
	e.parts[name] = append(e.parts[name], s)
	e.all.WriteString(s)
}

func (e *formulaElement) part(name string) string { return strings.Join(e.parts[name], "") }

// or returns s, or usual if it was not set.
func or(s, usual string) string {
	if s == "\x00" {
		return usual
	}
	return s
}

// String returns the text of the element.
func (e *formulaElement) String() string {
	base := e.part("e")
	script := func(mark, name string) string {
		if s := e.part(name); s != "" {
			return mark + inParens(s)
		}
		return ""
	}
	switch e.name {
	case "f":
		if e.noBar {
			return "(" + e.part("num") + " ¦ " + e.part("den") + ")"
		}
		return inParens(e.part("num")) + "/" + inParens(e.part("den"))
	case "sSup", "sSub", "sSubSup":
		return inParens(base) + script("_", "sub") + script("^", "sup")
	case "sPre":
		return script("_", "sub") + script("^", "sup") + " " + base
	case "rad":
		return e.part("deg") + "√" + "(" + base + ")"
	case "nary":
		return or(e.chr, "∫") + script("_", "sub") + script("^", "sup") + " " + base
	case "d":
		return or(e.begin, "(") + strings.Join(e.parts["e"], or(e.by, "|")) + or(e.end, ")")
	case "func":
		return e.part("fName") + " " + base
	case "limLow":
		return base + script("_", "lim")
	case "limUpp":
		return base + script("^", "lim")
	case "acc":
		return base + or(e.chr, "\u0302")
	case "m":
		return strings.Join(e.parts["mr"], "; ")
	case "mr", "eqArr":
		return strings.Join(e.parts["e"], map[string]string{"mr": " ", "eqArr": "; "}[e.name])
	}
	return e.all.String()
}

// inParens puts s in parentheses unless it is one number or name, or has them.
func inParens(s string) string {
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) <= 1 || strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) < 0 {
		return s
	}
	depth := 0
	for i, r := range s {
		if r == '(' {
			depth++
		} else if r == ')' {
			depth--
		}
		if depth == 0 {
			if i == len(s)-1 {
				return s
			}
			break
		}
	}
	return "(" + s + ")"
}
