package gguf

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// checkpoint is what the files of a folder hold.
type checkpoint struct {
	files     map[string]any // JSON by path
	tokenizer []byte
	weights   map[string][]stored
}

// converter turns metadata and tensors into a checkpoint.
type converter struct {
	*file
	arch   string
	used   map[string]bool
	out    checkpoint
	errs   []error
	layers int
}

// architectures maps general.architecture to what writes config.json and names the tensors.
// Source: the conversion of llama.cpp and its tensor_mapping.py.
var architectures = map[string]func(*converter) map[string]any{
	"bert":            (*converter).bert,
	"nomic-bert":      (*converter).nomic,
	"nomic-bert-moe":  (*converter).nomic,
	"jina-bert-v3":    (*converter).jinaV3,
	"gemma-embedding": (*converter).gemma,
	"llama":           (*converter).llama,
	"qwen2":           (*converter).llama,
	"qwen3":           (*converter).llama,
	"eurobert":        (*converter).llama,
}

func convert(f *file) (*checkpoint, error) {
	c := &converter{file: f, used: map[string]bool{}, out: checkpoint{files: map[string]any{}, weights: map[string][]stored{}}}
	c.arch, _ = f.meta["general.architecture"].(string)
	read, ok := architectures[c.arch]
	if !ok {
		var names []string
		for name := range architectures {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("%w: general.architecture is %.60q, want one of %s", ErrFormat, c.arch, strings.Join(names, ", "))
	}
	if n, ok := f.meta["split.count"].(int64); ok && n > 1 {
		return nil, fmt.Errorf("%w: it is one of %d parts; merge them with llama-gguf-split", ErrFormat, n)
	}
	c.layers = c.int("block_count", 0, 1, 512)
	if len(c.errs) > 0 {
		return nil, c.errs[0]
	}
	config := read(c)
	c.modules()
	if err := c.vocabulary(); err != nil {
		return nil, err
	}
	config["_name_or_path"] = c.meta["general.name"]
	c.out.files["config.json"] = config
	for name := range c.tensors {
		if !c.used[name] {
			c.fail("tensor %q is not known to the architecture %s", name, c.arch)
		}
	}
	if len(c.errs) > 0 {
		return nil, c.errs[0]
	}
	for path := range c.out.weights {
		slices.SortFunc(c.out.weights[path], func(a, b stored) int { return strings.Compare(a.name, b.name) })
	}
	return &c.out, nil
}

func (c *converter) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...))
}

// key returns a value of the architecture.
func (c *converter) key(name string) (string, any) {
	key := c.arch + "." + name
	return key, c.meta[key]
}

// int reads an integer from lo to hi; an absent one is def, and lo above def means that it must be
// there.
func (c *converter) int(name string, def, lo, hi int) int {
	key, v := c.key(name)
	if list, ok := v.([]float64); ok && len(list) > 0 && !slices.ContainsFunc(list, func(x float64) bool { return x != list[0] }) {
		v = int64(list[0]) // one for each layer, all the same
	}
	n, ok := v.(int64)
	switch {
	case v == nil && def >= lo:
		return def
	case v == nil:
		c.fail("%s is missing", key)
	case !ok || n < int64(lo) || n > int64(hi):
		c.fail("%s is %.60v, want an integer from %d to %d", key, v, lo, hi)
	default:
		return int(n)
	}
	return max(lo, def)
}

// float reads a number; an absent one is def.
func (c *converter) float(name string, def float64) float64 {
	key, v := c.key(name)
	switch x := v.(type) {
	case nil:
		return def
	case float64:
		if x-x == 0 {
			return shortest(x)
		}
	case int64:
		return float64(x)
	}
	c.fail("%s is %.60v, want a number", key, v)
	return def
}

// shortest undoes the rounding of a number to float32: 1e-12 stays 1e-12.
func shortest(x float64) float64 {
	var short float64
	fmt.Sscan(fmt.Sprint(float32(x)), &short)
	return short
}

// take gives a tensor a name in the transformer's weights.
func (c *converter) take(from, to string, change ...func(*stored)) {
	c.takeInto("model.safetensors", from, to, change...)
}

