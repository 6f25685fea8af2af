package generate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/safetensors"
)

// settings are those of a fixture, as generate of transformers takes them.
type settings struct {
	MaxNewTokens      int           `json:"max_new_tokens"`
	MinNewTokens      int           `json:"min_new_tokens"`
	End               tokens        `json:"eos_token_id"`
	RepetitionPenalty float64       `json:"repetition_penalty"`
	NoRepeatNgram     int           `json:"no_repeat_ngram_size"`
	BadWordsIDs       [][]int32     `json:"bad_words_ids"`
	Beams             int           `json:"num_beams"`
	LengthPenalty     *float64      `json:"length_penalty"`
	EarlyStopping     earlyStopping `json:"early_stopping"`
	Return            int           `json:"num_return_sequences"`
}

func (s settings) options(m *Model) Options {
	o := m.Defaults()
	o.Sample = false
	o.MaxTokens, o.MinTokens, o.RepetitionPenalty, o.NoRepeatNgram, o.BadWords = s.MaxNewTokens, s.MinNewTokens, s.RepetitionPenalty, s.NoRepeatNgram, s.BadWordsIDs
	if s.End != nil {
		o.End = s.End
	}
	if s.Beams > 0 {
		o.Beams, o.EarlyStopping, o.Return = s.Beams, s.EarlyStopping.EarlyStopping, s.Return
		o.LengthPenalty = value(s.LengthPenalty, 1)
	}
	return o
}

type fixture struct {
	Text       string
	IDs        []int32
	Greedy     settings
	Beam       settings
	GreedyIDs  []int32   `json:"greedy_ids"`
	GreedyText string    `json:"greedy_text"`
	BeamIDs    [][]int32 `json:"beam_ids"`
	BeamScores []float32 `json:"beam_scores"`
	DecoderIDs []int32   `json:"decoder_ids"`
	Sampling   []struct {
		Temperature       float64
		TopK              int     `json:"top_k"`
		TopP              float64 `json:"top_p"`
		MinP              float64 `json:"min_p"`
		RepetitionPenalty float64 `json:"repetition_penalty"`
		IDs               []int32
		Probabilities     []float64
	}
}

// fixtures calls f for every decoder in testdata and in the folder that DECODER_FIXTURES names.
func fixtures(t *testing.T, f func(t *testing.T, dir string, list []fixture)) {
	roots := []string{"../encoder/testdata/decoders"}
	if dir := os.Getenv("DECODER_FIXTURES"); dir != "" {
		roots = append(roots, dir)
	}
	for _, root := range roots {
		found, err := filepath.Glob(filepath.Join(root, "*", "generation.json"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d folders, %v", root, len(found), err)
		}
		for _, file := range found {
			t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var list []fixture
				if err := json.Unmarshal(b, &list); err != nil {
					t.Fatal(err)
				}
				f(t, filepath.Dir(file), list)
			})
		}
	}
}

