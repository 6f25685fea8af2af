package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"example.com/searchd/search"
)

// styles are escape sequences and the width of a terminal; the zero value has none.
type styles struct {
	title, mark, dim, plain string
	width                   int // 0: texts are not wrapped
}

// stylesFor returns the styles for w: none unless it is a terminal that wants colors.
func stylesFor(w io.Writer) styles {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return styles{}
	}
	var st styles
	if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		st = styles{title: "\x1b[1;36m", mark: "\x1b[1;33m", dim: "\x1b[2m", plain: "\x1b[0m"}
	}
	st.width, _, _ = term.GetSize(int(f.Fd())) // 0 if it is unknown
	return st
}

const indent = "    "

// text writes a text below a hit, wrapped to the width.
func (st styles) text(w io.Writer, text string) {
	lines, width := []string{""}, 0
	for _, word := range strings.Fields(text) {
		n := visible(word)
		if width > 0 && st.width > 0 && len(indent)+width+1+n > min(st.width, maxWidth) {
			lines, width = append(lines, ""), 0
		}
		if last := &lines[len(lines)-1]; width > 0 {
			*last += " " + word
			width += 1 + n
		} else {
			*last, width = word, n
		}
	}
	fmt.Fprintf(w, "%s%s\n", indent, strings.Join(lines, "\n"+indent))
}

const maxWidth = 110 // of wrapped lines

// visible returns how many characters of a word a terminal shows.
func visible(word string) int {
	return utf8.RuneCountInString(escapeSequence.ReplaceAllString(word, ""))
}

var escapeSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

var markTag = regexp.MustCompile(`</?mark>`)

// printHits writes an answer for a person.
func printHits(w io.Writer, r *search.Response, st styles) {
	var notes []string
	if r.Degraded {
		notes = append(notes, r.Reason)
	}
	if r.Query != nil {
		for _, x := range r.Query.Respelled {
			notes = append(notes, fmt.Sprintf("no document has %q: read as %q", x.Word, x.As))
		}
	}
	for _, note := range append(notes, r.Warnings...) {
		fmt.Fprintf(w, "%s(%s)%s\n\n", st.dim, oneLine(note), st.plain)
	}
	for i, h := range r.Hits {
		score := fmt.Sprintf("%.3f", h.Score)
		if r.Total.Of == "all" { // without a query every score is 0
			score = ""
		}
		printHit(w, i+1, h, score, st)
	}
	if len(r.Hits) == 0 && r.Total.Value == 0 {
		fmt.Fprintf(w, "%s, %.1f ms\n", countHits(r), r.TookMS)
		printLessRelevant(w, r.LessRelevant, st)
		return
	}
	printLessRelevant(w, r.LessRelevant, st)
	for _, name := range slices.Sorted(maps.Keys(r.Facets)) {
		printFacet(w, name, r.Facets[name])
	}
	if len(r.Hits)+len(r.LessRelevant)+len(r.Facets) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s%s, %.1f ms%s\n", st.dim, countHits(r), r.TookMS, st.plain)
}

// printLessRelevant writes the titles of hits below the cutoff.
func printLessRelevant(w io.Writer, hits []search.Hit, st styles) {
	if len(hits) == 0 {
		return
	}
	fmt.Fprintf(w, "%sLess relevant (--cutoff none lists them as results):%s\n", st.dim, st.plain)
	for _, h := range hits {
		title := heading(h)
		if id := oneLine(h.ID); id != title {
			title += "  " + id
		}
		fmt.Fprintf(w, "%s    %s  %.3f%s\n", st.dim, title, h.Score, st.plain)
	}
}

