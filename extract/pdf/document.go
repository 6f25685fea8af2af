package pdf

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"searchd/extract"
)

// document is the state of reading a file.
type document struct {
	max      int64
	title    string
	b        strings.Builder
	pages    int
	done     int    // pages that were read
	bad      []int  // pages that cannot be read or are empty
	scans    []int  // pages without text that show something
	strange  []int  // pages with some characters of unknown meaning
	doubtful []int  // pages with mostly such
	err      string // why nothing can be read
	stopped  string // why the reading ended early
	full     bool   // max was reached
	torn     bool   // its end is missing
}

// Codes of FPDF_GetLastError.
const (
	errFormat   = 3
	errPassword = 4
	errSecurity = 5
)

// read reads b page by page.
func (d *document) read(ctx context.Context, i *instance, b []byte) {
	i.glyphs = sync.OnceValue(func() map[string]map[rune]string { return glyphNames(b) })
	doc, code := i.load(ctx, b)
	if doc == 0 && code == errFormat { // perhaps it ends before its trailer
		if roots := catalogue.FindAllSubmatch(b, -1); len(roots) > 0 {
			root := roots[len(roots)-1]
			doc, code = i.load(ctx, fmt.Appendf(b[:len(b):len(b)], "\ntrailer\n<< /Root %s %s R >>\nstartxref\n0\n%%%%EOF\n", root[1], root[2]))
			d.torn = doc != 0
		}
	}
	if i.err != nil {
		return
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
		return
	}
	d.pages = int(int32(i.call(ctx, "FPDF_GetPageCount", doc)))
	switch {
	case d.pages < 1:
		d.err = "damaged: it has no pages"
		return
	case d.pages > maxPages:
		d.err = fmt.Sprintf("it has %d pages; the limit is %d", d.pages, maxPages)
		return
	}
	d.title = title(i.meta(ctx, doc, "Title"))
	form := i.form(ctx, doc)
	for n := 1; n <= d.pages && ctx.Err() == nil; n++ {
		text := d.page(ctx, i, doc, form, n)
		if i.err != nil {
			return
		}
		if int64(d.b.Len()+len(text)) > d.max {
			d.full = true
			return
		}
		if d.done = n; text == "" {
			continue
		}
		if d.b.Len() > 0 {
			d.b.WriteString("\n\n")
		}
		d.b.WriteString(text)
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

// page returns the text of page n, from 1.
func (d *document) page(ctx context.Context, i *instance, doc, form uint64, n int) string {
	load := func() uint64 { return i.call(ctx, "FPDF_LoadPage", doc, uint64(n-1)) }
	page := load()
	if page == 0 {
		if i.err == nil {
			d.bad = append(d.bad, n)
		}
		return ""
	}
	fields, notes, shown := i.annotations(ctx, page, form)
	if shown && i.call(ctx, "FPDFPage_Flatten", page, 0) == flattened { // what annotations show is content of the page from now on
		i.quick("FPDF_ClosePage", page)
		if page = load(); page == 0 {
			d.bad = append(d.bad, n)
			return ""
		}
	}
	defer func() { i.quick("FPDF_ClosePage", page) }()
	chars, doubtful := i.chars(ctx, page)
	text := layout(chars, nil)
	if fields = missing(fields, text); len(fields) > 0 {
		text = layout(chars, fields)
	}
	for _, note := range notes {
		text += "\n\n" + note
	}
	text = strings.TrimSpace(text)
	switch {
	case doubtful:
		d.doubtful = append(d.doubtful, n)
	case strings.ContainsRune(text, unknownChar):
		d.strange = append(d.strange, n)
	case text != "" || i.err != nil:
	case i.call(ctx, "FPDFPage_CountObjects", page) == 0:
		d.bad = append(d.bad, n)
	default:
		d.scans = append(d.scans, n)
	}
	return text
}

// flattened is the result of FPDFPage_Flatten for a page that it changed.
const flattened = 1

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
	case !utf8.ValidString(s), len(s) < 3, len(s) > 500, strings.HasPrefix(lower, "untitled"), strings.HasPrefix(lower, "microsoft word -"),
		strings.HasPrefix(lower, "microsoft powerpoint -"), strings.HasSuffix(lower, ".doc"), strings.HasSuffix(lower, ".docx"),
		strings.HasSuffix(lower, ".dvi"), strings.HasSuffix(lower, ".tex"), strings.HasSuffix(lower, ".pdf"), strings.HasSuffix(lower, ".indd"):
		return ""
	}
	return s
}

func (d *document) text() (extract.PDFText, error) {
	t := extract.PDFText{Title: d.title, Text: d.b.String()}
	if d.err != "" {
		return t, fmt.Errorf("PDF: %s", d.err)
	}
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if d.stopped != "" {
		say("%s; %d of %d pages are read", d.stopped, d.done, d.pages)
	}
	if d.full {
		say("more than the limit of %d bytes of text; %d of %d pages are read", d.max, d.done, d.pages)
	}
	if d.torn {
		say("its end is missing; what is there is read")
	}
	if len(d.scans) > 0 {
		say("no text layer on %s: scanned pictures need character recognition (OCR) first", pageList(d.scans, d.pages))
	}
	if len(d.bad) > 0 {
		say("%s empty or damaged", pageList(d.bad, d.pages)+map[bool]string{true: " is", false: " are"}[len(d.bad) == 1])
	}
	if len(d.strange) > 0 {
		say("fonts on %s do not say which characters some of their glyphs are; \uFFFD stands for them", pageList(d.strange, d.pages))
	}
	if len(d.doubtful) > 0 {
		say("fonts on %s do not say which characters most of their glyphs are; the text may be wrong", pageList(d.doubtful, d.pages))
	}
	t.Text = strings.ReplaceAll(t.Text, string(unknownChar), string(unicode.ReplacementChar))
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