func (c *converter) takeInto(path, from, to string, change ...func(*stored)) {
	t, ok := c.tensors[from]
	if !ok {
		return // the encoder reports what it misses, under its own names
	}
	c.used[from] = true
	s := stored{name: to, from: t, shape: t.shape}
	for _, f := range change {
		f(&s)
	}
	if s.len() != t.len() {
		c.fail("tensor %q is %v, which is not %v", from, t.shape, s.shape)
		return
	}
	c.out.weights[path] = append(c.out.weights[path], s)
}

// both takes the weight and the bias.
func (c *converter) both(from, to string, change ...func(*stored)) {
	c.take(from+".weight", to+".weight", change...)
	c.take(from+".bias", to+".bias", change...)
}

// eachLayer takes weights and biases of all layers by the names in pairs.
func (c *converter) eachLayer(root string, pairs map[string]string, change ...func(*stored)) {
	for i := range c.layers {
		for from, to := range pairs {
			c.both(fmt.Sprintf("blk.%d.%s", i, from), fmt.Sprintf(root, i)+to, change...)
		}
	}
}

// rows returns the rows of a table, 0 if it is not there; a table of one row may lack a dimension.
func (c *converter) rows(name string) int {
	t, ok := c.tensors[name]
	switch {
	case !ok:
		return 0
	case len(t.shape) == 1:
		return 1
	}
	return t.shape[0]
}

func (c *converter) has(name string) bool { return c.tensors[name] != nil }

// table restores the dimension of a table of one row.
func table(s *stored) {
	if len(s.shape) == 1 {
		s.shape = []int{1, s.shape[0]}
	}
}

// sizes are the members of config.json that most families share.
func (c *converter) sizes(model string) map[string]any {
	return map[string]any{
		"model_type": model, "vocab_size": c.rows("token_embd.weight"), "hidden_size": c.int("embedding_length", 0, 1, 1<<16),
		"num_hidden_layers": c.layers, "num_attention_heads": c.int("attention.head_count", 0, 1, 1024),
		"intermediate_size": c.int("feed_forward_length", 0, 1, 1<<19),
	}
}

func (c *converter) bert() map[string]any {
	config := c.sizes("bert")
	config["max_position_embeddings"], config["type_vocab_size"] = c.rows("position_embd.weight"), c.rows("token_types.weight")
	config["layer_norm_eps"], config["hidden_act"] = c.float("attention.layer_norm_epsilon", 1e-12), "gelu"
	c.take("token_embd.weight", "embeddings.word_embeddings.weight")
	c.take("position_embd.weight", "embeddings.position_embeddings.weight")
	c.take("token_types.weight", "embeddings.token_type_embeddings.weight", table)
	c.both("token_embd_norm", "embeddings.LayerNorm")
	c.eachLayer("encoder.layer.%d.", map[string]string{
		"attn_q": "attention.self.query", "attn_k": "attention.self.key", "attn_v": "attention.self.value",
		"attn_output": "attention.output.dense", "attn_output_norm": "attention.output.LayerNorm",
		"ffn_up": "intermediate.dense", "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm",
	})
	return config
}

func (c *converter) nomic() map[string]any {
	config := map[string]any{
		"model_type": "nomic_bert", "vocab_size": c.rows("token_embd.weight"), "n_embd": c.int("embedding_length", 0, 1, 1<<16),
		"n_layer": c.layers, "n_head": c.int("attention.head_count", 0, 1, 1024), "n_inner": c.int("feed_forward_length", 0, 1, 1<<19),
		"n_positions": c.int("context_length", 2048, 1, 1<<22), "type_vocab_size": c.rows("token_types.weight"),
		"layer_norm_epsilon": c.float("attention.layer_norm_epsilon", 1e-12), "rotary_emb_base": c.float("rope.freq_base", 1000),
		"rotary_emb_fraction": 1, "activation_function": "gelu",
		"qkv_proj_bias": c.has("blk.0.attn_qkv.bias"), "mlp_fc1_bias": c.has("blk.0.ffn_up.bias"), "mlp_fc2_bias": c.has("blk.0.ffn_down.bias"),
	}
	names := map[string]string{
		"attn_qkv": "attn.Wqkv", "attn_output": "attn.out_proj", "attn_output_norm": "norm1", "layer_output_norm": "norm2",
		"ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2",
	}
	if c.has("blk.0.ffn_gate.weight") {
		config["activation_function"] = "swiglu"
		names["ffn_up"], names["ffn_gate"] = "mlp.fc11", "mlp.fc12"
	}
	if c.arch == "nomic-bert-moe" {
		config["num_experts"], config["moe_top_k"] = c.int("expert_count", 0, 1, 256), c.int("expert_used_count", 0, 1, 256)
		config["moe_every_n_layers"] = c.int("moe_every_n_layers", 2, 1, 512)
		c.nomicExperts(config["n_embd"].(int))
	}
	c.take("token_embd.weight", "embeddings.word_embeddings.weight")
	c.take("token_types.weight", "embeddings.token_type_embeddings.weight", table)
	c.both("token_embd_norm", "emb_ln")
	c.eachLayer("encoder.layers.%d.", names)
	return config
}

