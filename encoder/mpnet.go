package encoder

import (
	"searchd/internal/simd"
	"searchd/pooling"
)

// mpnet reads MPNet: BERT without segments, with positions from 2 and one table of relative biases for all layers. The model fixes the
// padding id, 32 buckets and the distance 128, whatever the config says. Source: transformers modeling_mpnet.py.
func mpnet(f *fields) *architecture {
	const pad, buckets, maxDistance = 1, 32, 128
	f.oneOf("position_embedding_type", "absolute", "absolute")
	a := bertLike(f, "mpnet")
	a.types, a.typeTable = 0, ""
	a.positions = positionTable{name: "embeddings.position_embeddings.weight", rows: a.maxTokens, offset: pad + 1, padID: pad}
	a.maxTokens -= pad + 1
	if a.maxTokens < 1 {
		f.fail("max_position_embeddings", "is %d, want at least %d", a.positions.rows, pad+2)
	}
	a.relative = relativeTable{name: "encoder.relative_attention_bias.weight", buckets: buckets, maxDistance: maxDistance,
		rows: f.int("relative_attention_num_buckets", buckets, buckets, 1024)}
	for i := range a.specs {
		l := bertLayer(i)
		l.query, l.key, l.value, l.output = "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"
		l.attentionNorm = "attention.LayerNorm"
		a.specs[i] = l
	}
	a.mlm = robertaMLM
	if f.hasArchitecture("ForSequenceClassification") {
		a.head = &headSpec{mode: pooling.CLS, dense: "/classifier.dense", denseBias: true, act: simd.Tanh,
			out: "/classifier.out_proj", outBias: true}
	}
	return a
}
