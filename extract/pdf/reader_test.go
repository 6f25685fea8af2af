package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"example.com/searchd/extract"
)

// show is a stream that shows each text with its lower left corner at x, y in 10 points of the font
// F1.
func show(parts ...any) string {
	var b strings.Builder
	b.WriteString("BT /F1 10 Tf ")
	for n := 0; n < len(parts); n += 3 {
		fmt.Fprintf(&b, "1 0 0 1 %v %v Tm (%v) Tj ", parts[n], parts[n+1], parts[n+2])
	}
	return stream("", b.String()+"ET")
}

func TestRead(t *testing.T) {
	one := stream("", "BT /F1 12 Tf 72 700 Td (Hel) Tj (lo) Tj [(wor) -50 (ld) -500 (again)] TJ 0 -14 Td (next line with an exam-) Tj T* 0 -14 Td (ple.) Tj 0 -40 Td (Caf\xe9) Tj ET")
	const text = "Helloworld again\nnext line with an example.\n\nCafé"
	scan := stream("", "q 100 0 0 100 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q")
	for _, tt := range []struct {
		name          string
		in            []byte
		text, warning string
		err           string
	}{
		{"lines", pages(one), text, "", ""},
		{"deflated", pages(stream("/Filter /FlateDecode", deflate("BT /F1 9 Tf (packed) Tj ET"))), "packed", "", ""},
		{"pages", pages(show(9, 9, "one"), stream("", ""), show(9, 9, "three")), "one\n\nthree", "page 2 of 3 is empty or damaged", ""},
		{"a broken page", pages(show(9, 9, "one"), stream("/Filter /Nonsense", "x")), "one", "page 2 of 2 is empty or damaged", ""},
		{"scanned pages", pages(scan, show(9, 9, "one"), scan, scan), "one", "no text layer on pages 1, 3-4 of 4", ""},
		{"character spacing", pages(stream("", "BT /F1 12 Tf 72 700 Td (ove) Tj 18 0 Td 5 Tc (rm) Tj 0 Tc 17 0 Td (any) Tj 22 0 Td 4 Tc (TITLE) Tj ET")), "over many TITLE", "", ""},
		{"a spread-out word in two strings", pages(stream("", "BT /F1 12 Tf 2.6 Tc 72 700 Td (Unite) Tj 41.008 0 Td (d ) Tj 16 0 Td (Kin) Tj 31 0 Td (gdom) Tj ET")), "United Kin gdom", "", ""},
		{"no text layer", pages(scan), "", "", "no text layer on the only page"},
		{"all pages broken", pages(stream("/Filter /Nonsense", "x")), "", "", "the only page is empty or damaged"},
		{"broken operators", pages(stream("", "Tj Q Q 1 Td ] >> BT /F1 9 Tf (still) Tj ET")), "still", "", ""},
		{"not a PDF", []byte("hello"), "", "", "not a PDF"},
		{"empty", nil, "", "", "not a PDF"},
		{"only a header", []byte("%PDF-1.7\n%%EOF"), "", "", "damaged"},
		{"bytes around it", append(append([]byte("HTTP/1.1 200\n\n"), pages(one)...), "\n<!-- -->"...), text, "", ""},
		{"wrong startxref", bytes.Replace(pages(one), []byte("startxref\n"), []byte("startxref\n9"), 1), text, "", ""},
		{"no end", bytes.TrimSuffix(pages(one), []byte("%%EOF\n")), text, "", ""},
		{"no table of objects", pages(one)[:bytes.Index(pages(one), []byte("xref"))], text, "its end is missing", ""},
		{"no pages", file(root, "<< /Type /Pages /Count 0 /Kids [] >>"), "", "", "damaged"},
		{"encrypted, empty password", encrypted("", show(9, 9, "a secret")), "a secret", "", ""},
		{"encrypted", encrypted("key", show(9, 9, "a secret")), "", "", "protected by a password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := shared.Read(context.Background(), tt.in)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.Text != tt.text {
				t.Errorf("Read = %q, %v, want %q", got.Text, err, tt.text)
			}
			if (tt.warning == "") != (got.Warning == "") || !strings.Contains(got.Warning, tt.warning) {
				t.Errorf("warning %q, want %q", got.Warning, tt.warning)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	if got, err := shared.Read(context.Background(), pages(show(9, 9, "text"))); err != nil || got.Title != "Round tyres" {
		t.Errorf("title %q, %v", got.Title, err)
	}
	for s, want := range map[string]string{" Round \n tyres": "Round tyres", "Microsoft Word - a.doc": "", "untitled": "", "(anonymous)": "", "x.PDF": "", "": "", strings.Repeat("x", 501): ""} {
		if got := title(s); got != want {
			t.Errorf("title(%q) = %q, want %q", s, got, want)
		}
	}
}

// TestRightToLeft: the characters of a ligature are in the order of reading, and a word of another
// script ends where one from right to left begins elsewhere.
func TestRightToLeft(t *testing.T) {
	at := func(s string, x float64) char { return char{r: []rune(s)[0], x0: x, x1: x + 5, size: 10} }
	for want, chars := range map[string][]char{
		"خلاال":          {at("خ", 30), at("ا", 20), at("ل", 20), at("ا", 15), at("ل", 10)}, // the second pair is two glyphs
		"Go|من":          {at("G", 50), at("o", 55), at("م", 40), at("ن", 35)},
		"2024م":          {at("2", 50), at("0", 55), at("2", 60), at("4", 65), at("م", 45)},
		"الله":           {at("ا", 30), at("ه", 10), at("ل", 10), at("ل", 10)},
		"בגד|PDF":        {at("ב", 30), at("ג", 25), at("ד", 20), {r: ' '}, at("P", 0), at("D", 5), at("F", 10)},
		"PDF|עברית|שלום": {at("P", 0), at("D", 5), at("F", 10), {r: ' '}, at("ם", 20), at("ו", 25), at("ל", 30), at("ש", 35), {r: ' '}, at("ת", 45), at("י", 50), at("ר", 55), at("ב", 60), at("ע", 65)},
		"בָג":            {at("ג", 20), at("ב", 25), at("\u05b8", 26)},
		"אב|גד":          {at("ב", 20), at("א", 25), {r: '\n'}, at("ד", 20), at("ג", 25)},
	} {
		var got []string
		for _, w := range words(logical(chars)) {
			got = append(got, w.text.String())
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("got %q, want %q", s, want)
		}
	}
}

// TestRaisedGlyphs: fonts have digits for footnotes that are raised without a smaller size.
func TestRaisedGlyphs(t *testing.T) {
	glyph := func(bottom, top int) string {
		return stream("", fmt.Sprintf("500 0 50 %d 450 %[2]d d1 50 %[1]d 400 %[3]d re f", bottom, top, top-bottom))
	}
	font := "<< /Type /Font /Subtype /Type3 /FontBBox [0 -200 1000 800] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 49 /LastChar 50 /Widths [500 500] " +
		"/Encoding << /Differences [49 /one /two] >> /CharProcs << /one 6 0 R /two 7 0 R >> /Resources << >> >>"
	in := file(root, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 8 0 R /F2 5 0 R >> >> /Contents 4 0 R >>",
		stream("", "BT 72 700 Td /F1 10 Tf (climate) Tj /F2 10 Tf (1) Tj /F1 10 Tf ( and model) Tj /F2 10 Tf (2) Tj ET"),
		font, glyph(400, 700), glyph(0, 700), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	got, err := shared.Read(context.Background(), in)
	if want := "climate 1 and model2"; err != nil || got.Text != want {
		t.Errorf("got %q, %v, want %q", got.Text, err, want)
	}
}

func TestFonts(t *testing.T) {
	differences := func(s string) string { return "/Encoding << /Differences [65 " + s + "] >>" }
	for name, tt := range map[string]struct{ font, show, want string }{
		"ToUnicode before Encoding": {"/Encoding /WinAnsiEncoding /ToUnicode 6 0 R", "(ABC)", "Чł€"},
		"a glyph of a line end":     {"/Encoding /WinAnsiEncoding /ToUnicode 6 0 R", "(ABD)", "Чł"},
		"glyphs of white space":     {"/Encoding /WinAnsiEncoding /ToUnicode 6 0 R", "(ADBECFA)", "Ч ł € Ч"},
		"unknown controls":          {"/Encoding /WinAnsiEncoding /ToUnicode 6 0 R", "(AGB)", "Ч\uFFFDł"},
		"names of the glyph list":   {differences("/Ccaron /lslash /Euro /oe /Zhecyrillic"), "(ABCDE)", "Čł€œЖ"},
		"uni and u names":           {differences("/uni010C /u20AC /uni00410042"), "(ABC)", "Č€AB"},
		"ligatures":                 {differences("/f_f_i /T_h /f_i.alt /fi"), "(ABCD)", "ffiThfifi"},
		"variants":                  {differences("/A.sc /one.oldstyle /a.sups"), "(ABC)", "A1a"},
		"BaseEncoding":              {"/Encoding << /BaseEncoding /MacRomanEncoding /Differences [65 /B] >>", "(A\\212)", "Bä"},
		"StandardEncoding":          {"/Encoding /StandardEncoding", "(\\256\\257\\341)", "fiflÆ"},
		"none":                      {"", "(plain)", "plain"},
		"unknown names":             {differences("/g1 /g2"), "(CACBC)", "C\uFFFDC\uFFFDC"},
	} {
		font := "<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Strange /FirstChar 65 /LastChar 71 /Widths [500 500 500 500 500 500 500] " + tt.font + " >>"
		in := file(root, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
			"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>",
			stream("", "BT /F1 9 Tf "+tt.show+" Tj ET"), font,
			stream("", "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange 7 beginbfchar <41> <0427> <42> <0142> <43> <20AC> <44> <000A> <45> <0009> <46> <000D> <47> <0007> endbfchar endcmap"))
		got, err := shared.Read(context.Background(), in)
		if err != nil || got.Text != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got.Text, err, tt.want)
		}
		if strange := strings.HasPrefix(name, "unknown"); strange != strings.Contains(got.Warning, "do not say which characters") {
			t.Errorf("%s: warning %q", name, got.Warning)
		}
	}
}

// Composite fonts with a predefined CMap need no ToUnicode.
func TestPredefinedCMaps(t *testing.T) {
	for cmap, tt := range map[string]struct{ ordering, show, want string }{
		"UniJIS-UCS2-H": {"Japan1", "<65E5672C>", "日本"},
		"90ms-RKSJ-H":   {"Japan1", "<93FA967B>", "日本"},
		"GBK-EUC-H":     {"GB1", "<D6D0B9FA>", "中国"},
		"ETen-B5-H":     {"CNS1", "<A4A4B0EA>", "中國"},
		"KSCms-UHC-H":   {"Korea1", "<C7D1B1B9>", "한국"},
	} {
		in := file(root, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
			"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>", stream("", "BT /F1 9 Tf "+tt.show+" Tj ET"),
			"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /"+cmap+" /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering ("+tt.ordering+") /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor /FontName /X /Flags 4 >> >>] >>")
		if got, err := shared.Read(context.Background(), in); err != nil || got.Text != tt.want {
			t.Errorf("%s: %q, %v, want %q", cmap, got.Text, err, tt.want)
		}
	}
}

func TestLayout(t *testing.T) {
	const (
		left1, left2, left3    = "The quick brown fox jumps over the", "lazy dog and runs away to the hill", "where it sleeps until the morning."
		right1, right2, right3 = "Meanwhile the dog wakes up, looks", "around in the dark, and finds that", "its dinner has been eaten, so that"
	)
	rows := []any{50, 700, left1, 300, 700, right1, 50, 688, left2, 300, 688, right2, 50, 676, left3, 300, 676, right3}
	shifted := []any{50, 700, left1, 300, 694, right1, 50, 688, left2, 300, 682, right2, 50, 676, left3, 300, 670, right3}
	for name, tt := range map[string]struct {
		content, want string
	}{
		"columns drawn by rows":        {show(rows...), left1 + "\n" + left2 + "\n" + left3 + "\n\n" + right1 + "\n" + right2 + "\n" + right3},
		"columns on different lines":   {show(shifted...), left1 + "\n" + left2 + "\n" + left3 + "\n\n" + right1 + "\n" + right2 + "\n" + right3},
		"columns below a heading":      {show(append([]any{50, 730, "A heading that goes over all of the page, from one side to the other"}, rows...)...), "A heading that goes over all of the page, from one side to the other\n\n" + left1 + "\n" + left2 + "\n" + left3 + "\n\n" + right1 + "\n" + right2 + "\n" + right3},
		"a table":                      {show(50, 700, "Screw", 150, 700, "M4", 250, 700, "0.20", 50, 688, "Nut", 150, 688, "M4", 250, 688, "0.10", 50, 676, "Washer", 150, 676, "M5", 250, 676, "0.05", 50, 664, "Bolt", 150, 664, "M8", 250, 664, "1.20"), "Screw\tM4\t0.20\nNut\tM4\t0.10\nWasher\tM5\t0.05\nBolt\tM8\t1.20"},
		"a table drawn by columns":     {show(50, 700, "Screw", 50, 688, "Nut", 50, 676, "Washer", 150, 700, "M4", 150, 688, "M5", 150, 676, "M6"), "Screw\tM4\nNut\tM5\nWasher\tM6"},
		"cells that nearly touch":      {show(50, 700, "decided", 87.5, 700, "A second", 50, 688, "done", 87.5, 688, "A third"), "decided A second\ndone\tA third"},
		"paragraphs":                   {show(50, 700, "one", 50, 688, "two", 50, 660, "three"), "one\ntwo\n\nthree"},
		"lines in the wrong order":     {show(50, 688, "two", 50, 676, "three", 50, 700, "one"), "one\ntwo\nthree"},
		"a hyphen":                     {show(50, 700, "an inter-", 50, 688, "national word, a well-", 50, 676, "Known one and 10-", 50, 664, "12"), "an international word, a well-\nKnown one and 10-\n12"},
		"footnote marks":               {stream("", "BT /F1 10 Tf 50 700 Td (climate) Tj /F1 6 Tf 4 Ts (1) Tj /F1 10 Tf 0 Ts ( report) Tj /F1 6 Tf 4 Ts (a,b) Tj /F1 10 Tf 0 Ts (.) Tj 0 -30 Td /F1 6 Tf 4 Ts (1) Tj /F1 10 Tf 0 Ts (See) Tj ET"), "climate 1 report a,b .\n\n1 See"},
		"exponents":                    {stream("", "BT /F1 10 Tf 50 700 Td (10) Tj /F1 6 Tf 4 Ts (6) Tj /F1 10 Tf 0 Ts ( km) Tj /F1 6 Tf 4 Ts (2) Tj /F1 10 Tf 0 Ts ( x) Tj /F1 6 Tf 4 Ts (n) Tj ET"), "10^6 km2 xn"},
		"indexes and ordinals":         {stream("", "BT /F1 10 Tf 50 700 Td (H) Tj /F1 6 Tf -2 Ts (2) Tj /F1 10 Tf 0 Ts (O on the 1) Tj /F1 6 Tf 4 Ts (st) Tj ET"), "H2O on the 1st"},
		"an index that is a word":      {stream("", "BT /F1 10 Tf 50 700 Td (Z) Tj /F1 6 Tf -2 Ts (gas) Tj /F1 10 Tf 0 Ts ( and T) Tj /F1 6 Tf -2 Ts (i) Tj /F1 10 Tf 0 Ts ( of v) Tj /F1 6 Tf -2 Ts (max) Tj ET"), "Z_gas and Ti of v_max"},
		"a row of marks":               {stream("", "BT /F1 10 Tf 50 700 Td (C) Tj 10 0 Td (C) Tj 10 0 Td (D) Tj 10 0 Td (D) Tj 10 0 Td (C) Tj ET"), "C C D D C"},
		"thin letters":                 {stream("", "BT /F1 10 Tf 10 Tz 50 700 Td (willll) Tj ET"), "willll"},
		"drawn twice to look bold":     {stream("", "BT /F1 10 Tf 50 700 Td (bold) Tj 0.3 0 Td (bold) Tj ET"), "bold"},
		"turned":                       {stream("", "BT /F1 10 Tf 0 1 -1 0 50 100 Tm (upwards we go) Tj 0 1 -1 0 62 100 Tm (to the top) Tj ET"), "upwards we go\nto the top"},
		"a note at the side, turned":   {stream("", "BT /F1 10 Tf 50 700 Td (one) Tj 0 -12 Td (two) Tj 0 -1 1 0 500 500 Tm (downwards) Tj ET"), "one\ntwo\n\ndownwards"},
		"letters one by one":           {stream("", "BT /F1 10 Tf 50 700 Td (l) Tj 2.2 0 Td (i) Tj 2.2 0 Td (k) Tj 5 0 Td (e) Tj 8.3 0 Td (m) Tj 8.3 0 Td (e) Tj ET"), "like me"},
		"a size that the matrix gives": {stream("", "BT /F1 1 Tf 10 0 0 10 50 700 Tm (one) Tj 10 0 0 10 50 688 Tm (two) Tj ET"), "one\ntwo"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := shared.Read(context.Background(), pages(tt.content)); err != nil || got.Text != tt.want {
				t.Errorf("got %q, %v, want %q", got.Text, err, tt.want)
			}
		})
	}
}

