package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"searchd/index/lsi"
	"searchd/index/maxsim"
	"searchd/search/backend"
	"searchd/search/inference"
	"searchd/search/mapping"
)

const (
	// lessonSample is how many passages of a collection are sampled, spread evenly over it. Chosen on eleven retrieval sets (mean nDCG@10 of
	// hybrid search in a model of the engine with 500: .682, 1,000: .683, 2,000, 3,000 and all: .688).
	lessonSample = 2000
	// lessonPiece is how many passages one after another are learnt from as one text: the passage of the sample and its neighbours, a short document whole.
	lessonPiece = 4
	// lessonLeast is how many passages a collection must have: fewer say little.
	lessonLeast = 50

	// lessonWaitShare is the share of the time that is left of a search which it waits for what has never been learnt.
	lessonWaitShare = 0.3
	// lessonRest is how many times as long as learning took nothing is learnt anew of a collection that changes.
	lessonRest = 100
	// lessonRetry is when learning is tried again after it failed.
	lessonRetry = time.Minute

	// Where more collections are searched by turns than there is room for, those that come first are learnt from, and not one after another again and again.
	maxLessons = 64               // that are kept
	lessonIdle = 10 * time.Minute // one that nobody has asked for for so long makes room for others

	lessonDocuments = 64 // read at a time
)

// What learning may take. Changed by tests.
var (
	// lessonsBudget is how many bytes of lessons there are where there is no further one and none grows, so that all together take no more than that and one more; with
	// the built-in checkpoint each takes up to 8 MB.
	lessonsBudget = 64 << 20
	// lessonBytes is about how much is read of documents, which are read whole: 2,000 of up to 134 kB. Of larger ones fewer are learnt from, spread over the collection.
	lessonBytes = 256 << 20
	// lessonTime is how long it may take once it is its turn, so that one slow collection does not keep all others from being learnt.
	lessonTime = time.Minute
	// lessonWait is how long searches wait for what has never been learnt, at most, from when the first of them asked for it.
	lessonWait = 2 * time.Second
)

// lessons are what collections say of their own words ([lsi]), each learnt from a sample of the passages when it is searched for the first time, and again
// in the background when the collection has changed. Nothing of it is stored. It is safe for concurrent use.
type lessons struct {
	turn sync.Mutex // one is learnt at a time
	mu   struct {
		sync.Mutex
		byKey map[lessonKey]*lesson
	}
}

// lessonKey names the content of a collection, as far as it does not change with single documents.
type lessonKey struct {
	collection string // as it is stored
	created    time.Time
	checkpoint string
}

// lesson is what one collection says.
type lesson struct {
	used time.Time // guarded by lessons.mu

	mu struct {
		sync.Mutex
		model    *lsi.Model    // nil: not learnt yet, or there is nothing to learn
		learnt   bool          // at least once
		err      error         // of the last time
		sequence uint64        // of the collection then, at least; 0 after an error
		next     time.Time     // not learnt again before
		learning chan struct{} // closed at the end; nil: not now
		until    time.Time     // searches wait for the first time
	}
}

// teaches reports whether a collection says something of its own words: the checkpoint wants it to, and there are enough passages.
func teaches(e *inference.Encoding, c backend.Collection) bool {
	return e.Calibration.Topics > 0 && e.Matcher() != nil && c.Passages >= lessonLeast
}

// lesson returns what a collection says of its own words, and has it learnt where it has not been, or where the collection has changed since and, unless
// now is set, some time has passed; nil where it says nothing, or there is no room.
func (e *Engine) lesson(c backend.Collection, r record, enc *inference.Encoding, now bool) *lesson {
	if !teaches(enc, c) {
		return nil
	}
	key := lessonKey{c.Name, r.Created, r.made().Key()}
	l := e.lessons.of(key, time.Now())
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.learning != nil || l.mu.learnt && (l.mu.sequence >= c.Sequence || !now && time.Now().Before(l.mu.next)) {
		return l
	}
	done := make(chan struct{})
	if e.tasks.beside(func(ctx context.Context) {
		defer close(done)
		e.teach(ctx, l, key, c, r, enc)
	}) {
		l.mu.learning, l.mu.until = done, time.Now().Add(lessonWait)
	}
	return l
}

