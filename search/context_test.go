package search_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/passage"
)

// TestPassageContext: a passage of rows comes with the headings above it, the header of the table
// and the page.
func TestPassageContext(t *testing.T) {
	const header = "name | default in milliseconds"
	text := "Waits\n\n" + header + "\n"
	for i := range 40 {
		text += fmt.Sprintf("timeout_%d | %d\n", i, 100*i)
	}
	fields, err := json.Marshal(map[string]string{"title": "Manual", "text": text})
	if err != nil {
		t.Fatal(err)
	}
	table := strings.Index(text, header)
	d := search.Document{ID: "m", Fields: fields, Blocks: map[string][]passage.Block{"text": {
		{Kind: passage.Heading, Level: 2, End: len("Waits"), Page: 3},
		{Kind: passage.Table, Start: table, Head: table + len(header) + 1, End: len(text) - 1, Page: 3},
	}}}
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, d, doc("other", `{"text":"default settings in other places, timeout"}`))
	for _, row := range []string{"timeout_0 |", "timeout_1 |", "timeout_20 |", "timeout_39 |"} {
		q := strings.TrimSuffix(row, " |")
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: "keyword"})
		if err != nil || len(r.Hits) == 0 || len(r.Hits[0].Passages) != 1 {
			t.Fatalf("%s: %+v, %v", q, r, err)
		}
		p := r.Hits[0].Passages[0]
		above, trail := header, []string{"Manual", "Waits"}
		if strings.Contains(p.Text, header) { // nothing is shown twice
			above, trail = "", trail[:1]
		}
		if !strings.Contains(p.Text+"\n", row) || p.Header != above || p.Page != 3 || !slices.Equal(p.Trail, trail) {
			t.Errorf("%s: %+v", q, p)
		}
	}
}
