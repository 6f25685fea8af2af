// Package inference turns texts into vectors: it runs checkpoints, gathers requests into batches,
// makes bulk work give way to searches, keeps what was encoded before, re-ranks pairs, and shows
// how a checkpoint reads a text. It knows nothing of collections and documents, but for [Made],
// which says by which checkpoint vectors were made.
package inference

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/models"
	"example.com/searchd/search/fault"
)

// Service answers requests for vectors, tokens, scores and the like, besides those of searches and
// of documents. It is safe for concurrent use.
type Service struct {
	embedder  Embedder
	collector *collector    // the embedder for requests, which it gathers into batches
	reranker  Reranker      // nil: none
	sparse    SparseEncoder // nil: none
	own       *Encoding
}

// NewService returns the service of an engine's own checkpoint. Without a sparse encoder the
// checkpoint is one where it can.
func NewService(own *Encoding, reranker Reranker, sparse SparseEncoder) *Service {
	if c, ok := own.Embedder.(checkpointEmbedder); ok && sparse == nil && c.checkpoint.Info().Sparse {
		sparse = c.checkpoint
	}
	return &Service{embedder: own.Embedder, collector: own.collector, reranker: reranker, sparse: sparse, own: own}
}

// PrecisionOf returns the precision that an embedder runs with; f32 of one that is no checkpoint.
func PrecisionOf(e Embedder) string {
	if c, ok := e.(checkpointEmbedder); ok {
		return c.checkpoint.Info().Precision.String()
	}
	return encoder.Float32.String()
}

// Model describes the checkpoint that encodes.
func (s *Service) Model() ModelInfo { return s.embedder.Model() }

// Stats sets the counters of the encoder and of the cache of queries.
func (s *Service) Stats(e *EncoderStats, queries *CacheStats) {
	s.collector.stats(e)
	*queries = s.own.queries.stats()
}

// Reranks reports whether there is a re-ranker.
func (s *Service) Reranks() bool { return s.reranker != nil }

// Relevance returns the logit of a pair as the re-ranker wants it shown.
func (s *Service) Relevance(logit float32) float64 { return s.reranker.Relevance(logit) }

// SparseEncoder gives sparse vectors, as a SPLADE checkpoint does.
type SparseEncoder interface {
	EncodeSparse(ctx context.Context, texts []string, o encoder.EncodeOptions) (*encoder.SparseResult, error)
}

// EncoderInfo says what the engine's checkpoints can do, besides vectors.
type EncoderInfo struct {
	Family     string            `json:"family"`
	Layers     int               `json:"layers"`
	Heads      int               `json:"heads"`
	Hidden     int               `json:"hidden"`
	Vocabulary int               `json:"vocabulary"`
	Precision  string            `json:"precision"` // f32, int8
	Normalize  bool              `json:"normalize"` // whether vectors leave the checkpoint with unit length
	Prompts    map[string]string `json:"prompts,omitempty"`
	Default    string            `json:"default_prompt,omitempty"`
	Sparse     bool              `json:"sparse"`
	Parameters int               `json:"parameters,omitempty"` // numbers in the tensors that are used
	Card       *models.Card      `json:"card,omitempty"`
	Reranker   *RerankerInfo     `json:"reranker,omitempty"`
}

// Encoder describes what the engine's checkpoints can do. Of an [Embedder] that is no checkpoint it
// knows little.
func (s *Service) Encoder() EncoderInfo {
	i := EncoderInfo{Precision: encoder.Float32.String(), Sparse: s.sparse != nil}
	if c, ok := s.embedder.(checkpointEmbedder); ok {
		m := c.checkpoint.Info()
		i.Family, i.Layers, i.Heads, i.Hidden, i.Vocabulary = m.Family, m.Layers, m.Heads, m.Hidden, m.Vocab
		i.Precision, i.Normalize, i.Prompts, i.Default = m.Precision.String(), m.Normalize, maps.Clone(m.Prompts), m.Default
		i.Parameters = m.Parameters
		if card := c.checkpoint.Card; card.About != "" || card.License != "" {
			i.Card = &card
		}
	}
	if s.reranker != nil {
		r := s.reranker.Model()
		i.Reranker = &r
	}
	return i
}

// Embed encodes texts with the engine's checkpoint, together with those of other requests where
// that saves time. It returns a [FieldError] of the field inputs for texts of more than
// [MaxRequestTokens] tokens, and [ErrBusy] where too much is waiting already.
func (s *Service) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	if err := s.checkDimensions(o); err != nil {
		return nil, err
	}
	if err := checkRequest(ctx, texts, s.promptTokens(o), s.embedder.Model().MaxTokens, s.embedder.CountTokens); err != nil {
		return nil, err
	}
	r, err := s.collector.Embed(ctx, texts, o)
	return r, refused(err)
}

