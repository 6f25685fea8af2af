package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// library is a data folder with documents in a collection named docs, and a copy of what is in it.
type library struct {
	dir    string
	r      *rand.Rand
	next   int
	vector map[string][]float32 // by document
}

const libraryDim = 16

func newLibrary(t *testing.T, quantize string, documents int) *library {
	t.Helper()
	l := &library{dir: t.TempDir(), r: rand.New(rand.NewPCG(1, 2)), vector: map[string][]float32{}}
	b, err := Open(l.dir, Options{})
	must(t, err)
	config := backend.Config{Dimension: libraryDim, Language: "en", Quantize: quantize, Payload: json.RawMessage("{}")}
	must(t, on(b).Create(t.Context(), "docs", config))
	l.add(t, b, documents)
	must(t, b.Close())
	return l
}

func (l *library) unit() []float32 {
	v := make([]float32, libraryDim)
	var sum float64
	for i := range v {
		v[i] = float32(l.r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (l *library) add(t *testing.T, b *Backend, n int) {
	t.Helper()
	var writes []backend.Write
	for range n {
		id := fmt.Sprintf("d%d", l.next)
		l.next++
		writes = append(writes, l.write(id))
	}
	l.apply(t, b, writes)
}

func (l *library) write(id string) backend.Write {
	v := l.unit()
	l.vector[id] = v
	return backend.Write{ID: id, Fields: json.RawMessage(`{"text":"word"}`), Hash: [32]byte{byte(l.r.IntN(256)), byte(l.r.IntN(256)), byte(l.r.IntN(256))},
		Passages: []backend.Passage{{Field: "text", End: 4}}, Vectors: [][]float32{v}}
}

func (l *library) apply(t *testing.T, b *Backend, writes []backend.Write) {
	t.Helper()
	for len(writes) > 0 {
		n := min(500, len(writes))
		if _, err := on(b).Apply(t.Context(), "docs", writes[:n]); err != nil {
			t.Fatal(err)
		}
		writes = writes[n:]
	}
}

// churn updates, deletes and adds some documents.
func (l *library) churn(t *testing.T, b *Backend) {
	t.Helper()
	var writes []backend.Write
	for i := range 10 {
		id := fmt.Sprintf("d%d", l.r.IntN(l.next))
		if i%2 == 0 {
			delete(l.vector, id)
			writes = append(writes, backend.Write{ID: id, Delete: true})
		} else {
			writes = append(writes, l.write(id))
		}
	}
	l.apply(t, b, writes)
	l.add(t, b, 5)
}

// exact searches and wants what a scan of the copy finds.
func (l *library) exact(t *testing.T, b *Backend, when string) {
	t.Helper()
	l.exactOf(t, b, 10, when)
}

// exactOf is exact for k results.
func (l *library) exactOf(t *testing.T, b *Backend, k int, when string) {
	t.Helper()
	q := l.unit()
	found, err := on(b).Nearest(t.Context(), "docs", q, k, nil)
	must(t, err)
	var want []float64
	for _, v := range l.vector {
		var dot float64
		for i := range v {
			dot += float64(v[i]) * float64(q[i])
		}
		want = append(want, dot)
	}
	slices.Sort(want)
	slices.Reverse(want)
	for i, m := range found {
		if math.Abs(m.Cosine-want[i]) > 1e-5 {
			t.Fatalf("%s: result %d has cosine %v, want %v", when, i, m.Cosine, want[i])
		}
	}
	if len(found) != k {
		t.Fatalf("%s: %d results", when, len(found))
	}
	refs := []backend.Ref{found[0].Ref, found[k-1].Ref}
	got, err := b.Fetch(t.Context(), backend.FetchRequest{Collection: "docs", Refs: refs, Vector: q})
	if err != nil || len(got.Cosines[0]) != 1 || got.Cosines[0][0] != found[0].Cosine || got.Cosines[1][0] != found[k-1].Cosine {
		t.Fatalf("%s: Fetch has the cosines %v, %v, RetrieveVectors %v and %v", when, got.Cosines, err, found[0].Cosine, found[k-1].Cosine)
	}
}

// lose removes derived indexes.
func (l *library) lose(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		paths, err := filepath.Glob(filepath.Join(l.dir, indexFolder, "*", name))
		if err != nil || len(paths) != 1 {
			t.Fatalf("%s: %v, %v", name, paths, err)
		}
		must(t, os.RemoveAll(paths[0]))
	}
}

// notices collects what an operator is told.
type notices struct {
	sync.Mutex
	text strings.Builder
}

func (n *notices) tell(s string) {
	n.Lock()
	defer n.Unlock()
	n.text.WriteString(s + "\n")
}

func (n *notices) has(t *testing.T, want ...string) {
	t.Helper()
	n.Lock()
	defer n.Unlock()
	for _, w := range want {
		if !strings.Contains(n.text.String(), w) {
			t.Errorf("told %q, want %q in it", n.text.String(), w)
		}
	}
}

// gated returns a notice that tells, and has what begins in the background wait until the gate is
// opened: on a fast machine it would be over at once.
func gated(tell func(string)) (notice func(string), open func()) {
	gate := make(chan struct{})
	return func(s string) {
		tell(s)
		if strings.Contains(s, "in the background") {
			<-gate
		}
	}, sync.OnceFunc(func() { close(gate) })
}

func indexStats(t *testing.T, b *Backend) *backend.IndexStats {
	t.Helper()
	s, err := b.Stats(t.Context(), backend.StatsRequest{Collection: "docs"})
	must(t, err)
	return s.Index
}

func sound(t *testing.T, b *Backend) {
	t.Helper()
	problems, err := on(b).Problems(t.Context(), true)
	if err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
}

// TestRebuildWhileServing loses both indexes, and wants exact answers, writes and, in the end,
// whole indexes.
func TestRebuildWhileServing(t *testing.T) {
	defer func(often time.Duration) { fillInterval = often }(fillInterval)
	fillInterval = 0
	documents, from := 2500, 1000
	if testing.Short() {
		documents, from = 500, 400
	}
	for _, quantize := range []string{backend.QuantizeNone, backend.QuantizeInt8} {
		t.Run(quantize, func(t *testing.T) {
			l := newLibrary(t, quantize, documents)
			l.lose(t, graphFile, keywordFolder)
			var told notices
			notice, goOn := gated(told.tell)
			b, err := Open(l.dir, Options{RebuildFrom: from, Notice: notice})
			must(t, err)
			defer b.Close()
			defer goOn()
			c := b.mu.byName["docs"]
			during, checked := 0, false
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
				busy := c.rebuild.graph.Load() != nil || c.rebuild.keyword.Load()
				l.exact(t, b, "while the graph is built")
				l.churn(t, b)
				if !busy {
					break
				}
				if during++; !checked {
					problems, err := on(b).Problems(t.Context(), false)
					must(t, err)
					for _, p := range problems {
						checked = checked || strings.Contains(p.What, "is being rebuilt")
					}
					goOn()
				}
			}
			if during == 0 || !checked {
				t.Errorf("%d rounds during the rebuild, told by Check: %t", during, checked)
			}
			c.rebuild.fillers.Wait()
			l.exact(t, b, "after")
			told.has(t, "building the vector index in the background", "the vector index has", "the vector index is built",
				"building the keyword index", "the keyword index has", "the keyword index is built")
			sound(t, b)
			s := indexStats(t, b)
			if s.Passages != len(l.vector) || c.graph.Len() != s.Passages || s.GraphRebuild || s.KeywordRebuild || s.Graph.Recall < 0.9 || s.Graph.ProbedAt.IsZero() {
				t.Errorf("Stats: %+v", s)
			}
			if resident := s.Graph.VectorBytes > 0; resident != (quantize == backend.QuantizeNone) {
				t.Errorf("%d bytes of vectors in memory", s.Graph.VectorBytes)
			}
			must(t, b.Close())
			b, err = Open(l.dir, Options{Notice: func(s string) { t.Errorf("after a clean end: %s", s) }})
			must(t, err)
			defer b.Close()
			l.exact(t, b, "opened again")
			sound(t, b)
		})
	}
}

// TestBlocksOfLargeDocuments: documents come into the keyword index in blocks that their bytes
// bound, too, and all of them come.
func TestBlocksOfLargeDocuments(t *testing.T) {
	var b block
	for i, want := range []bool{false, false, true} {
		if full := b.add(keyword.Entry{}, 8<<20-1); full != want {
			t.Errorf("a block with %d documents of nearly 8 MiB is full: %t", i+1, full)
		}
	}
	if (&block{}).add(keyword.Entry{}, 1) || !(&block{entries: make([]keyword.Entry, blockDocuments-1)}).add(keyword.Entry{}, 1) {
		t.Errorf("a block of small documents is not full with %d", blockDocuments)
	}
	defer func(n int) { blockBytes = n }(blockBytes)
	blockBytes = 100
	const documents = 60
	for name, from := range map[string]int{"while it opens": documents, "in the background": 1} {
		l := newLibrary(t, "", documents)
		l.lose(t, keywordFolder)
		b, err := Open(l.dir, Options{RebuildFrom: from})
		must(t, err)
		b.mu.byName["docs"].rebuild.fillers.Wait()
		sound(t, b)
		if s := indexStats(t, b); s.KeywordRebuild || s.KeywordLag != 0 {
			t.Errorf("%s: %+v", name, s)
		}
		must(t, b.Close())
	}
}

// TestCloseDuringRebuild closes at once and opens again: nothing is lost, and nothing half built is
// taken for whole.
func TestCloseDuringRebuild(t *testing.T) {
	documents := 3000
	if testing.Short() {
		documents = 700
	}
	l := newLibrary(t, "", documents)
	for round := range 4 {
		if round == 0 {
			l.lose(t, graphFile, keywordFolder)
		}
		notice, goOn := gated(func(string) {})
		b, err := Open(l.dir, Options{RebuildFrom: 500, Notice: notice})
		must(t, err)
		l.exact(t, b, "just opened")
		l.churn(t, b)
		if round == 0 && b.mu.byName["docs"].rebuild.graph.Load() == nil {
			t.Error("the graph is built before the backend is closed")
		}
		goOn()
		must(t, b.Close())
	}
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	l.exact(t, b, "at last")
	sound(t, b)
}

// TestLongReplay opens with a snapshot from long ago.
func TestLongReplay(t *testing.T) {
	l := newLibrary(t, "", 200)
	old, err := filepath.Glob(filepath.Join(l.dir, indexFolder, "*", graphFile))
	if err != nil || len(old) != 1 {
		t.Fatal(old, err)
	}
	snapshot, err := os.ReadFile(old[0])
	must(t, err)
	b, err := Open(l.dir, Options{})
	must(t, err)
	l.add(t, b, 2500)
	l.churn(t, b)
	b.mu.byName["docs"].write.Lock()
	b.mu.byName["docs"].write.behind = true // as after a kill: nothing is saved, the log stays
	b.mu.byName["docs"].write.Unlock()
	must(t, b.Close())
	must(t, os.WriteFile(old[0], snapshot, 0o600))
	var told notices
	b, err = Open(l.dir, Options{RebuildFrom: 1000, Notice: told.tell})
	must(t, err)
	defer b.Close()
	l.exact(t, b, "replaying")
	l.churn(t, b)
	b.mu.byName["docs"].rebuild.fillers.Wait()
	l.exact(t, b, "replayed")
	told.has(t, "building the vector index in the background")
	sound(t, b)
}

func TestQuantizeOfACollection(t *testing.T) {
	l := newLibrary(t, "", 300)
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	ctx := context.Background()
	info, err := on(b).Collection(ctx, "docs")
	must(t, err)
	info.Config.Quantize = "int4"
	if err := on(b).Update(ctx, "docs", info.Config); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("quantize int4: %v", err)
	}
	l.exact(t, b, "after a refused update")
	info.Config.Quantize = backend.QuantizeInt8
	must(t, on(b).Update(ctx, "docs", info.Config))
	l.exact(t, b, "with codes")
	sound(t, b)
	if n := b.mu.byName["docs"].graph.Memory().Vectors; n != 0 {
		t.Errorf("%d bytes of vectors in memory", n)
	}
}

