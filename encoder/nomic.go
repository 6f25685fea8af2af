package encoder

import (
	"fmt"

	"example.com/searchd/internal/simd"
)

// nomic reads NomicBERT v1 and v1.5: post-norm with rotary positions and a gated feed-forward,
// fused query, key and value. Source: contrastors modeling_hf_nomic_bert.py.
func nomic(f *fields) *architecture {
	for _, name := range []string{"prenorm", "rotary_emb_interleaved", "use_rms_norm", "causal", "parallel_block"} {
		f.want(name, false)
	}
	f.want("scale_attn_weights", true)
	f.absent("rotary_emb_scale_base")
	if f.int("num_experts", 0, 0, 1024) > 0 && f.int("moe_every_n_layers", 0, 0, maxLayers) > 0 {
		f.fail("num_experts", "is %s, a mixture of experts is not supported, want 0", f.text("num_experts"))
	}
	a := &architecture{
		family:       "nomic_bert",
		prefixes:     []string{"", "bert."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("n_embd", maxHidden),
		heads:        f.needInt("n_head", maxHeads),
		intermediate: f.needInt("n_inner", maxIntermediate),
		types:        f.int("type_vocab_size", 0, 0, 1024),
		statedTokens: f.int("n_positions", 8192, 1, maxPositions),

		words:         []string{"embeddings.word_embeddings.weight"},
		embeddingNorm: "emb_ln",

		eps:       f.eps("layer_norm_epsilon", 1e-12),
		normBias:  true,
		layerRoot: "encoder.layers.",
	}
	if multiple := f.int("pad_vocab_size_multiple", 1, 1, 1<<16); a.vocab%multiple != 0 {
		a.vocab += multiple - a.vocab%multiple
	}
	if a.types > 0 {
		a.typeTable = "embeddings.token_type_embeddings.weight"
	}
	gate, up := "mlp.fc12", "mlp.fc11"
	switch f.oneOf("activation_function", "gelu", "swiglu", "geglu", "gelu", "gelu_new", "relu") {
	case "swiglu":
		a.act = simd.SiLU
	case "geglu":
		a.act = simd.GELU
	default:
		gate, up = "", "mlp.fc1"
		a.act = f.activation("activation_function", "gelu")
	}
	rope := nomicRope(f, a)
	qkvBias, upBias, downBias := f.bool("qkv_proj_bias", true), f.bool("mlp_fc1_bias", true), f.bool("mlp_fc2_bias", true)
	a.specs = repeat(f.needInt("n_layer", maxLayers), func(i int) layerSpec {
		return layerSpec{
			root: fmt.Sprintf("encoder.layers.%d.", i),
			qkv:  "attn.Wqkv", qkvBias: qkvBias,
			output: "attn.out_proj", outputBias: qkvBias,
			attentionNorm: "norm1",
			gate:          gate, up: up, upBias: upBias,
			down: "mlp.fc2", downBias: downBias,
			feedForwardNorm: "norm2",
			rope:            rope,
		}
	})
	return a
}

func nomicRope(f *fields, a *architecture) *rope {
	fraction := f.float("rotary_emb_fraction", 0, 1e-3, 1)
	if fraction == 0 {
		f.fail("rotary_emb_fraction", "is missing, want a number from 0.001 to 1")
	}
	r := &rope{
		theta: f.float("rotary_emb_base", 10000, 1, 1e12),
		dims:  int(float64(a.hidden/a.heads) * fraction),
	}
	if f.has("rotary_scaling_factor") {
		r.stretch = f.float("rotary_scaling_factor", 1, 1, 1024)
		r.trained = f.int("max_trained_positions", 2048, 1, maxPositions)
	}
	return r
}
