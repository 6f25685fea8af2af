package encoder

import (
	"math"

	"example.com/searchd/internal/simd"
)

// probe pools states by attention: a learned query looks at all of them, and a feed-forward with a
// norm follows. Source: transformers modeling_siglip.py, SiglipMultiheadAttentionPoolingHead.
type probe struct {
	query    []float32 // [H], projected and scaled
	keyValue *linear   // [2H, H]
	output   *linear   // [H, H]
	norm     *norm
	up, down *linear // [I, H], [H, I]
	heads    int
	act      simd.Activation
}

func (l *loader) probe(a *architecture) *probe {
	h, root := a.hidden, a.vector.probe
	p := &probe{heads: a.heads, act: a.act, keyValue: &linear{}}
	start := l.tensor(root+"probe", 1, 1, h)
	weight, bias := l.tensor(root+"attention.in_proj_weight", 3*h, h), l.tensor(root+"attention.in_proj_bias", 3*h)
	if start != nil && weight != nil && bias != nil {
		p.query = make([]float32, h)
		scale := 1 / math.Sqrt(float64(h/a.heads))
		for i := range p.query {
			sum := float64(bias[i])
			for k, x := range start {
				sum += float64(x) * float64(weight[i*h+k])
			}
			p.query[i] = float32(sum * scale)
		}
		p.keyValue = &linear{w: l.pack(weight[h*h:], 2*h, h), bias: bias[h:]}
	}
	p.output = l.linear(root+"attention.out_proj", h, h, true)
	p.norm = l.norm(root+"layernorm", h, a.norm, a.normBias, a.eps)
	p.up = l.linear(root+"mlp.fc1", a.intermediate, h, true)
	p.down = l.linear(root+"mlp.fc2", h, a.intermediate, true)
	return p
}

// pool writes to dst [H] what comes of the states [T, H] of a picture.
func (p *probe) pool(dst, states []float32) {
	h := len(dst)
	n, d := len(states)/h, h/p.heads
	keyValue := make([]float32, n*2*h)
	p.keyValue.mul(keyValue, states, n, simd.Identity, nil)
	context, scores := make([]float32, h), make([]float32, n)
	for head := range p.heads {
		at := head * d
		for i := range scores {
			scores[i] = simd.Dot(p.query[at:at+d], keyValue[i*2*h+at:i*2*h+at+d])
		}
		simd.Softmax(scores)
		for i, weight := range scores {
			simd.Axpy(context[at:at+d], weight, keyValue[i*2*h+h+at:i*2*h+h+at+d])
		}
	}
	p.output.mul(dst, context, 1, simd.Identity, nil)
	p.norm.apply(context, dst, 1)
	wide := make([]float32, p.up.w.Out())
	p.up.mul(wide, context, 1, p.act, nil)
	p.down.mul(context, wide, 1, simd.Identity, dst)
	copy(dst, context)
}
