package encoder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/internal/simd"
)

// ErrWeights is a checkpoint whose tensors are not what its config calls for.
var ErrWeights = errors.New("encoder: checkpoint does not fit its config")

// linear is y = x·Wᵀ + b.
type linear struct {
	w    simd.Packed // [out, in], in float32 or in int8
	bias []float32   // nil: none
	low  *lowRank    // a change that is added before the activation; nil: none
	then simd.Packed // the weights used next, to prefetch; nil: unknown
}

func (l *linear) mul(dst, x []float32, rows int, act simd.Activation, residual []float32) {
	if l.low == nil {
		l.w.Mul(dst, x, rows, simd.Epilogue{Bias: l.bias, Act: act, Residual: residual, Then: l.then})
		return
	}
	l.w.Mul(dst, x, rows, simd.Epilogue{Bias: l.bias, Residual: residual, Then: l.then})
	l.low.add(dst, x, rows)
	simd.Activate(dst[:rows*l.w.Out()], act)
}

// norm is a LayerNorm, with or without bias, or an RMSNorm. A nil norm is the identity.
type norm struct {
	kind        normKind
	gamma, beta []float32
	eps         float32
}

func (n *norm) apply(dst, x []float32, rows int) {
	switch {
	case n == nil:
		copy(dst, x)
	case n.kind == rmsNorm:
		simd.RMSNorm(dst, x, n.gamma, rows, len(n.gamma), n.eps)
	default:
		simd.LayerNorm(dst, x, n.gamma, n.beta, rows, len(n.gamma), n.eps)
	}
}

// loader takes tensors out of a checkpoint. It runs the same steps twice: first dry, comparing
// names and shapes with the headers and collecting all differences, then to read. So nothing large
// is allocated for a checkpoint that is refused.
type loader struct {
	ck         *safetensors.Checkpoint
	prefix     string
	words      string // the name of the word table
	transposed bool
	adapted    bool                  // weights may be stored with adapters
	offset     float32               // added to the weights of norms
	precision  Precision             // of what pack makes
	factors    map[string]*smoothing // by the root of a layer
	gain       float32               // factor of the weights when they are packed; 0: 1
	reciprocal []float32             // [in]: what the columns are divided by when they are packed; nil: nothing
	dry        bool
	used       map[string]bool
	parameters int
	problems   []string
	err        error
}