func TestAnnotations(t *testing.T) {
	field := func(y int, s string) string {
		return fmt.Sprintf("<< /Type /Annot /Subtype /Widget /Rect [150 %d 300 %d] %s >>", y, y+12, s)
	}
	annots := []string{
		field(697, "/FT /Tx /T (name) /V (Ada Lovelace)"), field(677, "/FT /Tx /T (pin) /Ff 8192 /V (1234)"),
		field(657, "/FT /Ch /Ff 131072 /T (town) /Opt [[(b) (Berlin)] [(r) (Rome)]] /V (r)"), field(637, "/FT /Tx /T (hidden) /F 2 /V (unseen)"),
		"<< /Type /Annot /Subtype /Text /Rect [1 1 9 9] /Contents (A remark) >>", "<< /Type /Annot /Subtype /FreeText /Rect [50 600 200 612] /Contents (Typed over) >>",
		"<< /Type /Annot /Subtype /Popup /Rect [1 1 9 9] /Contents (A remark) >>", "<< /Type /Annot /Subtype /Link /Rect [1 1 9 9] /Contents (elsewhere) >>",
		field(580, "/FT /Btn /T (box) /AS /Yes /V /Yes /AP << /N << /Yes 5 0 R /Off 5 0 R >> >>"),
	}
	objects := []string{"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [7 0 R 8 0 R 9 0 R 10 0 R 15 0 R] >> >>", "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", helvetica, "",
		stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", ""), show(50, 700, "Name:", 50, 680, "PIN:", 50, 660, "Town:")}
	var refs []string
	for _, a := range annots {
		objects = append(objects, a)
		refs = append(refs, fmt.Sprintf("%d 0 R", len(objects)))
	}
	objects[3] = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> /Contents 6 0 R /Annots [" + strings.Join(refs, " ") + "] >>"
	got, err := shared.Read(context.Background(), file(objects...))
	const want = "Name:\tAda Lovelace\nPIN:\t****\nTown:\tRome\n\nTyped over\n\nYes\n\nA remark"
	if err != nil || got.Text != want {
		t.Errorf("got %q, %v, want %q", got.Text, err, want)
	}
}

// The letters of what an annotation shows are not mixed with those of the text below it.
func TestAnnotationsOverText(t *testing.T) {
	const font = "/Resources << /Font << /F1 3 0 R >> >>"
	over := func(kind, box, content string) []string { // an annotation and its appearance, objects 6 and 7
		return []string{
			"<< /Type /Annot /Subtype /" + kind + " /Rect [" + box + "] /AP << /N 7 0 R >> >>",
			stream("/Type /XObject /Subtype /Form /BBox ["+box+"] "+font, content),
		}
	}
	text := stream("", "BT /F1 10 Tf 50 700 Td (Dumm) Tj (y) Tj ( ) Tj (PDF f) Tj (ile o) Tj (f ours) Tj ET")
	for name, tt := range map[string]struct{ kind, box, content, want string }{
		"a magnifier":           {"Stamp", "60 690 300 730", "BT /F1 17 Tf 66 698 Td (PDF file) Tj ET", "Dummy PDF file of ours PDF file"},
		"a stamp across a line": {"Stamp", "50 690 300 730", "BT /F1 30 Tf 52 696 Td (PAID) Tj ET", "Dummy PDF file of ours PAID"},
		"a word typed over":     {"FreeText", "60 695 300 715", "BT /F1 10 Tf 70 701 Td (Real) Tj ET", "Dummy PDF file of ours Real"},
		"the same size":         {"Stamp", "50 690 300 730", "BT /F1 10 Tf 53 700 Td (void void) Tj ET", "Dummy PDF file of ours void void"},
		"above the line":        {"Stamp", "50 690 300 790", "BT /F1 10 Tf 50 760 Td (Received) Tj ET", "Received\n\nDummy PDF file of ours"},
		"a field on its label":  {"Widget", "50 690 300 730", "BT /F1 9 Tf 80 700 Td (Ada) Tj ET", "Dummy PDF file of ours Ada"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append([]string{root, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", helvetica,
				"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] " + font + " /Contents 5 0 R /Annots [6 0 R] >>", text}, over(tt.kind, tt.box, tt.content)...)
			if got, err := shared.Read(context.Background(), file(objects...)); err != nil || got.Text != tt.want {
				t.Errorf("got %q, %v, want %q", got.Text, err, tt.want)
			}
		})
	}
}

