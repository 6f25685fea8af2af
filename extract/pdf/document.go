package pdf

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/extract"
	"example.com/searchd/extract/content"
)

// document is the state of reading a file.
type document struct {
	max     int64
	title   string
	data    []byte // of the file, perhaps repaired
	glyphs  func() map[string]map[rune]string
	pages   []pageText
	next    atomic.Int64 // number of the next page to read, from 0
	length  atomic.Int64 // bytes of text so far
	err     string       // why nothing can be read
	stopped string       // why the reading ended early
	torn    bool         // its end is missing
}

// pageState is what was read of a page.
type pageState uint8

const (
	pageUnread   pageState = iota
	pageRead               // completely
	pageBad                // it cannot be read or is empty
	pageScan               // it shows something, but no text
	pageBlank              // OCR has found no text
	pageStrange            // some characters have no known meaning
	pageDoubtful           // most have none
)

// pageText is the text of a page with its paragraphs.
type pageText struct {
	state      pageState
	text       string
	paragraphs []paragraph
}

// paragraph is bytes [start, end) of the text of a page.
type paragraph struct {
	start, end int
	size       float64 // of the font; 0 if unknown
}

// add adds a text with its paragraphs, which blank lines separate if they are nil.
func (p *pageText) add(text string, paragraphs []paragraph) {
	if text == "" {
		return
	}
	if p.text != "" {
		p.text += "\n\n"
	}
	at := len(p.text)
	p.text += text
	if paragraphs == nil {
		start := 0
		for part := range strings.SplitAfterSeq(text, "\n\n") {
			if trimmed := strings.TrimRight(part, "\n"); trimmed != "" {
				paragraphs = append(paragraphs, paragraph{start: start, end: start + len(trimmed)})
			}
			start += len(part)
		}
	}
	for _, q := range paragraphs {
		p.paragraphs = append(p.paragraphs, paragraph{q.start + at, q.end + at, q.size})
	}
}

// Codes of FPDF_GetLastError.
const (
	errFormat   = 3
	errPassword = 4
	errSecurity = 5
)

// open opens the file and counts its pages.
func (d *document) open(ctx context.Context, i *instance) (doc uint64) {
	doc, code := i.load(ctx, d.data)
	if doc == 0 && code == errFormat { // perhaps it ends before its trailer
		if roots := catalogue.FindAllSubmatch(d.data, -1); len(roots) > 0 {
			root := roots[len(roots)-1]
			d.data = fmt.Appendf(d.data[:len(d.data):len(d.data)], "\ntrailer\n<< /Root %s %s R >>\nstartxref\n0\n%%%%EOF\n", root[1], root[2])
			doc, code = i.load(ctx, d.data)
			d.torn = doc != 0
		}
	}
	if i.err != nil {
		return 0
	}
	if doc == 0 {
		switch code {
		case errPassword:
			d.err = "it is protected by a password; take the password off first"
		case errSecurity:
			d.err = "it is encrypted in a way that is not supported; take the encryption off first"
		default:
			d.err = "damaged, or not a PDF: neither its table of objects nor its pages are found"
		}
		return 0
	}
	switch n := int(int32(i.call(ctx, "FPDF_GetPageCount", doc))); {
	case n < 1:
		d.err = "damaged: it has no pages"
		return 0
	case n > maxPages:
		d.err = fmt.Sprintf("it has %d pages; the limit is %d", n, maxPages)
		return 0
	default:
		d.pages = make([]pageText, n)
	}
	d.title = title(i.meta(ctx, doc, "Title"))
	return doc
}

// read reads pages that no other instance reads. Several instances may do so at the same time.
func (d *document) read(ctx context.Context, i *instance, doc uint64) {
	i.glyphs = d.glyphs
	form := i.form(ctx, doc)
	for ctx.Err() == nil && d.length.Load() <= d.max {
		n := int(d.next.Add(1)) - 1
		if n >= len(d.pages) {
			return
		}
		p := d.page(ctx, i, doc, form, n)
		if i.err != nil {
			return
		}
		d.pages[n] = p
		d.length.Add(int64(len(p.text)))
	}
}