// countHits returns how many results there are and how many of them are shown, in the words of the
// page.
func countHits(r *search.Response) string {
	n, total := len(r.Hits), r.Total.Value
	text := ""
	switch {
	case total == 0 && n == 0 && r.Total.Of != "all":
		return "no results; try other words, or fewer filters"
	case total == 0 && n == 0:
		return "no results"
	case r.Total.Of == "vector" && r.Total.Relation == "gte": // every document is near or far
		if n == total {
			return "closest " + thousands(n)
		}
		text = "the closest " + thousands(total)
	case r.Total.Relation == "gte":
		text = fmt.Sprintf("at least %s results", thousands(twoDigits(total)))
	case total == 1:
		text = "1 result"
	default:
		text = thousands(total) + " results"
	}
	if n < total {
		text = fmt.Sprintf("%d of %s", n, text)
	}
	return text
}

// twoDigits rounds a count down to two significant digits.
func twoDigits(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}

// thousands writes a number with commas between groups of three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func printHit(w io.Writer, n int, h search.Hit, score string, st styles) {
	title := heading(h)
	fmt.Fprintf(w, "%s%2d  %s%s", st.title, n, title, st.plain)
	if h.Loose {
		score += " (the phrase in other forms of its words)"
	}
	if score != "" {
		fmt.Fprintf(w, "  %s%s%s", st.dim, score, st.plain)
	}
	if d := h.Distance; d != nil && *d < 1000 {
		fmt.Fprintf(w, "  %s%.0f m away%s", st.dim, *d, st.plain)
	} else if d != nil {
		fmt.Fprintf(w, "  %s%.1f km away%s", st.dim, *d/1000, st.plain)
	}
	fmt.Fprintln(w)
	if id := oneLine(h.ID); id != title {
		fmt.Fprintf(w, "    %s%s%s\n", st.dim, id, st.plain)
	}
	for _, p := range h.Passages {
		if where := location(p, title); where != "" {
			fmt.Fprintf(w, "    %s%s%s\n", st.dim, where, st.plain)
		}
		if p.Header != "" {
			st.text(w, st.dim+oneLine(p.Header)+st.plain)
		}
		text := shorten(printable(p.Text))
		if p.Marked != "" {
			text = marks(shorten(p.Marked), st)
		}
		st.text(w, text)
		if s := p.Sentence; s != nil && p.Start <= s.Start && s.Start <= s.End && s.End-p.Start <= len(p.Text) { // the server is not trusted
			st.text(w, "> "+oneLine(p.Text[s.Start-p.Start:s.End-p.Start]))
		}
	}
	printFields(w, h, st)
	if len(h.Passages)+len(h.Highlights) == 0 && len(h.Document) > len("{}") {
		text := printable(string(h.Document[:min(len(h.Document), shownFields)]))
		if len(h.Document) > shownFields {
			text = strings.ToValidUTF8(text, "") + " …"
		}
		st.text(w, text)
	}
	if h.Explain != nil {
		printExplain(w, h.Explain)
	}
}

// location returns the headings above a passage, without the title of the document, and its page.
func location(p search.PassageHit, title string) string {
	var parts []string
	for _, heading := range p.Trail {
		if heading = oneLine(heading); heading != "" && heading != title {
			parts = append(parts, heading)
		}
	}
	where := strings.Join(parts, " › ")
	if p.Page > 0 {
		where = strings.TrimPrefix(where+fmt.Sprintf(", page %d", p.Page), ", ")
	}
	return where
}

// printFields writes matches in fields of which no passage is shown, such as tags.
func printFields(w io.Writer, h search.Hit, st styles) {
	for _, name := range slices.Sorted(maps.Keys(h.Highlights)) {
		shown := func(p search.PassageHit) bool { return p.Field == name }
		snippets := h.Highlights[name]
		if len(snippets) == 0 || slices.ContainsFunc(h.Passages, shown) || slices.Contains([]string{h.ID, path.Base(h.ID), heading(h)}, marks(snippets[0], styles{})) {
			continue
		}
		st.text(w, oneLine(name)+": "+marks(shorten(snippets[0]), st))
	}
}

