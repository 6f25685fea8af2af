package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/backend/backendtest"
	"example.com/searchd/search/embedded"
)

// TestSameAsOne compares a cluster of eight partitions with one backend of all documents: words are
// found with the same scores to the last bit, facets count the same, orders and the nearest
// passages are the same.
func TestSameAsOne(t *testing.T) {
	t.Parallel()
	documents := 1500
	if testing.Short() {
		documents = 200
	}
	ctx := t.Context()
	one, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	many, err := Open(ctx, t.TempDir(), Options{Cluster: "test", Partitions: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("word%d", int(math.Exp(r.Float64()*6))) } // few are frequent
	ids := map[backend.Storage]map[backend.Ref]string{one: {}, many: {}}
	var writes []backend.Write
	for i := range documents {
		var words []string
		for range 5 + r.IntN(40) {
			words = append(words, word())
		}
		fields, _ := json.Marshal(map[string]any{"text": strings.Join(words, " "), "title": word() + " " + word(), "year": r.IntN(50), "price": r.Float64() * 9, "tag": word()})
		w := backend.Write{ID: fmt.Sprint("d", i), Fields: fields, Passages: []backend.Passage{{Field: "text", Start: 0, End: 4}}}
		sin, cos := math.Sincos(r.Float64() * 7)
		w.Vectors = [][]float32{{float32(sin), float32(cos)}}
		writes = append(writes, w)
	}
	for _, b := range []backend.Backend{one, many} {
		calls := backendtest.Calls{Backend: b}
		if err := calls.Create(ctx, "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
			t.Fatal(err)
		}
		for part := range slices.Chunk(writes, 250) {
			if _, err := calls.Apply(ctx, "docs", part); err != nil {
				t.Fatal(err)
			}
		}
		for cursor, more := "", true; more; more = cursor != "" {
			page, err := b.List(ctx, backend.ListRequest{Collection: "docs", Cursor: cursor, Limit: 1000, NoFields: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page.Documents {
				ids[b][d.Ref] = d.ID
			}
			cursor = page.Next
		}
	}
	scores := func(b backend.Backend, q backend.Words) (map[string]float64, int, float64) {
		found, err := b.RetrieveWords(ctx, backend.WordsRequest{Collection: "docs", Words: q, Limit: documents})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, m := range found.Matches {
			out[ids[b][m.Ref]] = m.Score
		}
		return out, found.Total, found.Ceiling
	}
	for k := range 60 {
		q := backend.Words{Text: word() + " " + word() + " " + word(), And: k%5 == 0}
		want, total, ceiling := scores(one, q)
		got, n, c := scores(many, q)
		if !reflect.DeepEqual(got, want) || n != total || c != ceiling {
			t.Errorf("%q finds %d documents with other scores than the %d of one backend, or another ceiling: %v, %v", q.Text, n, total, c, ceiling)
		}
	}
	for _, key := range []backend.SortKey{{Field: "year"}, {Field: "price", Desc: true}, {Field: "tag"}, {Field: "tag", Desc: true}} {
		keys := []backend.SortKey{key, {Field: "price"}} // no two have the same price
		facets := []backend.Facet{{Field: "tag", Limit: 20}, {Field: "year", Limit: 5}}
		var orders [2][]string
		var counts [2][]backend.FacetCounts
		for i, b := range []backend.Backend{one, many} {
			out, err := b.Aggregate(ctx, backend.AggregateRequest{Collection: "docs", Facets: facets, Order: &backend.Order{Keys: keys, Limit: 300}})
			if err != nil {
				t.Fatal(err)
			}
			counts[i] = out.Facets
			for _, ref := range out.Order {
				orders[i] = append(orders[i], ids[b][ref])
			}
		}
		if !slices.Equal(orders[0], orders[1]) || !reflect.DeepEqual(counts[0], counts[1]) {
			t.Errorf("by %+v: %.5q and %+v, want %.5q and %+v", key, orders[1], counts[1], orders[0], counts[0])
		}
	}
	for range 10 {
		sin, cos := math.Sincos(r.Float64() * 7)
		var nearest [2][]string
		var spreads [2]backend.Spread
		for i, b := range []backend.Backend{one, many} {
			out, err := b.RetrieveVectors(ctx, backend.VectorsRequest{Collection: "docs", Vector: []float32{float32(sin), float32(cos)}, Limit: 5})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range out.Matches {
				nearest[i] = append(nearest[i], ids[b][m.Ref])
			}
			spreads[i] = out.Spread
		}
		if !slices.Equal(nearest[0], nearest[1]) || math.Abs(spreads[0].Mean-spreads[1].Mean) > 0.1 || math.Abs(spreads[0].Deviation-spreads[1].Deviation) > 0.1 {
			t.Errorf("the nearest are %q, with a spread of %+v, want %q, about %+v", nearest[1], spreads[1], nearest[0], spreads[0])
		}
	}
}

// TestLostCatalogue opens a node whose log folder was replaced by that of another cluster: it
// refuses, and keeps what it has.
func TestLostCatalogue(t *testing.T) {
	t.Parallel()
	ctx, dir, other := t.Context(), t.TempDir(), t.TempDir()
	open := func(dir string) (*Backend, error) { return Open(ctx, dir, Options{Cluster: "test", Partitions: 2}) }
	for _, d := range []string{dir, other} {
		b, err := open(d)
		if err != nil {
			t.Fatal(err)
		}
		if d == dir {
			calls := backendtest.Calls{Backend: b}
			if err := calls.Create(ctx, "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
				t.Fatal(err)
			}
			if _, err := calls.Apply(ctx, "docs", []backend.Write{testWrite("a", "one"), testWrite("b", "two")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	swap := func() {
		for _, move := range [][2]string{{filepath.Join(dir, "log"), filepath.Join(dir, "kept")}, {filepath.Join(other, "log"), filepath.Join(dir, "log")}, {filepath.Join(dir, "kept"), filepath.Join(other, "log")}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	swap()
	if b, err := open(dir); !errors.Is(err, backend.ErrInvalid) {
		t.Fatalf("Open with the log of another cluster = %v, %v, want ErrInvalid", b, err)
	}
	swap()
	b, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if c, err := (backendtest.Calls{Backend: b}).Collection(ctx, "docs"); err != nil || c.Documents != 2 {
		t.Errorf("with its own log again: %+v, %v", c, err)
	}
}