// teach learns what a collection says when it is its turn. Of a checkpoint without vectors of tokens that is nothing, at once: no texts are compared with
// them, and nothing else asks for it.
func (e *Engine) teach(ctx context.Context, l *lesson, key lessonKey, c backend.Collection, r record, enc *inference.Encoding) {
	var table *maxsim.Table
	if err := protected(func() error { table = enc.Matcher().TokenTable(); return nil }); table == nil {
		l.taught(nil, err, c.Sequence, 0)
		return
	}
	e.lessons.turn.Lock()
	defer e.lessons.turn.Unlock()
	began := time.Now()
	var model *lsi.Model
	err := protected(func() (err error) {
		if e.lessons.stays(key) {
			model, err = e.learnInTime(ctx, c, r, enc)
		}
		return err
	})
	gone := errors.Is(err, backend.ErrCollectionNotFound) // dropped meanwhile
	if err != nil && !gone && ctx.Err() == nil {
		name, _ := e.catalog.NameOf(c.Name)
		e.notice(fmt.Sprintf("collection %s: what it says of its own words could not be learnt, tried again in %v: %v", name, lessonRetry, err))
	}
	if err == nil && !e.lessons.fits(l, model, time.Now()) {
		model = l.known()
	}
	l.taught(model, err, c.Sequence, time.Since(began))
}

// taught notes what came of learning. After an error what was learnt before still holds, more or less.
func (l *lesson) taught(model *lsi.Model, err error, sequence uint64, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.learning, l.mu.learnt = nil, true
	if l.mu.err = err; err != nil {
		l.mu.sequence, l.mu.next = 0, time.Now().Add(lessonRetry)
		return
	}
	l.mu.model, l.mu.sequence, l.mu.next = model, sequence, time.Now().Add(lessonRest*took)
}

// of returns the lesson of a key, made if it is missing; nil where there is no room for it.
func (s *lessons) of(k lessonKey, now time.Time) *lesson {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.byKey[k]
	if l == nil {
		if s.mu.byKey == nil {
			s.mu.byKey = map[lessonKey]*lesson{}
		}
		if !s.room(now) {
			return nil
		}
		l = &lesson{}
		s.mu.byKey[k] = l
	}
	l.used = now
	return l
}

// room reports whether there is room for one more, once what nobody asks for any more is gone. The caller holds mu.
func (s *lessons) room(now time.Time) bool {
	if len(s.mu.byKey) < maxLessons && s.bytes() < lessonsBudget {
		return true
	}
	return s.tidy(now)
}

// tidy forgets what nobody asks for any more, and reports whether there was something. The caller holds mu.
func (s *lessons) tidy(now time.Time) bool {
	before := len(s.mu.byKey)
	maps.DeleteFunc(s.mu.byKey, func(_ lessonKey, l *lesson) bool { return now.Sub(l.used) >= lessonIdle })
	return len(s.mu.byKey) < before
}

// fits reports whether there is room for what was learnt anew in the place of what was learnt before, which else holds on: it is no larger, or the others
// leave some of the budget.
func (s *lessons) fits(l *lesson, m *lsi.Model, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := l.bytes()
	if m == nil || before == 0 || m.Bytes() <= before || s.bytes()-before < lessonsBudget {
		return true
	}
	return s.tidy(now) && s.bytes()-before < lessonsBudget
}

// stays reports whether the lesson of a key, now that it is its turn to be learnt, has room still: it was made before the others had been learnt, too. One
// that has not goes.
func (s *lessons) stays(k lessonKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.byKey[k]; l != nil && l.bytes() == 0 && s.bytes() >= lessonsBudget {
		delete(s.mu.byKey, k)
		return false
	}
	return true
}

// keep forgets what collections say that are not there any more, by their stored names.
func (s *lessons) keep(there map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.mu.byKey, func(k lessonKey, _ *lesson) bool { return !there[k.collection] })
}

// bytes is about what all lessons take. The caller holds mu.
func (s *lessons) bytes() (sum int) {
	for _, l := range s.mu.byKey {
		sum += l.bytes()
	}
	return sum
}

// known returns what has been learnt; nil: nothing.
func (l *lesson) known() *lsi.Model {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.model
}

// bytes is about what the lesson takes.
func (l *lesson) bytes() int {
	if m := l.known(); m != nil {
		return m.Bytes()
	}
	return 0
}

// within returns what has been learnt. Where nothing has been so far it waits for it, for a part of the time that is left of ctx and not longer than
// [lessonWait] after it was asked for first; nil: nothing is known.
func (l *lesson) within(ctx context.Context) *lsi.Model {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	model, learning, until := l.mu.model, l.mu.learning, l.mu.until
	if l.mu.learnt {
		learning = nil
	}
	l.mu.Unlock()
	if learning == nil {
		return model
	}
	ctx, cancel := share(ctx, lessonWaitShare)
	defer cancel()
	ctx, end := context.WithDeadline(ctx, until)
	defer end()
	select {
	case <-learning:
	case <-ctx.Done():
	}
	return l.known()
}

// rarity returns how rare tokens are in a collection; nil where that is not known.
func rarity(m *lsi.Model) func(id int32) float64 {
	if m == nil {
		return nil
	}
	return m.Rarity
}

