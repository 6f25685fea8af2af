package encoder

import (
	"fmt"
	"math"
)

// gemma reads the text part of Gemma 3, which EmbeddingGemma uses with attention to both sides:
// RMSNorm before and after each part with weights stored as their difference from 1, norms of the
// heads of queries and keys, a window in most layers with a rotation of its own, words scaled by
// the square root of H. Source: transformers modular_gemma3.py.
func gemma(f *fields) *architecture {
	f.absent("attn_logit_softcapping")
	f.want("attention_bias", false)
	a := &architecture{
		family:       "gemma3",
		prefixes:     []string{"", "model."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		headSize:     f.int("head_dim", 256, 1, maxHidden),
		intermediate: f.needInt("intermediate_size", maxIntermediate),
		statedTokens: f.int("max_position_embeddings", 0, 1, maxPositions),

		words:     []string{"embed_tokens.weight"},
		finalNorm: "norm",

		norm:       rmsNorm,
		normOffset: 1,
		eps:        f.eps("rms_norm_eps", 1e-6),
		preNorm:    true,
		causal:     !f.bool("use_bidirectional_attention", false),
		act:        f.activation(f.first("hidden_activation", "hidden_act"), "gelu_pytorch_tanh"),
		scale:      1 / math.Sqrt(f.float("query_pre_attn_scalar", 256, 1e-6, 1e6)),
		layerRoot:  "layers.",
	}
	a.wordScale = math.Sqrt(float64(a.hidden))
	a.kvHeads = f.int("num_key_value_heads", 4, 1, a.heads)
	global, sliding := gemmaRopes(f, a.headSize)
	window := f.int("sliding_window", 4096, 1, maxPositions)
	if !a.causal {
		window = window/2 + 1
	}
	local := gemmaWindows(f, f.needInt("num_hidden_layers", maxLayers))
	a.specs = repeat(len(local), func(i int) layerSpec {
		l := layerSpec{
			root:  fmt.Sprintf("layers.%d.", i),
			query: "self_attn.q_proj", key: "self_attn.k_proj", value: "self_attn.v_proj",
			queryNorm: "self_attn.q_norm", keyNorm: "self_attn.k_norm",
			output:        "self_attn.o_proj",
			attentionNorm: "input_layernorm", outputNorm: "post_attention_layernorm",
			gate: "mlp.gate_proj", up: "mlp.up_proj", down: "mlp.down_proj",
			feedForwardNorm: "pre_feedforward_layernorm", downNorm: "post_feedforward_layernorm",
			rope: global,
		}
		if local[i] {
			l.rope, l.window = sliding, window
		}
		return l
	})
	return a
}

// gemmaWindows tells for each layer whether it sees a window only: as layer_types lists, or all but
// every sixth.
func gemmaWindows(f *fields, layers int) []bool {
	types := f.layerTypes(layers)
	every := f.int(f.first("sliding_window_pattern", "_sliding_window_pattern"), 6, 1, maxLayers)
	local := make([]bool, layers)
	for i := range local {
		if types != nil {
			local[i] = types[i] == "sliding_attention"
		} else {
			local[i] = (i+1)%every != 0
		}
	}
	return local
}

// gemmaRopes reads the rotations of global and of windowed layers.
func gemmaRopes(f *fields, headSize int) (global, sliding *rope) {
	const lo, hi = 1, 1e12
	global = &rope{theta: f.float("rope_theta", 1e6, lo, hi), dims: headSize}
	sliding = &rope{theta: f.float("rope_local_base_freq", 10000, lo, hi), dims: headSize}
	if s := f.object("rope_scaling"); s != nil {
		global.scale = ropeScale(s)
	}
	if p := f.object("rope_parameters"); p != nil {
		for name, r := range map[string]*rope{"full_attention": global, "sliding_attention": sliding} {
			if o := p.object(name); o != nil {
				r.theta, r.scale = o.float("rope_theta", r.theta, lo, hi), ropeScale(o)
			}
		}
	}
	return global, sliding
}