// promptTokens returns the tokens of the text that o puts before each text.
func (s *Service) promptTokens(o EmbedOptions) int {
	c, ok := s.embedder.(checkpointEmbedder)
	if !ok {
		return 0
	}
	prompt, err := c.promptText(o)
	if err != nil || prompt == "" { // Embed returns the error
		return 0
	}
	return c.CountTokens(prompt)
}

func (s *Service) checkDimensions(o EmbedOptions) error {
	if d := s.embedder.Model().Dimension; o.Dimensions < 0 || o.Dimensions > d {
		return fault.Field("dimensions", o.Dimensions, fmt.Sprintf("1 to %d", d))
	}
	return nil
}

// EmbedIDs encodes texts that are tokens already, special tokens included, as [Service.Tokenize]
// gives them: at most [MaxRequestTokens]. Of o Dimensions and Truncate count.
func (s *Service) EmbedIDs(ctx context.Context, ids [][]int32, o EmbedOptions) (*Embeddings, error) {
	if err := s.checkDimensions(o); err != nil {
		return nil, err
	}
	c, err := s.checkpoint()
	if err != nil {
		return nil, err
	}
	most, n := s.embedder.Model().MaxTokens, 0
	for i, list := range ids {
		if n += min(len(list), most); n > MaxRequestTokens && i > 0 {
			return nil, tooManyTokens(n, i, len(ids))
		}
	}
	began := time.Now()
	r, err := c.checkpoint.EncodeIDs(ctx, ids, encoder.EncodeOptions{Dimensions: o.Dimensions, Truncate: o.Truncate, KeepIDs: true})
	if err != nil {
		return nil, refused(err)
	}
	out := c.embeddings(r)
	out.Inference = time.Since(began)
	return out, nil
}

// TokenVectors are the vectors of the tokens of some texts, before pooling.
type TokenVectors struct {
	Vectors      [][][]float32 // [n][L][H]
	Tokens       int
	Truncated    []bool
	Tokenization time.Duration // as of Embeddings
}

// MaxTokenValues bounds the numbers that one call of [Service.EmbedTokens] returns: 10,922 tokens
// of 384 numbers each.
const MaxTokenValues = 4 << 20

// EmbedTokens returns the vector of each token of each text. It returns [ErrUnsupported] where the
// checkpoint has no layers, and refuses texts with more tokens than MaxTokenValues allows before it
// encodes any.
func (s *Service) EmbedTokens(ctx context.Context, texts []string, ids [][]int32, o EmbedOptions) (*TokenVectors, error) {
	c, err := s.checkpoint()
	if err != nil {
		return nil, err
	}
	if err := c.checkTokens(ctx, texts, ids, o); err != nil {
		return nil, err
	}
	var r *encoder.TokenStates
	eo := encoder.EncodeOptions{Prompt: o.prompt(), Truncate: o.Truncate}
	if ids != nil {
		r, err = c.checkpoint.EncodeTokensIDs(ctx, ids, eo)
	} else {
		r, err = c.checkpoint.EncodeTokens(ctx, texts, eo)
	}
	if err != nil {
		return nil, refused(err)
	}
	out := &TokenVectors{Vectors: make([][][]float32, len(r.States)), Tokens: r.Tokens, Truncated: r.Truncated, Tokenization: r.Tokenization}
	h := c.checkpoint.Info().Hidden
	for i, states := range r.States {
		for row := range slices.Chunk(states, h) {
			out.Vectors[i] = append(out.Vectors[i], row)
		}
	}
	return out, nil
}

// checkTokens refuses texts, or tokens, that have more vectors together than MaxTokenValues allows.
func (e checkpointEmbedder) checkTokens(ctx context.Context, texts []string, ids [][]int32, o EmbedOptions) error {
	prompt, err := e.promptText(o)
	if err != nil {
		return err
	}
	longest, limit, n := e.checkpoint.MaxSeqLength(), MaxTokenValues/e.checkpoint.Info().Hidden, 0
	for _, list := range ids {
		if longest > 0 {
			list = list[:min(len(list), longest)]
		}
		n += len(list)
	}
	for _, text := range texts {
		if err := ctx.Err(); err != nil {
			return err
		}
		n += len(e.checkpoint.Tokenizer().Encode(prompt+text, longest).IDs)
	}
	if n > limit {
		return fault.Field("inputs", n, fmt.Sprintf("at most %d tokens in one request, special tokens included; send fewer texts at a time", limit))
	}
	return nil
}