// load opens a file; without one it returns an error code.
func (i *instance) load(ctx context.Context, b []byte) (doc, code uint64) {
	data := i.malloc(len(b) + 1) // of an empty one, too
	if i.err != nil || !i.memory.Write(data, b) {
		return 0, 0
	}
	if doc = i.call(ctx, "FPDF_LoadMemDocument", uint64(data), uint64(len(b)), 0); doc == 0 {
		code = i.quick("FPDF_GetLastError")
		i.quick("free", uint64(data))
	}
	return doc, code
}

// catalogue matches the root object of a file.
var catalogue = regexp.MustCompile(`\b(\d{1,9})\s+(\d{1,5})\s+obj\s*<<[^>]*?/Type\s*/Catalog\b`)

// page returns the text of page n, from 0.
func (d *document) page(ctx context.Context, i *instance, doc, form uint64, n int) (p pageText) {
	load := func() uint64 { return i.call(ctx, "FPDF_LoadPage", doc, uint64(n)) }
	page := load()
	if page == 0 {
		return pageText{state: pageBad}
	}
	fields, notes, shown := i.annotations(ctx, page, form)
	var own []char // without those that annotations show
	if shown {
		own, _, _ = i.chars(ctx, page)
	}
	if shown && i.call(ctx, "FPDFPage_Flatten", page, 0) == flattened { // what annotations show is content of the page from now on
		i.quick("FPDF_ClosePage", page)
		if page = load(); page == 0 {
			return pageText{state: pageBad}
		}
	}
	defer func() { i.quick("FPDF_ClosePage", page) }()
	chars, vertical, doubtful := i.chars(ctx, page)
	chars = apart(own, chars)
	text, paragraphs := layout(chars, nil)
	if fields = missing(fields, text); len(fields) > 0 {
		text, paragraphs = layout(chars, fields)
	}
	if len(vertical) > len(text) {
		p.add(vertical, nil)
		vertical = ""
	}
	p.add(text, paragraphs)
	p.add(vertical, nil)
	for _, note := range notes {
		p.add(note, nil)
	}
	switch {
	case doubtful:
		p.state = pageDoubtful
	case strings.ContainsRune(p.text, unknownChar):
		p.state = pageStrange
	case p.text != "" || i.err != nil:
		p.state = pageRead
	case i.call(ctx, "FPDFPage_CountObjects", page) == 0:
		p.state = pageBad
	default:
		p.state = pageScan
	}
	return p
}

// flattened is the result of FPDFPage_Flatten for a page that it changed.
const flattened = 1

// apart returns the characters of a page with those that are not its own, because an annotation
// shows them, at the end. PDFium mixes the letters of words that are drawn over others.
func apart(own, all []char) []char {
	if len(own) == 0 || len(own) == len(all) {
		return all
	}
	type glyph struct {
		r    rune
		x, y int // in tenths of a point
	}
	of := func(c char) glyph { return glyph{c.r, int(math.Round(10 * c.x0)), int(math.Round(10 * c.y))} }
	known := map[glyph]int{}
	for _, c := range own {
		known[of(c)]++
	}
	out := append(slices.Clone(own), char{r: '\n'})
	for _, c := range all {
		if g := of(c); known[g] > 0 && !unicode.IsSpace(c.r) {
			known[g]--
			continue
		}
		out = append(out, c)
	}
	return out
}

// missing returns the fields whose text the page does not have.
func missing(fields []field, text string) (out []field) {
	if len(fields) == 0 {
		return nil
	}
	dense := func(s string) string { return strings.Join(strings.Fields(s), "") }
	text = dense(text)
	for _, f := range fields {
		if !strings.Contains(text, dense(f.text)) {
			out = append(out, f)
		}
	}
	return out
}

