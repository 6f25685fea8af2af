package encoder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// miniLM makes a checkpoint in the shape of all-MiniLM-L6-v2, with made-up weights and the small
// tokenizer of testdata.
func miniLM(tb testing.TB) *Model {
	tb.Helper()
	const vocab, h, inner, layers = 818, 384, 1536, 6
	shapes := map[string][]int{
		"embeddings.word_embeddings.weight": {vocab, h}, "embeddings.position_embeddings.weight": {512, h},
		"embeddings.token_type_embeddings.weight": {2, h}, "embeddings.LayerNorm.weight": {h}, "embeddings.LayerNorm.bias": {h},
	}
	for i := range layers {
		l := bertLayer(i)
		for name, shape := range map[string][]int{
			l.query: {h, h}, l.key: {h, h}, l.value: {h, h}, l.output: {h, h}, l.up: {inner, h}, l.down: {h, inner},
			l.attentionNorm: {h}, l.feedForwardNorm: {h},
		} {
			shapes[l.root+name+".weight"] = shape
			shapes[l.root+name+".bias"] = shape[:1]
		}
	}
	fsys := variant(tb, map[string]string{
		"config.json": fmt.Sprintf(`{"model_type":"bert","vocab_size":%d,"hidden_size":%d,"num_hidden_layers":%d,"num_attention_heads":12,
			"intermediate_size":%d,"hidden_act":"gelu","max_position_embeddings":512,"type_vocab_size":2,"layer_norm_eps":1e-12}`, vocab, h, layers, inner),
		"1_Pooling/config.json":     `{"word_embedding_dimension":384,"pooling_mode_mean_tokens":true}`,
		"sentence_bert_config.json": `{"max_seq_length":256}`,
		"model.safetensors":         string(draw(1, shapes).safetensors()),
	})
	return mustLoad(tb, fsys, Options{})
}

// BenchmarkEncode measures texts whose lengths are spread as those of passages are, and single
// ones.
func BenchmarkEncode(b *testing.B) {
	m := miniLM(b)
	rng := rand.New(rand.NewPCG(5, 5))
	text := func(n int) []int32 {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(rng.IntN(818))
		}
		return ids
	}
	var passages [][]int32
	for range 300 {
		passages = append(passages, text(min(256, max(5, int(math.Exp(3.9+.8*rng.NormFloat64()))))))
	}
	for _, c := range []struct {
		name string
		ids  [][]int32
	}{{"passages", passages}, {"query=10", [][]int32{text(10)}}, {"text=256", [][]int32{text(256)}}} {
		b.Run(c.name, func(b *testing.B) {
			tokens := 0
			for _, ids := range c.ids {
				tokens += len(ids)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.EncodeIDs(context.Background(), c.ids, EncodeOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
