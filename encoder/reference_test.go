package encoder

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// The families below have no reference vectors from outside. Each is written down again here in
// float64, from the published formulas and the tensor names, without the stack; the checkpoints are
// made up.

const (
	refVocab  = 23
	refHidden = 24
	refHeads  = 4
	refInner  = 40
	refLayers = 3
)

// reference is a family with its slow form.
type reference struct {
	name   string
	config string
	shapes map[string][]int
	slow   func(w weights, ids []int32) states
}

func TestTwins(t *testing.T) {
	for _, c := range []reference{gteReference(true), gteReference(false), llamaReference("llama"), llamaReference("mistral"), llamaReference("qwen2"), gpt2Reference()} {
		t.Run(c.name, func(t *testing.T) {
			w := draw(uint64(len(c.name)), c.shapes)
			fsys := folder(c.config, w)
			s := openStack(t, fsys)
			b := &batch{offsets: []int{0}}
			for n := range 12 { // sequences of 1 to 34 tokens
				for i := range 3*n + 1 {
					b.ids = append(b.ids, int32((i*7+n)%refVocab))
				}
				b.offsets = append(b.offsets, len(b.ids))
			}
			ws := &workspace{}
			if err := s.forward(context.Background(), ws, b, 2, nil); err != nil {
				t.Fatal(err)
			}
			worst, scale := 0.0, 1.0 // states are not of unit length: what counts is the error beside the largest of them
			for n := range len(b.offsets) - 1 {
				for i, row := range c.slow(w, b.ids[b.offsets[n]:b.offsets[n+1]]) {
					for j, want := range row {
						worst = math.Max(worst, math.Abs(want-float64(ws.states[(b.offsets[n]+i)*refHidden+j])))
						scale = math.Max(scale, math.Abs(want))
					}
				}
			}
			t.Logf("max difference %.2g, largest state %.2g", worst, scale)
			if !(worst <= 1e-5*scale) {
				t.Errorf("max difference %.2g, want at most 1e-5 of %.2g", worst, scale)
			}
		})
	}
}

func all(int, int) bool             { return true }
func past(i, j int) bool            { return j <= i }
func zeros(n int) []int32           { return make([]int32, n) }
func power(base, e float64) float64 { return math.Pow(base, e) }

