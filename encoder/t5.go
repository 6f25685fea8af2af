package encoder

import (
	"math"
	"strings"

	"example.com/searchd/internal/simd"
)

// t5 reads the encoder half of T5, Flan-T5 and mT5.
func t5(f *fields) *architecture { return t5Half(f, "encoder") }

// t5Decoder reads their decoder half.
func t5Decoder(f *fields) *architecture { return t5Half(f, "decoder") }

// t5Half reads one half: RMSNorm before each part, relative biases shared by all layers, scores
// without the factor 1/sqrt(D), no biases. Source: transformers modeling_t5.py.
func t5Half(f *fields, half string) *architecture {
	a := &architecture{
		family:       f.string("model_type", "t5"),
		prefixes:     []string{""},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("d_model", maxHidden),
		heads:        f.needInt("num_heads", maxHeads),
		headSize:     f.needInt("d_kv", maxHidden),
		intermediate: f.needInt("d_ff", maxIntermediate),

		words:     []string{"shared.weight", half + ".embed_tokens.weight"},
		finalNorm: half + ".final_layer_norm",

		norm:      rmsNorm,
		eps:       f.eps("layer_norm_epsilon", 1e-6),
		preNorm:   true,
		scale:     1,
		causal:    half == "decoder",
		layerRoot: half + ".block.",
		output:    outputSpec{weight: "/lm_head.weight", tied: true},
	}
	if a.family == "t5" && f.bool("scale_decoder_outputs", f.bool("tie_word_embeddings", true)) {
		a.output.factor = 1 / math.Sqrt(float64(a.hidden))
	}
	buckets := f.int("relative_attention_num_buckets", 32, 4, 1024)
	a.relative = relativeTable{name: half + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", rows: buckets, buckets: buckets,
		past:        half == "decoder",
		maxDistance: f.int("relative_attention_max_distance", 128, 1, maxPositions)}
	if a.relative.maxDistance <= buckets/4 {
		f.fail("relative_attention_max_distance", "is %d, want more than a quarter of %d buckets", a.relative.maxDistance, buckets)
	}
	gated := a.readFeedForward(f)
	layers := f.needInt("num_layers", maxLayers)
	feed := "layer.1."
	if half == "decoder" {
		layers = f.int("num_decoder_layers", layers, 1, maxLayers)
		feed = "layer.2."
	}
	a.specs = repeat(layers, func(i int) layerSpec {
		l := layerSpec{
			root:            numbered(a.layerRoot, i),
			query:           "layer.0.SelfAttention.q",
			key:             "layer.0.SelfAttention.k",
			value:           "layer.0.SelfAttention.v",
			output:          "layer.0.SelfAttention.o",
			attentionNorm:   "layer.0.layer_norm",
			up:              feed + "DenseReluDense.wi",
			down:            feed + "DenseReluDense.wo",
			feedForwardNorm: feed + "layer_norm",
		}
		if gated {
			l.gate, l.up = feed+"DenseReluDense.wi_0", feed+"DenseReluDense.wi_1"
		}
		if half == "decoder" {
			l.cross = crossSpec{query: "layer.1.EncDecAttention.q", key: "layer.1.EncDecAttention.k", value: "layer.1.EncDecAttention.v",
				output: "layer.1.EncDecAttention.o", norm: "layer.1.layer_norm"}
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
