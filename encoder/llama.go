package encoder

import (
	"fmt"
	"math"
	"slices"

	"example.com/searchd/encoder/position"
	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// llama reads decoders of the Llama kind: Llama, Mistral, Qwen2, Qwen3 and Gemma, and EuroBERT.
// RMSNorm before each part, rotary positions, grouped key/value heads, a gated feed-forward; causal
// by default, except EuroBERT. Source: transformers modeling_llama.py, modeling_mistral.py,
// modeling_qwen2.py, modeling_qwen3.py, modeling_gemma.py, modeling_eurobert.py.
func llama(f *fields) *architecture {
	family := f.string("model_type", "llama")
	a := &architecture{
		family:       family,
		prefixes:     []string{"", "model."},
		vocab:        f.needInt("vocab_size", maxVocab),
		hidden:       f.needInt("hidden_size", maxHidden),
		heads:        f.needInt("num_attention_heads", maxHeads),
		headSize:     f.int("head_dim", 0, 1, maxHidden),
		intermediate: f.needInt("intermediate_size", maxIntermediate),
		statedTokens: f.needInt("max_position_embeddings", maxPositions),

		words:     []string{"embed_tokens.weight"},
		finalNorm: "norm",

		norm:      rmsNorm,
		eps:       f.eps("rms_norm_eps", llamaEps[family]),
		preNorm:   true,
		causal:    family != "eurobert" && !f.bool("use_bidirectional_attention", false) && f.bool("is_causal", true),
		act:       f.activation("hidden_act", "silu"),
		layerRoot: "layers.",
		output:    outputSpec{weight: "/lm_head.weight", tied: f.bool("tie_word_embeddings", family == "gemma")},
	}
	if family == "gemma" { // hidden_act of the first configs is wrong, hidden_activation takes its place
		a.wordScale, a.normOffset = math.Sqrt(float64(a.hidden)), 1
		a.act = f.activation(f.first("hidden_activation", "gelu"), "gelu_pytorch_tanh")
	}
	a.kvHeads = f.int("num_key_value_heads", a.heads, 1, a.heads)
	headSize := a.headSize
	if headSize == 0 {
		headSize = a.hidden / a.heads
	}
	attentionBias := f.bool("attention_bias", false)
	qkvBias := attentionBias || family == "qwen2"
	mlpBias := f.bool("mlp_bias", false)
	rope := llamaRope(f, headSize)
	windows := slidingWindows(f, family, f.needInt("num_hidden_layers", maxLayers))
	a.specs = repeat(len(windows), func(i int) layerSpec {
		l := layerSpec{
			root:  fmt.Sprintf("layers.%d.", i),
			query: "self_attn.q_proj", key: "self_attn.k_proj", value: "self_attn.v_proj", qkvBias: qkvBias,
			output: "self_attn.o_proj", outputBias: attentionBias,
			attentionNorm: "input_layernorm",
			gate:          "mlp.gate_proj", up: "mlp.up_proj", upBias: mlpBias,
			down: "mlp.down_proj", downBias: mlpBias,
			feedForwardNorm: "post_attention_layernorm",
			rope:            rope,
			window:          windows[i],
		}
		if family == "qwen3" {
			l.queryNorm, l.keyNorm = "self_attn.q_norm", "self_attn.k_norm"
		}
		return l
	})
	if f.classifies() {
		a.head = &headSpec{mode: pooling.LastTokenMode, out: "/score"}
		if family == "eurobert" {
			a.head = eurobertHead(f)
		}
	}
	return a
}

// llamaEps are the defaults of rms_norm_eps.
var llamaEps = map[string]float64{"llama": 1e-6, "mistral": 1e-6, "qwen2": 1e-6, "qwen3": 1e-6, "eurobert": 1e-5}

// eurobertHead is the head of EuroBERT for sequence classification.
func eurobertHead(f *fields) *headSpec {
	mode := pooling.MeanMode
	switch f.oneOf("classifier_pooling", "late", "bos", "mean", "late") {
	case "bos":
		mode = pooling.CLSMode
	case "late":
		f.fail("classifier_pooling", "is late, only bos and mean are supported")
	}
	return &headSpec{mode: mode, dense: "/dense", denseBias: true, act: simd.GELU, out: "/classifier", outBias: true}
}

// slidingWindows returns the window of each layer, 0 for none. A window w shows a token itself and
// the w-1 tokens before it.
func slidingWindows(f *fields, family string, layers int) []int {
	windows := make([]int, layers)
	window := f.int("sliding_window", 0, 1, maxPositions)
	if window == 0 || slices.Contains([]string{"llama", "gemma", "eurobert"}, family) || family != "mistral" && !f.bool("use_sliding_window", false) {
		return windows
	}
	types := f.layerTypes(layers)
	from := 0
	if family != "mistral" {
		from = f.int("max_window_layers", 28, 0, maxLayers)
	}
	for i := range windows {
		if types == nil && i >= from || types != nil && types[i] == "sliding_attention" {
			windows[i] = window
		}
	}
	return windows
}

// llamaRope reads the base and the scaling of the rotation, from rope_theta and rope_scaling or, in
// newer configs, rope_parameters.
func llamaRope(f *fields, headSize int) *rope {
	if f.float("partial_rotary_factor", 1, 0, 1) != 1 {
		f.fail("partial_rotary_factor", "is %s, only 1 is supported", f.text("partial_rotary_factor"))
	}
	r := &rope{theta: f.float("rope_theta", 10000, 1, 1e12), dims: headSize}
	scaling := f.object("rope_scaling")
	if p := f.object("rope_parameters"); p != nil {
		r.theta = p.float("rope_theta", r.theta, 1, 1e12)
		scaling = p
	}
	if scaling != nil {
		r.scale = ropeScale(scaling)
	}
	return r
}

// ropeScale reads how the frequencies of a rotation are scaled; nil: not at all.
func ropeScale(scaling *fields) func(freq float64) float64 {
	switch kind := scaling.first("rope_type", "type"); scaling.oneOf(kind, "default", "default", "linear", "llama3") {
	case "linear":
		factor := scaling.float("factor", 1, 1, 1024)
		return func(freq float64) float64 { return freq / factor }
	case "llama3":
		return llama3Scale(scaling)
	}
	return nil
}

// llama3Scale reads the settings of position.Llama3.
func llama3Scale(f *fields) func(float64) float64 {
	factor := f.float("factor", 8, 1, 1024)
	low, high := f.float("low_freq_factor", 1, 1e-3, 1e6), f.float("high_freq_factor", 4, 1e-3, 1e6)
	if high <= low {
		f.fail("high_freq_factor", "is %g, want more than low_freq_factor = %g", high, low)
	}
	trained := float64(f.int("original_max_position_embeddings", 8192, 1, maxPositions))
	return position.Llama3(factor, low, high, trained)
}
