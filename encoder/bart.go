package encoder

import "math"

// bart reads the encoder half of BART, mBART, Pegasus and Marian.
func bart(f *fields) *architecture { return bartHalf(f, "encoder") }

// bartDecoder reads their decoder half.
func bartDecoder(f *fields) *architecture { return bartHalf(f, "decoder") }

// bartHalf reads one half of BART and its relatives. BART and Marian have the norm after each part,
// mBART and Pegasus before; BART and mBART have learned positions from row 2 on and a norm over the
// embeddings, the other two computed positions. Source: transformers modeling_bart.py,
// modeling_mbart.py, modeling_pegasus.py, modeling_marian.py.
func bartHalf(f *fields, half string) *architecture {
	family := f.string("model_type", "bart")
	learned := family == "bart" || family == "mbart"
	positions := f.int("max_position_embeddings", 1024, 1, maxPositions)
	a := &architecture{
		family:       family,
		prefixes:     []string{"model.", ""},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("d_model", maxHidden),
		heads:        f.needInt(half+"_attention_heads", maxHeads),
		intermediate: f.needInt(half+"_ffn_dim", maxIntermediate),
		maxTokens:    positions,

		words:     []string{"shared.weight", half + ".embed_tokens.weight"},
		positions: positionTable{name: half + ".embed_positions.weight", rows: positions, padID: -1, sinusoidal: !learned, halves: true},

		eps:       1e-5,
		normBias:  true,
		preNorm:   family == "mbart" || family == "pegasus",
		act:       f.activation("activation_function", "gelu"),
		layerRoot: half + ".layers.",
		output:    outputSpec{weight: "/lm_head.weight", tied: f.bool("tie_word_embeddings", true), bias: "/final_logits_bias"},
	}
	if f.bool("scale_embedding", false) {
		a.wordScale = math.Sqrt(float64(a.hidden))
	}
	if learned {
		a.positions.rows, a.positions.offset = positions+2, 2
		a.embeddingNorm = half + ".layernorm_embedding"
	}
	if a.preNorm {
		a.finalNorm = half + ".layer_norm"
	}
	if half == "decoder" {
		a.causal = true
		a.words = []string{"decoder.embed_tokens.weight", "shared.weight"}
		a.vocab = f.int("decoder_vocab_size", a.vocab, 1, maxVocab)
	}
	a.specs = repeat(f.needInt(half+"_layers", maxLayers), func(i int) layerSpec {
		l := layerSpec{
			root:  numbered(a.layerRoot, i),
			query: "self_attn.q_proj", key: "self_attn.k_proj", value: "self_attn.v_proj", qkvBias: true,
			output: "self_attn.out_proj", outputBias: true,
			attentionNorm: "self_attn_layer_norm",
			up:            "fc1", upBias: true,
			down: "fc2", downBias: true,
			feedForwardNorm: "final_layer_norm",
		}
		if half == "decoder" {
			l.cross = crossSpec{query: "encoder_attn.q_proj", key: "encoder_attn.k_proj", value: "encoder_attn.v_proj",
				output: "encoder_attn.out_proj", bias: true, norm: "encoder_attn_layer_norm"}
		}
		return l
	})
	return a
}