// Learn waits until what searches learn from a collection has been learnt from what it holds now. Without it the first search waits for a while, and after
// changes searches go on with what was learnt before.
func (e *Engine) Learn(ctx context.Context, collection string) error {
	c, r, err := e.open(ctx, collection)
	if err != nil {
		return err
	}
	enc, err := e.encodings.Of(collection, r.made())
	if err != nil {
		return err
	}
	for {
		l := e.lesson(c, r, enc, true)
		if l == nil {
			return nil
		}
		done, err := l.state(c.Sequence)
		if done == nil {
			return err
		}
		select {
		case <-done:
			if _, err := l.state(c.Sequence); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// state returns what to wait for until it is known what the collection says as of sequence; nil: it is, or learning failed.
func (l *lesson) state(sequence uint64) (learning <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.learning == nil || l.mu.learnt && l.mu.sequence >= sequence {
		return nil, l.mu.err
	}
	return l.mu.learning, nil
}

// learnInTime is learn within [lessonTime].
func (e *Engine) learnInTime(ctx context.Context, c backend.Collection, r record, enc *inference.Encoding) (*lsi.Model, error) {
	limited, cancel := context.WithTimeout(ctx, lessonTime)
	defer cancel()
	model, err := e.learn(limited, c, r, enc)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return nil, fmt.Errorf("not within %v: %w", lessonTime, err)
	}
	return model, err
}

// learn reads a sample of a collection and learns from it.
func (e *Engine) learn(ctx context.Context, c backend.Collection, r record, enc *inference.Encoding) (*lsi.Model, error) {
	terms := enc.Terms(r.Settings.Language)
	if terms == nil {
		return nil, nil
	}
	texts, err := e.lessonTexts(ctx, c, r, enc)
	if err != nil {
		return nil, err
	}
	model, err := lsi.Learn(ctx, terms, texts)
	if errors.Is(err, lsi.ErrTexts) { // of signs and stop words, or deleted meanwhile
		return nil, nil
	}
	return model, err
}

// errEnough ends the reading of a sample.
var errEnough = errors.New("enough has been read")

// lessonTexts returns the tokens of the pieces in which the passages of a sample are, as far as they are in about [lessonBytes] of documents.
func (e *Engine) lessonTexts(ctx context.Context, c backend.Collection, r record, enc *inference.Encoding) (texts [][]int32, err error) {
	have, err := e.backend.RetrieveVectors(ctx, backend.VectorsRequest{Collection: c.Name, Limit: lessonSample})
	if err != nil {
		return nil, err
	}
	var refs []backend.Ref
	pieces := map[backend.Ref][]int{}
	for _, p := range have.Sample {
		known, piece := pieces[p.Ref], p.Ordinal/lessonPiece
		if known == nil {
			refs = append(refs, p.Ref)
		}
		if !slices.Contains(known, piece) {
			pieces[p.Ref] = append(known, piece)
		}
	}
	read := 0
	for part := range slices.Chunk(scattered(refs), lessonDocuments) {
		err := backend.FetchPages(ctx, e.backend, backend.FetchRequest{Collection: c.Name, Refs: part}, func(part []backend.Ref, page backend.FetchResponse) error {
			for i, d := range page.Documents {
				if d == nil {
					continue
				}
				read += d.Size()
				parts, err := r.Settings.Fields.SplitStored(d.Fields)
				if err != nil {
					return err
				}
				for _, piece := range pieces[part[i]] {
					texts = append(texts, pieceTokens(enc, r, parts, d.Passages, piece))
				}
			}
			if read >= lessonBytes {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// scattered returns refs in an order of which each beginning is spread evenly over them: that of the bits of their places, the last one first.
func scattered(refs []backend.Ref) []backend.Ref {
	places := make([]uint32, len(refs))
	for i := range places {
		places[i] = uint32(i)
	}
	slices.SortFunc(places, func(a, b uint32) int { return cmp.Compare(bits.Reverse32(a), bits.Reverse32(b)) })
	out := make([]backend.Ref, len(refs))
	for i, at := range places {
		out[i] = refs[at]
	}
	return out
}

// pieceTokens returns the tokens of some passages of a document one after another, with the title over the first of them.
func pieceTokens(e *inference.Encoding, r record, parts mapping.Parts, passages []backend.Passage, piece int) (ids []int32) {
	first := min(piece*lessonPiece, len(passages))
	for i, p := range passages[first:min(first+lessonPiece, len(passages))] {
		text, title := p.In(parts), ""
		if i == 0 {
			title = r.title(parts.TitleOver(p.Field), text)
		}
		tokens := e.Tokens(title, text)
		ids = append(append(ids, tokens.Title...), tokens.Body...)
	}
	return ids
}
