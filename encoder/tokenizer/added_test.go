package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestStrippedBlanks: the cases follow find_matches of Hugging Face's added_vocabulary.rs.
func TestStrippedBlanks(t *testing.T) {
	const file = `{"model":{"type":"BPE","byte_fallback":true,"vocab":{"<0x20>":0,"<0x78>":1},"merges":[]},"added_tokens":[
		{"id":2,"content":"<l>","lstrip":true,"normalized":%[1]t},{"id":3,"content":"<r>","rstrip":true,"normalized":%[1]t},
		{"id":4,"content":"<b>","lstrip":true,"rstrip":true,"normalized":%[1]t},{"id":5,"content":"\t\t","normalized":%[1]t},
		{"id":6,"content":"\n\n","rstrip":true,"normalized":%[1]t},{"id":7,"content":"\r\r","lstrip":true,"normalized":%[1]t}]}`
	const l, r, b, tabs, lines, returns = 2, 3, 4, 5, 6, 7
	for _, c := range []struct {
		text  string
		ids   []int32
		spans []Span
	}{
		{"x <l>  x", []int32{1, l, 0, 0, 1}, []Span{{0, 1}, {1, 5}, {5, 6}, {6, 7}, {7, 8}}},
		{"x <r>  x", []int32{1, 0, r, 1}, []Span{{0, 1}, {1, 2}, {2, 7}, {7, 8}}},
		{"<r>  <l>", []int32{r, l}, []Span{{0, 5}, {5, 8}}},
		{"<l>  <r>", []int32{l, 0, 0, r}, []Span{{0, 3}, {3, 4}, {4, 5}, {5, 8}}},
		{"<b> <b> x", []int32{b, b, 1}, []Span{{0, 4}, {4, 8}, {8, 9}}},
		{"<r> <r> <r>", []int32{r, r, r}, []Span{{0, 4}, {4, 8}, {8, 11}}},
		{"<r> \t\t x", []int32{r, tabs, 0, 1}, []Span{{0, 7}, {4, 6}, {6, 7}, {7, 8}}},
		{"<r> \t\t <l>", []int32{r, tabs, l}, []Span{{0, 7}, {4, 6}, {6, 10}}},
		{"<r> \n\n x", []int32{r, lines, 1}, []Span{{0, 7}, {4, 7}, {7, 8}}},
		{"<r> \r\r x", []int32{r, returns, 0, 1}, []Span{{0, 7}, {7, 7}, {6, 7}, {7, 8}}},
	} {
		for _, normalized := range []bool{false, true} {
			tok, err := New(fmt.Appendf(nil, file, normalized), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if e := tok.EncodeBare(c.text); !slices.Equal(e.IDs, c.ids) || !slices.Equal(e.Spans, c.spans) {
				t.Errorf("%q, normalized %t: %v at %v, want %v at %v", c.text, normalized, e.IDs, e.Spans, c.ids, c.spans)
			}
		}
	}
	tok, err := New(fmt.Appendf(nil, file, false), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := tok.Count("<r>" + strings.Repeat("\n\n", 1<<20)); n != 1+1<<20 { // each takes all that follows, which is looked at once
		t.Errorf("%d tokens", n)
	}
}
