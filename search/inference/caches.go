package inference

import (
	"context"
	"slices"
	"time"

	"example.com/searchd/index/maxsim"
	"example.com/searchd/internal/cache"
	"example.com/searchd/search/passage"
)

// textCache keeps the unit vectors of texts, nil for a text whose vector is zero.
type textCache struct {
	*cache.Cache[string, []float32]
}

// newTextCache has a budget in bytes.
func newTextCache(budget int) textCache {
	return textCache{cache.New[string, []float32](budget)}
}

// put keeps the vector of a text.
func (c textCache) put(text string, v []float32) { c.Put(text, v, len(text)+4*len(v)) }

// vectors returns the unit vector of each text, nil if it is zero. The caller must
// not change them.
func (c textCache) vectors(ctx context.Context, e *collector, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	missing := map[string][]int{} // text to its places
	var asked []string
	for i, t := range texts {
		v, ok := c.Get(t)
		if ok {
			out[i] = v
			continue
		}
		if missing[t] == nil {
			asked = append(asked, t)
		}
		missing[t] = append(missing[t], i)
	}
	if len(asked) == 0 {
		return out, nil
	}
	r, err := e.parts(ctx, asked, EmbedOptions{}, true)
	if err != nil {
		return nil, err
	}
	for i, t := range asked {
		v := r.Vectors[i]
		if !Normalize(v) {
			v = nil
		}
		for _, at := range missing[t] {
			out[at] = v
		}
		c.put(t, slices.Clone(v)) // v is a part of what the whole batch gave
	}
	return out, nil
}

// tokenCache keeps the tokens of passages by name.
type tokenCache struct {
	*cache.Cache[uint64, maxsim.Text]
}

func newTokenCache(budget int) tokenCache {
	return tokenCache{cache.New[uint64, maxsim.Text](budget)}
}

// Matcher returns the checkpoint that compares texts token by token; nil where it does not.
func (e *Encoding) Matcher() Matcher {
	if m, ok := e.Embedder.(Matcher); ok {
		return m
	}
	return nil
}

// Tokens returns the tokens of a passage behind its title.
func (e *Encoding) Tokens(title, text string) maxsim.Text {
	m := e.Embedder.(Matcher)
	first := func(text string, n int) []int32 {
		ids := m.Tokens(text[:passage.RuneEnd(text, min(n*matchTokenBytes, len(text)))])
		return slices.Clone(ids[:min(n, len(ids))])
	}
	return maxsim.Text{Title: first(title, matchTitle), Body: first(text, matchBody)}
}

// Budgets of the caches, and limits of the tokens that are compared.
const (
	queriesBudget   = 8 << 20  // bytes of vectors and texts of earlier queries: some 4,000 of 384 dimensions
	sentencesBudget = 16 << 20 // bytes of vectors and texts of earlier queries' sentences
	matchBudget     = 64 << 20 // bytes of tokens of passages that were compared earlier

	// Tokens of a passage that are compared: of its title and of the rest.
	matchTitle, matchBody = 40, 1024
	// matchTokenBytes is how many bytes are read for each of these tokens at most: a field of the
	// name of a title may hold megabytes.
	matchTokenBytes = 64
)

// QueryVector returns the unit vector of a query, which the caller must not change, and how long
// the query took to become tokens: 0 where it was known.
func (e *Encoding) QueryVector(ctx context.Context, text string) (v []float32, tokenization time.Duration, err error) {
	return e.queries.vector(ctx, e.collector, text)
}

// PrepareQueries encodes those of queries that are not known, together.
func (e *Encoding) PrepareQueries(ctx context.Context, texts []string) {
	e.queries.prepare(ctx, e.collector, texts)
}

// TextVectors returns the unit vector of each text, nil for one without a direction. The caller
// must not change them.
func (e *Encoding) TextVectors(ctx context.Context, texts []string) ([][]float32, error) {
	return e.sentences.vectors(ctx, e.collector, texts)
}

// Known returns the tokens of a passage by its name, if they are kept.
func (e *Encoding) Known(name uint64) (maxsim.Text, bool) { return e.passages.Get(name) }

// Remember keeps the tokens of a passage by its name.
func (e *Encoding) Remember(name uint64, text maxsim.Text) {
	e.passages.Put(name, text, 4*(len(text.Title)+len(text.Body)))
}

// Forget empties the cache of tokens.
func (e *Encoding) Forget() { e.passages = newTokenCache(matchBudget) }