// marks returns a marked text, or a part of one that may end within a mark, for the terminal.
func marks(marked string, st styles) string {
	return unescape.Replace(markTag.ReplaceAllStringFunc(printable(marked), func(tag string) string {
		if tag == "<mark>" {
			return st.mark
		}
		return st.plain
	})) + st.plain
}

// printable leaves out what a terminal would take for commands.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// oneLine is printable on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// printFacet writes the values of a field with their counts.
func printFacet(w io.Writer, name string, f search.FacetCounts) {
	fmt.Fprintf(w, "\n%s:", oneLine(name))
	if len(f.Values) == 0 {
		fmt.Fprint(w, "  no values")
	}
	for _, v := range f.Values {
		text, isText := v.Value.(string)
		if !isText {
			b, _ := json.Marshal(v.Value) // 1500000, where fmt has 1.5e+06
			text = string(b)
		}
		fmt.Fprintf(w, "  %s (%d)", oneLine(text), v.Count)
	}
	if more := f.Distinct - len(f.Values); more > 0 {
		fmt.Fprintf(w, "  and %d more", more)
	}
	fmt.Fprintf(w, "; %d without\n", f.Missing)
}

// shownWords is how many words of a passage are shown, from a little before its first mark.
const shownWords = 50

// shownFields is how many bytes are shown of the fields of a hit without passages and marks.
const shownFields = 200

// shorten returns the words of a text around the first place with the most of the marked words.
func shorten(marked string) string {
	words := strings.Fields(marked)
	from := 0
	if i, ok := densest(words, shownWords); ok {
		from = max(0, min(i-shownWords/4, len(words)-shownWords))
	}
	to := min(from+shownWords, len(words))
	out := strings.Join(words[from:to], " ")
	if from > 0 {
		out = "… " + out
	}
	if to < len(words) {
		out += " …"
	}
	return out
}

// densest returns the first marked word that begins a place of up to n words with the most
// different marks.
func densest(words []string, n int) (at int, ok bool) {
	most := 0
	for i, w := range words {
		if !strings.Contains(w, "<mark>") {
			continue
		}
		different := map[string]bool{}
		for _, w := range words[i:min(i+n*3/4, len(words))] {
			if _, mark, found := strings.Cut(w, "<mark>"); found {
				mark, _, _ = strings.Cut(mark, "</mark>")
				different[strings.ToLower(mark)] = true
			}
		}
		if len(different) > most {
			at, most = i, len(different)
		}
	}
	return at, most > 0
}

// unescape undoes html.EscapeString for the terminal.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")

func printExplain(w io.Writer, e *search.Explain) {
	if v := e.Vector; v != nil {
		fmt.Fprintf(w, "    vector: cosine %.3f", v.Cosine)
		for _, part := range []struct {
			name  string
			value *float64
		}{{"match", v.Match}, {"similarity", v.Similarity}} {
			if part.value != nil {
				fmt.Fprintf(w, ", %s %.3f", part.name, *part.value)
			}
		}
		fmt.Fprintf(w, ", normed %.3f, rank %d\n", v.Norm, v.Rank)
	}
	if k := e.Keyword; k != nil {
		fmt.Fprintf(w, "    keyword: BM25 %.3f, normed %.3f, rank %d", k.Score, k.Norm, k.Rank)
		for _, t := range k.Terms {
			term := t.Term
			if t.For != "" {
				term += " (for " + t.For + ")"
			}
			fmt.Fprintf(w, "  %s %.2f", oneLine(term), t.Score)
		}
		fmt.Fprintln(w)
	}
	if b := e.Boost; b != nil {
		fmt.Fprintf(w, "    boost: relevance %.3f, factor %.3f, rank %d", b.Relevance, b.Factor, b.RankBefore)
		for _, v := range b.Values {
			fmt.Fprintf(w, "  %s %.2f of %g", oneLine(v.Of), v.Value, v.Weight)
		}
		fmt.Fprintln(w)
	}
}
