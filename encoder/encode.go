package encoder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/pooling"
)

// Errors of a request.
var (
	ErrDimensions = errors.New("encoder: bad number of dimensions")
	ErrNoHead     = errors.New("encoder: the checkpoint has no head that scores pairs")
	ErrTokenID    = errors.New("encoder: token id outside the vocabulary")
	ErrNotFinite  = errors.New("encoder: the checkpoint computes numbers beyond float32")
)

// EncodeOptions select what Encode returns. The zero value does what SentenceTransformer.encode
// does by default.
type EncodeOptions struct {
	// Prompt is the name of one of the checkpoint's prompts, or PromptQuery, PromptDocument or
	// PromptNone. Empty: the default prompt of the checkpoint, or none.
	Prompt string
	// Dimensions cuts the vectors and gives them unit length again, for models trained that way
	// (Matryoshka). 0: no cut.
	Dimensions int
	// Truncate is the end at which a text that is too long is cut. SideOfFile: as the checkpoint
	// configures.
	Truncate tokenizer.Side
	// KeepIDs asks for the token ids.
	KeepIDs bool
}

// Result holds the vectors of the texts, in their order.
type Result struct {
	Vectors   [][]float32 // [n][Dim or Dimensions]
	IDs       [][]int32   // with special tokens; nil without KeepIDs
	Truncated []bool      // whether an end of the text did not fit into MaxSeqLength tokens
	Tokens    int         // of all texts, with special tokens

	Tokenization time.Duration // time spent on tokenisation; 0 for EncodeIDs
}

// sequence is a text or a pair as tokens.
type sequence struct {
	ids, types []int32
	pixels     []float32 // of a picture, see batch; nil: a text
	skip       int       // leading tokens that the pooling leaves out
	truncated  bool
	keys       int    // tokens that others see, from the first on; 0: all
	through    *stack // that of the prompt's task; nil: the plain one
}

// Encode returns the vectors of any number of texts. White space at both ends of a text is dropped,
// as in sentence-transformers. Texts run in batches of similar length without padding. A vector
// depends on the other texts of its batch by less than 1e-6, because kernels that take several rows
// at once round differently. It returns ErrPrompt, ErrDimensions, ErrNotFinite in place of a NaN or
// an infinity, or the error of ctx, which is checked per layer.
func (m *Model) Encode(ctx context.Context, texts []string, o EncodeOptions) (*Result, error) {
	if err := m.checkDimensions(o.Dimensions); err != nil {
		return nil, err
	}
	began := time.Now()
	seqs, err := m.textSequences(ctx, texts, o)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	r, err := m.vectors(ctx, seqs, o)
	if err != nil {
		return nil, err
	}
	r.Tokenization = took
	return r, nil
}

// EncodeIDs is Encode for token ids, special tokens included. No prompt is added; ids beyond
// MaxSeqLength are cut off. It returns ErrTokenID for an id outside the vocabulary.
func (m *Model) EncodeIDs(ctx context.Context, ids [][]int32, o EncodeOptions) (*Result, error) {
	if err := m.checkDimensions(o.Dimensions); err != nil {
		return nil, err
	}
	seqs, err := m.idSequences(ids, o.Truncate)
	if err != nil {
		return nil, err
	}
	return m.vectors(ctx, seqs, o)
}

// checkDimensions checks a request for dense vectors.
func (m *Model) checkDimensions(n int) error {
	if m.tok == nil {
		return ErrNoTexts
	}
	if m.late != nil {
		return fmt.Errorf("%w: it has one for each token, for late interaction; as a re-ranker it can be used", ErrNotDense)
	}
	if len(m.pool.modes) == 0 {
		return ErrNotDense
	}
	if n < 0 || n > m.dim {
		return fmt.Errorf("%w: %d, want 0 or 1 to %d", ErrDimensions, n, m.dim)
	}
	return nil
}

// Scores holds the scores of the pairs, in their order.
type Scores struct {
	Logits    []float32 // the raw output of the head: no sigmoid is applied
	Truncated []bool    // whether an end of query or text did not fit into MaxSeqLength tokens
	Tokens    int       // of all pairs, with special tokens

	Tokenization time.Duration // as in Result
}

