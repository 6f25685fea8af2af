package encoder

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"example.com/searchd/encoder/safetensors"
)

// TestHeads compares the head of each family with its formula in float64.
func TestHeads(t *testing.T) {
	const h = 6
	bertish := `"vocab_size":9,"hidden_size":6,"num_hidden_layers":1,"num_attention_heads":3,"intermediate_size":8,"max_position_embeddings":12`
	x := states{{.5, -1, 2, .1, -.3, 1.5}, {1, 1, -2, .4, 0, -.7}, {-.2, .3, .9, -1.1, .6, 2}}
	mean := states{make([]float64, h)}
	for _, row := range x {
		for j, v := range row {
			mean[0][j] += v / 3
		}
	}
	first, last := x[:1], x[2:]
	dense := func(name string, act func(float64) float64, out string, in states) func(w weights) states {
		return func(w weights) states { return w.linear(apply(w.linear(in, name), act), out) }
	}
	modern := func(in states) func(w weights) states {
		return func(w weights) states {
			return w.linear(w.layerNorm(apply(w.linear(in, "head.dense"), gelu), "head.norm", 1e-5), "classifier")
		}
	}
	relu := func(v float64) float64 { return max(0, v) }
	tests := []struct {
		name   string
		config string
		shapes map[string][]int
		slow   func(w weights) states
	}{
		{"bert", `"model_type":"bert",` + bertish, biased("bert.pooler.dense", h, h, "classifier", 1, h),
			dense("bert.pooler.dense", math.Tanh, "classifier", first)},
		{"jina", `"model_type":"bert","position_embedding_type":"alibi",` + bertish, biased("bert.pooler.dense", h, h, "classifier", 1, h),
			dense("bert.pooler.dense", math.Tanh, "classifier", first)},
		{"xlm-roberta", `"model_type":"xlm-roberta",` + bertish, biased("classifier.dense", h, h, "classifier.out_proj", 3, h),
			dense("classifier.dense", math.Tanh, "classifier.out_proj", first)},
		{"distilbert", `"model_type":"distilbert","vocab_size":9,"dim":6,"n_layers":1,"n_heads":2,"hidden_dim":8,"max_position_embeddings":12`,
			biased("pre_classifier", h, h, "classifier", 2, h), dense("pre_classifier", relu, "classifier", first)},
		{"electra", `"model_type":"electra","embedding_size":4,` + bertish, biased("classifier.dense", h, h, "classifier.out_proj", 2, h),
			dense("classifier.dense", gelu, "classifier.out_proj", first)},
		{"albert", `"model_type":"albert","embedding_size":4,` + bertish, biased("albert.pooler", h, h, "classifier", 2, h),
			dense("albert.pooler", math.Tanh, "classifier", first)},
		{"mpnet", `"model_type":"mpnet",` + bertish, biased("classifier.dense", h, h, "classifier.out_proj", 1, h),
			dense("classifier.dense", math.Tanh, "classifier.out_proj", first)},
		{"gte with pooler", `"model_type":"new",` + bertish, biased("new.pooler.dense", h, h, "classifier", 1, h),
			dense("new.pooler.dense", math.Tanh, "classifier", first)},
		{"gte without pooler", `"model_type":"new",` + bertish, biased("classifier", 1, h),
			func(w weights) states { return w.linear(first, "classifier") }},
		{"modernbert cls", `"model_type":"modernbert",` + bertish,
			map[string][]int{"head.dense.weight": {h, h}, "head.norm.weight": {h}, "classifier.weight": {1, h}, "classifier.bias": {1}}, modern(first)},
		{"modernbert mean", `"model_type":"modernbert","classifier_pooling":"mean",` + bertish,
			map[string][]int{"head.dense.weight": {h, h}, "head.norm.weight": {h}, "classifier.weight": {1, h}, "classifier.bias": {1}}, modern(mean)},
		{"qwen3", `"model_type":"qwen3",` + bertish, map[string][]int{"score.weight": {1, h}},
			func(w weights) states { return w.linear(last, "score") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := parseFields("config.json", []byte(`{"architectures":["XForSequenceClassification"],`+test.config+`}`))
			if err != nil {
				t.Fatal(err)
			}
			a, err := readArchitecture(f)
			if err != nil {
				t.Fatal(err)
			}
			w := draw(5, test.shapes)
			ck, err := safetensors.Open(folder("{}", w), ".")
			if err != nil {
				t.Fatal(err)
			}
			l := &loader{ck: ck, prefix: a.prefixes[len(a.prefixes)-1], dry: true, used: map[string]bool{}}
			l.head(a)
			if err := l.check(""); err != nil {
				t.Fatal(err)
			}
			if len(l.used) != len(test.shapes) {
				t.Errorf("used %v, want all of %v", l.used, test.shapes)
			}
			head := l.head(a)
			var flat []float32
			for _, v := range slices.Concat(x...) {
				flat = append(flat, float32(v))
			}
			var want []float32
			for _, v := range test.slow(w)[0] {
				want = append(want, float32(v))
			}
			if got := head.logits(flat, h); difference(got, want) > 1e-6 {
				t.Errorf("logits = %v, want %v", got, want)
			}
		})
	}
}

// biased gives the shapes of linear layers with bias, listed as name, out, in.
func biased(spec ...any) map[string][]int {
	shapes := map[string][]int{}
	for i := 0; i < len(spec); i += 3 {
		shapes[fmt.Sprint(spec[i], ".weight")] = []int{spec[i+1].(int), spec[i+2].(int)}
		shapes[fmt.Sprint(spec[i], ".bias")] = []int{spec[i+1].(int)}
	}
	return shapes
}