// EmbedSparse returns sparse vectors. It returns [ErrUnsupported] without a checkpoint that gives
// them, and refuses more than [MaxRequestTokens] as Embed does.
func (s *Service) EmbedSparse(ctx context.Context, texts []string, o EmbedOptions) (*encoder.SparseResult, error) {
	if s.sparse == nil {
		return nil, fmt.Errorf("%w: the server has no checkpoint that gives sparse vectors; start it with --sparse-model and a SPLADE checkpoint", fault.ErrUnsupported)
	}
	most, count := 0, s.embedder.CountTokens
	if c, ok := s.sparse.(interface {
		MaxSeqLength() int
		Tokenizer() *tokenizer.Tokenizer
	}); ok {
		most, count = c.MaxSeqLength(), c.Tokenizer().Count
	}
	if err := checkRequest(ctx, texts, 0, most, count); err != nil {
		return nil, err
	}
	r, err := s.sparse.EncodeSparse(ctx, texts, encoder.EncodeOptions{Prompt: o.prompt(), Truncate: o.Truncate})
	return r, refused(err)
}

// Token is a token of a text.
type Token struct {
	ID      int32
	Token   string // as the vocabulary writes it
	Start   int    // byte offsets [Start, End) into the text
	End     int
	Special bool // put there by the checkpoint's template; Start and End are 0
}

// Tokenization is a text as the checkpoint reads it.
type Tokenization struct {
	Text   string // with its prompt; what the offsets refer to
	Tokens []Token
}

// Tokenize cuts texts into tokens, however long they are, with or without the special tokens around
// them.
func (s *Service) Tokenize(ctx context.Context, texts []string, special bool, o EmbedOptions) ([]Tokenization, error) {
	c, err := s.checkpoint()
	if err != nil {
		return nil, err
	}
	prompt, err := c.promptText(o)
	if err != nil {
		return nil, err
	}
	t := c.checkpoint.Tokenizer()
	out := make([]Tokenization, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i].Text = prompt + text
		encoding := t.EncodeBare(out[i].Text)
		if special {
			encoding = t.Encode(out[i].Text, 0)
		}
		out[i].Tokens = make([]Token, len(encoding.IDs))
		for j, id := range encoding.IDs {
			word, _ := t.Token(id)
			span := encoding.Spans[j]
			out[i].Tokens[j] = Token{id, word, span.Start, span.End, special && span.Start == span.End}
		}
	}
	return out, nil
}

// Decode returns the texts of lists of token ids.
func (s *Service) Decode(ctx context.Context, ids [][]int32, skipSpecial bool) ([]string, error) {
	c, err := s.checkpoint()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(ids))
	for i, list := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = c.checkpoint.Tokenizer().Decode(list, skipSpecial)
	}
	return out, nil
}

// promptText returns the text that o puts before each text.
func (e checkpointEmbedder) promptText(o EmbedOptions) (string, error) {
	i := e.checkpoint.Info()
	switch name := o.prompt(); name {
	case encoder.PromptNone:
		return "", nil
	case "":
		return i.Prompts[i.Default], nil
	case encoder.PromptQuery, encoder.PromptDocument:
		for _, try := range map[string][]string{encoder.PromptQuery: {"query"}, encoder.PromptDocument: {"document", "passage", "corpus"}}[name] {
			if text, ok := i.Prompts[try]; ok {
				return text, nil
			}
		}
		return i.Prompts[i.Default], nil
	default:
		text, ok := i.Prompts[name]
		if !ok {
			return "", refused(fmt.Errorf("%w: %s", encoder.ErrPrompt, fault.Quote(name)))
		}
		return text, nil
	}
}

// checkpoint returns the engine's checkpoint, which tests and backends may have replaced by another
// [Embedder].
func (s *Service) checkpoint() (checkpointEmbedder, error) {
	c, ok := s.embedder.(checkpointEmbedder)
	if !ok {
		return c, fmt.Errorf("%w: the embedder is not a checkpoint and has neither tokens nor layers", fault.ErrUnsupported)
	}
	return c, nil
}

// translated is an error that also matches the engine's name for it.
type translated struct {
	error
	is error
}

func (t translated) Unwrap() []error { return []error{t.error, t.is} }

// refused gives the encoder's errors about a request the engine's names.
func refused(err error) error {
	for _, pair := range [...]struct{ from, to error }{
		{encoder.ErrPrompt, fault.ErrInvalid}, {encoder.ErrTokenID, fault.ErrInvalid}, {encoder.ErrDimensions, fault.ErrInvalid},
		{encoder.ErrInspect, fault.ErrUnsupported}, {encoder.ErrNotDense, fault.ErrUnsupported}, {encoder.ErrNotSparse, fault.ErrUnsupported}, {encoder.ErrNoHead, fault.ErrUnsupported},
	} {
		if errors.Is(err, pair.from) {
			return translated{err, pair.to}
		}
	}
	return err
}
