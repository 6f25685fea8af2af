package shards_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/search/shards"
)

// told is a shard that says of itself what a test wants.
type told struct {
	backend.Shard
	stats    backend.IndexStats
	rebuilds []backend.Rebuild
	readOnly error
	lookup   func() ([]*backend.Document, error)
	lacking  backend.FieldNames
	partial  bool
}

func (s told) IndexStats(context.Context, string) (backend.IndexStats, error) { return s.stats, nil }

func (s told) Rebuilds() []backend.Rebuild { return s.rebuilds }

func (s told) ReadOnly() error { return s.readOnly }

func (s told) Lookup(context.Context, string, []string) ([]*backend.Document, error) {
	return s.lookup()
}

func (s told) Lacking(context.Context, string, backend.FieldNames) (backend.FieldNames, bool, error) {
	return s.lacking, s.partial, nil
}

// A field is lacking where all shards lack it, and that is not sure where one of them is not.
func TestLacking(t *testing.T) {
	for partial := range 4 {
		d := newData(t, 2)
		a := told{Shard: d.parts[0], lacking: backend.FieldNames{Values: []string{"a", "b", "c"}, Texts: []string{"t"}}, partial: partial&1 != 0}
		b := told{Shard: d.parts[1], lacking: backend.FieldNames{Values: []string{"c", "d", "a"}, Texts: []string{"u"}}, partial: partial&2 != 0}
		s, err := shards.Open(t.Context(), []backend.Shard{a, b}, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, some, err := s.Lacking(t.Context(), "docs", backend.FieldNames{})
		if err != nil || strings.Join(got.Values, " ") != "a c" || len(got.Texts) != 0 || some != (partial != 0) {
			t.Errorf("Lacking = %+v, %t, %v", got, some, err)
		}
	}
}

func TestGauges(t *testing.T) {
	d := newData(t, 2)
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	a, b := told{Shard: d.parts[0]}, told{Shard: d.parts[1], readOnly: backend.ErrNoSpace}
	a.rebuilds = []backend.Rebuild{{Collection: "x", Index: "vector", Done: 1, Total: 10, Began: late}, {Collection: "x", Index: "keyword", Done: 2, Total: 5, Began: late}}
	b.rebuilds = []backend.Rebuild{{Collection: "a", Index: "vector", Done: 3, Total: 4, Began: late}, {Collection: "x", Index: "vector", Done: 5, Total: 20, Began: early}}
	a.stats = backend.IndexStats{Documents: 1, Passages: 2, Damaged: 3, KeywordBytes: 4, KeywordLag: 5, ProbedAt: late}
	a.stats.Graph.Live, a.stats.Graph.Layers, a.stats.Graph.EfSearch, a.stats.Graph.Memory.Vectors = 2, 3, 100, 50
	a.stats.Probe.Samples, a.stats.Probe.Recall = 10, 1
	b.stats = backend.IndexStats{Documents: 10, Passages: 20, Damaged: 30, KeywordBytes: 40, KeywordLag: 50, ProbedAt: early, GraphRebuild: true}
	b.stats.Graph.Live, b.stats.Graph.Layers, b.stats.Graph.EfSearch, b.stats.Graph.Memory.Vectors = 20, 2, 60, 500
	b.stats.Probe.Samples, b.stats.Probe.Recall, b.stats.Probe.Unfound = 30, 0.8, 6
	s, err := shards.Open(t.Context(), []backend.Shard{a, b}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := backend.IndexStats{Documents: 11, Passages: 22, Damaged: 33, KeywordBytes: 44, KeywordLag: 55, ProbedAt: early, GraphRebuild: true}
	want.Graph.Live, want.Graph.Layers, want.Graph.EfSearch, want.Graph.Memory.Vectors = 22, 3, 100, 550
	want.Probe.Samples, want.Probe.Recall, want.Probe.Unfound = 40, 0.85, 6
	if got, err := s.IndexStats(t.Context(), "x"); got != want || err != nil {
		t.Errorf("IndexStats = %+v, %v, want %+v", got, err, want)
	}
	rebuilds := []backend.Rebuild{b.rebuilds[0], {Collection: "x", Index: "vector", Done: 6, Total: 30, Began: early}, a.rebuilds[1]}
	if got := s.Rebuilds(); fmt.Sprint(got) != fmt.Sprint(rebuilds) {
		t.Errorf("Rebuilds = %v, want %v", got, rebuilds)
	}
	if err := s.ReadOnly(); !errors.Is(err, backend.ErrNoSpace) || !strings.Contains(err.Error(), "shard 2") {
		t.Errorf("ReadOnly = %v", err)
	}
	if n, err := s.StoreSize(); n != must(d.parts[0].StoreSize())+must(d.parts[1].StoreSize()) || err != nil {
		t.Errorf("StoreSize = %d, %v", n, err)
	}
}

// How the shards are is told, and that somebody else has claimed them.
func TestStates(t *testing.T) {
	d := newData(t, 2)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids(3, 2) {
		apply(t, b, number(id, i))
	}
	for i, s := range b.States(t.Context(), true) {
		if s.Name != fmt.Sprintf("shard %d", i+1) || s.Err != nil || s.ReadOnly != nil || s.Documents != 3 || s.StoreBytes == 0 {
			t.Errorf("%+v", s)
		}
	}
	d.mustOpen(t)
	d.parts[1].(faulty).Shard.Close()
	s := b.States(t.Context(), false)
	if !errors.Is(s[0].Err, backend.ErrClaimed) || s[1].Err == nil || errors.Is(s[1].Err, backend.ErrClaimed) || s[0].StoreBytes == 0 {
		t.Errorf("after another has claimed them and one was closed: %+v", s)
	}
}

// A shard that panics, or answers more than it was asked for, or nothing, is an error that names it.
func TestWrongAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lookup func() ([]*backend.Document, error)
		want   string
	}{
		{"panics", func() ([]*backend.Document, error) { panic("oh no") }, "shard 2: panic: oh no"},
		{"too many", func() ([]*backend.Document, error) { return make([]*backend.Document, 4), nil }, "shard 2: 4 documents, asked for 3"},
		{"none", func() ([]*backend.Document, error) { return nil, nil }, "shard 2: 0 documents, asked for 3"},
		{"fails", func() ([]*backend.Document, error) { return nil, errFault }, "shard 2: shard unavailable: a fault"},
	} {
		d := newData(t, 2)
		s, err := shards.Open(t.Context(), []backend.Shard{d.parts[0], told{Shard: d.parts[1], lookup: tt.lookup}}, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context(), "docs", config); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Lookup(t.Context(), "docs", ids(3, 2)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// What was written counts in the next query, however soon that comes.
func TestScoresAfterWrites(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	text := func(id, text string) backend.Write {
		return backend.Write{ID: id, Fields: []byte(fmt.Sprintf(`{"text":%q}`, text)), Hash: [32]byte{1, byte(len(text))}}
	}
	last := 0.0
	for i, id := range ids(3, 3) {
		apply(t, b, text(id, "river"), text(id+" more", "river"), text(id+" other", "bank"))
		found, err := b.Words(t.Context(), "docs", backend.Words{Text: "bank"}, 10, nil)
		if err != nil || found.Total != i+1 || found.Matches[0].Score == last {
			t.Errorf("after %d documents %+v, %v, the scores before were %v", i+1, found, err, last)
		}
		last = found.Matches[0].Score
	}
}

// Writers, changes of collections and readers at the same time leave every document where it belongs.
func TestConcurrent(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	all := ids(20, 3)
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range 30 {
				write := number(all[w*15+r.IntN(15)], i)
				write.Delete = r.IntN(4) == 0
				if _, err := b.Apply(t.Context(), "docs", []backend.Write{write, number("last", w)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			for _, err := range []error{b.Create(t.Context(), "other", config), b.Update(t.Context(), "other", config), b.Drop(t.Context(), "other")} {
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Go(func() { // what is being made or dropped is not wrong
		for range 20 {
			if problems, err := b.Check(t.Context(), false); err != nil || len(problems) > 0 {
				t.Errorf("Check meanwhile: %v, %v", problems, err)
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			for range 60 {
				sel, err := b.Select(t.Context(), "docs", backend.Subset{})
				if err != nil {
					t.Error(err)
					return
				}
				refs, err := b.Refs(t.Context(), "docs", sel, 0, 100)
				if err == nil {
					_, err = b.Fetch(t.Context(), "docs", refs)
				}
				if _, wordsErr := b.Words(t.Context(), "docs", backend.Words{Text: "7"}, 10, sel); err != nil || wordsErr != nil || len(refs) != sel.Len() {
					t.Error(err, wordsErr, len(refs), sel.Len())
				}
				if list, err := b.Collections(t.Context()); err != nil || list[0].Damaged != "" {
					t.Error(list, err)
				}
			}
		})
	}
	wg.Wait()
	if problems, err := b.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
}
