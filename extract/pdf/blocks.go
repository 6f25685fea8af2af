package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"example.com/searchd/extract"
)

const (
	headingSize = 1.15 // of a heading, in sizes of the text
	maxHeading  = 200  // bytes
)

// blocks returns the blocks of the text of all pages, which is s.
func (d *document) blocks(s string) (blocks []extract.Block) {
	rounded := func(p paragraph) float64 { return math.Round(2*p.size) / 2 }
	letters := map[float64]int{} // by font size
	for _, page := range d.pages {
		for _, p := range page.paragraphs {
			letters[rounded(p)] += p.end - p.start
		}
	}
	body := 0.0 // the size of most of the text
	for size, n := range letters {
		if n > letters[body] || n == letters[body] && size < body {
			body = size
		}
	}
	isHeading := func(p paragraph, text string) bool {
		return body > 0 && p.size >= headingSize*body && len(text) <= maxHeading && strings.ContainsFunc(text, unicode.IsLetter) && !strings.Contains(text, "\t")
	}
	var sizes []float64 // of headings, largest first
	each := func(visit func(page int, p paragraph, text string)) {
		at := 0
		for n, page := range d.pages {
			if page.text == "" {
				continue
			}
			if at > 0 {
				at += len("\n\n")
			}
			for _, p := range page.paragraphs {
				p.start, p.end = p.start+at, p.end+at
				if p.end <= len(s) { // else the text was too long
					visit(n+1, p, s[p.start:p.end])
				}
			}
			at += len(page.text)
		}
	}
	each(func(_ int, p paragraph, text string) {
		if size := rounded(p); isHeading(p, text) && !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	})
	slices.SortFunc(sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	each(func(page int, p paragraph, text string) {
		b := extract.Block{Start: p.start, End: p.end, Page: page}
		if isHeading(p, text) {
			b.Kind, b.Level = extract.Heading, min(slices.Index(sizes, rounded(p))+1, 6)
		} else if lines := strings.Count(text, "\n") + 1; lines > 2 && strings.Count(text, "\t") >= lines {
			b.Kind, b.Head = extract.Table, p.start+strings.IndexByte(text, '\n')
		}
		blocks = append(blocks, b)
	})
	return blocks
}