// nomicExperts takes the mixtures. Their bias is not in the file, because llama.cpp has none.
func (c *converter) nomicExperts(hidden int) {
	for i := range c.layers {
		from, to := fmt.Sprintf("blk.%d.", i), fmt.Sprintf("encoder.layers.%d.mlp.", i)
		if !c.has(from + "ffn_gate_inp.weight") {
			continue
		}
		c.take(from+"ffn_gate_inp.weight", to+"router.layer.weight")
		c.take(from+"ffn_up_exps.weight", to+"experts.mlp.w1", func(s *stored) {
			if len(s.shape) == 3 {
				s.shape = []int{s.shape[0] * s.shape[1], s.shape[2]}
			}
		})
		c.take(from+"ffn_down_exps.weight", to+"experts.mlp.w2")
		c.out.weights["model.safetensors"] = append(c.out.weights["model.safetensors"],
			stored{name: to + "experts.bias", shape: []int{hidden}})
	}
}

func (c *converter) jinaV3() map[string]any {
	config := c.sizes("jina_embeddings_v3")
	config["type_vocab_size"], config["hidden_act"] = c.rows("token_types.weight"), "gelu"
	config["layer_norm_eps"], config["rotary_emb_base"] = c.float("attention.layer_norm_epsilon", 1e-5), c.float("rope.freq_base", 20000)
	c.take("token_embd.weight", "embeddings.word_embeddings.weight")
	c.take("token_types.weight", "embeddings.token_type_embeddings.weight", table)
	c.both("token_embd_norm", "emb_ln")
	c.eachLayer("encoder.layers.%d.", map[string]string{
		"attn_qkv": "mixer.Wqkv", "attn_output": "mixer.out_proj", "attn_output_norm": "norm1",
		"ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2", "layer_output_norm": "norm2",
	})
	return config
}

func (c *converter) gemma() map[string]any {
	config := c.sizes("gemma3_text")
	size := c.int("attention.key_length", 256, 1, 1<<16)
	config["num_key_value_heads"] = c.int("attention.head_count_kv", config["num_attention_heads"].(int), 1, 1024)
	config["head_dim"], config["query_pre_attn_scalar"] = size, size
	config["rms_norm_eps"], config["hidden_activation"] = c.float("attention.layer_norm_rms_epsilon", 1e-6), "gelu_pytorch_tanh"
	config["rope_theta"], config["rope_local_base_freq"] = c.float("rope.freq_base", 1e6), c.float("rope.freq_base_swa", 10000)
	config["sliding_window"], config["use_bidirectional_attention"] = c.int("attention.sliding_window", 512, 1, 1<<22), true
	config["sliding_window_pattern"] = c.int("attention.sliding_window_pattern", 6, 1, 512)
	c.linearScaling(config)
	less := func(s *stored) { s.add = -1 } // the converter adds 1
	c.take("token_embd.weight", "embed_tokens.weight")
	c.used["output.weight"] = true
	c.take("output_norm.weight", "norm.weight", less)
	c.eachLayer("layers.%d.", map[string]string{
		"attn_norm": "input_layernorm", "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
		"post_ffw_norm": "post_feedforward_layernorm", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
	}, less)
	c.eachLayer("layers.%d.", map[string]string{
		"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
		"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
	})
	c.out.files["config_sentence_transformers.json"] = map[string]any{"prompts": map[string]string{
		"query": "task: search result | query: ", "document": "title: none | text: "}}
	return config
}