// Score scores pairs of query and text with a cross-encoder, or by MaxSim with a checkpoint of late
// interaction. It returns ErrNoHead if the checkpoint is neither, or its classification head has
// more than one label, ErrNotFinite, or the error of ctx.
func (m *Model) Score(ctx context.Context, pairs [][2]string) (*Scores, error) {
	if m.late != nil {
		return m.scoreLate(ctx, pairs)
	}
	if m.info.Labels != 1 {
		return nil, fmt.Errorf("%w: its head has %d labels, want 1", ErrNoHead, m.info.Labels)
	}
	began := time.Now()
	seqs, err := m.tokenize(ctx, len(pairs), func(i int) tokenizer.Encoding {
		return m.tok.EncodePair(strip(pairs[i][0]), strip(pairs[i][1]), m.maxLen)
	})
	if err != nil {
		return nil, err
	}
	r := &Scores{Logits: make([]float32, len(pairs)), Tokenization: time.Since(began)}
	r.Truncated, r.Tokens = lengths(seqs)
	err = m.eachText(ctx, seqs, func(n int, states []float32) error {
		logits := m.stack.head.logits(states, m.stack.hidden)
		r.Logits[n] = logits[0]
		return checkFinite(logits, n)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// lengths returns which sequences were cut, and the number of tokens of all.
func lengths(seqs []sequence) (truncated []bool, tokens int) {
	truncated = make([]bool, len(seqs))
	for i, s := range seqs {
		truncated[i] = s.truncated
		tokens += len(s.ids)
	}
	return truncated, tokens
}

// textSequences turns texts into tokens; of o Prompt and Truncate count.
func (m *Model) textSequences(ctx context.Context, texts []string, o EncodeOptions) ([]sequence, error) {
	if m.tok == nil {
		return nil, ErrNoTexts
	}
	prompt, err := m.prompts.text(o.Prompt)
	if err != nil {
		return nil, err
	}
	seqs, err := m.tokenize(ctx, len(texts), func(i int) tokenizer.Encoding { return m.encodeText(prompt+texts[i], o) })
	if err != nil {
		return nil, err
	}
	skip, through := m.skipped(prompt), m.through(o.Prompt)
	for i := range seqs {
		seqs[i].skip, seqs[i].through = skip, through
	}
	return seqs, nil
}

// through returns the stack for texts with the named prompt.
func (m *Model) through(prompt string) *stack {
	if m.stack == nil {
		return nil
	}
	if chosen, err := m.prompts.choose(prompt); err == nil && m.stack.variants[chosen] != nil {
		return m.stack.variants[chosen]
	}
	return m.stack
}

// idSequences checks and cuts texts that are already tokens.
func (m *Model) idSequences(ids [][]int32, side tokenizer.Side) ([]sequence, error) {
	if m.tok == nil {
		return nil, ErrNoTexts
	}
	seqs := make([]sequence, len(ids))
	for i, list := range ids {
		seqs[i].ids = list
		if m.maxLen > 0 && len(list) > m.maxLen {
			seqs[i].ids, seqs[i].truncated = list[:m.maxLen], true
			if m.tok.CutsLeft(side) {
				seqs[i].ids = list[len(list)-m.maxLen:]
			}
		}
		seqs[i].ids = m.finishIDs(seqs[i].ids)
		if err := m.check(seqs[i]); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	return seqs, nil
}

// limit is the length at which a text with the named prompt is cut.
func (m *Model) limit(prompt string) int {
	if prompt == PromptQuery {
		return m.queryLen
	}
	return m.maxLen
}

// encodeText turns a text with its prompt into tokens. Of o only Truncate counts, and Prompt for
// the length.
func (m *Model) encodeText(text string, o EncodeOptions) tokenizer.Encoding {
	if m.static == nil {
		return m.tok.EncodeSide(m.trim(text), m.limit(o.Prompt), o.Truncate)
	}
	e, left := m.tok.EncodeStored(text, o.Truncate), m.tok.CutsLeft(o.Truncate)
	if left {
		slices.Reverse(e.IDs)
	}
	if n := m.static.prefix(e.IDs, m.maxLen); n < len(e.IDs) {
		e.IDs, e.Truncated = e.IDs[:n], true
	}
	if left {
		slices.Reverse(e.IDs)
	}
	return e
}

// trim removes white space at both ends, which the processors of CLIP and SigLIP keep.
func (m *Model) trim(text string) string {
	if m.images != nil {
		return text
	}
	return strip(text)
}

// skipped returns how many leading tokens the pooling leaves out: those of the prompt, with the
// special tokens before it, if the checkpoint excludes prompts.
func (m *Model) skipped(prompt string) int {
	if prompt == "" || m.pool.includePrompt {
		return 0
	}
	e := m.encodeText(prompt, EncodeOptions{})
	n := len(e.IDs)
	if n > 0 && n <= len(e.Spans) && e.Spans[n-1] == (tokenizer.Span{}) {
		n--
	}
	return n
}

// tokenize calls encode for each of n inputs, on as many goroutines as are free.
func (m *Model) tokenize(ctx context.Context, n int, encode func(i int) tokenizer.Encoding) ([]sequence, error) {
	const chunk = 16
	got, err := m.acquire(ctx, (n+chunk-1)/chunk)
	if err != nil {
		return nil, err
	}
	defer m.release(got)
	seqs := make([]sequence, n)
	team(got).each((n+chunk-1)/chunk, func(_, c int) {
		for i := c * chunk; i < min(n, (c+1)*chunk) && ctx.Err() == nil; i++ {
			seqs[i] = m.sequence(encode(i))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, s := range seqs {
		if err := m.check(s); err != nil {
			return nil, err
		}
	}
	return seqs, nil
}

// sequence returns the tokens of a text or a pair, with its segments if the model uses them.
func (m *Model) sequence(e tokenizer.Encoding) sequence {
	s := sequence{ids: m.finishIDs(e.IDs), truncated: e.Truncated}
	if m.segments {
		s.types = e.TypeIDs
	}
	return s
}

// check returns ErrTokenID for an id or a segment outside the model's tables: the template of a
// tokenizer may contain any.
func (m *Model) check(s sequence) error {
	for _, id := range s.ids {
		if id < 0 || int(id) >= m.info.Vocab {
			return fmt.Errorf("%w: %d, want 0 to %d", ErrTokenID, id, m.info.Vocab-1)
		}
	}
	for _, segment := range s.types {
		if segment < 0 || int(segment) >= m.stack.types {
			return fmt.Errorf("%w: segment %d, want 0 to %d", ErrTokenID, segment, m.stack.types-1)
		}
	}
	return nil
}

// vectors encodes sequences.
func (m *Model) vectors(ctx context.Context, seqs []sequence, o EncodeOptions) (*Result, error) {
	r := &Result{Vectors: make([][]float32, len(seqs))}
	r.Truncated, r.Tokens = lengths(seqs)
	if o.KeepIDs {
		r.IDs = make([][]int32, len(seqs))
		for i, s := range seqs {
			r.IDs[i] = s.ids
		}
	}
	hidden := m.info.Hidden
	width := hidden * len(m.pool.modes)
	err := m.run(ctx, seqs, func(w *workspace, b *batch, members []int) error {
		x := make([]float32, len(members)*width)
		for i, n := range members {
			dst := x[i*width : (i+1)*width]
			if m.static != nil {
				m.static.vector(dst, seqs[n].ids)
				continue
			}
			if p := m.stack.vector.probe; p != nil {
				p.pool(dst, w.states[b.offsets[i]*hidden:b.offsets[i+1]*hidden])
				continue
			}
			pooling.Sequence(dst, w.states[b.offsets[i]*hidden:b.offsets[i+1]*hidden], hidden, seqs[n].skip, m.pool.modes)
		}
		for i, v := range m.finishVectors(x, len(members), o.Dimensions) {
			if err := checkFinite(v, members[i]); err != nil {
				return err
			}
			r.Vectors[members[i]] = v
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// checkFinite returns ErrNotFinite if x, the result for text n, holds a NaN or an infinity.
func checkFinite(x []float32, n int) error {
	for _, v := range x {
		if v-v != 0 {
			return fmt.Errorf("%w: text %d gets %v", ErrNotFinite, n, v)
		}
	}
	return nil
}

// finishVectors applies the modules after the pooling to x [rows, ...] and cuts the vectors to the
// given dimensions, if any.
func (m *Model) finishVectors(x []float32, rows, dimensions int) [][]float32 {
	for _, mod := range m.after {
		x = mod.apply(x, rows)
	}
	out := make([][]float32, rows)
	for i := range out {
		v := x[i*m.dim : (i+1)*m.dim : (i+1)*m.dim]
		if dimensions > 0 && dimensions < m.dim {
			v = append([]float32(nil), v[:dimensions]...)
			pooling.Normalize(v)
		}
		out[i] = v
	}
	return out
}
