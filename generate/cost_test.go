package generate

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"example.com/searchd/encoder"
)

// TestInt8 wants every family to generate in int8, with probabilities close to those of float32.
func TestInt8(t *testing.T) {
	fixtures(t, func(t *testing.T, dir string, list []fixture) {
		exact, rounded := mustLoad(t, dir, encoder.Options{Threads: 2}, Limits{}), mustLoad(t, dir, encoder.Options{Threads: 2, Precision: encoder.Int8}, Limits{})
		var pairs []Pair
		for _, c := range list[5:15] {
			pairs = append(pairs, Pair{c.Text, "the value of a class"})
		}
		want, err := exact.Score(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rounded.Score(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		apart, size := 0.0, 0.0 // sums of differences and of log-probabilities
		for i := range want {
			for k, x := range want[i].Tokens {
				apart += math.Abs(float64(x - got[i].Tokens[k]))
				size += math.Abs(float64(x))
			}
		}
		t.Logf("log-probabilities differ by %.2f%%", 100*apart/size)
		if !(apart <= 0.05*size) {
			t.Errorf("log-probabilities differ by %.2f%%, want at most 5%%", 100*apart/size)
		}
	})
}

// BenchmarkGenerate generates 200 tokens at a time for 1 and 8 prompts with the checkpoint in the
// folder DECODER, or a small one. It reports the time of the 200th token beside that of the 10th.
func BenchmarkGenerate(b *testing.B) {
	dir := os.Getenv("DECODER")
	if dir == "" {
		dir = llama
	}
	for _, p := range []encoder.Precision{encoder.Float32, encoder.Int8} {
		m := mustLoad(b, dir, encoder.Options{Precision: p}, Limits{})
		for _, n := range []int{1, 8} {
			b.Run("precision="+p.String()+"/prompts="+string(rune('0'+n)), func(b *testing.B) {
				var early, late time.Duration
				for b.Loop() {
					rs := make([]Request, n)
					for i := range rs {
						o := m.Defaults()
						o.Sample, o.End, o.MaxTokens, o.LogProbs = false, nil, 205, 0
						rs[i] = Request{IDs: []int32{1, int32(20 + i), 30}, Options: o}
					}
					seen, last := 0, time.Now()
					rs[0].Stream = func(d Delta) error {
						now := time.Now()
						switch seen += len(d.Tokens); {
						case seen > 5 && seen <= 15:
							early += now.Sub(last)
						case seen > 195 && seen <= 205:
							late += now.Sub(last)
						}
						last = now
						return nil
					}
					if _, err := m.GenerateAll(b.Context(), rs); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n*205*b.N)/b.Elapsed().Seconds(), "tokens/s")
				b.ReportMetric(float64(late)/float64(early), "200th/10th")
			})
		}
	}
}

// FuzzConfig reads generation_config.json and chat templates of strangers.
func FuzzConfig(f *testing.F) {
	f.Add(`{"eos_token_id":[1,2],"num_beams":4,"early_stopping":"never","stop_strings":"x","forced_eos_token_id":3}`, `{"chat_template":"{{ messages }}"}`)
	f.Add(`{"eos_token_id":-1,"num_beams":1e9,"max_length":-5,"bad_words_ids":[[]]}`, `{"chat_template":[{"name":"default","template":"{%"}],"bos_token":{"content":"x"}}`)
	f.Fuzz(func(t *testing.T, generation, tokenizer string) {
		fsys := fstest.MapFS{"generation_config.json": {Data: []byte(generation)}, "tokenizer_config.json": {Data: []byte(tokenizer)}}
		if c, err := readConfig(fsys); err == nil {
			for _, encoder := range []bool{false, true} {
				o := c.options(encoder)
				if o.check(100) == nil && (o.Beams > maxBeams || o.MaxTokens < 0) {
					t.Errorf("taken: %+v", o)
				}
			}
		}
		c, err := readChatTemplate(fsys)
		if err == nil && c != nil && !json.Valid([]byte(tokenizer)) {
			t.Errorf("a template from %q", tokenizer)
		}
	})
}
