package encoder

import (
	"fmt"

	"example.com/searchd/pooling"
)

// modernbert reads ModernBERT: norm before each part and none before the first attention, rotary
// positions, a gated feed-forward, and a window in two layers of three. Source: transformers
// modular_modernbert.py.
func modernbert(f *fields) *architecture {
	a := &architecture{
		family:       "modernbert",
		prefixes:     []string{"", "model."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		intermediate: f.needInt("intermediate_size", maxIntermediate),
		statedTokens: f.int("max_position_embeddings", 8192, 1, maxPositions),

		words:         []string{"embeddings.tok_embeddings.weight"},
		embeddingNorm: "embeddings.norm",
		finalNorm:     "final_norm",

		eps:       f.eps("norm_eps", 1e-5),
		normBias:  f.bool("norm_bias", false),
		preNorm:   true,
		act:       f.activation("hidden_activation", "gelu"),
		layerRoot: "layers.",
	}
	local := modernWindows(f, f.needInt("num_hidden_layers", maxLayers))
	global, sliding := modernRopes(f, a.hidden/a.heads)
	window := f.int("local_attention", 128, 1, maxPositions)/2 + 1
	attentionBias, mlpBias := f.bool("attention_bias", false), f.bool("mlp_bias", false)
	a.specs = repeat(len(local), func(i int) layerSpec {
		l := layerSpec{
			root: fmt.Sprintf("layers.%d.", i),
			qkv:  "attn.Wqkv", qkvBias: attentionBias,
			output: "attn.Wo", outputBias: attentionBias,
			attentionNorm: "attn_norm",
			up:            "mlp.Wi", fused: gateUp, upBias: mlpBias,
			down: "mlp.Wo", downBias: mlpBias,
			feedForwardNorm: "mlp_norm",
			rope:            global,
		}
		if i == 0 {
			l.attentionNorm = ""
		}
		if local[i] {
			l.rope, l.window = sliding, window
		}
		return l
	})
	a.mlm = &mlmSpec{dense: "/head.dense", denseBias: f.bool("classifier_bias", false), act: f.activation("classifier_activation", "gelu"),
		norm: "/head.norm", decoder: "/decoder", bias: []string{"/decoder.bias"}}
	if f.classifies() {
		mode := pooling.CLSMode
		if f.oneOf("classifier_pooling", "cls", "cls", "mean") == "mean" {
			mode = pooling.MeanMode
		}
		a.head = &headSpec{mode: mode, dense: "/head.dense", denseBias: f.bool("classifier_bias", false),
			act: f.activation("classifier_activation", "gelu"), norm: "/head.norm", out: "/classifier", outBias: true}
	}
	return a
}

// modernWindows tells for each layer whether it sees a window only. Newer configs list the layers,
// older ones give a period.
func modernWindows(f *fields, layers int) []bool {
	local := make([]bool, layers)
	if types := f.layerTypes(layers); types != nil {
		for i, s := range types {
			local[i] = s == "sliding_attention"
		}
		return local
	}
	every := f.int("global_attn_every_n_layers", 3, 1, maxLayers)
	for i := range local {
		local[i] = i%every != 0
	}
	return local
}

// modernRopes reads the bases of the rotation in global and in windowed layers.
func modernRopes(f *fields, headSize int) (global, sliding *rope) {
	const lo, hi = 1, 1e12
	theta := f.float("global_rope_theta", 160000, lo, hi)
	localTheta := 10000.0
	if _, ok := f.raw["local_rope_theta"]; ok {
		localTheta = f.float("local_rope_theta", theta, lo, hi) // null: as the global one
	}
	if p := f.object("rope_parameters"); p != nil {
		if o := p.object("full_attention"); o != nil {
			o.oneOf("rope_type", "default", "default")
			theta = o.float("rope_theta", theta, lo, hi)
		}
		if o := p.object("sliding_attention"); o != nil {
			o.oneOf("rope_type", "default", "default")
			localTheta = o.float("rope_theta", localTheta, lo, hi)
		}
	}
	return &rope{theta: theta, dims: headSize}, &rope{theta: localTheta, dims: headSize}
}

// layerTypes reads layer_types, one word for each layer; nil if absent.
func (f *fields) layerTypes(layers int) []string {
	types := f.strings("layer_types")
	if types == nil {
		return nil
	}
	if len(types) != layers {
		f.fail("layer_types", "has %d entries, want one for each of %d layers", len(types), layers)
		return nil
	}
	for _, s := range types {
		if s != "full_attention" && s != "sliding_attention" {
			f.fail("layer_types", "has %q, want full_attention or sliding_attention", s)
			return nil
		}
	}
	return types
}
