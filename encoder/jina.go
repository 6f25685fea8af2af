package encoder

import "example.com/searchd/internal/simd"

// jina reads JinaBERT v2, whose model_type is "bert": BERT with ALiBi instead of a position table
// and with a gated feed-forward. Source: jinaai/jina-bert-implementation modeling_bert.py.
func jina(f *fields) *architecture {
	a := bertLike(f, "bert")
	a.family = "jina-bert"
	a.head = bertHead(f)
	a.statedTokens, a.maxTokens = a.maxTokens, 0
	a.positions, a.alibi = positionTable{}, true
	switch f.oneOf("feed_forward_type", "original", "original", "geglu", "reglu") {
	case "original":
		return a
	case "geglu":
		a.act = simd.GELU
	case "reglu":
		a.act = simd.ReLU
	}
	for i := range a.specs {
		l := &a.specs[i]
		l.up, l.fused, l.upBias = "mlp.gated_layers", gateUp, false
		l.down, l.feedForwardNorm = "mlp.wo", "mlp.layernorm"
	}
	return a
}
