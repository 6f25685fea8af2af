package inference

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/index/maxsim"
	"example.com/searchd/models"
	"example.com/searchd/search/fault"
)

// Embedder turns texts into vectors. Implementations are safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each text, in their order, each with Model().Dimension components,
	// or o.Dimensions where that is not 0. Of the result Vectors alone is needed. Passages and
	// queries are given unit length by the engine, [Engine.Embed] answers vectors as they are; one
	// of zeros has no direction and is refused.
	Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error)
	CountTokens(text string) int // special tokens not included; by it texts are cut into passages of MaxTokens
	// Model identifies the vectors: a collection is searched with an Embedder of the same SHA256
	// (any string), Dimension and Pooling, the same Parts where it has any, and a MaxTokens that
	// passages have room in; with any other in keyword mode alone ([ErrModelMismatch]). Dimension
	// and MaxTokens must be above 0.
	Model() ModelInfo
	Calibration() models.Calibration
}

// checkEmbedder refuses an Embedder that nothing can be done with, and returns its calibration.
func checkEmbedder(e Embedder) (models.Calibration, error) {
	var wrong fault.Fields
	m, c := e.Model(), e.Calibration()
	if m.Dimension < 1 {
		wrong.Add("embedder.model.dimension", m.Dimension, "at least 1")
	}
	if m.MaxTokens < 1 {
		wrong.Add("embedder.model.max_tokens", m.MaxTokens, "at least 1")
	}
	if err := c.Validate(); err != nil {
		wrong.Add("embedder.calibration", c, err.Error())
	}
	return c, wrong.Err()
}

// Reader is an [Embedder] that can tell whether a text means anything to it. A query that does not
// is searched for by words alone: all of which nothing is known have the same vector, and would be
// found as each other's likes.
type Reader interface {
	// Reads reports whether a token of the text is known.
	Reads(text string) bool
}

// Reads reports whether a text means anything to the checkpoint, as far as it can tell.
func (e *Encoding) Reads(text string) bool {
	r, ok := e.Embedder.(Reader)
	return !ok || r.Reads(text)
}

// embed is e.Embed for an Embedder that may answer something else than it was asked for.
func embed(ctx context.Context, e Embedder, texts []string, o EmbedOptions) (*Embeddings, error) {
	r, err := e.Embed(ctx, texts, o)
	if err != nil {
		return nil, err
	}
	if r == nil || len(r.Vectors) != len(texts) {
		return nil, fmt.Errorf("the embedder gave other than %d vectors for %d texts", len(texts), len(texts))
	}
	dim := cmp.Or(o.Dimensions, e.Model().Dimension)
	for _, v := range r.Vectors {
		if len(v) != dim {
			return nil, fmt.Errorf("the embedder gave a vector of %d components, want %d", len(v), dim)
		}
	}
	return r, nil
}

// EmbedOptions say how texts are encoded.
type EmbedOptions struct {
	Query      bool           // with the checkpoint's prompt for queries; otherwise with the one for documents
	Prompt     string         // instead: the name of one of the checkpoint's prompts, PromptDefault or PromptNone
	Dimensions int            // the first so many dimensions, normalised again; 0: all
	Truncate   tokenizer.Side // the end at which long texts are cut; SideOfFile: that of the checkpoint
}

// Values of EmbedOptions.Prompt besides the names of prompts.
const (
	PromptDefault = "@default"         // the checkpoint's default prompt, or none
	PromptNone    = encoder.PromptNone // no prompt
)

// prompt returns the name by which the encoder knows the prompt.
func (o EmbedOptions) prompt() string {
	switch {
	case o.Prompt == PromptDefault:
		return ""
	case o.Prompt != "":
		return o.Prompt
	case o.Query:
		return encoder.PromptQuery
	}
	return encoder.PromptDocument
}

// Embeddings are the vectors of some texts, in their order.
type Embeddings struct {
	Vectors   [][]float32
	Tokens    int    // ids encoded, special tokens included
	Counts    []int  // of each text; nil where the Embedder does not say
	Truncated []bool // texts longer than the checkpoint takes
	Model     ModelInfo

	// Times; of a large request, summed over its parts. Requests that were encoded together have
	// the same but for Queue.
	Queue        time.Duration // waited for others
	Tokenization time.Duration // the texts took to become tokens; 0 where the Embedder does not say
	Inference    time.Duration // encoded from then on
}

// checkpointEmbedder is the Embedder over a loaded checkpoint.
type checkpointEmbedder struct {
	checkpoint *models.Checkpoint
	tokens     func() *maxsim.Table // made when it is asked for first
}

// tokenTableBytes bounds the table of token vectors. Multilingual vocabularies would take hundreds
// of megabytes: texts are not compared token by token with these.
const tokenTableBytes = 64 << 20

// NewEmbedder returns the Embedder that runs a checkpoint.
func NewEmbedder(c *models.Checkpoint) Embedder {
	return checkpointEmbedder{c, sync.OnceValue(func() *maxsim.Table {
		v, err := c.TokenVectors()
		if err != nil || v.Vocab*v.Dim > tokenTableBytes {
			return nil
		}
		return maxsim.NewTable(v.Vocab, v.Dim, v.Read)
	})}
}

