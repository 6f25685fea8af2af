package encoder

import (
	"searchd/internal/simd"
	"searchd/pooling"
)

// electra reads the discriminator of ELECTRA: BERT with embeddings of their own width. Source: transformers modeling_electra.py.
func electra(f *fields) *architecture {
	f.oneOf("position_embedding_type", "absolute", "absolute")
	a := bertLike(f, "electra")
	a.embedding = f.int("embedding_size", 128, 1, maxHidden)
	if a.embedding != a.hidden {
		a.projection = "embeddings_project"
	}
	a.positions = positionTable{name: "embeddings.position_embeddings.weight", rows: a.maxTokens, padID: -1}
	if f.hasArchitecture("ForSequenceClassification") {
		a.head = &headSpec{mode: pooling.CLS, dense: "/classifier.dense", denseBias: true, act: simd.GELU,
			out: "/classifier.out_proj", outBias: true}
	}
	return a
}
