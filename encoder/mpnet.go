package encoder

import "example.com/searchd/internal/simd"

// mpnet reads MPNet: BERT without segments, with positions from 2 and one table of relative biases
// for all layers. The padding id, 32 buckets and the distance 128 are fixed by the model and not by
// the config. Source: transformers modeling_mpnet.py.
func mpnet(f *fields) *architecture {
	const pad, buckets, maxDistance = 1, 32, 128
	f.oneOf("position_embedding_type", "absolute", "absolute")
	a := bertLike(f, "mpnet")
	a.types, a.typeTable = 0, ""
	a.positionsAfter(f, pad)
	a.relative = relativeTable{name: "encoder.relative_attention_bias.weight", buckets: buckets, maxDistance: maxDistance,
		rows: f.int("relative_attention_num_buckets", buckets, buckets, 1024)}
	for i := range a.specs {
		l := bertLayer(i)
		l.query, l.key, l.value, l.output = "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"
		l.attentionNorm = "attention.LayerNorm"
		a.specs[i] = l
	}
	a.mlm = robertaMLM
	a.head = robertaHead(f, simd.Tanh)
	return a
}
