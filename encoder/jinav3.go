package encoder

import "fmt"

// jinaV3 reads jina-embeddings-v3: XLM-RoBERTa with rotary positions and fused query, key and
// value, with adapters for tasks (model_type xlm-roberta) or, as transformers saves it, without.
// Source: jinaai/xlm-roberta-flash-implementation, transformers modular_jina_embeddings_v3.py.
func jinaV3(f *fields) *architecture {
	a := &architecture{
		family:       "jina_embeddings_v3",
		prefixes:     []string{"", "roberta."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		intermediate: f.needInt("intermediate_size", maxIntermediate),
		types:        f.int("type_vocab_size", 1, 1, 1024),
		statedTokens: f.int("max_position_embeddings", 8194, 1, maxPositions),

		words:         []string{"embeddings.word_embeddings.weight", "embeddings.word_embeddings" + parametrized},
		typeTable:     "embeddings.token_type_embeddings.weight",
		embeddingNorm: "emb_ln",

		eps:       f.eps("layer_norm_eps", 1e-5),
		normBias:  true,
		act:       f.activation("hidden_act", "gelu"),
		layerRoot: "encoder.layers.",
	}
	r := &rope{theta: f.float("rotary_emb_base", 20000, 1, 1e12), dims: a.hidden / a.heads}
	if p := f.object("rope_parameters"); p != nil {
		r.theta, r.scale = p.float("rope_theta", r.theta, 1, 1e12), ropeScale(p)
	}
	a.specs = repeat(f.needInt("num_hidden_layers", maxLayers), func(i int) layerSpec {
		return layerSpec{
			root: fmt.Sprintf("encoder.layers.%d.", i),
			qkv:  "mixer.Wqkv", qkvBias: true,
			output: "mixer.out_proj", outputBias: true,
			attentionNorm: "norm1",
			up:            "mlp.fc1", upBias: true,
			down: "mlp.fc2", downBias: true,
			feedForwardNorm: "norm2",
			rope:            r,
		}
	})
	if tasks := f.strings("lora_adaptations"); len(tasks) > 0 {
		const most, highest = 64, 1024
		if len(tasks) > most {
			f.fail("lora_adaptations", "has %d tasks, want at most %d", len(tasks), most)
		}
		a.adapters = &adapterSpec{tasks: tasks, rank: f.needInt("lora_rank", highest)}
		a.adapters.scale = f.float("lora_alpha", 1, 0, 1e6) / float64(a.adapters.rank)
	}
	return a
}