func (e checkpointEmbedder) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	r, err := e.checkpoint.Encode(ctx, texts, encoder.EncodeOptions{Prompt: o.prompt(), Dimensions: o.Dimensions, Truncate: o.Truncate, KeepIDs: true})
	if err != nil {
		return nil, err
	}
	return e.embeddings(r), nil
}

func (e checkpointEmbedder) embeddings(r *encoder.Result) *Embeddings {
	out := &Embeddings{Vectors: r.Vectors, Tokens: r.Tokens, Counts: make([]int, len(r.IDs)), Truncated: r.Truncated, Model: e.Model(), Tokenization: r.Tokenization}
	for i, ids := range r.IDs {
		out.Counts[i] = len(ids)
	}
	return out
}

func (e checkpointEmbedder) CountTokens(text string) int { return e.checkpoint.Tokenizer().Count(text) }

func (e checkpointEmbedder) Tokens(text string) []int32 {
	return e.checkpoint.Tokenizer().EncodeBare(text).IDs
}

// Knows implements [Speller]: a word that is one token of the vocabulary is spelled right.
func (e checkpointEmbedder) Knows(word string) bool {
	ids := e.Tokens(word)
	if len(ids) != 1 {
		return false
	}
	token, _ := e.checkpoint.Tokenizer().Token(ids[0])
	return strings.EqualFold(strings.TrimLeft(token, "▁Ġ"), word) // not the unknown token
}

// Reads implements [Reader]. The unknown token is a special one, as are those that a query would
// have to spell out.
func (e checkpointEmbedder) Reads(text string) bool {
	t := e.checkpoint.Tokenizer()
	return slices.ContainsFunc(e.Tokens(text), func(id int32) bool { return t.Decode([]int32{id}, true) != "" })
}

func (e checkpointEmbedder) TokenTable() *maxsim.Table { return e.tokens() }

func (e checkpointEmbedder) Calibration() models.Calibration { return e.checkpoint.Calibration }

// What is said of a checkpoint that takes texts of any length, as static ones do.
const (
	endlessTokens  = 1 << 20
	endlessPassage = 512
)

func (e checkpointEmbedder) Model() ModelInfo {
	i, most, passage := e.checkpoint.Info(), e.checkpoint.MaxSeqLength(), e.checkpoint.Calibration.PassageTokens
	if most == 0 {
		most, passage = endlessTokens, cmp.Or(passage, endlessPassage)
	}
	return ModelInfo{Name: e.checkpoint.Name, SHA256: hex.EncodeToString(i.SHA256[:]), Dimension: e.checkpoint.Dim(), Pooling: strings.Join(i.Pooling, "+"), MaxTokens: most,
		Parts: i.Parts, PassageTokens: min(passage, most)}
}

// Normalize scales v to unit length in place. It reports false for a vector without a direction:
// zero, NaN or infinite.
func Normalize(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return false
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
	return true
}

// queryCache keeps the unit vectors of recent queries.
type queryCache struct {
	textCache
	hits, misses atomic.Uint64
}

// newQueryCache has a budget in bytes.
func newQueryCache(budget int) *queryCache {
	return &queryCache{textCache: newTextCache(budget)}
}

// vector returns the unit vector of a query, which the caller must not change, and how long the
// query took to become tokens: 0 where it was known.
func (c *queryCache) vector(ctx context.Context, e *collector, text string) (v []float32, tokenization time.Duration, err error) {
	if v, ok := c.Get(text); ok {
		c.hits.Add(1)
		return v, 0, nil
	}
	c.misses.Add(1)
	r, err := e.query(ctx, text)
	if err != nil {
		return nil, 0, err
	}
	v = r.Vectors[0]
	if !Normalize(v) {
		return nil, 0, fmt.Errorf("the model returned a zero vector for the query %s", fault.Quote(text))
	}
	c.put(text, v)
	return v, r.Tokenization, nil
}

// prepare encodes those of texts that are not known, together. One without a direction is left to
// vector.
func (c *queryCache) prepare(ctx context.Context, e *collector, texts []string) {
	var unknown []string
	seen := map[string]bool{}
	for _, t := range texts {
		if _, ok := c.Get(t); !ok && !seen[t] {
			unknown = append(unknown, t)
		}
		seen[t] = true
	}
	if len(unknown) == 0 {
		return
	}
	c.misses.Add(uint64(len(unknown)))
	r, err := e.parts(ctx, unknown, EmbedOptions{Query: true}, true)
	if err != nil {
		return
	}
	for i, t := range unknown {
		if v := slices.Clone(r.Vectors[i]); Normalize(v) { // r's may share one array
			c.put(t, v)
		}
	}
}

// ModelInfo identifies the checkpoint that made the vectors of a collection.
type ModelInfo struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"`
	Dimension int    `json:"dimension"`
	Pooling   string `json:"pooling"`
	MaxTokens int    `json:"max_tokens"`

	PassageTokens int `json:"passage_tokens,omitempty"` // of a passage, unless the settings say otherwise; 0: MaxTokens

	Parts encoder.Parts `json:"parts,omitzero"` // sums of what decides a vector beside the weights; the zero value: not known
}
