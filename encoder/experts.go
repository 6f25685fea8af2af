package encoder

import (
	"math"

	"example.com/searchd/internal/simd"
)

// maxExperts bounds the experts of a layer.
const maxExperts = 256

// expertSpec names the tensors of a feed-forward that is a mixture of experts: each token goes to
// the top experts by the softmax of a router, and their outputs are added with these weights.
type expertSpec struct {
	count, top int
	normalize  bool   // divide the weights of the chosen experts by their sum
	router     string // [experts, H]
	up         string // [experts*I, H]
	down       string // [experts*I, H], transposed beside an ordinary feed-forward; from GGUF [experts, H, I]
	bias       string // [H], added once; "": none
}

// experts is a mixture of experts. Source: arXiv:2502.07972 and nomic-ai/nomic-bert-2048.
type experts struct {
	spec   *expertSpec
	router *linear // in float32
	up     []*linear
	down   []*linear
	bias   []float32
}

// experts reads a mixture; nil without a spec.
func (l *loader) experts(spec *expertSpec, name func(string) string, i, h int) *experts {
	if spec == nil {
		return nil
	}
	m := &experts{spec: spec, router: &linear{}, up: make([]*linear, spec.count), down: make([]*linear, spec.count)}
	if w := l.matrix(name(spec.router), spec.count, h); w != nil {
		m.router.w = simd.Pack(w, spec.count, h)
	}
	up := l.tensor(name(spec.up), spec.count*i, h)
	if up != nil {
		for e := range m.up {
			m.up[e] = &linear{w: l.pack(up[e*i*h:(e+1)*i*h], i, h)}
		}
	}
	reciprocal := l.reciprocal
	l.reciprocal = nil
	if t, ok := l.ck.Tensor(l.full(name(spec.down))); ok && len(t.Shape) == 3 {
		if down := l.tensor(name(spec.down), spec.count, h, i); down != nil {
			for e := range m.down {
				m.down[e] = &linear{w: l.pack(down[e*i*h:(e+1)*i*h], h, i)}
			}
		}
	} else if down := l.tensor(name(spec.down), spec.count*i, h); down != nil {
		turned := make([]float32, h*i)
		for e := range m.down {
			for r := range i {
				for c := range h {
					turned[c*i+r] = down[(e*i+r)*h+c]
				}
			}
			m.down[e] = &linear{w: l.pack(turned, h, i)}
		}
	}
	l.reciprocal = reciprocal
	if spec.bias != "" {
		m.bias = l.tensor(name(spec.bias), h)
	}
	return m
}

// choice is one expert of a token with its weight.
type choice struct {
	expert int
	weight float32
}

// route appends the top experts of each row of x [rows, H], best first; of equals the first.
func (m *experts) route(dst []choice, x []float32, rows int) []choice {
	count := m.spec.count
	logits := make([]float32, rows*count)
	m.router.mul(logits, x, rows, simd.Identity, nil)
	for r := range rows {
		row := logits[r*count : (r+1)*count]
		top, sum, chosen := simd.Largest(row), 0.0, 0.0
		for _, v := range row {
			sum += math.Exp(float64(v - top))
		}
		from := len(dst)
		for range m.spec.top {
			best := -1
			for e, v := range row {
				if best < 0 || v > row[best] {
					best = e
				}
			}
			p := math.Exp(float64(row[best]-top)) / sum
			chosen += p
			dst = append(dst, choice{best, float32(p)})
			row[best] = float32(math.Inf(-1))
		}
		if m.spec.normalize {
			for i := from; i < len(dst); i++ {
				dst[i].weight /= float32(chosen)
			}
		}
	}
	return dst
}

// add adds the mixture's output for in to x, both [rows, H]; divided is in with the factors of int8
// taken out. The rows of one expert go through it together.
func (m *experts) add(s *stack, sc *scratch, x, in, divided []float32, rows int) {
	h, top := s.hidden, m.spec.top
	choices := m.route(sc.choices[:0], in, rows)
	sc.choices = choices
	gathered, out := sc.gathered[:rows*h], sc.part[:rows*h]
	for e := range m.up {
		n := 0
		for r := range rows {
			for _, c := range choices[r*top : (r+1)*top] {
				if c.expert == e {
					copy(gathered[n*h:(n+1)*h], divided[r*h:(r+1)*h])
					n++
				}
			}
		}
		if n == 0 {
			continue
		}
		up := sc.up[:n*s.intermediate]
		m.up[e].mul(up, gathered, n, s.act, nil)
		m.down[e].mul(out, up, n, simd.Identity, nil)
		n = 0
		for r := range rows {
			for _, c := range choices[r*top : (r+1)*top] {
				if c.expert == e {
					simd.Axpy(x[r*h:(r+1)*h], c.weight, out[n*h:(n+1)*h])
					n++
				}
			}
		}
	}
	for r := range rows {
		if m.bias != nil {
			simd.Axpy(x[r*h:(r+1)*h], 1, m.bias)
		}
	}
}

// nomicExperts reads the mixture of NomicBERT v2; nil if the config has none. It is in every layer
// whose number leaves 1 when divided by moe_every_n_layers.
func nomicExperts(f *fields) (spec *expertSpec, every int) {
	count, every := f.int("num_experts", 0, 0, maxExperts), f.int("moe_every_n_layers", 0, 0, maxLayers)
	if count == 0 || every == 0 {
		return nil, 0
	}
	f.want("expert_choice_router", false)
	if n := f.int("num_shared_experts", 0, 0, maxExperts); n > 0 {
		f.fail("num_shared_experts", "is %d, only 0 is supported", n)
	}
	return &expertSpec{
		count: count, top: f.int("moe_top_k", 1, 1, count), normalize: f.bool("moe_normalize_expert_weights", false),
		router: "mlp.router.layer", up: "mlp.experts.mlp.w1", down: "mlp.experts.mlp.w2", bias: "mlp.experts.bias",
	}, every
}
