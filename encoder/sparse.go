package encoder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"time"

	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/internal/simd"
)

// Errors of checkpoints that give the other kind of vector.
var (
	ErrNotSparse = errors.New("encoder: the checkpoint gives no sparse vectors; load it with Options.Sparse if it has a masked-language head")
	ErrNotDense  = errors.New("encoder: the checkpoint gives no single vector of a text")
)

// mlmSpec names the tensors of a masked-language head: dense with activation, norm, decoder. A name
// that begins with a slash takes no prefix.
type mlmSpec struct {
	dense     string // [H, H]
	denseBias bool
	act       simd.Activation
	norm      string
	decoder   string   // [V, H]; if absent, the word table
	bias      []string // [V]; names to try
}

// sparse turns token states into weights of words, as SPLADE does.
type sparse struct {
	dense   *linear
	act     simd.Activation
	norm    *norm
	decoder *linear
	sum     bool // add the tokens' weights up instead of taking the largest
	twice   bool // take log(1+x) twice
}

// TokenWeight is an entry of a sparse vector.
type TokenWeight struct {
	ID     int32 // of the vocabulary
	Weight float32
}

// SparseResult holds the sparse vectors of the texts, in their order.
type SparseResult struct {
	Vectors   [][]TokenWeight // weights above 0, by ascending id
	Truncated []bool
	Tokens    int
	MaxTokens int // beyond which a text is cut

	Tokenization time.Duration // as in Result
}

// loadSparse reads the masked-language head from the transformer's folder.
func (m *Model) loadSparse(fsys fs.FS, dir string) error {
	a := m.stack.architecture
	if a.mlm == nil || a.embedding != a.hidden {
		return fmt.Errorf("%w: model_type %s has no masked-language head that is known", ErrConfig, a.family)
	}
	if m.dry {
		m.sparse = new(sparse)
		return nil
	}
	ck, err := safetensors.Open(fsys, dir)
	if err != nil {
		return err
	}
	defer ck.Close()
	l, err := newLoader(ck, a)
	if err != nil {
		return err
	}
	m.sparse = &sparse{act: a.mlm.act}
	return l.twice(func(l *loader) { m.sparse.load(l, a) })
}

func (s *sparse) load(l *loader, a *architecture) {
	spec := a.mlm
	s.dense = l.linear(spec.dense, a.hidden, a.hidden, spec.denseBias)
	s.norm = l.norm(spec.norm, a.hidden, a.norm, a.normBias, a.eps)
	name := spec.decoder + ".weight"
	if !l.has(name) {
		name = l.words
	}
	s.decoder = &linear{w: l.pack(l.tensor(name, a.vocab, a.hidden), a.vocab, a.hidden)}
	bias := spec.bias[0]
	for _, try := range spec.bias {
		if l.has(try) {
			bias = try
			break
		}
	}
	s.decoder.bias = l.tensor(bias, a.vocab)
}

// readPooling reads the config of a SpladePooling module.
func (s *sparse) readPooling(fsys fs.FS, dir string) error {
	f, err := readFields(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	s.sum = f.oneOf("pooling_strategy", "max", "max", "sum") == "sum"
	s.twice = f.oneOf("activation_function", "relu", "relu", "log1p_relu") == "log1p_relu"
	return f.err()
}

// EncodeSparse returns the sparse vectors of texts: for each word of the vocabulary log(1 + max(0,
// logit)), the largest over the tokens, or their sum if the checkpoint is configured so. It returns
// ErrNotSparse unless the checkpoint is of the SPLADE kind. Of o only Prompt and Truncate count.
// Source: arXiv:2109.10086 and sentence-transformers SpladePooling.
func (m *Model) EncodeSparse(ctx context.Context, texts []string, o EncodeOptions) (*SparseResult, error) {
	if m.sparse == nil {
		return nil, ErrNotSparse
	}
	began := time.Now()
	seqs, err := m.textSequences(ctx, texts, o)
	if err != nil {
		return nil, err
	}
	r := &SparseResult{Vectors: make([][]TokenWeight, len(seqs)), MaxTokens: m.limit(o.Prompt), Tokenization: time.Since(began)}
	r.Truncated, r.Tokens = lengths(seqs)
	err = m.eachText(ctx, seqs, func(n int, states []float32) (err error) {
		r.Vectors[n], err = m.sparse.vector(states, m.stack.hidden, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// vector pools the states [L, H] of text number text, a few rows at a time because a row has as
// many logits as there are words.
func (s *sparse) vector(states []float32, hidden, text int) ([]TokenWeight, error) {
	const rows = 14
	vocab := s.decoder.w.Out()
	pooled, logits := make([]float32, vocab), make([]float32, rows*vocab)
	x := make([]float32, rows*hidden)
	for ; len(states) > 0; states = states[min(rows*hidden, len(states)):] {
		n := min(rows, len(states)/hidden)
		s.dense.mul(x, states, n, s.act, nil)
		s.norm.apply(x, x, n)
		if err := checkFinite(x[:n*hidden], text); err != nil { // NaN would be dropped by the maximum below
			return nil, err
		}
		s.decoder.mul(logits, x, n, simd.ReLU, nil)
		for i := range n {
			for j, v := range logits[i*vocab : (i+1)*vocab] {
				if !s.sum { // the logarithm is monotonic: apply it to the maximum
					pooled[j] = max(pooled[j], v)
				} else if v > 0 {
					pooled[j] += s.weight(v)
				}
			}
		}
	}
	var out []TokenWeight
	for j, v := range pooled {
		if v > 0 {
			if !s.sum {
				v = s.weight(v)
			}
			out = append(out, TokenWeight{ID: int32(j), Weight: v})
		}
	}
	return out, checkFinite(pooled, text)
}

// weight is the saturation of a logit above 0.
func (s *sparse) weight(logit float32) float32 {
	w := math.Log1p(float64(logit))
	if s.twice {
		w = math.Log1p(w)
	}
	return float32(w)
}
