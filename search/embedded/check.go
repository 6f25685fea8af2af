package embedded

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// maxProblems is how many faults of one kind are listed.
const maxProblems = 20

// Check compares the indexes with the store. With Deep, it also verifies the checksum of every
// stored byte, compares every vector of the graph with the stored one, and analyses every
// document's text to compare its lengths with those of the keyword index. It blocks the writers of
// one collection at a time.
func (b *Backend) Check(ctx context.Context, r backend.CheckRequest) (out backend.CheckResponse, err error) {
	switch {
	case r.Vectors:
		out.Vectors, err = b.damagedVectors(ctx)
	case r.Stored:
		var found []store.Problem
		found, err = b.store.CheckValues(ctx)
		err = translate(err)
		for _, text := range damageOf(found) {
			out.Problems = append(out.Problems, backend.Problem{Where: "store", What: text})
		}
	default:
		out.Problems, err = b.problems(ctx, r.Deep)
	}
	return out, err
}

func (b *Backend) problems(ctx context.Context, deep bool) ([]backend.Problem, error) {
	found, err := b.store.Check(ctx, deep)
	if err != nil {
		return nil, translate(err)
	}
	var out []backend.Problem
	for _, p := range found {
		if !p.Harmless {
			out = append(out, backend.Problem{Where: "store", What: p.String()})
		}
	}
	collections, err := b.Collections(ctx)
	if err != nil {
		return nil, err
	}
	for _, info := range collections {
		r := report{where: "collection " + info.Name}
		c, release, err := b.collection(ctx, info.Name)
		var damaged *backend.DamagedError
		switch {
		case errors.Is(err, backend.ErrCollectionNotFound):
			continue // dropped since
		case errors.As(err, &damaged):
			r.add("cannot be opened, and its indexes are not checked: %s", damaged.Damage)
		case err != nil:
			return out, err
		default:
			err = c.check(ctx, deep, &r)
			if release(); errors.Is(err, store.ErrNoCollection) {
				continue // dropped meanwhile
			}
			if err != nil {
				return out, err
			}
		}
		out = append(out, r.problems...)
	}
	return out, nil
}

// damagedVectors returns the ids of the documents with a damaged vector, by collection, and notes
// them, so that writing the same content again repairs them.
func (b *Backend) damagedVectors(ctx context.Context) (map[string][]string, error) {
	found, err := b.store.Check(ctx, true)
	if err != nil {
		return nil, translate(err)
	}
	out := map[string][]string{}
	for _, p := range found {
		if c, _, _ := b.lookup(p.Collection); p.Vector && p.Document != "" && c != nil {
			c.damage.note(p.No, p.String())
			if !slices.Contains(out[p.Collection], p.Document) {
				out[p.Collection] = append(out[p.Collection], p.Document)
			}
		}
	}
	return out, nil
}

// report collects the problems of one collection.
type report struct {
	where    string
	problems []backend.Problem
	missing  int
}

func (r *report) add(format string, args ...any) {
	r.problems = append(r.problems, backend.Problem{Where: r.where, What: fmt.Sprintf(format, args...)})
}

// check compares one collection's derived indexes with the store.
func (c *collection) check(ctx context.Context, deep bool, r *report) error {
	c.write.Lock()
	defer c.write.Unlock()
	documents, live := c.slots.counts()
	if c.write.behind {
		r.add("a derived index failed to apply a commit; opening the data folder again brings it up to date")
	}
	for i, text := range c.damage.list() {
		if !deep && i < maxProblems { // a deep check of the store lists them
			r.add("left out of searches: %s", text)
		}
	}
	if m := c.stale.Load(); m != nil {
		r.add("keyword index cannot write and lacks the changes of %d documents; it will be reopened", m.GetCardinality())
	}
	indexed, err := c.keyword.Count()
	if err != nil {
		return err
	}
	if c.rebuild.keyword.Load() {
		r.add("keyword index %s: it holds %d documents of %d", rebuilding(&c.rebuild.keywordFailed), indexed, documents)
	} else {
		if got, want := c.keyword.Seq(), c.seq.Load(); got != want {
			r.add("keyword index has applied sequence %d of %d", got, want)
		}
		if int(indexed) != documents {
			r.add("keyword index holds %d documents, the store %d", indexed, documents)
		}
	}
	if c.rebuild.graph.Load() != nil {
		r.add("vector index %s: it holds %d passages of %d, the others are found by a scan", rebuilding(&c.rebuild.graphFailed), c.graph.Len(), live)
	} else if n := c.graph.Len(); n != live {
		r.add("vector index holds %d passages, the store %d", n, live)
	}
	c.graph.Repair()
	for _, p := range c.graph.Check() {
		r.add("vector index: %s", p)
	}
	if !deep {
		return nil
	}
	if !c.rebuild.keyword.Load() {
		if err := c.checkWords(ctx, r); err != nil {
			return err
		}
	}
	return c.checkVectors(ctx, r)
}