func TestReadLimits(t *testing.T) {
	page := show(9, 9, "eight ch")
	shared.MaxText = 10
	got, err := shared.Read(context.Background(), pages(page, page))
	shared.MaxText = 0
	if err != nil || got.Text != "eight ch" || !strings.Contains(got.Warning, "1 of 2 pages are read") {
		t.Errorf("Read = %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := shared.Read(ctx, pages(page)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// bombs are files that take all there is, each in its own way.
func bombs() map[string][]byte {
	zeros := strings.Repeat("\x00", 64<<20)
	deep := strings.Repeat("[", 20<<20)
	return map[string][]byte{
		"deflate bomb":       pages(stream("/Filter /FlateDecode", deflate("BT /F1 9 Tf ("+zeros+zeros+zeros+") Tj ET"))),
		"nested arrays":      pages(stream("/Filter /FlateDecode", deflate(deep))),
		"claimed size":       bytes.Replace(pages(stream("", "x")), []byte("/Size 6"), []byte("/Size 99999999999"), 1),
		"xref of billions":   bytes.Replace(pages(stream("", "x")), []byte("xref\n0 6"), []byte("xref\n4000000000 6"), 1),
		"page tree loop":     file(root, "<< /Type /Pages /Count 5 /Kids [2 0 R 2 0 R] >>"),
		"page tree of many":  file(root, "<< /Type /Pages /Count 2000000000 /Kids [2 0 R] >>"),
		"parent loop":        file(root, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", "<< /Type /Page /Parent 3 0 R /Contents 4 0 R >>", stream("", "BT /F1 9 Tf (x) Tj ET")),
		"stream in itself":   file(root, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", "<< /Length 4 0 R >>\nstream\nx\nendstream"),
		"form in itself":     file(root, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", "<< /Type /Page /Parent 2 0 R /Resources << /XObject << /X 4 0 R >> >> /Contents 4 0 R >>", stream("/Subtype /Form /Resources << /XObject << /X 4 0 R >> >>", "/X Do /X Do /X Do /X Do /X Do /X Do")),
		"previous xref loop": bytes.Replace(pages(stream("", "x")), []byte("/Root"), []byte("/Prev 9 /Root"), 1),
		"endless numbers":    pages(stream("/Filter /FlateDecode", deflate(strings.Repeat("1 ", 40<<20)))),
		"endless text":       pages(stream("/Filter /FlateDecode", deflate("BT /F1 9 Tf "+strings.Repeat("(many words in here) Tj T* ", 1<<20)+"ET"))),
	}
}

// Each ends within its limits, and takes nothing of this process with it.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	shared.Time = 2 * time.Second
	defer func() { shared.Time = 0 }()
	for name, in := range bombs() {
		t.Run(name, func(t *testing.T) {
			got, err := shared.Read(context.Background(), in)
			t.Logf("%v, %q, %d bytes", err, got.Warning, len(got.Text))
			if err == nil && len(got.Text) > 32<<20 {
				t.Errorf("%d bytes of text", len(got.Text))
			}
			if err != nil && strings.Contains(err.Error(), "PDFium fails on it") {
				t.Errorf("no reason in words: %v", err)
			}
		})
	}
	if got, err := shared.Read(context.Background(), pages(show(9, 9, "alive"))); err != nil || got.Text != "alive" {
		t.Errorf("after them: %q, %v", got.Text, err)
	}
}

// Fonts are found in plain objects and in streams of objects.
func TestGlyphNames(t *testing.T) {
	objects := fmt.Sprintf("%-12s%-70s%s", "1 0 2 70", "<< /Type /Font /BaseFont /A#42 /Encoding 2 0 R >>", "<< /Differences [1 /f_i 65 /A /B.sc] >>")
	packed := deflate(objects)
	in := fmt.Sprintf("%%PDF-1.5\n4 0 obj << /Type /Font /BaseFont /C /Encoding << /Differences [2/x] >> >> endobj\n"+
		"9 0 obj << /Type /ObjStm /N 2 /First 12 /Length %d >> stream\n%s\nendstream endobj\n", len(packed), packed)
	want := map[string]map[rune]string{"AB": {1: "f_i", 65: "A", 66: "B.sc"}, "C": {2: "x"}}
	if got := glyphNames([]byte(in)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The names of glyphs are read from the bytes of the file, whatever they are.
func FuzzGlyphNames(f *testing.F) {
	f.Add([]byte("4 0 obj << /Type /Font /BaseFont /C /Encoding << /Differences [2/x 65 /A#42 /B.sc] >> >> endobj"))
	f.Add([]byte("1 0 obj << /Type /ObjStm /N 9 /First 99 /Length 4 >> stream\nxxxx\nendstream endobj"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, names := range glyphNames(b) {
			for code, name := range names {
				if s := glyphText(name); !utf8.ValidString(s) {
					t.Errorf("code %d, %q: %q", code, name, s)
				}
			}
		}
	})
}

// Whatever a file says of places, the letters come out.
func FuzzLayout(f *testing.F) {
	f.Add([]byte("\x00\x01abc\x80\xff  -\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var chars []char
		letters := 0
		for len(b) >= 6 {
			c := char{r: rune(b[0]), x0: float64(int8(b[1])), y: float64(int8(b[2])), size: float64(b[4]), turn: int(b[5] & 3)}
			c.x1 = c.x0 + float64(b[3])
			if c.r >= 'a' && c.r <= 'z' {
				letters++
			}
			chars, b = append(chars, c), b[6:]
		}
		got := strings.Count(justText(layout(chars, nil)), "")
		if letters > 0 && got < 2 {
			t.Errorf("nothing of %d letters", letters)
		}
	})
}

// A folder for the cache that cannot be used, or holds something else, is no reason not to read.
func TestCache(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles PDFium again")
	}
	dir := t.TempDir()
	in := pages(show(9, 9, "text"))
	bomb := pages(stream("/Filter /FlateDecode", deflate("BT /F1 9 Tf ("+strings.Repeat("x", 64<<20)+") Tj ET")))
	for _, state := range []string{"empty", "damaged", "full"} {
		if state == "damaged" {
			files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
			if len(files) != 1 || os.Truncate(files[0], 1000) != nil {
				t.Fatalf("cached: %q", files)
			}
		}
		r := &Reader{Cache: dir, Memory: 48 << 20}
		if got, err := r.Read(context.Background(), bomb); err == nil || !strings.Contains(err.Error(), "more memory than the limit") {
			t.Errorf("%s: a bomb: %d bytes, %v", state, len(got.Text), err)
		}
		if got, err := r.Read(context.Background(), in); err != nil || got.Text != "text" {
			t.Errorf("%s: %q, %v", state, got.Text, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func justText(text string, _ []paragraph) string { return text }

// Pages without text are rendered for OCR.
func TestOCR(t *testing.T) {
	scan := stream("", "q 1 0 0 1 0 0 cm 0 0 100 50 re f Q")
	b := pages(show(9, 9, "one"), scan, scan)
	r := &Reader{Cache: shared.Cache}
	var sizes []string
	r.OCR = func(_ context.Context, picture []byte) (string, error) {
		head, _, _ := bytes.Cut(picture, []byte("\n"))
		sizes = append(sizes, string(head))
		if len(sizes) == 2 {
			return "", errors.New("OCR takes too long")
		}
		if !bytes.Contains(picture[len(head):], []byte{0}) || !bytes.Contains(picture[len(head):], []byte{255}) {
			t.Error("the picture is not black and white")
		}
		return "recognised\n\nby OCR\n", nil
	}
	defer r.Close()
	got, err := r.Read(t.Context(), b)
	if err != nil || got.Text != "one\n\nrecognised\n\nby OCR" || !strings.Contains(got.Warning, "page 3: OCR takes too long") || !strings.Contains(got.Warning, "no text layer on page 3") {
		t.Errorf("Read = %q, %v, warning %q", got.Text, err, got.Warning)
	}
	if len(sizes) != 2 || !strings.HasPrefix(sizes[0], "P5 ") || len(got.Blocks) != 3 || got.Blocks[2].Page != 2 {
		t.Errorf("pictures %q, blocks %+v", sizes, got.Blocks)
	}
}

// Several instances read the pages of a long file, in their order.
func TestManyPages(t *testing.T) {
	var streams []string
	var want []string
	for n := range 3*pagesPerInstance + 5 {
		streams = append(streams, show(9, 9, fmt.Sprintf("page %d", n+1)))
		want = append(want, fmt.Sprintf("page %d", n+1))
	}
	got, err := shared.Read(t.Context(), pages(streams...))
	if err != nil || got.Text != strings.Join(want, "\n\n") || got.Warning != "" {
		t.Errorf("Read = %.200q, %v, %q", got.Text, err, got.Warning)
	}
	for n, b := range got.Blocks {
		if b.Page != n+1 || got.Text[b.Start:b.End] != want[n] {
			t.Fatalf("block %d is %+v", n, b)
		}
	}
}

// Vertical text is read line by line from the right, also if its font is not embedded.
func TestVertical(t *testing.T) {
	font := "<< /Type /Font /Subtype /Type0 /BaseFont /Ryumin-Light /Encoding /UniJIS-UCS2-V /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Ryumin-Light " +
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor /FontName /Ryumin-Light /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /StemV 80 >> >>] >>"
	var b strings.Builder
	b.WriteString("BT /F2 10 Tf ")
	for n, line := range []string{"わたくしといふ現象は", "假定された有機交流電燈の", "ひとつの青い照明です"} {
		fmt.Fprintf(&b, "1 0 0 1 %d 700 Tm <%X> Tj ", 300-17*n, utf16Bytes(line))
	}
	b.WriteString("1 0 0 1 100 700 Tm ")
	for _, r := range "一字" { // an object for each character
		fmt.Fprintf(&b, "<%X> Tj ET BT /F2 10 Tf 1 0 0 1 100 690 Tm ", utf16Bytes(string(r)))
	}
	in := file(root, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>", font,
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 6 0 R /F2 3 0 R >> >> /Contents 5 0 R >>", stream("", b.String()+"ET BT /F1 10 Tf 50 50 Td (Plain) Tj ET"), helvetica)
	got, err := shared.Read(t.Context(), in)
	if want := "わたくしといふ現象は\n假定された有機交流電燈の\nひとつの青い照明です\n\n一字\n\nPlain"; err != nil || got.Text != want {
		t.Errorf("Read = %q, %v, want %q", got.Text, err, want)
	}
}

func utf16Bytes(s string) (b []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u>>8), byte(u))
	}
	return b
}

// Larger lines are headings, and rows of cells are tables.
func TestBlocks(t *testing.T) {
	var b strings.Builder
	b.WriteString("BT /F1 24 Tf 50 750 Td (Manual) Tj ET BT /F1 16 Tf 50 700 Td (Sizes) Tj ET BT /F1 10 Tf 50 680 Td (All sizes are in millimetres, as in all of our manuals.) Tj ET ")
	for n, row := range [][2]string{{"name", "mm"}, {"thin", "12"}, {"thick", "30"}} {
		fmt.Fprintf(&b, "BT /F1 10 Tf 1 0 0 1 50 %d Tm (%s) Tj 1 0 0 1 150 %d Tm (%s) Tj ET ", 640-18*n, row[0], 640-18*n, row[1])
	}
	got, err := shared.Read(t.Context(), pages(stream("", b.String()), show(50, 700, "The second page.")))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, k := range got.Blocks {
		lines = append(lines, fmt.Sprintf("%v%d on %d: %q", k.Kind, k.Level, k.Page, got.Text[k.Start:k.End]))
		if k.Kind == extract.Table {
			lines = append(lines, fmt.Sprintf("header %q", got.Text[k.Start:k.Head]))
		}
	}
	want := `heading1 on 1: "Manual"|heading2 on 1: "Sizes"|paragraph0 on 1: "All sizes are in millimetres, as in all of our manuals."|table0 on 1: "name\tmm\nthin\t12\nthick\t30"|header "name\tmm"|paragraph0 on 2: "The second page."`
	if s := strings.Join(lines, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
