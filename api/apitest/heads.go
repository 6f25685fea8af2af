package apitest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"

	"searchd/encoder"
	"searchd/search"
)

// vocabulary is the number of token ids; a word's id is its hash. 0 and 1 stand before and behind each text.
const vocabulary = 1000

func tokenID(word string) int32 {
	h := fnv.New32a()
	h.Write([]byte(word))
	return int32(2 + h.Sum32()%(vocabulary-2))
}

// Encoder implements api.Engine.
func (e *Engine) Encoder() search.EncoderInfo {
	return search.EncoderInfo{Family: "trigrams", Layers: 2, Heads: 2, Hidden: dimension, Vocabulary: vocabulary, Precision: "f32",
		Prompts: map[string]string{"query": "query: "}, Sparse: true, Reranker: &search.RerankerInfo{Name: "overlap", MaxTokens: 64, Sigmoid: true}}
}

// EmbedIDs implements api.Engine: each id is a dimension.
func (e *Engine) EmbedIDs(ctx context.Context, ids [][]int32, o search.EmbedOptions) (*search.Embeddings, error) {
	if err := e.enter(ctx, "EmbedIDs"); err != nil {
		return nil, err
	}
	out := &search.Embeddings{Model: e.Model(), Truncated: make([]bool, len(ids))}
	for _, list := range ids {
		v := make([]float32, dimension)
		for _, id := range list {
			v[id%dimension]++
		}
		if o.Dimensions > 0 {
			v = v[:o.Dimensions]
		}
		out.Vectors = append(out.Vectors, v)
		out.Tokens += len(list)
	}
	return out, nil
}

// EmbedTokens implements api.Engine.
func (e *Engine) EmbedTokens(ctx context.Context, texts []string, ids [][]int32, o search.EmbedOptions) (*search.TokenVectors, error) {
	if err := e.enter(ctx, "EmbedTokens"); err != nil {
		return nil, err
	}
	out := &search.TokenVectors{Truncated: make([]bool, max(len(texts), len(ids)))}
	for _, t := range texts {
		var rows [][]float32
		for _, w := range words(t) {
			rows = append(rows, embed(w))
		}
		out.Vectors, out.Tokens = append(out.Vectors, rows), out.Tokens+len(rows)
	}
	for _, list := range ids {
		out.Vectors, out.Tokens = append(out.Vectors, make([][]float32, len(list))), out.Tokens+len(list)
	}
	return out, nil
}

// EmbedSparse implements api.Engine: each word weighs as often as it occurs.
func (e *Engine) EmbedSparse(ctx context.Context, texts []string, o search.EmbedOptions) (*encoder.SparseResult, error) {
	if err := e.enter(ctx, "EmbedSparse"); err != nil {
		return nil, err
	}
	out := &encoder.SparseResult{Truncated: make([]bool, len(texts))}
	for _, t := range texts {
		weights := map[int32]float32{}
		for _, w := range words(t) {
			weights[tokenID(w)]++
		}
		var v []encoder.TokenWeight
		for id, n := range weights {
			v = append(v, encoder.TokenWeight{ID: id, Weight: n})
		}
		slices.SortFunc(v, func(a, b encoder.TokenWeight) int { return int(a.ID - b.ID) })
		out.Vectors, out.Tokens = append(out.Vectors, v), out.Tokens+len(words(t))
	}
	return out, nil
}

// Rerank implements api.Engine: the logit is the number of the query's words in the text, less one. A text of more than 64 words is cut.
func (e *Engine) Rerank(ctx context.Context, query string, texts []string) (*search.Ranking, error) {
	if err := e.enter(ctx, "Rerank"); err != nil {
		return nil, err
	}
	r := &search.Ranking{Model: *e.Encoder().Reranker}
	for _, t := range texts {
		found, list := float32(-1), words(t)
		for _, w := range words(query) {
			if slices.Contains(list, w) {
				found++
			}
		}
		r.Logits = append(r.Logits, found)
		r.Relevance = append(r.Relevance, 1/(1+math.Exp(-float64(found))))
		r.Truncated = append(r.Truncated, len(list) > r.Model.MaxTokens)
		r.Tokens += min(len(list), r.Model.MaxTokens)
	}
	return r, nil
}

// Tokenize implements api.Engine: a token is a run of anything but spaces.
func (e *Engine) Tokenize(ctx context.Context, texts []string, special bool, o search.EmbedOptions) ([]search.Tokenization, error) {
	if err := e.enter(ctx, "Tokenize"); err != nil {
		return nil, err
	}
	var out []search.Tokenization
	for _, text := range texts {
		text = e.Encoder().Prompts[o.Prompt] + text
		t := search.Tokenization{Text: text}
		if special {
			t.Tokens = append(t.Tokens, search.Token{ID: 0, Token: "[CLS]", Special: true})
		}
		at := 0
		for _, w := range strings.Fields(text) {
			start := at + strings.Index(text[at:], w)
			at = start + len(w)
			t.Tokens = append(t.Tokens, search.Token{ID: tokenID(w), Token: w, Start: start, End: at})
		}
		if special {
			t.Tokens = append(t.Tokens, search.Token{ID: 1, Token: "[SEP]", Special: true})
		}
		out = append(out, t)
	}
	return out, nil
}