// gteReference is the "new" architecture with NTK scaling; packed tells how query, key and value
// are stored.
func gteReference(packed bool) reference {
	const h, inner = refHidden, refInner
	c := reference{
		name: fmt.Sprint("gte packed=", packed),
		config: fmt.Sprintf(`{"model_type":"new","vocab_size":%d,"hidden_size":%d,"num_hidden_layers":%d,"num_attention_heads":%d,
			"intermediate_size":%d,"hidden_act":"gelu","max_position_embeddings":64,"layer_norm_eps":1e-12,"type_vocab_size":1,"pack_qkv":%t,
			"position_embedding_type":"rope","rope_theta":500,"rope_scaling":{"type":"ntk","factor":2.0},"logn_attention_scale":false}`,
			refVocab, h, refLayers, refHeads, inner, packed),
		shapes: map[string][]int{
			"new.embeddings.word_embeddings.weight": {refVocab, h}, "new.embeddings.token_type_embeddings.weight": {1, h},
			"new.embeddings.LayerNorm.weight": {h}, "new.embeddings.LayerNorm.bias": {h},
		},
	}
	for n := range refLayers {
		p := fmt.Sprintf("new.encoder.layer.%d.", n)
		for name, shape := range map[string][]int{
			"attention.o_proj.weight": {h, h}, "attention.o_proj.bias": {h}, "mlp.up_gate_proj.weight": {2 * inner, h},
			"mlp.down_proj.weight": {h, inner}, "mlp.down_proj.bias": {h},
			"attn_ln.weight": {h}, "attn_ln.bias": {h}, "mlp_ln.weight": {h}, "mlp_ln.bias": {h},
		} {
			c.shapes[p+name] = shape
		}
		if packed {
			c.shapes[p+"attention.qkv_proj.weight"], c.shapes[p+"attention.qkv_proj.bias"] = []int{3 * h, h}, []int{3 * h}
			continue
		}
		for _, name := range []string{"q_proj", "k_proj", "v_proj"} {
			c.shapes[p+"attention."+name+".weight"], c.shapes[p+"attention."+name+".bias"] = []int{h, h}, []int{h}
		}
	}
	c.slow = func(w weights, ids []int32) states {
		const d = h / refHeads
		frequency := func(j int) float64 { return power(500*2, -2*float64(j)/d) / power(2, 2./d) }
		x := combine(w.rows("new.embeddings.word_embeddings.weight", ids...), w.rows("new.embeddings.token_type_embeddings.weight", zeros(len(ids))...), sum)
		x = w.layerNorm(x, "new.embeddings.LayerNorm", 1e-12)
		for n := range refLayers {
			p := fmt.Sprintf("new.encoder.layer.%d.", n)
			var q, k, v states
			if packed {
				qkv := w.linear(x, p+"attention.qkv_proj")
				q, k, v = columns(qkv, 0, h), columns(qkv, h, 2*h), columns(qkv, 2*h, 3*h)
			} else {
				q, k, v = w.linear(x, p+"attention.q_proj"), w.linear(x, p+"attention.k_proj"), w.linear(x, p+"attention.v_proj")
			}
			a := attend(rotated(q, d, frequency), rotated(k, d, frequency), v, refHeads, refHeads, all)
			x = w.layerNorm(combine(x, w.linear(a, p+"attention.o_proj"), sum), p+"attn_ln", 1e-12)
			upGate := w.linear(x, p+"mlp.up_gate_proj")
			y := combine(columns(upGate, 0, inner), apply(columns(upGate, inner, 2*inner), gelu), product)
			x = w.layerNorm(combine(x, w.linear(y, p+"mlp.down_proj"), sum), p+"mlp_ln", 1e-12)
		}
		return x
	}
	return c
}

// llamaReference is a decoder with grouped heads: Llama with llama3 scaling and biases, Mistral
// with a window, Qwen2 with biases on query, key and value and a window from layer 1 on.
func llamaReference(family string) reference {
	const h, inner, kv, d = refHidden, refInner, 2, 8 // heads of 8, wider together than the states
	const theta, window = 10000, 6
	extra := map[string]string{
		"llama": `"attention_bias":true,"mlp_bias":true,"rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,
			"high_freq_factor":4.0,"original_max_position_embeddings":64}`,
		"mistral": `"sliding_window":6`,
		"qwen2":   `"use_sliding_window":true,"sliding_window":6,"max_window_layers":1`,
	}[family]
	c := reference{
		name: family,
		config: fmt.Sprintf(`{"model_type":%q,"vocab_size":%d,"hidden_size":%d,"num_hidden_layers":%d,"num_attention_heads":%d,"head_dim":%d,
			"num_key_value_heads":%d,"intermediate_size":%d,"hidden_act":"silu","max_position_embeddings":128,"rms_norm_eps":1e-5,"rope_theta":%d,%s}`,
			family, refVocab, h, refLayers, refHeads, d, kv, inner, theta, extra),
		shapes: map[string][]int{"model.embed_tokens.weight": {refVocab, h}, "model.norm.weight": {h}, "lm_head.weight": {refVocab, h}},
	}
	for n := range refLayers {
		p := fmt.Sprintf("model.layers.%d.", n)
		c.shapes[p+"input_layernorm.weight"], c.shapes[p+"post_attention_layernorm.weight"] = []int{h}, []int{h}
		for name, shape := range map[string][]int{
			"self_attn.q_proj": {refHeads * d, h}, "self_attn.k_proj": {kv * d, h}, "self_attn.v_proj": {kv * d, h}, "self_attn.o_proj": {h, refHeads * d},
			"mlp.gate_proj": {inner, h}, "mlp.up_proj": {inner, h}, "mlp.down_proj": {h, inner},
		} {
			c.shapes[p+name+".weight"] = shape
			if family == "llama" || family == "qwen2" && name[:4] == "self" && name != "self_attn.o_proj" {
				c.shapes[p+name+".bias"] = shape[:1]
			}
		}
	}
	frequency := func(j int) float64 {
		f := power(theta, -2*float64(j)/d)
		if family != "llama" {
			return f
		}
		length := 2 * math.Pi / f
		switch {
		case length > 64/1.0:
			return f / 8
		case length < 64/4.0:
			return f
		}
		smooth := (64/length - 1) / (4 - 1)
		return (1-smooth)*f/8 + smooth*f
	}
	c.slow = func(w weights, ids []int32) states {
		x := w.rows("model.embed_tokens.weight", ids...)
		for n := range refLayers {
			p := fmt.Sprintf("model.layers.%d.", n)
			sees := past
			if family == "mistral" || family == "qwen2" && n >= 1 {
				sees = func(i, j int) bool { return j <= i && i-j < window }
			}
			y := w.rmsNorm(x, p+"input_layernorm", 1e-5)
			q, k := rotated(w.linear(y, p+"self_attn.q_proj"), d, frequency), rotated(w.linear(y, p+"self_attn.k_proj"), d, frequency)
			a := attend(q, k, w.linear(y, p+"self_attn.v_proj"), refHeads, kv, sees)
			x = combine(x, w.linear(a, p+"self_attn.o_proj"), sum)
			y = w.rmsNorm(x, p+"post_attention_layernorm", 1e-5)
			y = combine(apply(w.linear(y, p+"mlp.gate_proj"), silu), w.linear(y, p+"mlp.up_proj"), product)
			x = combine(x, w.linear(y, p+"mlp.down_proj"), sum)
		}
		return w.rmsNorm(x, "model.norm", 1e-5)
	}
	return c
}

