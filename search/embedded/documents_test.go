package embedded

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/search/backend"
)

// TestFoundWhileReplaced replaces documents, some with other vectors and some with the same, while
// others search: what has the same vector before and after is found at any time, by itself, in a
// selection and by its ref.
func TestFoundWhileReplaced(t *testing.T) {
	documents := 600
	if testing.Short() {
		documents = 150
	}
	for _, tc := range []struct {
		name, quantize string
		rebuild        bool
	}{
		{"vectors in the graph", backend.QuantizeNone, false},
		{"vectors in the store", backend.QuantizeInt8, false},
		{"half built", backend.QuantizeNone, true},
		{"half built, vectors in the store", backend.QuantizeInt8, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLibrary(t, tc.quantize, documents)
			var o Options
			if tc.rebuild {
				l.lose(t, graphFile)
				o.RebuildFrom = 1
			}
			b, err := Open(l.dir, o)
			must(t, err)
			defer b.Close()
			c := b.mu.byName["docs"]
			if tc.rebuild {
				c.end() // and no more comes into the graph
				if c.rebuild.graph.Load() == nil {
					t.Fatal("the graph is built")
				}
			}
			stays := l.vector["d7"]
			docs, err := on(b).Lookup(t.Context(), "docs", []string{"d7"})
			must(t, err)
			refs := []backend.Ref{docs[0].Ref}
			sel, err := b.Select(t.Context(), backend.SelectRequest{Collection: "docs"})
			must(t, err)
			var asked, lost [4]atomic.Int64
			done := make(chan struct{})
			var searchers sync.WaitGroup
			for way := range asked {
				searchers.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
						}
						ok := false
						switch asked[way].Add(1); way {
						case 0:
							m, err := on(b).Nearest(t.Context(), "docs", stays, 1, nil)
							ok = err == nil && len(m) == 1 && m[0].Cosine > 0.999
						case 1: // all there are
							m, err := on(b).Nearest(t.Context(), "docs", stays, documents, nil)
							ok = err == nil && len(m) == documents && m[0].Cosine > 0.999
						case 2:
							m, err := on(b).Nearest(t.Context(), "docs", stays, 1, sel)
							ok = err == nil && len(m) == 1 && m[0].Cosine > 0.999
						case 3:
							m, err := b.Fetch(t.Context(), backend.FetchRequest{Collection: "docs", Refs: refs, Vector: stays})
							ok = err == nil && len(m.Cosines[0]) == 1 && m.Cosines[0][0] > 0.999
						}
						if !ok {
							lost[way].Add(1)
						}
					}
				})
			}
			for range 3 {
				var writes []backend.Write
				for id, v := range l.vector {
					w := l.write(id)
					if id == "d7" || len(writes)%3 == 0 {
						l.vector[id], w.Vectors[0] = v, v
					}
					writes = append(writes, w, w) // twice in one call: the second is unchanged
				}
				last := l.write("d9")
				writes = append(writes, last)
				l.apply(t, b, writes)
			}
			close(done)
			searchers.Wait()
			for way := range asked {
				if n := lost[way].Load(); n > 0 {
					t.Errorf("way %d: not found %d of %d times", way, n, asked[way].Load())
				}
			}
			l.exact(t, b, "after")
			if !tc.rebuild {
				sound(t, b)
			}
			if n := len(c.replaced.all()); n > 0 {
				t.Errorf("%d vectors are kept", n)
			}
		})
	}
}

// TestReplaceFails lets the graph fail to take what replaces documents: the old slots are gone all
// the same, and the next opening makes it good.
func TestReplaceFails(t *testing.T) {
	for _, quantize := range []string{backend.QuantizeNone, backend.QuantizeInt8} {
		t.Run(quantize, func(t *testing.T) {
			l := newLibrary(t, quantize, 50)
			b, err := Open(l.dir, Options{})
			must(t, err)
			l.failIndex(t, b, []backend.Write{l.write("d1"), l.write("d2"), l.write("new"), {ID: "d3", Delete: true}})
			delete(l.vector, "d3")
			if n := b.mu.byName["docs"].graph.Len(); n != 47 {
				t.Errorf("the graph holds %d passages, want the 47 that no write named", n)
			}
			l.churn(t, b)
			must(t, b.Close())
			b, err = Open(l.dir, Options{})
			must(t, err)
			defer b.Close()
			l.exact(t, b, "opened again")
			sound(t, b)
		})
	}
}

// TestDeletionsAreSaved deletes documents and writes none: closing saves the graph without them,
// after which the log is needed no more, also where the process that deleted them was killed.
func TestDeletionsAreSaved(t *testing.T) {
	for _, killed := range []bool{false, true} {
		l := newLibrary(t, "", 20)
		b, err := Open(l.dir, Options{})
		must(t, err)
		l.apply(t, b, []backend.Write{{ID: "d3", Delete: true}, {ID: "d4", Delete: true}})
		if killed {
			b.mu.byName["docs"].discard()
			must(t, b.store.Close())
			b, err = Open(l.dir, Options{})
			must(t, err)
		}
		c := b.mu.byName["docs"]
		must(t, b.Close())
		g, meta, err := hnsw.ReadSnapshot(filepath.Join(c.dir, graphFile), c.graphOptions())
		must(t, err)
		g.Close()
		if want := c.seq.Load(); meta.Seq != want {
			t.Errorf("killed %t: the graph is saved up to %d of %d", killed, meta.Seq, want)
		}
	}
}
