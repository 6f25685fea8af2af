package search

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"searchd/internal/simd"
)

// Bounds of looking for sentences, of one query.
const (
	maxSentences     = 1000 // encoded; hits after these go without
	maxSentenceBytes = 128 << 10
	sentencesBudget  = 16 << 20 // bytes of vectors and texts kept of earlier queries
	sentenceShare    = 0.6      // of the time that is left
)

// Sentence is a sentence of a passage, bytes [Start, End) of the field's text.
type Sentence struct {
	Start int      `json:"start"`
	End   int      `json:"end"`
	Score *float64 `json:"score,omitempty"` // cosine with the query; absent where the passage is one sentence
}

// sentences finds in the best passage of each hit the sentence nearest to the query. It is an ornament: where it fails or takes too long
// the hits stay without, and the answer says so.
func (s *search) sentences(ctx context.Context) error {
	if s.vector == nil {
		return nil
	}
	limited := ctx
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, time.Duration(sentenceShare*float64(time.Until(end))))
		defer cancel()
	}
	var texts []string
	spans := make([][]span, len(s.hits)) // within the best passage; nil where there is nothing to choose
	bytes := 0
	for i := range s.hits {
		if len(s.hits[i].Passages) == 0 {
			continue
		}
		p := &s.hits[i].Passages[0]
		found := passageSentences(p.Text)
		if len(found) == 1 {
			p.Sentence = &Sentence{Start: p.Start + found[0].start, End: p.Start + found[0].end}
			continue
		}
		if len(texts)+len(found) > maxSentences || bytes+len(p.Text) > maxSentenceBytes {
			continue
		}
		bytes += len(p.Text)
		spans[i] = found
		for _, f := range found {
			texts = append(texts, p.Text[f.start:f.end])
		}
	}
	vectors, err := s.encoding.sentences.vectors(limited, s.encoding.collector, texts)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.degraded == "" {
			s.degraded = "the sentences of the hits could not be encoded: they are not told"
		}
		return nil
	}
	for i, found := range spans {
		if len(found) > 0 {
			s.hits[i].Passages[0].Sentence = s.nearestSentence(s.hits[i].Passages[0], found, vectors[:len(found)])
			vectors = vectors[len(found):]
		}
	}
	return nil
}

// nearestSentence returns the sentence with the largest cosine, the first of equal ones; nil where none has a direction.
func (s *search) nearestSentence(p PassageHit, found []span, vectors [][]float32) *Sentence {
	var best *Sentence
	for j, v := range vectors {
		if v == nil {
			continue
		}
		if cos := float64(simd.Dot(s.vector, v)); best == nil || cos > *best.Score {
			best = &Sentence{p.Start + found[j].start, p.Start + found[j].end, &cos}
		}
	}
	return best
}

// passageSentences returns the sentences of a passage; its headings only where it has nothing else.
func passageSentences(text string) []span {
	var body, all []span
	eachSentence(text, func(s span, _ int, heading bool) {
		all = append(all, s)
		if !heading {
			body = append(body, s)
		}
	})
	if len(body) > 0 {
		return body
	}
	return all
}

// textCache keeps the vectors of texts up to a budget of bytes, the least recently used dropped first.
type textCache struct {
	mu struct {
		sync.Mutex
		order  *list.List // of *cachedText, most recent first
		byText map[string]*list.Element
		bytes  int
	}
	budget int
}

type cachedText struct {
	text   string
	vector []float32 // nil: the text has no direction
}

// bytes estimates what an entry takes, with its places in the list and the map.
func (c *cachedText) bytes() int { return len(c.text) + 4*len(c.vector) + 160 }

func newTextCache(budget int) *textCache {
	c := &textCache{budget: budget}
	c.mu.order, c.mu.byText = list.New(), map[string]*list.Element{}
	return c
}

// vectors returns the unit vector of each text, nil for one without a direction. The caller must not change them.
func (c *textCache) vectors(ctx context.Context, e *collector, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	missing := map[string][]int{} // text to its places
	var asked []string
	c.mu.Lock()
	for i, t := range texts {
		if el := c.mu.byText[t]; el != nil {
			c.mu.order.MoveToFront(el)
			out[i] = el.Value.(*cachedText).vector
			continue
		}
		if missing[t] == nil {
			asked = append(asked, t)
		}
		missing[t] = append(missing[t], i)
	}
	c.mu.Unlock()
	if len(asked) == 0 {
		return out, nil
	}
	r, err := e.parts(ctx, asked, EmbedOptions{}, true)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range asked {
		v := r.Vectors[i]
		if !normalize(v) {
			v = nil
		}
		for _, at := range missing[t] {
			out[at] = v
		}
		c.keep(&cachedText{t, slices.Clone(v)}) // v is a part of what the whole batch gave
	}
	return out, nil
}

// keep adds an entry and drops the oldest beyond the budget. The caller holds c.mu.
func (c *textCache) keep(entry *cachedText) {
	if c.mu.byText[entry.text] != nil {
		return
	}
	c.mu.byText[entry.text] = c.mu.order.PushFront(entry)
	for c.mu.bytes += entry.bytes(); c.mu.bytes > c.budget; {
		last := c.mu.order.Remove(c.mu.order.Back()).(*cachedText)
		delete(c.mu.byText, last.text)
		c.mu.bytes -= last.bytes()
	}
}
