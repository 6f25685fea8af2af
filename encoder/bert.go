package encoder

import (
	"fmt"

	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// bert reads the config of BERT: learned positions from 0, segments, post-norm, gelu, biases
// everywhere. Source: transformers modeling_bert.py.
func bert(f *fields) *architecture {
	if f.string("position_embedding_type", "") == "alibi" {
		return jina(f)
	}
	f.oneOf("position_embedding_type", "absolute", "absolute")
	a := bertLike(f, "bert")
	a.head = bertHead(f)
	a.mlm = &mlmSpec{dense: "/cls.predictions.transform.dense", denseBias: true, act: a.act, norm: "/cls.predictions.transform.LayerNorm",
		decoder: "/cls.predictions.decoder", bias: []string{"/cls.predictions.bias", "/cls.predictions.decoder.bias"}}
	return a
}

// bertHead is the head of BERT for sequence classification, on the pooler; nil if the checkpoint is
// not one.
func bertHead(f *fields) *headSpec {
	if !f.classifies() {
		return nil
	}
	return &headSpec{mode: pooling.CLSMode, dense: "pooler.dense", denseBias: true, act: simd.Tanh, out: "/classifier", outBias: true}
}

// roberta reads RoBERTa, XLM-RoBERTa and CamemBERT: BERT whose positions begin after the padding
// id, with one segment. Source: transformers modeling_roberta.py.
func roberta(f *fields) *architecture {
	if f.string("position_embedding_type", "") == "rotary" {
		return jinaV3(f)
	}
	f.oneOf("position_embedding_type", "absolute", "absolute")
	a := bertLike(f, f.string("model_type", ""), "roberta.", "xlm-roberta.", "camembert.")
	a.positionsAfter(f, f.int("pad_token_id", 1, 0, a.maxTokens-1))
	a.head = robertaHead(f, simd.Tanh)
	a.mlm = robertaMLM
	return a
}

// positionsAfter makes the positions begin after the padding id.
func (a *architecture) positionsAfter(f *fields, pad int) {
	a.positions.offset, a.positions.padID = pad+1, pad
	a.maxTokens -= pad + 1
	if a.maxTokens < 1 {
		f.fail("max_position_embeddings", "is %d, want more than the padding id + 1 = %d", a.positions.rows, pad+1)
	}
}

// robertaHead is the head of RoBERTa, MPNet and ELECTRA for sequence classification, on the first
// token; nil if the checkpoint is not one.
func robertaHead(f *fields, act simd.Activation) *headSpec {
	if !f.classifies() {
		return nil
	}
	return &headSpec{mode: pooling.CLSMode, dense: "/classifier.dense", denseBias: true, act: act, out: "/classifier.out_proj", outBias: true}
}

// robertaMLM is the masked-language head of RoBERTa and MPNet.
var robertaMLM = &mlmSpec{dense: "/lm_head.dense", denseBias: true, act: simd.GELU, norm: "/lm_head.layer_norm",
	decoder: "/lm_head.decoder", bias: []string{"/lm_head.bias", "/lm_head.decoder.bias"}}

// bertLike reads the settings that all relatives of BERT share. The position table begins at 0 and
// has maxTokens rows.
func bertLike(f *fields, family string, prefixes ...string) *architecture {
	if len(prefixes) == 0 {
		prefixes = []string{family + "."}
	}
	f.want("is_decoder", false)
	a := &architecture{
		family:       family,
		prefixes:     append([]string{""}, prefixes...),
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		intermediate: f.needInt("intermediate_size", maxIntermediate),
		types:        f.int("type_vocab_size", 2, 1, 1024),
		maxTokens:    f.needInt("max_position_embeddings", maxPositions),

		words:         []string{"embeddings.word_embeddings.weight"},
		typeTable:     "embeddings.token_type_embeddings.weight",
		embeddingNorm: "embeddings.LayerNorm",

		eps:       f.eps("layer_norm_eps", 1e-12),
		normBias:  true,
		act:       f.activation("hidden_act", "gelu"),
		layerRoot: "encoder.layer.",
	}
	a.positions = positionTable{name: "embeddings.position_embeddings.weight", rows: a.maxTokens, padID: -1}
	a.specs = repeat(f.needInt("num_hidden_layers", maxLayers), bertLayer)
	return a
}

func bertLayer(i int) layerSpec {
	return layerSpec{
		root:            fmt.Sprintf("encoder.layer.%d.", i),
		query:           "attention.self.query",
		key:             "attention.self.key",
		value:           "attention.self.value",
		qkvBias:         true,
		output:          "attention.output.dense",
		outputBias:      true,
		attentionNorm:   "attention.output.LayerNorm",
		up:              "intermediate.dense",
		upBias:          true,
		down:            "output.dense",
		downBias:        true,
		feedForwardNorm: "output.LayerNorm",
	}
}
