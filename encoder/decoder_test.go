package encoder

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/searchd/encoder/safetensors"
)

// generated is an entry of generation.json, as training/decoders.py writes it.
type generated struct {
	Text          string
	IDs           []int32
	DecoderIDs    []int32 `json:"decoder_ids"`
	Answer        []int32
	LogLikelihood []float32 `json:"log_likelihood"`
	GreedyIDs     []int32   `json:"greedy_ids"`
	GreedyText    string    `json:"greedy_text"`
}

// decoderFixtures returns the folders of the decoders in testdata, and those in the folder that
// DECODER_FIXTURES names, which hold checkpoints of other seeds.
func decoderFixtures(t testing.TB) []string {
	return fixtureFolders(t, "testdata/decoders", os.Getenv("DECODER_FIXTURES"), "generation.json")
}

// fixtureFolders returns the folders below root and, if it is not empty, other that hold a file.
func fixtureFolders(t testing.TB, root, other, file string) (dirs []string) {
	t.Helper()
	roots := []string{root}
	if other != "" {
		roots = append(roots, other)
	}
	for _, root := range roots {
		found, err := filepath.Glob(filepath.Join(root, "*", file))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d folders, %v", root, len(found), err)
		}
		for _, f := range found {
			dirs = append(dirs, filepath.Dir(f))
		}
	}
	return dirs
}