// newLoader finds the prefix and the name of the word table.
func newLoader(ck *safetensors.Checkpoint, a *architecture) (*loader, error) {
	for _, p := range a.prefixes {
		for _, words := range a.words {
			if _, ok := ck.Tensor(p + words); ok {
				return &loader{ck: ck, prefix: p, words: words, transposed: a.transposed, adapted: a.adapters != nil, offset: float32(a.normOffset), dry: true, used: map[string]bool{}}, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: no tensor %s, with a prefix of %q", ErrWeights, strings.Join(a.words, " or "), a.prefixes)
}

// full puts the prefix before a name, unless it begins with a slash. A weight with adapters is
// stored under a longer name.
func (l *loader) full(name string) string {
	name, outside := strings.CutPrefix(name, "/")
	if !outside {
		name = l.prefix + name
	}
	if base, ok := strings.CutSuffix(name, ".weight"); ok && l.adapted {
		if _, ok := l.ck.Tensor(base + parametrized); ok {
			return base + parametrized
		}
	}
	return name
}

// has reports whether a tensor is there.
func (l *loader) has(name string) bool {
	_, ok := l.ck.Tensor(l.full(name))
	return ok
}

// tensor reads a tensor that must have the given shape. In a dry run it returns nil.
func (l *loader) tensor(name string, shape ...int) []float32 {
	name = l.full(name)
	if l.dry {
		t, ok := l.ck.Tensor(name)
		switch {
		case !ok:
			l.problems = append(l.problems, fmt.Sprintf("%s %v is missing", name, shape))
		case !slices.Equal(t.Shape, shape):
			l.problems = append(l.problems, fmt.Sprintf("%s is %v, want %v", name, t.Shape, shape))
		}
		if !l.used[name] {
			l.parameters += t.Len()
		}
		l.used[name] = true
		return nil
	}
	if l.err != nil {
		return nil
	}
	x, err := l.ck.Float32(name)
	if err != nil {
		l.err = err
	}
	return x
}

// check ends the dry run. It reports the first differences, and tensors under the given roots that
// were not asked for, because a missing weight gives wrong vectors.
func (l *loader) check(roots ...string) error {
	for _, name := range l.ck.Names() {
		for _, root := range roots {
			if root != "" && strings.HasPrefix(name, l.prefix+root) && !l.used[name] && !derived(name) {
				l.problems = append(l.problems, name+" is not known to this family")
			}
		}
	}
	l.dry = false
	if len(l.problems) == 0 {
		return nil
	}
	const show = 5
	more := ""
	if n := len(l.problems) - show; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Errorf("%w: %s%s", ErrWeights, strings.Join(l.problems[:min(show, len(l.problems))], "; "), more)
}

// twice runs load dry and then for good.
func (l *loader) twice(load func(*loader)) error {
	load(l)
	if err := l.check(); err != nil {
		return err
	}
	load(l)
	return l.err
}

// derived reports tensors that older checkpoints store although they follow from the config.
func derived(name string) bool {
	for _, suffix := range []string{safetensors.ScalesOf(""), ".position_ids", ".token_type_ids", ".inv_freq", ".masked_bias", ".attn.bias", ".attention.bias", ".EncDecAttention.relative_attention_bias.weight"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// matrix reads the weight [out, in] of a linear layer.
func (l *loader) matrix(base string, out, in int) []float32 {
	if !l.transposed {
		return l.tensor(base+".weight", out, in)
	}
	t := l.tensor(base+".weight", in, out)
	if t == nil {
		return nil
	}
	w := make([]float32, len(t))
	for i := range in {
		for o := range out {
			w[o*in+i] = t[i*out+o]
		}
	}
	return w
}

// pack packs a weight, unless the run is dry or has failed.
func (l *loader) pack(w []float32, out, in int) simd.Packed {
	if l.gain != 0 {
		simd.Scale(w, l.gain)
	}
	switch {
	case l.dry || l.err != nil:
		return nil
	case l.precision == Int8:
		if l.reciprocal != nil {
			for k := range w {
				w[k] /= l.reciprocal[k%in]
			}
		}
		return simd.PackInt8(w, out, in)
	}
	return simd.Pack(w, out, in)
}

// linear reads weight [out, in] and, if there is one, bias [out].
func (l *loader) linear(base string, out, in int, bias bool) *linear {
	lin := &linear{w: l.pack(l.matrix(base, out, in), out, in)}
	if bias {
		lin.bias = l.tensor(base+".bias", out)
	}
	return lin
}

// stacked reads linear layers over the same input as one. arrange changes the order of their rows.
func (l *loader) stacked(bases []string, outs []int, in int, bias bool, arrange func(x []float32, width int)) *linear {
	lin := &linear{}
	var w []float32
	total := 0
	for i, base := range bases {
		w = append(w, l.matrix(base, outs[i], in)...)
		if bias {
			lin.bias = append(lin.bias, l.tensor(base+".bias", outs[i])...)
		}
		total += outs[i]
	}
	if w != nil && l.err == nil {
		arrange(w, in)
		if bias {
			arrange(lin.bias, 1)
		}
	}
	lin.w = l.pack(w, total, in)
	return lin
}

// norm reads the weight and, if there is one, the bias of a norm over width numbers, called gamma
// and beta in checkpoints converted from TensorFlow. An empty name is the identity.
func (l *loader) norm(base string, width int, kind normKind, bias bool, eps float64) *norm {
	if base == "" {
		return nil
	}
	weight, shift := base+".weight", base+".bias"
	if !l.has(weight) && l.has(base+".gamma") {
		weight, shift = base+".gamma", base+".beta"
	}
	n := &norm{kind: kind, gamma: l.tensor(weight, width), eps: float32(eps)}
	if l.offset != 0 {
		for i := range n.gamma {
			n.gamma[i] += l.offset
		}
	}
	if bias {
		n.beta = l.tensor(shift, width)
	}
	return n
}
