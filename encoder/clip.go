package encoder

// A tower is one of the two encoders of CLIP and SigLIP, which give pictures and texts vectors that
// can be compared. The numbers that a config leaves out have the defaults of transformers, because
// many configs leave out all of them. Source: transformers modeling_clip.py, modeling_siglip.py and
// their configurations.

// clipText reads the tower for texts of CLIP: causal, pooled at the first end token.
func clipText(f *fields) *architecture {
	t := f.part("text_config")
	a := tower(t, "clip", "text_model.", 512, 8, 2048, 1e-5, "quick_gelu")
	a.textTower(t, 49408, 77)
	a.causal = true
	a.end = t.int("eos_token_id", 49407, 0, maxVocab)
	a.vector = vectorSpec{projection: "text_projection", out: f.int("projection_dim", 512, 1, maxHidden)}
	return a
}

// clipVision reads the tower for pictures of CLIP: a class token, pooled there.
func clipVision(f *fields) *architecture {
	v := f.part("vision_config")
	a := tower(v, "clip", "vision_model.", 768, 12, 3072, 1e-5, "quick_gelu")
	a.visionTower(v, 32, false)
	a.patches.class = "vision_model.embeddings.class_embedding"
	a.positions.rows++
	a.maxTokens++
	a.embeddingNorm = "vision_model.pre_layrnorm"
	a.vector = vectorSpec{projection: "visual_projection", out: f.int("projection_dim", 512, 1, maxHidden)}
	return a
}

// siglipText reads the tower for texts of SigLIP, which sees every text filled up to its full
// length with padding tokens that count like others, and pools at the last one.
func siglipText(f *fields) *architecture {
	t := f.part("text_config")
	a := tower(t, "siglip", "text_model.", 768, 12, 3072, 1e-6, "gelu_pytorch_tanh")
	a.textTower(t, 32000, 64)
	a.padded, a.pad = true, t.int("pad_token_id", 1, 0, maxVocab)
	a.vector = vectorSpec{projection: "text_model.head", bias: true, out: t.int("projection_size", a.hidden, 1, maxHidden)}
	return a
}

// siglipVision reads the tower for pictures of SigLIP: no class token, pooled by attention.
func siglipVision(f *fields) *architecture {
	v := f.part("vision_config")
	v.want("vision_use_head", true)
	a := tower(v, "siglip", "vision_model.", 768, 12, 3072, 1e-6, "gelu_pytorch_tanh")
	a.visionTower(v, 16, true)
	a.vector = vectorSpec{probe: "vision_model.head.", out: a.hidden}
	return a
}

// tower reads what all four have in common: a norm before each part and one at the end.
func tower(f *fields, family, root string, hidden, heads, intermediate int, eps float64, act string) *architecture {
	a := &architecture{
		family:       family,
		prefixes:     []string{""},
		hidden:       f.int("hidden_size", hidden, 1, maxHidden),
		heads:        f.int("num_attention_heads", heads, 1, maxHeads),
		intermediate: f.int("intermediate_size", intermediate, 1, maxIntermediate),
		eps:          f.eps("layer_norm_eps", eps),
		normBias:     true,
		preNorm:      true,
		layerRoot:    root + "encoder.layers.",
	}
	a.readActivation(f, act)
	a.specs = repeat(f.int("num_hidden_layers", 12, 1, maxLayers), func(i int) layerSpec {
		return layerSpec{
			root:  numbered(a.layerRoot, i),
			query: "self_attn.q_proj", key: "self_attn.k_proj", value: "self_attn.v_proj", qkvBias: true,
			output: "self_attn.out_proj", outputBias: true,
			attentionNorm: "layer_norm1",
			up:            "mlp.fc1", upBias: true,
			down: "mlp.fc2", downBias: true,
			feedForwardNorm: "layer_norm2",
		}
	})
	return a
}

func (a *architecture) textTower(f *fields, vocab, tokens int) {
	a.vocab, a.maxTokens = f.int("vocab_size", vocab, 1, maxVocab), f.int("max_position_embeddings", tokens, 1, maxPositions)
	a.words = []string{"text_model.embeddings.token_embedding.weight"}
	a.positions = positionTable{name: "text_model.embeddings.position_embedding.weight", rows: a.maxTokens, padID: -1}
	a.finalNorm = "text_model.final_layer_norm"
}

func (a *architecture) visionTower(f *fields, patch int, bias bool) {
	const weight = "vision_model.embeddings.patch_embedding"
	a.words = []string{weight + ".weight"}
	a.patches = &patchSpec{weight: weight, bias: bias, patch: patch}
	a.readPatches(f)
	a.positions.name = "vision_model.embeddings.position_embedding.weight"
	a.finalNorm = "vision_model.post_layernorm"
}

// vectorSpec names what makes a vector of the states of a tower.
type vectorSpec struct {
	probe      string // prefix of the attention that pools; "": other pooling
	projection string // [out, H] after the pooling; "": none
	bias       bool
	out        int // width of the vectors; 0: the family has no such parts
}

// vectorHead is what a vectorSpec names.
type vectorHead struct {
	probe      *probe  // nil: none
	projection *linear // nil: none
}

func (l *loader) vectorHead(a *architecture) (h vectorHead) {
	if a.vector.probe != "" {
		h.probe = l.probe(a)
	}
	if a.vector.projection != "" {
		h.projection = l.linear(a.vector.projection, a.vector.out, a.hidden, a.vector.bias)
	}
	return h
}

// finishIDs gives the tokens of a text the form that the tower for texts pools at its last token:
// those of CLIP end at the first end token, after which a causal model needs none, and those of
// SigLIP are filled up.
func (m *Model) finishIDs(ids []int32) []int32 {
	if m.stack == nil {
		return ids
	}
	a := m.stack.architecture
	if a.vector.projection != "" && a.causal && len(ids) > 0 {
		return ids[:a.endOf(ids)+1]
	}
	if a.padded && len(ids) < m.maxLen {
		full := make([]int32, m.maxLen)
		for i := copy(full, ids); i < len(full); i++ {
			full[i] = int32(a.pad)
		}
		return full
	}
	return ids
}

// endOf returns the place of the first end token, or 0 if there is none. In the first configs of
// CLIP its id is 2, which is wrong: there the greatest id is the end.
func (a *architecture) endOf(ids []int32) int {
	const wrong = 2
	end := 0
	for i, id := range ids {
		switch {
		case a.end == wrong && id > ids[end]:
			end = i
		case a.end != wrong && int(id) == a.end:
			return i
		}
	}
	return end
}