// Decode implements api.Engine: a token's text is its number.
func (e *Engine) Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error) {
	if err := e.enter(ctx, "Decode"); err != nil {
		return nil, err
	}
	var out []string
	for _, list := range ids {
		var parts []string
		for _, id := range list {
			if id > 1 || !skipSpecial {
				parts = append(parts, fmt.Sprint(id))
			}
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out, nil
}

// Attention implements api.Engine: each token looks at all alike.
func (e *Engine) Attention(ctx context.Context, text string, o search.AttentionOptions) (*search.Attention, error) {
	if err := e.enter(ctx, "Attention"); err != nil {
		return nil, err
	}
	if i := e.Encoder(); o.Layer < 0 || o.Layer >= i.Layers {
		return nil, &search.FieldError{Field: "layer", Value: o.Layer, Allowed: fmt.Sprintf("0 to %d", i.Layers-1)}
	}
	t, err := e.Tokenize(ctx, []string{text}, true, o.EmbedOptions)
	if err != nil {
		return nil, err
	}
	a := &search.Attention{Tokenization: t[0], Layer: o.Layer, Head: o.Head}
	n := len(a.Tokens)
	for range n {
		a.Weights = append(a.Weights, slices.Repeat([]float32{1 / float32(n)}, n))
	}
	if o.Norms {
		for range e.Encoder().Layers + 1 {
			a.Norms = append(a.Norms, slices.Repeat([]float32{1}, n))
		}
	}
	if o.Maps {
		i := e.Encoder()
		for range i.Layers {
			a.Maps = append(a.Maps, slices.Repeat([][]byte{slices.Repeat([]byte{255}, n*n)}, i.Heads))
		}
	}
	if o.With != "" {
		a.LayerCosines = slices.Repeat([]float64{cosine(embed(text), embed(o.With))}, e.Encoder().Layers+1)
	}
	return a, nil
}

// Contributions implements api.Engine: all tokens of a text have the same share.
func (e *Engine) Contributions(ctx context.Context, texts [2]string, o [2]search.EmbedOptions) (*search.Contribution, error) {
	if err := e.enter(ctx, "Contributions"); err != nil {
		return nil, err
	}
	c := &search.Contribution{Cosine: cosine(embed(texts[0]), embed(texts[1]))}
	for i, text := range texts {
		t, err := e.Tokenize(ctx, []string{text}, true, search.EmbedOptions{})
		if err != nil {
			return nil, err
		}
		c.Texts[i] = search.TokenShares{Tokenization: t[0], Shares: slices.Repeat([]float64{c.Cosine / float64(len(t[0].Tokens))}, len(t[0].Tokens))}
	}
	return c, nil
}

// DeleteDocument implements api.Engine.
func (e *Engine) DeleteDocument(ctx context.Context, name, id string, ifRevision *uint64) (search.ItemResult, error) {
	if err := e.enter(ctx, "DeleteDocument"); err != nil {
		return search.ItemResult{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return search.ItemResult{}, err
	}
	d := c.docs[id]
	switch {
	case d == nil:
		return search.ItemResult{ID: id, Status: search.Failed, Err: fmt.Errorf("%w: %q", search.ErrDocumentNotFound, id)}, nil
	case ifRevision != nil && *ifRevision != d.Revision:
		return search.ItemResult{ID: id, Status: search.Failed, Err: fmt.Errorf("%w: document %q is at revision %d, not %d", search.ErrConflict, id, d.Revision, *ifRevision)}, nil
	}
	delete(c.docs, id)
	return search.ItemResult{ID: id, Status: search.Deleted}, nil
}

// Map implements api.Engine: the passages stand on a line, in the order of their documents' ids.
func (e *Engine) Map(ctx context.Context, name string, o search.MapOptions) (*search.Map, error) {
	if err := e.enter(ctx, "Map"); err != nil {
		return nil, err
	}
	if o.Limit != 0 && (o.Limit < search.MinMapPoints || o.Limit > search.MaxMapPoints) {
		return nil, &search.FieldError{Field: "limit", Value: o.Limit, Allowed: "3 to 5000"}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return nil, err
	}
	m := &search.Map{Points: []search.MapPoint{}, Fields: []search.MapField{}, Variance: []float64{1, 0}}
	for _, id := range slices.Sorted(maps.Keys(c.docs)) {
		m.Points = append(m.Points, search.MapPoint{ID: id, Title: id, At: []float32{float32(len(m.Points)), 0}})
	}
	m.Total = len(m.Points)
	if o.Q != "" {
		m.Query = &search.MapQuery{At: []float32{0, 0}, Nearest: []search.MapMatch{}}
	}
	return m, nil
}

// Gauges implements api.Engine: its collections have no indexes.
func (e *Engine) Gauges(ctx context.Context, name string) (*search.Gauges, error) {
	info, err := e.Collection(ctx, name)
	if err != nil {
		return nil, err
	}
	return &search.Gauges{Documents: info.Documents, Passages: info.Passages}, nil
}

// Language implements api.Engine: texts tell nothing.
func (e *Engine) Language(ctx context.Context, name string) (*search.Language, error) {
	info, err := e.Collection(ctx, name)
	if err != nil {
		return nil, err
	}
	return &search.Language{Language: cmp.Or(info.Settings.Language, "en")}, nil
}
