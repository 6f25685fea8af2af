package pdf

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	parser "github.com/ledongthuc/pdf"
)

const (
	// maxDepth is how deep forms may lie in one another, maxForms how many a page may draw.
	maxDepth, maxForms = 8, 10_000
	// maxShown is the number of pieces of text that a page may show, those of its forms included.
	maxShown = 1 << 20
)

// pageText returns the text of one page, in the order in which it is drawn. A step to another line begins a line; a step of more than a
// line and a half begins a paragraph; a gap in a line of more than a sixth of the height of the letters is a space.
func pageText(r *parser.Reader, n int) (s string, err error) {
	defer recovered(&err)
	p := r.Page(n)
	if p.V.IsNull() {
		return "", fmt.Errorf("damaged: it is missing")
	}
	w := &writer{}
	w.content(p.V.Key("Contents"), p.Resources(), identity, 0)
	s = trailing.ReplaceAllString(w.b.String(), "\n")
	return hyphen.ReplaceAllString(s, "$1$2"), nil
}

var trailing = regexp.MustCompile(` +\n`)

// hyphen is a word that goes on in the next line.
var hyphen = regexp.MustCompile(`(\p{L})-\n(\p{Ll})`)

// matrix is a transformation of the plane: [x y 1] · [a b 0; c d 0; e f 1].
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

func (m matrix) mul(n matrix) matrix {
	return matrix{
		m.a*n.a + m.b*n.c, m.a*n.b + m.b*n.d,
		m.c*n.a + m.d*n.c, m.c*n.b + m.d*n.d,
		m.e*n.a + m.f*n.c + n.e, m.e*n.b + m.f*n.d + n.f,
	}
}

// state is the part of the graphics state that places text.
type state struct {
	ctm                           matrix
	font                          *font
	size, char, word, scale, lead float64
}

// writer writes text as it is placed on a page.
type writer struct {
	b      strings.Builder
	began  bool
	x, y   float64 // where the last piece ended, on the page
	height float64 // of its letters
	shown  int
	forms  int
}

// content interprets a stream of operators. Operators that do not place text are passed over.
func (w *writer) content(stream, resources parser.Value, ctm matrix, depth int) {
	if stream.IsNull() {
		return
	}
	g := state{ctm: ctm, scale: 1}
	var stack []state
	var tm, line matrix
	fonts := map[string]*font{}
	move := func(x, y float64) {
		line = matrix{1, 0, 0, 1, x, y}.mul(line)
		tm = line
	}
	parser.Interpret(stream, func(stk *parser.Stack, op string) {
		args := make([]parser.Value, stk.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stk.Pop()
		}
		want := operands[op]
		if len(args) < want {
			return // a broken operator costs itself, not the page
		}
		args = args[len(args)-want:]
		num := func(i int) float64 { return args[i].Float64() }
		switch op {
		case "q":
			if len(stack) < 1024 {
				stack = append(stack, g)
			}
		case "Q":
			if n := len(stack); n > 0 {
				g, stack = stack[n-1], stack[:n-1]
			}
		case "cm":
			g.ctm = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}.mul(g.ctm)
		case "BT":
			tm, line = identity, identity
		case "Tc":
			g.char = num(0)
		case "Tw":
			g.word = num(0)
		case "Tz":
			g.scale = num(0) / 100
		case "TL":
			g.lead = num(0)
		case "Tf":
			name := args[0].Name()
			if fonts[name] == nil {
				fonts[name] = newFont(resources.Key("Font").Key(name))
			}
			g.font, g.size = fonts[name], num(1)
		case "TD":
			g.lead = -num(1)
			move(num(0), num(1))
		case "Td":
			move(num(0), num(1))
		case "Tm":
			line = matrix{num(0), num(1), num(2), num(3), num(4), num(5)}
			tm = line
		case "T*":
			move(0, -g.lead)
		case "\"":
			g.word, g.char = num(0), num(1)
			move(0, -g.lead)
			tm = w.show(&g, tm, args[2].RawString())
		case "'":
			move(0, -g.lead)
			tm = w.show(&g, tm, args[0].RawString())
		case "Tj":
			tm = w.show(&g, tm, args[0].RawString())
		case "TJ":
			for i := range args[0].Len() {
				if v := args[0].Index(i); v.Kind() == parser.String {
					tm = w.show(&g, tm, v.RawString())
				} else {
					tm = matrix{1, 0, 0, 1, -v.Float64() / 1000 * g.size * g.scale, 0}.mul(tm)
				}
			}
		case "Do":
			form := resources.Key("XObject").Key(args[0].Name())
			if form.Key("Subtype").Name() == "Form" && depth < maxDepth {
				w.form(form, resources, g.ctm, depth+1)
			}
		}
	})
}