// gpt2Reference is GPT-2, with the masks that old checkpoints store.
func gpt2Reference() reference {
	const h, inner = refHidden, 4 * refHidden
	c := reference{
		name: "gpt2",
		config: fmt.Sprintf(`{"model_type":"gpt2","vocab_size":%d,"n_embd":%d,"n_layer":%d,"n_head":%d,"n_positions":64,"n_inner":null,
			"activation_function":"gelu_new","layer_norm_epsilon":1e-5}`, refVocab, h, refLayers, refHeads),
		shapes: map[string][]int{"wte.weight": {refVocab, h}, "wpe.weight": {64, h}, "ln_f.weight": {h}, "ln_f.bias": {h}},
	}
	for n := range refLayers {
		p := fmt.Sprintf("h.%d.", n)
		for name, shape := range map[string][]int{
			"ln_1.weight": {h}, "ln_1.bias": {h}, "ln_2.weight": {h}, "ln_2.bias": {h}, "attn.bias": {1, 1, 64, 64}, "attn.masked_bias": {1},
			"attn.c_attn.weight": {h, 3 * h}, "attn.c_attn.bias": {3 * h}, "attn.c_proj.weight": {h, h}, "attn.c_proj.bias": {h},
			"mlp.c_fc.weight": {h, inner}, "mlp.c_fc.bias": {inner}, "mlp.c_proj.weight": {inner, h}, "mlp.c_proj.bias": {h},
		} {
			c.shapes[p+name] = shape
		}
	}
	c.slow = func(w weights, ids []int32) states {
		var positions []int32
		for i := range ids {
			positions = append(positions, int32(i))
		}
		x := combine(w.rows("wte.weight", ids...), w.rows("wpe.weight", positions...), sum)
		for n := range refLayers {
			p := fmt.Sprintf("h.%d.", n)
			qkv := w.conv1d(w.layerNorm(x, p+"ln_1", 1e-5), p+"attn.c_attn")
			a := attend(columns(qkv, 0, h), columns(qkv, h, 2*h), columns(qkv, 2*h, 3*h), refHeads, refHeads, past)
			x = combine(x, w.conv1d(a, p+"attn.c_proj"), sum)
			y := apply(w.conv1d(w.layerNorm(x, p+"ln_2", 1e-5), p+"mlp.c_fc"), geluTanh)
			x = combine(x, w.conv1d(y, p+"mlp.c_proj"), sum)
		}
		return w.layerNorm(x, "ln_f", 1e-5)
	}
	return c
}
