package keyword

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"example.com/searchd/index/keyword/analysis"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRankingGolden writes for each query of testdata/queries.txt what it finds in
// testdata/notes.txt and why, so that a change of the ranking can be read in a diff. A query that
// begins with "and +" asks for all terms.
func TestRankingGolden(t *testing.T) {
	x := openTemp(t, Options{})
	titles := map[uint32]string{}
	var entries []Entry
	for _, line := range readLines(t, "testdata/notes.txt") {
		parts := strings.SplitN(line, " | ", 3)
		no, err := strconv.Atoi(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		titles[uint32(no)] = parts[1]
		entries = append(entries, Entry{No: uint32(no), Text: []Field{{"title", parts[1]}, {"body", parts[2]}}})
	}
	apply(t, x, 1, entries...)
	var b strings.Builder
	for _, line := range readLines(t, "testdata/queries.txt") {
		text, all := strings.CutPrefix(line, "and + ")
		q := Query{Text: text, Fields: []FieldWeight{{"title", 2}, {"body", 1}}}
		if all {
			q.Operator = And
		}
		writeRanking(t, &b, x, q, titles)
	}
	const path = "testdata/ranking.golden"
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("ranking mismatch, rewrite with -update if it is meant (-want +got)\n-%s\n+%s", want, got)
	}
}

func writeRanking(t *testing.T, b *strings.Builder, x *Index, q Query, titles map[uint32]string) {
	ctx := context.Background()
	hits, total, err := x.Search(ctx, q, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	asked, _ := x.queryTerms(q, nil)
	for _, term := range asked {
		terms = append(terms, strings.TrimPrefix(string(term.text), analysis.StopPrefix))
	}
	fmt.Fprintf(b, "%s\n    %d of %v: %d\n", q.Text, q.Operator, terms, total)
	for i, h := range hits {
		fmt.Fprintf(b, "    %d. %6.3f %s:", i+1, h.Score, titles[h.No])
		explained, err := x.Explain(ctx, q, []uint32{h.No})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range explained[0] {
			fmt.Fprintf(b, " %s.%s %.3f (tf %d, df %d)", s.Field, s.Term, s.Score, s.TF, s.DF)
		}
		b.WriteByte('\n')
	}
}

func readLines(t *testing.T, path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
