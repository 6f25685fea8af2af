package generate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/tokenizer"
)

// Limits bound the memory of a Model. The zero value is the default.
type Limits struct {
	Sequences  int   // sequences that are generated at the same time; further requests wait. 0: 64
	CacheBytes int64 // of all caches together; further requests wait. 0: 1 GiB
	Waiting    int   // requests that wait before ErrBusy. 0: 256
}

// ErrBusy is a request that finds too many waiting.
var ErrBusy = errors.New("generate: too many requests wait")

// Model generates text. It is safe for concurrent use.
type Model struct {
	decoder *encoder.Decoder
	config  config
	chat    *chatTemplate // nil: none
	start   []int32       // what a text begins with after an encoder
	limits  Limits
	queue   queue
}

// Load reads a checkpoint: what encoder.LoadDecoder reads, generation_config.json and the chat
// template. Of o Precision, Threads, MaxBatchTokens and MaxSeqLength count.
func Load(fsys fs.FS, o encoder.Options, l Limits) (*Model, error) {
	c, err := readConfig(fsys)
	if err != nil {
		return nil, err
	}
	m := &Model{config: c, limits: l}
	if m.decoder, err = encoder.LoadDecoder(fsys, o); err != nil {
		return nil, err
	}
	if m.limits.Sequences <= 0 {
		m.limits.Sequences = 64
	}
	if m.limits.CacheBytes <= 0 {
		m.limits.CacheBytes = 1 << 30
	}
	if m.limits.Waiting <= 0 {
		m.limits.Waiting = 256
	}
	if m.Rewrites() {
		if m.start = c.Start; m.start == nil && c.Begin != nil {
			m.start = []int32{*c.Begin}
		}
		if len(m.start) != 1 {
			return nil, fmt.Errorf("%w: decoder_start_token_id is %v, want one id", ErrConfig, m.start)
		}
	}
	d := m.Defaults()
	if err := d.check(m.vocab()); err != nil {
		return nil, fmt.Errorf("%w: generation_config.json: %w", ErrConfig, err)
	}
	if m.chat, err = readChatTemplate(fsys); err != nil {
		return nil, err
	}
	return m, nil
}

// Rewrites reports whether an encoder reads the prompt and the decoder begins a text of its own,
// instead of continuing the prompt.
func (m *Model) Rewrites() bool { return m.decoder.MaxSource() > 0 }

// Defaults returns the options that the checkpoint sets.
func (m *Model) Defaults() Options {
	o := m.config.options(m.Rewrites())
	o.End, o.Stop = slices.Clone(o.End), slices.Clone(o.Stop)
	return o
}

// Tokenizer is that of the checkpoint.
func (m *Model) Tokenizer() *tokenizer.Tokenizer { return m.decoder.Tokenizer() }

// Info describes the checkpoint.
func (m *Model) Info() encoder.Info { return m.decoder.Info() }

// MaxTokens is the greatest number of tokens of a prompt with its continuation or, with an encoder,
// of the text that is generated.
func (m *Model) MaxTokens() int { return m.decoder.MaxTokens() }

func (m *Model) vocab() int { return m.decoder.Info().Vocab }

// Request is a prompt with options.
type Request struct {
	Text    string
	Bare    bool    // Text has its special tokens in it, as chat templates write them
	IDs     []int32 // instead of Text: token ids with special tokens
	Options Options
	// Stream is called, by the goroutine that called Generate, with each piece of the text as soon
	// as it is certain; not with beams. An error ends the generation and is returned.
	Stream func(Delta) error
}

// Delta is a piece of a text.
type Delta struct {
	Text   string
	Tokens []Token // the new tokens, if LogProbs asks for them; their text may come later
}

// Token is a generated token with its alternatives.
type Token struct {
	ID      int32
	LogProb float32
	Top     []TokenProb // the most likely ones, in order
}

// TokenProb is a token with the logarithm of its probability.
type TokenProb struct {
	ID      int32
	LogProb float32
}

// Reason is why a text ends.
type Reason string

// The reasons.
const (
	ReasonStop   Reason = "stop"   // an end token or a stop string
	ReasonLength Reason = "length" // MaxTokens, or the length that the model takes
)

// Result is the generated text.
type Result struct {
	Texts        []Text // the best first; one without beams
	PromptTokens int
	Tokens       int // generated for the texts that are returned
	CacheBytes   int // that the caches had in the end
}

// Text is one generated text.
type Text struct {
	Text   string
	IDs    []int32 // with an end token
	Score  float32 // of beam search
	Reason Reason
	Tokens []Token // if LogProbs asks for them
}

// Generate runs one request, together with those of other callers. It returns ErrOptions,
// ErrTooLong, ErrTooLarge, ErrBusy, encoder.ErrTokenID, encoder.ErrNotFinite, the error of Stream
// or that of ctx.
func (m *Model) Generate(ctx context.Context, r Request) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j, err := m.newJob(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := m.queue.add(m, j); err != nil {
		return nil, err
	}
	if j.deltas != nil {
		for d := range j.deltas {
			if err := r.Stream(d); err != nil {
				cancel(err)
				break
			}
		}
	}
	<-j.done
	return j.result, j.err
}

// GenerateAll runs several requests as one batch and returns their results in order, or the first
// error.
func (m *Model) GenerateAll(ctx context.Context, rs []Request) ([]*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]*Result, len(rs))
	var wg sync.WaitGroup
	next := make(chan int, len(rs))
	for i := range rs {
		next <- i
	}
	close(next)
	for range min(len(rs), m.limits.Sequences) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				var err error
				if results[i], err = m.Generate(ctx, rs[i]); err != nil {
					cancel(fmt.Errorf("prompt %d: %w", i, err))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return results, nil
}

// ids returns the token ids of the prompt.
func (m *Model) ids(r Request) []int32 {
	switch {
	case r.IDs != nil:
		return r.IDs
	case r.Bare:
		return m.Tokenizer().EncodeBare(r.Text).IDs
	}
	return m.Tokenizer().Encode(r.Text, 0).IDs
}