// operands is how many operands the operators take that content knows.
var operands = map[string]int{"cm": 6, "Tc": 1, "Tw": 1, "Tz": 1, "TL": 1, "Tf": 2, "TD": 2, "Td": 2, "Tm": 6, "\"": 3, "'": 1, "Tj": 1, "TJ": 1, "Do": 1}

// form writes a form, which is a content of its own.
func (w *writer) form(form, resources parser.Value, ctm matrix, depth int) {
	if w.forms++; w.forms > maxForms {
		return
	}
	if m := form.Key("Matrix"); m.Len() == 6 {
		ctm = matrix{m.Index(0).Float64(), m.Index(1).Float64(), m.Index(2).Float64(), m.Index(3).Float64(), m.Index(4).Float64(), m.Index(5).Float64()}.mul(ctm)
	}
	if own := form.Key("Resources"); !own.IsNull() {
		resources = own
	}
	w.content(form, resources, ctm, depth)
}

// show writes one piece of text at tm and returns where the next one goes.
func (w *writer) show(g *state, tm matrix, raw string) matrix {
	if w.shown++; w.shown > maxShown || g.font == nil {
		return tm
	}
	text := g.font.decode(raw)
	if n := g.font.step(); g.char > math.Abs(g.size)/6 && len(raw) == 2*n {
		// Ghostscript writes the end of a word, a space and the beginning of the next one like this; a spaced heading is longer.
		text = g.font.decode(raw[:n]) + " " + g.font.decode(raw[n:])
	}
	at := tm.mul(g.ctm)
	height := math.Abs(g.size) * math.Hypot(at.c, at.d)
	if strings.TrimSpace(text) != "" {
		w.place(at.e, at.f, height)
	}
	for _, r := range text {
		switch {
		case r == '\u00ad': // a hyphen that shows only at the end of a line
		case unicode.IsSpace(r):
			w.b.WriteByte(' ')
		case r >= '\ufb00' && r <= '\ufb06':
			w.b.WriteString(ligatures[r-'\ufb00'])
		case r == utf8.RuneError || unicode.IsControl(r):
		default:
			w.b.WriteRune(r)
		}
	}
	width, chars, spaces := g.font.width(raw)
	tm = matrix{1, 0, 0, 1, (width*g.size + float64(chars)*g.char + float64(spaces)*g.word) * g.scale, 0}.mul(tm)
	if strings.TrimSpace(text) != "" {
		end := tm.mul(g.ctm)
		w.began, w.x, w.y, w.height = true, end.e, end.f, height
	}
	return tm
}

// ligatures from U+FB00 as the letters that people search for.
var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}

// place writes what lies between the last piece and one at (x, y).
func (w *writer) place(x, y, height float64) {
	if !w.began {
		return
	}
	s := w.b.String()
	h := max(w.height, height, 1)
	switch dx, dy := x-w.x, math.Abs(y-w.y); {
	case dy > 1.6*h:
		w.b.WriteString("\n\n")
	case dy > 0.5*h:
		w.b.WriteByte('\n')
	case (dx > h/6 || dx < -2*h) && !strings.HasSuffix(s, " "):
		w.b.WriteByte(' ')
	}
}
