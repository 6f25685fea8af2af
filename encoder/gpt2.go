package encoder

import "fmt"

// gpt2 reads GPT-2: a causal decoder with learned positions, norm before each part, and weights
// stored as [in, out]. Source: transformers modeling_gpt2.py.
func gpt2(f *fields) *architecture {
	f.want("scale_attn_weights", true)
	f.want("scale_attn_by_inverse_layer_idx", false)
	f.want("add_cross_attention", false)
	a := &architecture{
		family:    "gpt2",
		prefixes:  []string{"", "transformer."},
		vocab:     f.needInt("vocab_size", maxVocab),
		hidden:    f.needInt("n_embd", maxHidden),
		heads:     f.needInt("n_head", maxHeads),
		maxTokens: f.needInt("n_positions", maxPositions),

		words:     []string{"wte.weight"},
		finalNorm: "ln_f",

		eps:        f.eps("layer_norm_epsilon", 1e-5),
		normBias:   true,
		preNorm:    true,
		causal:     true,
		act:        f.activation("activation_function", "gelu_new"),
		transposed: true,
		layerRoot:  "h.",
		output:     outputSpec{weight: "/lm_head.weight", tied: f.bool("tie_word_embeddings", true)},
	}
	a.intermediate = f.int("n_inner", 4*a.hidden, 1, maxIntermediate)
	a.positions = positionTable{name: "wpe.weight", rows: a.maxTokens, padID: -1}
	a.specs = repeat(f.needInt("n_layer", maxLayers), func(i int) layerSpec {
		return layerSpec{
			root: fmt.Sprintf("h.%d.", i),
			qkv:  "attn.c_attn", qkvBias: true,
			output: "attn.c_proj", outputBias: true,
			attentionNorm: "ln_1",
			up:            "mlp.c_fc", upBias: true,
			down: "mlp.c_proj", downBias: true,
			feedForwardNorm: "ln_2",
		}
	})
	return a
}
