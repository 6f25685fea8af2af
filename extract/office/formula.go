package office

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// formula returns an element of a formula (OMML) on one line, as Word writes it: (a+b)/2, x^2,
// √(y), ∑_(i=1)^n i.
func formula(n *node) string {
	parts := map[string][]string{} // texts of the children, by their names
	var all strings.Builder
	for _, c := range n.nodes {
		switch {
		case c.name == "" && n.name == "t":
			all.WriteString(strings.Map(visible, c.text))
		case c.name != "" && c.prefix == n.prefix:
			s := formula(c)
			parts[c.name] = append(parts[c.name], s)
			all.WriteString(s)
		}
	}
	part := func(name string) string { return strings.Join(parts[name], "") }
	script := func(mark, name string) string {
		if s := part(name); s != "" {
			return mark + inParens(s)
		}
		return ""
	}
	property := func(name, usual string) string {
		if p := n.child(n.name + "Pr").child(name); p != nil {
			return p.attr("val")
		}
		return usual
	}
	base := part("e")
	switch n.name {
	case "f":
		if property("type", "") == "noBar" {
			return "(" + part("num") + " ¦ " + part("den") + ")"
		}
		return inParens(part("num")) + "/" + inParens(part("den"))
	case "sSup", "sSub", "sSubSup":
		return inParens(base) + script("_", "sub") + script("^", "sup")
	case "sPre":
		return script("_", "sub") + script("^", "sup") + " " + base
	case "rad":
		return part("deg") + "√" + "(" + base + ")"
	case "nary":
		return property("chr", "∫") + script("_", "sub") + script("^", "sup") + " " + base
	case "d":
		return property("begChr", "(") + strings.Join(parts["e"], property("sepChr", "|")) + property("endChr", ")")
	case "func":
		return part("fName") + " " + base
	case "limLow":
		return base + script("_", "lim")
	case "limUpp":
		return base + script("^", "lim")
	case "acc":
		return base + property("chr", "\u0302")
	case "m":
		return strings.Join(parts["mr"], "; ")
	case "mr":
		return strings.Join(parts["e"], " ")
	case "eqArr":
		return strings.Join(parts["e"], "; ")
	}
	return all.String()
}

// visible removes invisible operators.
func visible(r rune) rune {
	if r >= 0x2061 && r <= 0x2064 {
		return -1
	}
	return r
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
