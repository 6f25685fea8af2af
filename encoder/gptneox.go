package encoder

// gptNeoX reads GPT-NeoX and Pythia: causal decoders with rotary positions over a part of each
// head, whose attention and feed-forward start from the same states. Source: transformers
// modeling_gpt_neox.py.
func gptNeoX(f *fields) *architecture {
	a := &architecture{
		family:       "gpt_neox",
		prefixes:     []string{"gpt_neox.", ""},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		intermediate: f.needInt("intermediate_size", maxIntermediate),
		statedTokens: f.int("max_position_embeddings", 2048, 1, maxPositions),

		words:     []string{"embed_in.weight"},
		finalNorm: "final_layer_norm",

		eps:       f.eps("layer_norm_eps", 1e-5),
		normBias:  true,
		preNorm:   true,
		parallel:  f.bool("use_parallel_residual", true),
		causal:    true,
		act:       f.activation("hidden_act", "gelu"),
		layerRoot: "layers.",
		output:    outputSpec{weight: "/embed_out.weight", tied: f.bool("tie_word_embeddings", false)},
	}
	bias := f.bool("attention_bias", true)
	theta, part := f.float("rotary_emb_base", 10000, 1, 1e12), f.float("rotary_pct", 0.25, 0, 1)
	f.absent("rope_scaling")
	if p := f.object("rope_parameters"); p != nil {
		p.oneOf("rope_type", "default", "default")
		theta, part = p.float("rope_theta", theta, 1, 1e12), p.float("partial_rotary_factor", part, 0, 1)
	}
	r := &rope{theta: theta, dims: int(float64(a.hidden/a.heads) * part)}
	a.specs = repeat(f.needInt("num_hidden_layers", maxLayers), func(i int) layerSpec {
		return layerSpec{
			root: numbered(a.layerRoot, i),
			qkv:  "attention.query_key_value", byHead: true, qkvBias: bias,
			output: "attention.dense", outputBias: bias,
			attentionNorm: "input_layernorm",
			up:            "mlp.dense_h_to_4h", upBias: true,
			down: "mlp.dense_4h_to_h", downBias: true,
			feedForwardNorm: "post_attention_layernorm",
			rope:            r,
		}
	})
	return a
}
