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

// shift moves by (x, y).
func shift(x, y float64) matrix { return matrix{a: 1, d: 1, e: x, f: y} }

// matrixOf is the matrix of six numbers.
func matrixOf(v []parser.Value) matrix {
	return matrix{v[0].Float64(), v[1].Float64(), v[2].Float64(), v[3].Float64(), v[4].Float64(), v[5].Float64()}
}

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
	in := interpreter{w: w, resources: resources, depth: depth, g: state{ctm: ctm, scale: 1}, fonts: map[string]*font{}}
	parser.Interpret(stream, func(stk *parser.Stack, op string) {
		args := make([]parser.Value, stk.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stk.Pop()
		}
		if want := operands[op]; len(args) >= want { // a broken operator costs itself, not the page
			in.operator(op, args[len(args)-want:])
		}
	})
}

// interpreter is what the operators of one content work on.
type interpreter struct {
	w         *writer
	resources parser.Value
	depth     int // of forms
	g         state
	saved     []state
	tm, line  matrix // where the next piece of text goes, and where its line begins
	fonts     map[string]*font
}

func (in *interpreter) operator(op string, args []parser.Value) {
	switch op {
	case "q":
		if len(in.saved) < 1024 {
			in.saved = append(in.saved, in.g)
		}
	case "Q":
		if n := len(in.saved); n > 0 {
			in.g, in.saved = in.saved[n-1], in.saved[:n-1]
		}
	case "cm":
		in.g.ctm = matrixOf(args).mul(in.g.ctm)
	case "Tc":
		in.g.char = args[0].Float64()
	case "Tw":
		in.g.word = args[0].Float64()
	case "Tz":
		in.g.scale = args[0].Float64() / 100
	case "TL":
		in.g.lead = args[0].Float64()
	case "Tf":
		name := args[0].Name()
		if in.fonts[name] == nil {
			in.fonts[name] = newFont(in.resources.Key("Font").Key(name))
		}
		in.g.font, in.g.size = in.fonts[name], args[1].Float64()
	case "Do":
		form := in.resources.Key("XObject").Key(args[0].Name())
		if form.Key("Subtype").Name() == "Form" && in.depth < maxDepth {
			in.w.form(form, in.resources, in.g.ctm, in.depth+1)
		}
	default:
		in.text(op, args)
	}
}

// text takes the operators that move to a place or show text.
func (in *interpreter) text(op string, args []parser.Value) {
	switch op {
	case "BT":
		in.tm, in.line = identity, identity
	case "Tm":
		in.line = matrixOf(args)
		in.tm = in.line
	case "TD":
		in.g.lead = -args[1].Float64()
		in.move(args[0].Float64(), args[1].Float64())
	case "Td":
		in.move(args[0].Float64(), args[1].Float64())
	case "T*":
		in.move(0, -in.g.lead)
	case "\"":
		in.g.word, in.g.char = args[0].Float64(), args[1].Float64()
		in.move(0, -in.g.lead)
		in.show(args[2])
	case "'":
		in.move(0, -in.g.lead)
		in.show(args[0])
	case "Tj":
		in.show(args[0])
	case "TJ":
		for i := range args[0].Len() {
			if v := args[0].Index(i); v.Kind() == parser.String {
				in.show(v)
			} else {
				in.tm = shift(-v.Float64()/1000*in.g.size*in.g.scale, 0).mul(in.tm)
			}
		}
	}
}

func (in *interpreter) move(x, y float64) {
	in.line = shift(x, y).mul(in.line)
	in.tm = in.line
}

func (in *interpreter) show(v parser.Value) { in.tm = in.w.show(&in.g, in.tm, v.RawString()) }

// operands is how many operands the operators take that content knows.
var operands = map[string]int{"cm": 6, "Tc": 1, "Tw": 1, "Tz": 1, "TL": 1, "Tf": 2, "TD": 2, "Td": 2, "Tm": 6, "\"": 3, "'": 1, "Tj": 1, "TJ": 1, "Do": 1}

// form writes a form, which is a content of its own.
func (w *writer) form(form, resources parser.Value, ctm matrix, depth int) {
	if w.forms++; w.forms > maxForms {
		return
	}
	if m := form.Key("Matrix"); m.Len() == 6 {
		ctm = matrixOf([]parser.Value{m.Index(0), m.Index(1), m.Index(2), m.Index(3), m.Index(4), m.Index(5)}).mul(ctm)
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
	tm = shift((width*g.size+float64(chars)*g.char+float64(spaces)*g.word)*g.scale, 0).mul(tm)
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
