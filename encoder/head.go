package encoder

import (
	"strings"

	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// head turns the states of a sequence into logits: pool, dense with activation, norm, linear.
type head struct {
	mode   pooling.Mode
	dense  *linear // [H, H]; nil: none
	act    simd.Activation
	norm   *norm
	out    *linear // [labels, H]
	labels int
}

// head reads a classification head. The number of labels is that of the tensor.
func (l *loader) head(a *architecture) *head {
	spec := a.head
	if spec == nil {
		return nil
	}
	h := &head{mode: spec.mode, act: spec.act, labels: 1}
	if t, ok := l.ck.Tensor(l.full(spec.out + ".weight")); ok && len(t.Shape) == 2 {
		h.labels = t.Shape[0]
	}
	if spec.dense != "" && !(spec.denseOptional && !l.has(spec.dense+".weight")) {
		h.dense = l.linear(spec.dense, a.hidden, a.hidden, spec.denseBias)
	}
	h.norm = l.norm(spec.norm, a.hidden, a.norm, a.normBias, a.eps)
	h.out = l.linear(spec.out, h.labels, a.hidden, spec.outBias)
	return h
}

// logits returns the raw output [labels] for one sequence with the given states [L, H].
func (h *head) logits(states []float32, hidden int) []float32 {
	x := make([]float32, hidden)
	pooling.Sequence(x, states, hidden, 0, []pooling.Mode{h.mode})
	if h.dense != nil {
		y := make([]float32, hidden)
		h.dense.mul(y, x, 1, h.act, nil)
		x = y
	}
	if h.norm != nil {
		h.norm.apply(x, x, 1)
	}
	out := make([]float32, h.labels)
	h.out.mul(out, x, 1, simd.Identity, nil)
	return out
}

// readSigmoid reports whether the output of a cross-encoder with a single label passes a sigmoid.
// It does unless config.json names another function under sentence_transformers.activation_fn or,
// in older checkpoints, sbert_ce_default_activation_function: import paths, of which the last
// segment counts. Source: sentence-transformers CrossEncoder.
func readSigmoid(f *fields) bool {
	if o := f.object("sentence_transformers"); o != nil && o.has("activation_fn") {
		return o.sigmoid("activation_fn")
	}
	return f.sigmoid("sbert_ce_default_activation_function")
}

// sigmoid reads the import path of Sigmoid, which is the default, or Identity.
func (f *fields) sigmoid(name string) bool {
	path := f.string(name, "")
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "", "Sigmoid":
		return true
	case "Identity":
		return false
	}
	f.fail(name, "is %q, want a path that ends in Sigmoid or Identity", path)
	return true
}
