package encoder

import (
	"fmt"

	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// distilbert reads DistilBERT: BERT without segments and pooler, under names of its own. Source:
// transformers modeling_distilbert.py.
func distilbert(f *fields) *architecture {
	a := &architecture{
		family:       "distilbert",
		prefixes:     []string{"", "distilbert."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("dim", maxHidden),
		heads:        f.needInt("n_heads", maxHeads),
		intermediate: f.needInt("hidden_dim", maxIntermediate),
		maxTokens:    f.needInt("max_position_embeddings", maxPositions),

		words:         []string{"embeddings.word_embeddings.weight"},
		embeddingNorm: "embeddings.LayerNorm",

		eps:       1e-12,
		normBias:  true,
		act:       f.activation("activation", "gelu"),
		layerRoot: "transformer.layer.",
	}
	a.positions = positionTable{name: "embeddings.position_embeddings.weight", rows: a.maxTokens, padID: -1,
		sinusoidal: f.bool("sinusoidal_pos_embds", false)}
	a.specs = repeat(f.needInt("n_layers", maxLayers), func(i int) layerSpec {
		return layerSpec{
			root:  fmt.Sprintf("transformer.layer.%d.", i),
			query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin", qkvBias: true,
			output: "attention.out_lin", outputBias: true,
			attentionNorm: "sa_layer_norm",
			up:            "ffn.lin1", upBias: true,
			down: "ffn.lin2", downBias: true,
			feedForwardNorm: "output_layer_norm",
		}
	})
	a.mlm = &mlmSpec{dense: "/vocab_transform", denseBias: true, act: a.act, norm: "/vocab_layer_norm",
		decoder: "/vocab_projector", bias: []string{"/vocab_projector.bias"}}
	if f.classifies() {
		a.head = &headSpec{mode: pooling.CLSMode, dense: "/pre_classifier", denseBias: true, act: simd.ReLU, out: "/classifier", outBias: true}
	}
	return a
}