// title returns the title of the document unless it was made up by a program.
func title(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	lower := strings.ToLower(s)
	switch {
	case !utf8.ValidString(s), len(s) < 3, len(s) > 500, strings.HasPrefix(lower, "untitled"), lower == "(anonymous)", strings.HasPrefix(lower, "microsoft word -"),
		strings.HasPrefix(lower, "microsoft powerpoint -"), strings.HasSuffix(lower, ".doc"), strings.HasSuffix(lower, ".docx"),
		strings.HasSuffix(lower, ".dvi"), strings.HasSuffix(lower, ".tex"), strings.HasSuffix(lower, ".pdf"), strings.HasSuffix(lower, ".indd"):
		return ""
	}
	return s
}

// text returns the text of the pages with their blocks.
func (d *document) text() (extract.PDFText, error) {
	t := extract.PDFText{Title: d.title}
	if d.err != "" {
		return t, fmt.Errorf("PDF: %s", d.err)
	}
	var b strings.Builder
	states := map[pageState][]int{}
	read := 0
	for n, p := range d.pages {
		if int64(b.Len()+len(p.text)) > d.max {
			d.stopped = fmt.Sprintf("more than the limit of %d bytes of text", d.max)
			break
		}
		if p.state != pageUnread {
			read++
			states[p.state] = append(states[p.state], n+1)
		}
		if p.text != "" {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(strings.ReplaceAll(p.text, string(unknownChar), string(unicode.ReplacementChar))) // of the same length
		}
	}
	t.Text, t.Blocks = b.String(), d.blocks(b.String())
	var why []string
	warn := func(state pageState, format string) {
		if pages := states[state]; len(pages) > 0 {
			why = append(why, fmt.Sprintf(format, pageList(pages, len(d.pages))))
		}
	}
	if d.stopped != "" {
		why = append(why, fmt.Sprintf("%s; %d of %d pages are read", d.stopped, read, len(d.pages)))
	}
	if d.torn {
		why = append(why, "its end is missing; what is there is read")
	}
	warn(pageScan, "no text layer on %s: a scan; "+content.InstallOCR)
	if strings.TrimSpace(t.Text) == "" {
		warn(pageBlank, "no text layer on %s: a scan in which OCR has found no text")
	}
	if len(states[pageBad]) == 1 {
		warn(pageBad, "%s is empty or damaged")
	} else {
		warn(pageBad, "%s are empty or damaged")
	}
	warn(pageStrange, "fonts on %s do not say which characters some of their glyphs are; \uFFFD stands for them")
	warn(pageDoubtful, "fonts on %s do not say which characters most of their glyphs are; the text may be wrong")
	warning := strings.Join(why, "; ")
	if strings.TrimSpace(t.Text) == "" {
		return t, fmt.Errorf("PDF: %s", warning)
	}
	if warning != "" {
		t.Warning = "PDF: " + warning
	}
	return t, nil
}

// pageList formats page numbers, as in "pages 1, 3 and 5-7 of 9".
func pageList(pages []int, of int) string {
	if len(pages) == of {
		return map[bool]string{true: "the only page", false: fmt.Sprintf("all %d pages", of)}[of == 1]
	}
	var runs []string
	for k := 0; k < len(pages); {
		end := k
		for end+1 < len(pages) && pages[end+1] == pages[end]+1 {
			end++
		}
		if len(runs) == maxRuns {
			runs = append(runs, "…")
			break
		}
		if end == k {
			runs = append(runs, fmt.Sprint(pages[k]))
		} else {
			runs = append(runs, fmt.Sprintf("%d-%d", pages[k], pages[end]))
		}
		k = end + 1
	}
	noun := "pages"
	if len(pages) == 1 {
		noun = "page"
	}
	return fmt.Sprintf("%s %s of %d", noun, strings.Join(runs, ", "), of)
}

// maxRuns bounds the length of a warning.
const maxRuns = 20
