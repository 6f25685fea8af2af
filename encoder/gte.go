package encoder

import (
	"fmt"
	"math"

	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// gte reads the "new" architecture of GTE v1.5, gte-multilingual, Arctic M v2 and Stella: post-norm
// with rotary positions and a gated feed-forward. Source: Alibaba-NLP/new-impl modeling.py.
func gte(f *fields) *architecture {
	f.want("logn_attention_scale", false)
	f.want("logn_attention_clip1", false)
	f.oneOf("layer_norm_type", "layer_norm", "layer_norm")
	a := &architecture{
		family:       "gte",
		prefixes:     []string{"", "new."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		intermediate: f.needInt("intermediate_size", maxIntermediate),
		types:        f.int("type_vocab_size", 0, 0, 1024),
		statedTokens: f.int("max_position_embeddings", 8192, 1, maxPositions),

		words:         []string{"embeddings.word_embeddings.weight"},
		embeddingNorm: "embeddings.LayerNorm",

		eps:       f.eps("layer_norm_eps", 1e-12),
		normBias:  true,
		act:       f.activation("hidden_act", "gelu"),
		layerRoot: "encoder.layer.",
	}
	if a.types > 0 {
		a.typeTable = "embeddings.token_type_embeddings.weight"
	}
	var rope *rope
	if f.oneOf("position_embedding_type", "rope", "rope", "absolute") == "rope" {
		rope = gteRope(f, a.hidden/a.heads)
	} else {
		a.maxTokens = a.statedTokens
		a.positions = positionTable{name: "embeddings.position_embeddings.weight", rows: a.maxTokens, padID: -1}
	}
	packed := f.bool("pack_qkv", true)
	a.specs = repeat(f.needInt("num_hidden_layers", maxLayers), func(i int) layerSpec {
		l := layerSpec{
			root:    fmt.Sprintf("encoder.layer.%d.", i),
			qkvBias: true,
			output:  "attention.o_proj", outputBias: true,
			attentionNorm: "attn_ln",
			up:            "mlp.up_gate_proj", fused: upGate,
			down: "mlp.down_proj", downBias: true,
			feedForwardNorm: "mlp_ln",
			rope:            rope,
		}
		if packed {
			l.qkv = "attention.qkv_proj"
		} else {
			l.query, l.key, l.value = "attention.q_proj", "attention.k_proj", "attention.v_proj"
		}
		return l
	})
	if f.classifies() {
		a.head = &headSpec{mode: pooling.CLSMode, dense: "pooler.dense", denseBias: true, denseOptional: true, act: simd.Tanh,
			out: "/classifier", outBias: true}
	}
	return a
}

// gteRope reads the base and the fixed NTK scaling: base times factor, and each frequency divided
// by factor^(2/D).
func gteRope(f *fields, headSize int) *rope {
	r := &rope{theta: f.float("rope_theta", 10000, 1, 1e12), dims: headSize}
	scaling := f.object("rope_scaling")
	if p := f.object("rope_parameters"); p != nil {
		r.theta = p.float("rope_theta", r.theta, 1, 1e12)
		if scaling == nil && p.string("rope_type", "default") != "default" {
			scaling = p
		}
	}
	if scaling == nil {
		return r
	}
	scaling.absent("mixed_b")
	scaling.oneOf(scaling.first("type", "rope_type"), "ntk", "ntk")
	if factor := scaling.float("factor", 1, 1, 1024); factor > 1 {
		r.theta *= factor
		divisor := math.Pow(factor, 2/float64(headSize))
		r.scale = func(freq float64) float64 { return freq / divisor }
	}
	return r
}
