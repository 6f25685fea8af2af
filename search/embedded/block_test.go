package embedded

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"searchd/index/keyword"
	"searchd/search/backend"
)

// TestBlock adds documents until the block is full, by number and by bytes.
func TestBlock(t *testing.T) {
	for _, tc := range []struct{ bytes, most, want int }{{0, 7, 7}, {100, 1000, 1000}, {blockBytes / 4, 1000, 4}, {blockBytes, 1000, 1}, {3 * blockBytes, 1000, 1}} {
		var b block
		for n := 1; ; n++ {
			if b.add(keyword.Entry{No: uint32(n)}, tc.bytes, tc.most) {
				if n != tc.want || len(b.entries) != n {
					t.Errorf("a block of documents of %d bytes has %d, want %d", tc.bytes, n, tc.want)
				}
				break
			}
		}
	}
}

// TestRefillLargeDocuments loses the keyword index of documents that come in several blocks: all are found again, however it is filled.
func TestRefillLargeDocuments(t *testing.T) {
	for from, told := range map[int]string{1: "in the background", 1000: "is made anew"} {
		l := &library{dir: t.TempDir()}
		b, err := Open(l.dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}); err != nil {
			t.Fatal(err)
		}
		const documents = 7
		for i := range documents {
			fields := fmt.Sprintf(`{"text":"word%d river %s"}`, i, strings.Repeat(" ", blockBytes/2))
			if _, err := b.Apply(t.Context(), "docs", []backend.Write{{ID: fmt.Sprint(i), Fields: json.RawMessage(fields)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		l.lose(t, wordsFolder)
		var n notices
		if b, err = Open(l.dir, Options{RebuildFrom: from, Notice: n.tell}); err != nil {
			t.Fatal(err)
		}
		b.mu.byName["docs"].rebuild.wait.Wait()
		n.has(t, told)
		for i, word := range []string{"word0", "word3", "word6", "river"} {
			found, err := b.Words(t.Context(), "docs", backend.Words{Text: word}, 10, nil)
			if want := map[bool]int{false: 1, true: documents}[i == 3]; err != nil || found.Total != want {
				t.Errorf("%s is found in %d documents, %v, want %d", word, found.Total, err, want)
			}
		}
		sound(t, b)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
