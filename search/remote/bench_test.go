package remote

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/search/backend"
)

// canned answers at once, so that what is measured is the way there and back.
type canned struct {
	Node
	words   backend.WordMatches
	nearest []backend.PassageMatch
	dim     int
}

func (c *canned) Words(context.Context, string, backend.Words, int, backend.Selection) (backend.WordMatches, error) {
	return c.words, nil
}

func (c *canned) Nearest(context.Context, string, []float32, int, backend.Selection) ([]backend.PassageMatch, error) {
	return c.nearest, nil
}

func (c *canned) Collection(context.Context, string) (backend.Collection, error) {
	return backend.Collection{Config: backend.Config{Dimension: c.dim}}, nil
}

func (c *canned) Selected(context.Context, string, *roaring.Bitmap, bool, bool) (backend.Selection, error) {
	return nil, nil
}

func newCanned(b *testing.B) (*canned, *Shard) {
	r := rand.New(rand.NewPCG(1, 2))
	c := &canned{Node: openNode(b), dim: 384}
	for i := range 150 {
		c.words.Matches = append(c.words.Matches, backend.Match{Ref: backend.Ref(r.Uint32()), Score: float64(i) / 7})
	}
	for i := range 225 {
		c.nearest = append(c.nearest, backend.PassageMatch{Ref: backend.Ref(r.Uint32()), Ordinal: i % 5, Cosine: r.Float64()})
	}
	return c, dial(b, c)
}

// BenchmarkRoundTrip measures calls over the loopback of a shard that answers at once.
func BenchmarkRoundTrip(b *testing.B) {
	c, s := newCanned(b)
	q := make([]float32, c.dim)
	for i := range q {
		q[i] = rand.Float32()
	}
	docs := roaring.New()
	for range 100_000 {
		docs.Add(rand.Uint32N(1_000_000))
	}
	large := newSelection(docs, func() ([]byte, error) { return encodeBitmap(docs) })
	for _, bench := range []struct {
		name string
		call func() error
	}{
		{"none", func() error { _, err := s.Collection(b.Context(), "docs"); return err }},
		{"words/k=150", func() error {
			_, err := s.Words(b.Context(), "docs", backend.Words{Text: "some words of a query"}, 150, nil)
			return err
		}},
		{"nearest/k=225", func() error { _, err := s.Nearest(b.Context(), "docs", q, 225, nil); return err }},
		{"words/set=100000", func() error {
			_, err := s.Words(b.Context(), "docs", backend.Words{Text: "some words of a query"}, 150, large)
			return err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