func mustLoad(t testing.TB, dir string, o encoder.Options, l Limits) *Model {
	t.Helper()
	m, err := Load(os.DirFS(dir), o, l)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// skipStart cuts the start token of an encoder–decoder from ids of transformers.
func skipStart(m *Model, ids []int32) []int32 {
	if m.Rewrites() {
		return ids[1:]
	}
	return ids
}

// TestGreedy compares texts and ids with transformers, all prompts in one batch, and the streamed
// pieces with the text.
func TestGreedy(t *testing.T) {
	fixtures(t, func(t *testing.T, dir string, list []fixture) {
		m := mustLoad(t, dir, encoder.Options{Threads: 2}, Limits{Sequences: 13})
		streamed := make([]strings.Builder, len(list))
		var rs []Request
		for i, c := range list {
			rs = append(rs, Request{Text: c.Text, Options: c.Greedy.options(m), Stream: func(d Delta) error {
				streamed[i].WriteString(d.Text)
				return nil
			}})
		}
		results, err := m.GenerateAll(t.Context(), rs)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range list {
			got := results[i].Texts[0]
			if want := skipStart(m, c.GreedyIDs); !slices.Equal(got.IDs, want) {
				t.Errorf("prompt %d: ids %v, want %v", i, got.IDs, want)
			} else if got.Text != c.GreedyText || streamed[i].String() != c.GreedyText {
				t.Errorf("prompt %d: text %q, streamed %q, want %q", i, got.Text, streamed[i].String(), c.GreedyText)
			}
		}
		if s := m.Stats(); s.Requests != 0 || s.Waiting != 0 || s.Sequences != 0 || s.CacheBytes != 0 || s.Tokens == 0 {
			t.Errorf("afterwards %+v", s)
		}
	})
}

// TestBeams compares beam search with transformers.
func TestBeams(t *testing.T) {
	fixtures(t, func(t *testing.T, dir string, list []fixture) {
		m := mustLoad(t, dir, encoder.Options{Threads: 2}, Limits{Sequences: 40})
		var rs []Request
		for _, c := range list {
			rs = append(rs, Request{IDs: c.IDs, Options: c.Beam.options(m)})
		}
		results, err := m.GenerateAll(t.Context(), rs)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range list {
			if len(results[i].Texts) != len(c.BeamIDs) {
				t.Errorf("prompt %d: %d texts, want %d", i, len(results[i].Texts), len(c.BeamIDs))
				continue
			}
			for k, got := range results[i].Texts {
				if want := skipStart(m, c.BeamIDs[k]); !slices.Equal(got.IDs, want) || math.Abs(float64(got.Score-c.BeamScores[k])) > 1e-3 {
					t.Errorf("prompt %d, text %d: ids %v (%.5f), want %v (%.5f)", i, k, got.IDs, got.Score, want, c.BeamScores[k])
				}
			}
		}
	})
}

// TestCandidates compares what may be drawn, and how likely it is, with the warpers of
// transformers.
func TestCandidates(t *testing.T) {
	fixtures(t, func(t *testing.T, dir string, list []fixture) {
		ck, err := safetensors.Open(os.DirFS(dir), "expected")
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		all, err := ck.Float32("logits")
		if err != nil {
			t.Fatal(err)
		}
		v := len(all) / len(list)
		for n, c := range list {
			for _, s := range c.Sampling {
				o := Options{Sample: true, Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP, RepetitionPenalty: s.RepetitionPenalty, Begin: -1, Last: -1}
				logits := slices.Clone(all[n*v : (n+1)*v])
				ids := c.IDs
				if c.DecoderIDs != nil {
					ids = c.DecoderIDs
				}
				o.process(logits, ids, len(ids), 1)
				got := o.candidates(logits)
				slices.SortFunc(got, func(a, b candidate) int { return int(a.id) - int(b.id) })
				if len(got) != len(s.IDs) {
					t.Errorf("prompt %d, %+v: %d candidates, want %d", n, o, len(got), len(s.IDs))
					continue
				}
				for i, g := range got {
					if g.id != s.IDs[i] || math.Abs(g.p-s.Probabilities[i]) > 1e-5 {
						t.Errorf("prompt %d: candidate %d has %.6f, want %d with %.6f", n, g.id, g.p, s.IDs[i], s.Probabilities[i])
					}
				}
			}
		}
	})
}

const llama = "../encoder/testdata/decoders/llama"

// TestSampling wants the same text for the same seed, whatever else runs, and other texts for
// others.
func TestSampling(t *testing.T) {
	m := mustLoad(t, llama, encoder.Options{Threads: 2}, Limits{})
	o := m.Defaults()
	o.Sample, o.MaxTokens, o.Temperature = true, 12, 0.8
	var rs []Request
	for i := range 20 {
		o.Seed = uint64(i % 10)
		rs = append(rs, Request{Text: "the value of", Options: o})
	}
	results, err := m.GenerateAll(t.Context(), rs)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for i, r := range results {
		texts[r.Texts[0].Text] = true
		if again := results[i%10]; !slices.Equal(again.Texts[0].IDs, r.Texts[0].IDs) {
			t.Errorf("seed %d: %v and %v", i%10, again.Texts[0].IDs, r.Texts[0].IDs)
		}
	}
	if len(texts) < 8 {
		t.Errorf("10 seeds give %d texts", len(texts))
	}
}

// TestStop cuts the text at a stop string, also where it lies across tokens, and never streams a
// part of it.
func TestStop(t *testing.T) {
	fixtures(t, func(t *testing.T, dir string, list []fixture) {
		m := mustLoad(t, dir, encoder.Options{Threads: 2}, Limits{})
		for i, c := range list[:12] {
			o := c.Greedy.options(m)
			whole := c.GreedyText
			from := len(whole) / 3
			to := min(len(whole), from+5)
			for from > 0 && !utf8.RuneStart(whole[from]) {
				from--
			}
			for to < len(whole) && !utf8.RuneStart(whole[to]) {
				to++
			}
			stop := whole[from:to]
			if stop == "" || strings.Contains(whole, "\uFFFD") {
				continue
			}
			o.Stop = []string{"never there", stop}
			var streamed strings.Builder
			r, err := m.Generate(t.Context(), Request{Text: c.Text, Options: o, Stream: func(d Delta) error {
				streamed.WriteString(d.Text)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := strings.Cut(whole, stop)
			if got := r.Texts[0]; got.Text != want || streamed.String() != want || got.Reason != ReasonStop {
				t.Errorf("prompt %d, stop %q: text %q (%s), streamed %q, want %q", i, stop, got.Text, got.Reason, streamed.String(), want)
			}
		}
	})
}

// TestRefused wants errors for what is out of range, and a model that goes on.
func TestRefused(t *testing.T) {
	m := mustLoad(t, llama, encoder.Options{MaxSeqLength: 64}, Limits{CacheBytes: 1 << 16})
	with := func(change func(*Options)) Options {
		o := m.Defaults()
		o.MaxTokens = 4
		change(&o)
		return o
	}
	failed := errors.New("the reader is gone")
	for name, c := range map[string]struct {
		r    Request
		want error
	}{
		"none":        {Request{Text: "x", Options: with(func(*Options) {})}, nil},
		"temperature": {Request{Text: "x", Options: with(func(o *Options) { o.Temperature = math.NaN() })}, ErrOptions},
		"beams":       {Request{Text: "x", Options: with(func(o *Options) { o.Beams = 1000 })}, ErrOptions},
		"end":         {Request{Text: "x", Options: with(func(o *Options) { o.End = []int32{-4} })}, ErrOptions},
		"stop":        {Request{Text: "x", Options: with(func(o *Options) { o.Stop = []string{""} })}, ErrOptions},
		"id":          {Request{IDs: []int32{1 << 30}, Options: with(func(*Options) {})}, encoder.ErrTokenID},
		"empty":       {Request{IDs: []int32{}, Options: with(func(*Options) {})}, ErrOptions},
		"too long":    {Request{IDs: make([]int32, 64), Options: with(func(*Options) {})}, ErrTooLong},
		"memory":      {Request{Text: "x", Options: with(func(o *Options) { o.Beams, o.MaxTokens = 32, 1<<40 })}, ErrTooLarge},
		"no token": {Request{Text: "x", Options: with(func(o *Options) {
			for i := range m.vocab() {
				o.Suppress = append(o.Suppress, int32(i))
			}
		})}, ErrOptions},
		"stream": {Request{Text: "x", Options: with(func(*Options) {}), Stream: func(Delta) error { return failed }}, failed},
	} {
		if _, err := m.Generate(t.Context(), c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Generate(ctx, Request{Text: "x", Options: m.Defaults()}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
}

// TestScore wants the sum of the log-probabilities of the tokens, each computed after those before
// it.
func TestScore(t *testing.T) {
	for _, name := range []string{"llama", "gpt2", "t5", "bart"} {
		m := mustLoad(t, "../encoder/testdata/decoders/"+name, encoder.Options{Threads: 2}, Limits{})
		pairs := []Pair{{"the value of", " an object"}, {"a", " class"}, {"The import statement", " is a function of the module"}}
		got, err := m.Score(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			ids, sum := m.ids(Request{Text: p.Context}), 0.0
			for k, id := range got[i].IDs {
				logits := make([]float32, m.vocab())
				seqs := []*encoder.Sequence{nil}
				whole := slices.Concat(ids, got[i].IDs[:k])
				if m.Rewrites() {
					if seqs, err = m.decoder.Read(t.Context(), [][]int32{ids}); err != nil {
						t.Fatal(err)
					}
					whole = slices.Concat(m.start, got[i].IDs[:k])
				} else {
					seqs[0] = m.decoder.Start()
				}
				err := m.decoder.Step(t.Context(), seqs, [][]int32{whole}, false, func(_, _ int, x []float32) error {
					copy(logits, x)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				logSoftmax(logits)
				sum += float64(logits[id])
			}
			if math.Abs(sum-got[i].LogProb) > 1e-3 {
				t.Errorf("%s, pair %d: %.5f, want %.5f", name, i, got[i].LogProb, sum)
			}
		}
		if _, err := m.Score(t.Context(), []Pair{{"a", ""}}); !m.Rewrites() && !errors.Is(err, ErrOptions) {
			t.Errorf("an empty text: %v", err)
		}
	}
}