// TestGhosts leaves in the graph what has no document any more, as a delete does for a moment: it
// must crowd out nothing.
func TestGhosts(t *testing.T) {
	l := newLibrary(t, "", 300)
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	c := b.mu.byName["docs"]
	for i := range uint32(200) {
		must(t, c.graph.Add(10000+i, l.unit()))
	}
	for range 10 {
		l.exact(t, b, "with ghosts")
	}
}

// TestOpeningGivenUp ends an opening in the middle of its rebuild; the next one has everything.
func TestOpeningGivenUp(t *testing.T) {
	l := newLibrary(t, "", 300)
	for _, lost := range []string{keywordFolder, graphFile} {
		l.lose(t, lost)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b, err := OpenContext(ctx, l.dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Open = %v, %v", b, err)
	}
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	if problems, err := on(b).Problems(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
}

// TestKeywordIndexOfAFailedOpening ends the opening of a collection at each of its steps: the
// folder of the keyword index is free for the next one.
func TestKeywordIndexOfAFailedOpening(t *testing.T) {
	for _, documents := range []int{0, 3} {
		l := newLibrary(t, "", documents)
		b, err := Open(l.dir, Options{})
		must(t, err)
		defer b.Close()
		c := b.mu.byName["docs"]
		must(t, c.close())
		delete(b.mu.byName, "docs")
		sc, err := b.store.CollectionByID(c.id)
		must(t, err)
		opened := 0
		for n := range 40 {
			must(t, os.RemoveAll(filepath.Join(c.dir, keywordFolder)))
			c, err := b.openCollection(newCountdown(t.Context(), n), sc, 1000)
			if err == nil {
				opened++
			} else if c, err = b.openCollection(t.Context(), sc, 1000); err != nil {
				t.Fatalf("%d documents, after %d: %v", documents, n, err)
			}
			c.discard()
		}
		if opened == 0 || opened == 40 {
			t.Errorf("%d documents: opened %d of 40 times", documents, opened)
		}
	}
}

// TestCheckTellsOfAFailedRebuild fills a keyword index that cannot be filled: nothing says that it
// still is.
func TestCheckTellsOfAFailedRebuild(t *testing.T) {
	l := newLibrary(t, "", 20)
	var told notices
	b, err := Open(l.dir, Options{Alarm: told.tell})
	must(t, err)
	defer b.Close()
	c := b.mu.byName["docs"]
	behind := func(is bool) {
		c.write.Lock()
		defer c.write.Unlock()
		c.write.behind = is
	}
	c.rebuild.keyword.Store(true)
	for _, tc := range []struct {
		behind bool
		says   string
	}{{true, "could not be rebuilt; the next start tries again (an index failed"}, {false, "[]"}} {
		behind(tc.behind)
		c.fillKeyword(t.Context())
		behind(false)
		if problems, err := on(b).Problems(t.Context(), false); err != nil || !strings.Contains(fmt.Sprint(problems), tc.says) {
			t.Errorf("Check = %v, %v; want %s", problems, err, tc.says)
		}
	}
	told.has(t, "building the keyword index failed")
}

// TestCompleteOpening loses both indexes and opens without leaving anything to the background.
func TestCompleteOpening(t *testing.T) {
	l := newLibrary(t, "", 700)
	l.lose(t, graphFile, keywordFolder)
	var told notices
	b, err := Open(l.dir, Options{RebuildFrom: math.MaxInt, Notice: told.tell})
	must(t, err)
	defer b.Close()
	sound(t, b)
	told.has(t, "the vector index is rebuilt from the store", "the keyword index is rebuilt from the store")
}