// rebuilding describes the state of filling an index.
func rebuilding(failed *atomic.Pointer[string]) string {
	if why := failed.Load(); why != nil {
		return "could not be rebuilt; the next start tries again (" + *why + ")"
	}
	return "is being rebuilt in the background"
}

// checkVectors compares the vectors of the graph with the stored ones; if it has only codes, it
// compares which slots it has.
func (c *collection) checkVectors(ctx context.Context, r *report) error {
	if c.rebuild.graph.Load() != nil {
		return nil
	}
	compare := func(slot uint32, v []float32) error {
		got, ok := v, c.graph.Contains(slot)
		if c.source == nil {
			got, ok = c.graph.Vector(slot)
		}
		if !ok || !slices.Equal(got, v) {
			if r.missing++; r.missing <= maxProblems {
				r.add("vector index: slot %d is missing or differs from the store", slot)
			}
		}
		return nil
	}
	return skipDamaged(0, func(from uint32) error { return c.store.Vectors(ctx, c.id, from, compare) }, recordNumber)
}

// recordNumber returns the number of a damaged record, which the check of the store has reported.
func recordNumber(err error) (n uint32, ok bool) {
	var ce *store.CorruptError
	if errors.As(err, &ce) {
		return ce.Number()
	}
	return 0, false
}

// checkWords compares the documents of the keyword index, and the number of terms in each of their
// fields, with the stored ones. It keeps a digest per document.
func (c *collection) checkWords(ctx context.Context, r *report) error {
	var numbers uint32
	err := c.store.View(ctx, c.id, func(tx *store.Tx) error { numbers = tx.Counts().NextNo; return nil })
	if err != nil {
		return err
	}
	wrong := 0
	differs := func(no uint32, what string) {
		if wrong++; wrong <= maxProblems {
			r.add("keyword index: document number %d %s", no, what)
		}
	}
	seed := maphash.MakeSeed()
	indexed := make([]uint64, numbers) // by number; 0: not there
	err = c.keyword.Lengths(ctx, func(no uint32, terms map[string]int) error {
		if no >= numbers {
			differs(no, "is in no store")
		} else {
			indexed[no] = digestOf(seed, terms)
		}
		return nil
	})
	if err != nil {
		return err
	}
	take := func(no uint32) (digest uint64) {
		if no < numbers { // the check of the store reports others
			digest, indexed[no] = indexed[no], 0
		}
		return digest
	}
	compare := func(d store.Document) error {
		have := take(d.No)
		e, err := c.split(d.No, d.Fields, d.Structure)
		if err != nil {
			differs(d.No, fmt.Sprintf("is left out: %v", err))
			return nil
		}
		want := map[string]int{}
		for _, f := range e.Text {
			if n := c.keyword.Length(f.Text); n > 0 {
				want[c.keyword.FieldOf(f.Name)] += n
			}
		}
		switch {
		case have == 0:
			differs(d.No, "is missing")
		case have != digestOf(seed, want):
			differs(d.No, fmt.Sprintf("has other terms than its text, %v", want))
		}
		return nil
	}
	err = skipDamaged(1, func(from uint32) error { return c.store.Documents(ctx, c.id, from-1, compare) }, func(err error) (uint32, bool) {
		no, ok := recordNumber(err)
		if ok {
			take(no)
		}
		return no, ok
	})
	if err != nil {
		return err
	}
	for no, have := range indexed {
		if have != 0 {
			differs(uint32(no), "is in no store")
		}
	}
	return nil
}

// digestOf returns a digest, never 0, of the number of terms in each field.
func digestOf(seed maphash.Seed, terms map[string]int) uint64 {
	type length struct {
		field string
		terms int
	}
	sum := uint64(0)
	for field, n := range terms {
		sum += maphash.Comparable(seed, length{field, n})
	}
	return sum | 1
}