func readGenerated(t testing.TB, dir string) []generated {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "generation.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []generated
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func mustLoadDecoder(t testing.TB, dir string, o Options) *Decoder {
	t.Helper()
	d, err := LoadDecoder(os.DirFS(dir), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// starts returns a sequence for each case, and the ids that each begins with.
func starts(t testing.TB, d *Decoder, list []generated) (seqs []*Sequence, ids [][]int32) {
	t.Helper()
	for _, c := range list {
		ids = append(ids, c.IDs)
	}
	if d.MaxSource() > 0 {
		seqs, err := d.Read(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range list {
			ids[i] = c.DecoderIDs
		}
		return seqs, ids
	}
	for range list {
		seqs = append(seqs, d.Start())
	}
	return seqs, ids
}

// TestDecoders compares the tokens of each prompt and the logits after it with those of
// transformers: all prompts as one batch, each alone, and each in two steps.
func TestDecoders(t *testing.T) {
	for _, dir := range decoderFixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			list := readGenerated(t, dir)
			ck, err := safetensors.Open(os.DirFS(dir), "expected")
			if err != nil {
				t.Fatal(err)
			}
			defer ck.Close()
			want, err := ck.Float32("logits")
			if err != nil {
				t.Fatal(err)
			}
			v := len(want) / len(list)
			for _, threads := range []int{1, 3} {
				d := mustLoadDecoder(t, dir, Options{Threads: threads, MaxBatchTokens: 100})
				compare := func(how string, first int, seqs []*Sequence, ids [][]int32) {
					t.Helper()
					worst, visited := 0.0, 0
					err := d.Step(t.Context(), seqs, ids, false, func(i, at int, logits []float32) error {
						visited++
						worst = max(worst, difference(logits, want[(first+i)*v:(first+i+1)*v]))
						return nil
					})
					if err != nil || visited != len(seqs) {
						t.Fatalf("%s: %d of %d sequences, error %v", how, visited, len(seqs), err)
					}
					if !(worst <= 2e-4) {
						t.Errorf("%s, prompt %d, %d threads: max difference %.2g, want at most 2e-4", how, first, threads, worst)
					}
				}
				for i, c := range list {
					if got := d.Tokenizer().Encode(c.Text, 0).IDs; !slices.Equal(got, c.IDs) {
						t.Errorf("%q: ids %v, want %v", c.Text, got, c.IDs)
					}
					ids := c.GreedyIDs
					if d.MaxSource() > 0 {
						ids = ids[1:]
					}
					if got := d.Tokenizer().Decode(ids, true); got != c.GreedyText {
						t.Errorf("text of output %d is %q, want %q", i, got, c.GreedyText)
					}
				}
				seqs, ids := starts(t, d, list)
				compare("batch", 0, seqs, ids)
				for i := range list {
					seqs, ids := starts(t, d, list[i:i+1])
					compare("alone", i, seqs, ids)
					cut := len(ids[0]) / 2
					if cut == 0 {
						continue
					}
					seqs, _ = starts(t, d, list[i:i+1])
					skip := func(int, int, []float32) error { return nil }
					if err := d.Step(t.Context(), seqs, [][]int32{ids[0][:cut]}, false, skip); err != nil {
						t.Fatal(err)
					}
					fork := seqs[0].Fork()
					compare("in two steps", i, seqs, [][]int32{ids[0][cut:]})
					compare("of a fork", i, []*Sequence{fork}, [][]int32{ids[0][cut:]})
				}
			}
		})
	}
}

// TestLogLikelihood compares the probability of each token of an answer with transformers.
func TestLogLikelihood(t *testing.T) {
	for _, dir := range decoderFixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			d := mustLoadDecoder(t, dir, Options{Threads: 2})
			for n, c := range readGenerated(t, dir) {
				if c.Answer == nil {
					continue
				}
				seqs, ids := starts(t, d, []generated{c})
				before := ids[0]
				if d.MaxSource() > 0 {
					before = before[:1]
				}
				whole := append(slices.Clone(before), c.Answer...)
				err := d.Step(t.Context(), seqs, [][]int32{whole}, true, func(_, at int, logits []float32) error {
					k := at - len(before) + 1
					if k < 0 || k >= len(c.Answer) {
						return nil
					}
					sum := 0.0
					for _, x := range logits {
						sum += math.Exp(float64(x))
					}
					if got := float64(logits[c.Answer[k]]) - math.Log(sum); math.Abs(got-float64(c.LogLikelihood[k])) > 2e-4 {
						t.Errorf("prompt %d, token %d: log-likelihood %.5f, want %.5f", n, k, got, c.LogLikelihood[k])
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestDecoderLimits wants an error for what does not fit, and a sequence that stays usable.
func TestDecoderLimits(t *testing.T) {
	d := mustLoadDecoder(t, "testdata/decoders/gpt2", Options{MaxSeqLength: 8})
	skip := func(int, int, []float32) error { return nil }
	seqs := []*Sequence{d.Start()}
	for _, c := range []struct {
		ids  []int32
		want error
	}{
		{[]int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, ErrTooLong}, {nil, ErrTooLong}, {[]int32{100000}, ErrTokenID}, {[]int32{-1}, ErrTokenID},
		{[]int32{1, 2, 3}, nil}, {[]int32{1, 2, 3, 4, 5, 6}, ErrTooLong}, {[]int32{4, 5, 6, 7, 8}, nil},
	} {
		if err := d.Step(t.Context(), seqs, [][]int32{c.ids}, false, skip); !errors.Is(err, c.want) {
			t.Errorf("%v: error %v, want %v", c.ids, err, c.want)
		}
	}
	if _, err := d.Read(t.Context(), [][]int32{{1}}); !errors.Is(err, ErrNotDecoder) {
		t.Errorf("Read without an encoder: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Step(ended, []*Sequence{d.Start()}, [][]int32{{1}}, false, skip); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
	if _, err := LoadDecoder(os.DirFS("testdata/bert-mean"), Options{}); !errors.Is(err, ErrNotDecoder) {
		t.Errorf("BERT as a decoder: %v", err)
	}
}

// TestWindowedCache wants layers with a window to keep a bounded number of rows.
func TestWindowedCache(t *testing.T) {
	d := mustLoadDecoder(t, "testdata/decoders/mistral", Options{Threads: 1})
	q := d.Start()
	most := 0
	for i := range 300 {
		if err := d.Step(t.Context(), []*Sequence{q}, [][]int32{{int32(i % 200)}}, false, func(int, int, []float32) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if most = max(most, q.layers[0].rows); i == 100 {
			most = max(most, len(q.layers[0].keys)/16)
		}
	}
	if window := d.m.stack.layers[0].spec.window; window != 16 || most > 3*window {
		t.Errorf("%d rows in a layer with a window of %d, want at most 3 times as many", most, window)
	}
}