// llama is for decoders and for EuroBERT.
func (c *converter) llama() map[string]any {
	config := c.sizes(c.arch)
	heads := config["num_attention_heads"].(int)
	kv := c.int("attention.head_count_kv", heads, 1, 1024)
	size := c.int("attention.key_length", max(1, config["hidden_size"].(int)/heads), 1, 1<<16)
	config["num_key_value_heads"], config["head_dim"] = kv, size
	config["rms_norm_eps"], config["rope_theta"] = c.float("attention.layer_norm_rms_epsilon", 1e-6), c.float("rope.freq_base", 10000)
	config["max_position_embeddings"], config["hidden_act"] = c.int("context_length", 2048, 1, 1<<22), "silu"
	config["attention_bias"], config["mlp_bias"] = c.has("blk.0.attn_output.bias"), c.has("blk.0.ffn_up.bias")
	if causal, ok := c.meta[c.arch+".attention.causal"].(bool); ok {
		config["is_causal"] = causal
	}
	if n := c.int("rope.dimension_count", size, 1, 1<<16); n != size {
		c.fail("%s.rope.dimension_count is %d, only the size of a head, %d, is supported", c.arch, n, size)
	}
	if c.has("rope_freqs.weight") {
		c.fail("rope_freqs.weight, factors of the rotation as of Llama 3.1, is not supported")
	}
	c.linearScaling(config)
	c.take("token_embd.weight", "embed_tokens.weight")
	c.used["output.weight"] = true
	c.take("output_norm.weight", "norm.weight")
	names := map[string]string{
		"attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
		"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
	}
	turning := map[string]string{"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj"}
	c.eachLayer("layers.%d.", names)
	if c.arch == "llama" { // dimensions that turn together are neighbours in the file
		c.eachLayer("layers.%d.", turning, func(s *stored) {
			s.row = func(row int) int {
				within := row % size
				return row - within + within%(size/2)*2 + within/(size/2)
			}
		})
		if size%2 != 0 {
			c.fail("%s.attention.key_length is %d, want an even number", c.arch, size)
		}
	} else {
		c.eachLayer("layers.%d.", turning)
	}
	return config
}

// linearScaling reads the scaling of the rotation.
func (c *converter) linearScaling(config map[string]any) {
	key, v := c.key("rope.scaling.type")
	switch kind, _ := v.(string); kind {
	case "", "none":
	case "linear":
		config["rope_scaling"] = map[string]any{"rope_type": "linear", "factor": c.float("rope.scaling.factor", 1)}
	default:
		c.fail("%s is %.60q, want none or linear", key, kind)
	}
}

// Poolings of llama.cpp.
var poolings = []string{"none", "mean", "cls", "lasttoken"}

// modules writes modules.json with pooling, Dense modules and a norm to unit length.
func (c *converter) modules() {
	mode := "mean"
	if _, ok := c.meta["tokenizer.ggml.merges"]; ok && slices.Contains([]string{"llama", "qwen2", "qwen3"}, c.arch) {
		mode = "lasttoken"
	}
	if n := c.int("pooling_type", 0, 0, math.MaxInt32); n >= len(poolings) {
		c.fail("%s.pooling_type is %d, want 0 to %d; a re-ranker is not supported", c.arch, n, len(poolings)-1)
	} else if n > 0 {
		mode = poolings[n]
	}
	type module struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	list := []module{{"Transformer", ""}, {"Pooling", "1_Pooling"}}
	flag := map[string]string{"mean": "mean_tokens", "cls": "cls_token", "lasttoken": "lasttoken"}[mode]
	c.out.files["1_Pooling/config.json"] = map[string]any{"pooling_mode_" + flag: true}
	for _, name := range []string{"dense_2", "dense_3"} {
		t, ok := c.tensors[name+".weight"]
		if !ok {
			continue
		}
		if len(t.shape) != 2 {
			c.fail("tensor %s.weight is %v, want two dimensions", name, t.shape)
			continue
		}
		path := name + "/model.safetensors"
		c.takeInto(path, name+".weight", "linear.weight")
		c.out.files[name+"/config.json"] = map[string]any{"in_features": t.shape[1], "out_features": t.shape[0], "bias": false,
			"activation_function": "torch.nn.modules.linear.Identity"}
		list = append(list, module{"Dense", name})
	}
	list = append(list, module{"Normalize", "normalize"})
	c.out.files["modules.json"] = list
	length := c.int("context_length", 512, 1, 1<<22)
	c.out.files["sentence_bert_config.json"] = map[string]any{"max_seq_length": length, "do_lower_case": false}
}
