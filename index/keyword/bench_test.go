package keyword

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
)

// benchIndex has docs documents of 100 words by Zipf's law, a title of 8, and a number and a
// language to filter by.
func benchIndex(b *testing.B, docs int) *Index {
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.1, 3, 50_000)
	text := func(n int) string {
		var t []byte
		for range n {
			t = fmt.Appendf(t, "w%dx ", zipf.Uint64())
		}
		return string(t)
	}
	x := openTemp(b, Options{})
	entries := make([]Entry, docs)
	for i := range entries {
		entries[i] = Entry{
			No:     uint32(i),
			Text:   []Field{{"title", text(8)}, {"body", text(100)}},
			Values: map[string]any{"n": float64(i), "lang": []string{"en", "de", "fr"}[i%3], "name": fmt.Sprintf("name %d", i*7919%docs)},
		}
	}
	apply(b, x, 1, entries...)
	if err := x.Sync(context.Background()); err != nil {
		b.Fatal(err)
	}
	return x
}

func BenchmarkSearch(b *testing.B) {
	for _, docs := range []int{5_000, 50_000} {
		x := benchIndex(b, docs)
		allow := roaring.New()
		for i := range uint32(docs / 10) {
			allow.Add(i * 10)
		}
		for _, words := range []string{"w300x w2000x w40x", "w0x w1x w2x w5x w10x w30x w100x w500x w1000x w5000x"} {
			for _, a := range []*roaring.Bitmap{nil, allow} {
				terms := len(x.Analyze(words))
				b.Run(fmt.Sprintf("docs=%d/terms=%d/filtered=%v", docs, terms, a != nil), func(b *testing.B) {
					b.ReportAllocs()
					total := 0
					for b.Loop() {
						var err error
						if _, total, err = x.Search(context.Background(), Query{Text: words}, 100, a); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(total), "matches")
				})
			}
		}
	}
}

func BenchmarkScore(b *testing.B) {
	x := benchIndex(b, 5_000)
	nos := make([]uint32, 100)
	for i := range nos {
		nos[i] = uint32(i * 49)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Score(context.Background(), Query{Text: "w300x w2000x w40x"}, nos); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	x := benchIndex(b, 50_000)
	for _, text := range []string{"lang = 'en'", "n >= 1000 AND n < 49000", "NOT lang IN ['en', 'de'] AND n > 25000"} {
		e, err := filter.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Filter(context.Background(), e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOrder sorts by a number and by a string that all documents have another of.
func BenchmarkOrder(b *testing.B) {
	x := benchIndex(b, 50_000)
	all, some := roaring.New(), roaring.New()
	all.AddRange(0, 50_000)
	for i := range uint32(200) {
		some.Add(i * 249)
	}
	for _, field := range []string{"lang", "n", "name"} {
		for _, docs := range []*roaring.Bitmap{all, some} {
			for _, desc := range []bool{false, true} {
				b.Run(fmt.Sprintf("by=%s/docs=%d/desc=%t", field, docs.GetCardinality(), desc), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := x.Order(context.Background(), []SortKey{{Field: field, Desc: desc}}, docs, 10, Scorer{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkFacets counts values of which all documents have three, or each has another, and ranges.
func BenchmarkFacets(b *testing.B) {
	x := benchIndex(b, 50_000)
	from, to := filter.Value{Kind: filter.Number, Num: 1000}, filter.Value{Kind: filter.Number, Num: 20_000}
	some := roaring.New()
	for i := range uint32(200) {
		some.Add(i * 249)
	}
	for name, f := range map[string]Facet{"lang": {Field: "lang", Limit: 10}, "name": {Field: "name", Limit: 10}, "ranges": {Field: "n", Ranges: []Range{{nil, &from}, {&from, &to}, {&to, nil}}}} {
		for _, docs := range []*roaring.Bitmap{nil, some} {
			b.Run(fmt.Sprintf("%s/all=%t", name, docs == nil), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := x.Facets(context.Background(), []Facet{f}, docs); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			x := benchIndex(b, 1)
			r := rand.New(rand.NewPCG(2, 2))
			entries := make([]Entry, n)
			for i := range entries {
				entries[i] = Entry{Text: []Field{{"body", randomText(r, 100)}}}
			}
			seq := uint64(1)
			no := uint32(1)
			for b.Loop() {
				for i := range entries {
					no++
					entries[i].No = no
				}
				seq++
				apply(b, x, seq, entries...)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}
