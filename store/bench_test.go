package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
)

// benchDim is the dimension of a small sentence encoder's vectors.
const benchDim = 384

// filled returns a store with n documents of 3 passages and about 2 KB of fields, written in
// batches of 256.
func filled(b *testing.B, o Options, n int) (*Store, uint32) {
	b.Helper()
	s, err := Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	col, err := s.CreateCollection(context.Background(), "docs", []byte(`{}`), 0)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < n; i += 256 {
		mustApply(b, s, col.ID, benchBatch(i, min(256, n-i))...)
	}
	return s, col.ID
}

func benchBatch(first, n int) []Write {
	ws := make([]Write, n)
	for i := range ws {
		ws[i] = write(fmt.Sprintf("folder/%d/document %d.md", (first+i)%97, first+i), first+i, 3, benchDim)
		ws[i].Fields = fmt.Appendf(nil, `{"body":"%02000d"}`, first+i)
	}
	return ws
}

var benchPages = []int{4096, 8192, 16384, 32768}

// BenchmarkApply writes new documents in batches of 256; file/raw is the size of the file against
// that of the vectors and fields in it.
func BenchmarkApply(b *testing.B) {
	for _, page := range benchPages {
		b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
			s, col := filled(b, Options{PageSize: page}, 0)
			ws := benchBatch(0, 256)
			n := 0
			for b.Loop() {
				for i := range ws {
					ws[i].ID = fmt.Sprintf("folder/%d/document %d.md", n%97, n)
					n++
				}
				mustApply(b, s, col, ws...)
			}
			raw := float64(n) * (3*benchDim*4 + 2000)
			fi, err := os.Stat(s.path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(fi.Size())/raw, "file/raw")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkUpdate replaces 100 random documents of 5,000 in one transaction.
func BenchmarkUpdate(b *testing.B) {
	for _, page := range benchPages {
		b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
			s, col := filled(b, Options{PageSize: page}, 5000)
			rng := rand.New(rand.NewPCG(1, 2))
			rev := 10_000
			for b.Loop() {
				var ws []Write
				for range 100 {
					w := benchBatch(rng.IntN(5000), 1)[0]
					rev++
					copy(w.Hash[:], fmt.Sprint(rev))
					ws = append(ws, w)
				}
				mustApply(b, s, col, ws...)
			}
			fi, err := os.Stat(s.path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(fi.Size())/(5000*(3*benchDim*4+2000)), "file/raw")
			b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkSingleWrites writes one document per call, from one goroutine and from many that share
// commits.
func BenchmarkSingleWrites(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, col := filled(b, Options{}, 0)
			var n atomic.Int64
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					mustApply(b, s, col, write(fmt.Sprint("doc ", n.Add(1)), 1, 1, benchDim))
				}
			})
			b.ReportMetric(float64(n.Load())/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// BenchmarkRead reads a warm store of 5,000 documents and 15,000 vectors.
func BenchmarkRead(b *testing.B) {
	for _, page := range []int{4096, 16384} {
		s, col := filled(b, Options{PageSize: page}, 5000)
		ctx := context.Background()
		name := func(what string) string { return fmt.Sprintf("%s/page=%d", what, page) }
		b.Run(name("vectors"), func(b *testing.B) {
			b.SetBytes(15_000 * benchDim * 4)
			for b.Loop() {
				if err := s.Vectors(ctx, col, 0, func(uint32, []float32) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name("document"), func(b *testing.B) {
			b.ReportAllocs()
			rng := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				err := s.View(ctx, col, func(tx *Tx) error { _, err := tx.DocumentByNo(1 + rng.Uint32N(5000)); return err })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name("check"), func(b *testing.B) {
			for b.Loop() {
				if ps, err := s.Check(ctx, true); err != nil || len(ps) > 0 {
					b.Fatal(ps, err)
				}
			}
		})
		fi, err := os.Stat(s.path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name("verify"), func(b *testing.B) {
			b.SetBytes(fi.Size())
			for b.Loop() {
				if err := s.verifyFile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
