package encoder

// vit reads the vision transformer of "An Image is Worth 16x16 Words": patches with a class token
// before them, a norm before each part and one at the end. It encodes pictures only. Source:
// transformers modeling_vit.py.
func vit(f *fields) *architecture {
	a := &architecture{
		family:       "vit",
		prefixes:     []string{"", "vit."},
		hidden:       f.int("hidden_size", 768, 1, maxHidden),
		heads:        f.int("num_attention_heads", 12, 1, maxHeads),
		intermediate: f.int("intermediate_size", 3072, 1, maxIntermediate),

		words:     []string{"embeddings.patch_embeddings.projection.weight"},
		patches:   &patchSpec{weight: "embeddings.patch_embeddings.projection", bias: true, class: "embeddings.cls_token", classBatched: true},
		finalNorm: "layernorm",

		eps:       f.eps("layer_norm_eps", 1e-12),
		normBias:  true,
		preNorm:   true,
		layerRoot: "encoder.layer.",
	}
	a.readActivation(f, "gelu")
	a.readPatches(f)
	a.positions.name, a.positions.batched = "embeddings.position_embeddings", true
	qkvBias := f.bool("qkv_bias", true)
	a.specs = repeat(f.int("num_hidden_layers", 12, 1, maxLayers), func(i int) layerSpec {
		return layerSpec{
			root:            numbered(a.layerRoot, i),
			query:           "attention.attention.query",
			key:             "attention.attention.key",
			value:           "attention.attention.value",
			qkvBias:         qkvBias,
			output:          "attention.output.dense",
			outputBias:      true,
			attentionNorm:   "layernorm_before",
			up:              "intermediate.dense",
			upBias:          true,
			down:            "output.dense",
			downBias:        true,
			feedForwardNorm: "layernorm_after",
		}
	})
	return a
}
