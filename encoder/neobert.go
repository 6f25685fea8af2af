package encoder

import (
	"fmt"

	"example.com/searchd/internal/simd"
)

// neobert reads NeoBERT: RMSNorm before each part, a gated feed-forward of two thirds of the stated
// width, query, key and value stored head by head, and a rotation that turns neighbouring
// dimensions together. Source: chandar-lab/NeoBERT model.py.
func neobert(f *fields) *architecture {
	f.want("ngpt", false)
	f.want("rms_norm", true)
	f.want("rope", true)
	f.oneOf("hidden_act", "swiglu", "swiglu", "SwiGLU")
	a := &architecture{
		family:       "neobert",
		prefixes:     []string{"", "model."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		intermediate: (2*f.needInt("intermediate_size", maxIntermediate)/3 + 7) / 8 * 8,
		statedTokens: f.int(f.first("max_position_embeddings", "max_length"), 1024, 1, maxPositions),

		words:     []string{"encoder.weight"},
		finalNorm: "layer_norm",

		norm:      rmsNorm,
		eps:       f.eps("norm_eps", 1e-6),
		preNorm:   true,
		act:       simd.SiLU,
		layerRoot: "transformer_encoder.",
	}
	r := &rope{theta: 10000, dims: a.hidden / a.heads}
	a.specs = repeat(f.needInt("num_hidden_layers", maxLayers), func(i int) layerSpec {
		return layerSpec{
			root:          fmt.Sprintf("transformer_encoder.%d.", i),
			qkv:           "qkv",
			byHead:        true,
			interleaved:   true,
			output:        "wo",
			attentionNorm: "attention_norm",
			up:            "ffn.w12", fused: gateUp,
			down:            "ffn.w3",
			feedForwardNorm: "ffn_norm",
			rope:            r,
		}
	})
	return a
}
