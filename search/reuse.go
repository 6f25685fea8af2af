package search

import (
	"context"
	"math"
	"slices"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/inference"
)

// reuse gives the documents of a re-embedding the vectors that the collection has of them.
//
// The rules:
//  1. Settings were asked for, and the checkpoint and its precision are the collection's. Without
//     settings everything is encoded.
//  2. A passage has its vector from before where the settings of before make the same text of the
//     same content, title included, and what they make is what is stored: an earlier version may
//     have cut it elsewhere.
//  3. What is known of the checkpoint may be less than what decided the vectors: a collection may
//     be older than the sums of prompt, tokenizer and the like. So one passage of each batch is
//     encoded again; where that gives another vector, all of the batch are.
type reuse struct {
	was      ingest // how the collection makes passages
	passages int    // that were given their vectors
}

// reuseTolerance is how far a component may be from what it was: processors add in different
// orders. int8 is 100 times as far from float32.
const reuseTolerance = 1e-5

// newReuse returns what a re-embedding of a collection with a record need not encode; nil where
// that is nothing.
func newReuse(e *Engine, c backend.Collection, rec record, q reembedRequest, enc *inference.Encoding) *reuse {
	if q.Settings == nil || q.Settings.GivenVectors() || !inference.Same(rec.Model, q.Info) || rec.Model.MaxTokens != q.Info.MaxTokens || rec.Precision != q.Precision {
		return nil
	}
	return &reuse{was: ingest{engine: e, collection: c, record: rec, encoding: enc, pace: e.many}}
}

// give sets the vectors of before, as the rules of reuse say.
func (r *reuse) give(ctx context.Context, items []item) error {
	given, probe, at := 0, -1, 0
	for i := range items {
		if items[i].done {
			continue
		}
		n, first, err := r.giveOne(ctx, &items[i])
		if err != nil {
			return err
		}
		if given += n; n > 0 && probe < 0 {
			probe, at = i, first
		}
	}
	if probe < 0 {
		return nil
	}
	it := &items[probe]
	again, err := r.was.engine.throttle.Embed(ctx, r.was.pace, r.was.encoding.Embedder, it.texts[at:at+1])
	if err != nil {
		return err
	}
	if !inference.Normalize(again[0]) || !near(again[0], it.write.Vectors[at]) {
		for i := range items {
			items[i].write.Vectors = nil
		}
		return nil
	}
	r.passages += given
	return nil
}

// giveOne sets the vectors of before of one document, and returns of how many passages and the
// first of them.
func (r *reuse) giveOne(ctx context.Context, it *item) (n, first int, err error) {
	parts, err := r.was.record.Settings.Fields.SplitStored(it.write.Fields)
	if err != nil {
		return 0, 0, err
	}
	was := item{parts: parts, write: backend.Write{Blocks: it.write.Blocks}}
	r.was.cut(&was)
	places := make(map[string]int, len(was.texts))
	for j, text := range was.texts {
		places[text] = j
	}
	if !slices.ContainsFunc(it.texts, func(text string) bool { _, ok := places[text]; return ok }) {
		return 0, 0, nil
	}
	docs, err := r.was.engine.backend.Lookup(ctx, backend.LookupRequest{Collection: r.was.collection.Name, IDs: []string{it.write.ID}, NoFields: true, Vectors: true})
	if err != nil || docs[0] == nil {
		return 0, 0, err
	}
	d := docs[0]
	if d.Hash != it.write.Hash || !slices.Equal(d.Passages, was.write.Passages) {
		return 0, 0, nil
	}
	it.write.Vectors = make([][]float32, len(it.texts))
	for i, text := range it.texts {
		j, ok := places[text]
		if !ok {
			continue
		}
		if it.write.Vectors[i] = d.Vectors[j]; n == 0 {
			first = i
		}
		n++
	}
	return n, first, nil
}

// near reports whether two vectors are the same but for the order in which processors add.
func near(a, b []float32) bool {
	for i, x := range a {
		if math.Abs(float64(x-b[i])) > reuseTolerance {
			return false
		}
	}
	return true
}
