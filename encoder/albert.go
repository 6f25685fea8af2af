package encoder

import (
	"fmt"

	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// albert reads ALBERT: BERT with narrow embeddings, whose layers share their weights in groups.
// Source: transformers modeling_albert.py.
func albert(f *fields) *architecture {
	f.oneOf("position_embedding_type", "absolute", "absolute")
	a := bertLike(f, "albert")
	a.act = f.activation("hidden_act", "gelu_new")
	a.embedding = f.int("embedding_size", 128, 1, maxHidden)
	a.projection = "encoder.embedding_hidden_mapping_in"
	a.layerRoot = "encoder.albert_layer_groups."
	layers := len(a.specs)
	groups := f.int("num_hidden_groups", 1, 1, layers)
	inner := f.int("inner_group_num", 1, 1, maxLayers/layers)
	a.specs = repeat(layers*inner, func(i int) layerSpec {
		return layerSpec{
			root:  fmt.Sprintf("encoder.albert_layer_groups.%d.albert_layers.%d.", i/inner*groups/layers, i%inner),
			query: "attention.query", key: "attention.key", value: "attention.value", qkvBias: true,
			output: "attention.dense", outputBias: true,
			attentionNorm: "attention.LayerNorm",
			up:            "ffn", upBias: true,
			down: "ffn_output", downBias: true,
			feedForwardNorm: "full_layer_layer_norm",
		}
	})
	if f.classifies() {
		a.head = &headSpec{mode: pooling.CLSMode, dense: "pooler", denseBias: true, act: simd.Tanh, out: "/classifier", outBias: true}
	}
	return a
}
