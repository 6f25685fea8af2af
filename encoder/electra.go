package encoder

import "example.com/searchd/internal/simd"

// electra reads the discriminator of ELECTRA: BERT whose embeddings may have another width than the
// hidden size, to which they are then projected. Source: transformers modeling_electra.py.
func electra(f *fields) *architecture {
	f.oneOf("position_embedding_type", "absolute", "absolute")
	a := bertLike(f, "electra")
	a.embedding = f.int("embedding_size", 128, 1, maxHidden)
	if a.embedding != a.hidden {
		a.projection = "embeddings_project"
	}
	a.head = robertaHead(f, simd.GELU)
	return a
}
