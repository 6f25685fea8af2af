package encoder

import (
	"fmt"

	"example.com/searchd/internal/simd"
)

// nomic reads NomicBERT: post-norm with rotary positions, fused query, key and value, and a
// feed-forward that is gated in v1 and v1.5, and a mixture of experts in every second layer of v2.
// Source: contrastors modeling_hf_nomic_bert.py.
func nomic(f *fields) *architecture {
	for _, name := range []string{"prenorm", "rotary_emb_interleaved", "use_rms_norm", "causal", "parallel_block"} {
		f.want(name, false)
	}
	f.want("scale_attn_weights", true)
	f.absent("rotary_emb_scale_base")
	a := &architecture{
		family:       "nomic_bert",
		prefixes:     []string{"", "bert."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt(f.first("n_embd", "hidden_size"), maxHidden),
		heads:        f.needInt(f.first("n_head", "num_attention_heads"), maxHeads),
		intermediate: f.needInt(f.first("n_inner", "intermediate_size"), maxIntermediate),
		types:        f.int("type_vocab_size", 0, 0, 1024),
		statedTokens: f.int(f.first("n_positions", "max_position_embeddings"), 8192, 1, maxPositions),

		words:         []string{"embeddings.word_embeddings.weight"},
		embeddingNorm: "emb_ln",

		eps:       f.eps(f.first("layer_norm_epsilon", "layer_norm_eps"), 1e-12),
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
	ofTransformers := f.has("hidden_act") // whose class is always gated and has no biases
	switch act := f.oneOf("activation_function", "gelu", "swiglu", "geglu", "gelu", "gelu_new", "relu"); {
	case ofTransformers:
		a.act = f.activation("hidden_act", "silu")
	case act == "swiglu":
		a.act = simd.SiLU
	case act == "geglu":
		a.act = simd.GELU
	default:
		gate, up = "", "mlp.fc1"
		a.act = f.activation("activation_function", "gelu")
	}
	rope := nomicRope(f, a)
	bias := func(name string) bool { return f.bool(name, !ofTransformers) }
	qkvBias, upBias, downBias := bias("qkv_proj_bias"), bias("mlp_fc1_bias"), bias("mlp_fc2_bias")
	mixture, every := nomicExperts(f)
	if mixture != nil && gate != "" {
		f.fail("activation_function", "is %s, with experts only gelu, gelu_new and relu are supported", f.text("activation_function"))
	}
	a.specs = repeat(f.needInt(f.first("n_layer", "num_hidden_layers"), maxLayers), func(i int) layerSpec {
		l := layerSpec{
			root: fmt.Sprintf("encoder.layers.%d.", i),
			qkv:  "attn.Wqkv", qkvBias: qkvBias,
			output: "attn.out_proj", outputBias: qkvBias,
			attentionNorm: "norm1",
			gate:          gate, up: up, upBias: upBias,
			down: "mlp.fc2", downBias: downBias,
			feedForwardNorm: "norm2",
			rope:            rope,
		}
		if mixture != nil && i%every == 1%every {
			l.experts = mixture
		}
		return l
	})
	return a
}

func nomicRope(f *fields, a *architecture) *rope {
	if p := f.object("rope_parameters"); p != nil {
		return &rope{theta: p.float("rope_theta", 1000, 1, 1e12), dims: a.hidden / a.heads, scale: ropeScale(p)}
	}
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
