package encoder

import (
	"fmt"
	"strings"

	"example.com/searchd/internal/simd"
)

// t5 reads the encoder half of T5 and mT5: RMSNorm before each part, relative biases shared by all
// layers, scores without the factor 1/sqrt(D), no biases. Source: transformers modeling_t5.py.
func t5(f *fields) *architecture {
	a := &architecture{
		family:       f.string("model_type", "t5"),
		prefixes:     []string{""},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("d_model", maxHidden),
		heads:        f.needInt("num_heads", maxHeads),
		headSize:     f.needInt("d_kv", maxHidden),
		intermediate: f.needInt("d_ff", maxIntermediate),

		words:     []string{"shared.weight", "encoder.embed_tokens.weight"},
		finalNorm: "encoder.final_layer_norm",

		norm:      rmsNorm,
		eps:       f.eps("layer_norm_epsilon", 1e-6),
		preNorm:   true,
		scale:     1,
		layerRoot: "encoder.block.",
	}
	buckets := f.int("relative_attention_num_buckets", 32, 4, 1024)
	a.relative = relativeTable{name: "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", rows: buckets, buckets: buckets,
		maxDistance: f.int("relative_attention_max_distance", 128, 1, maxPositions)}
	if a.relative.maxDistance <= buckets/4 {
		f.fail("relative_attention_max_distance", "is %d, want more than a quarter of %d buckets", a.relative.maxDistance, buckets)
	}
	gated := a.readFeedForward(f)
	a.specs = repeat(f.needInt("num_layers", maxLayers), func(i int) layerSpec {
		l := layerSpec{
			root:            fmt.Sprintf("encoder.block.%d.", i),
			query:           "layer.0.SelfAttention.q",
			key:             "layer.0.SelfAttention.k",
			value:           "layer.0.SelfAttention.v",
			output:          "layer.0.SelfAttention.o",
			attentionNorm:   "layer.0.layer_norm",
			up:              "layer.1.DenseReluDense.wi",
			down:            "layer.1.DenseReluDense.wo",
			feedForwardNorm: "layer.1.layer_norm",
		}
		if gated {
			l.gate, l.up = "layer.1.DenseReluDense.wi_0", "layer.1.DenseReluDense.wi_1"
		}
		return l
	})
	return a
}

// readFeedForward reads T5's feed_forward_proj: an activation, or "gated-" and an activation;
// "gated-gelu" means the tanh form.
func (a *architecture) readFeedForward(f *fields) (gated bool) {
	const name = "feed_forward_proj"
	switch s := strings.TrimPrefix(f.string(name, "relu"), "gated-"); s {
	case "relu":
		a.act = simd.ReLU
	case "silu":
		a.act = simd.SiLU
	case "gelu_new":
		a.act = simd.GELUTanh
	case "gelu":
		a.act = simd.GELU
		if f.string(name, "") == "gated-gelu" {
			a.act = simd.GELUTanh
		}
	default:
		f.fail(name, "is %s, want relu, gelu, gelu_new or silu, with or without gated- before it", f.text(name))
	}
	return strings.HasPrefix(f.string(name, ""), "gated-")
}
