package encoder

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"encoding/binary"
	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/pooling"
)

func load(t testing.TB, dir string, o Options) *Model {
	t.Helper()
	m, err := Load(os.DirFS(dir), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFixtureIDs encodes the ids of every embedding fixture.
func TestFixtureIDs(t *testing.T) {
	for _, dir := range fixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := load(t, dir, Options{Threads: 2})
			if m.Info().Labels > 0 {
				t.Skip("a cross-encoder")
			}
			list := readExpectations(t, dir)
			var ids [][]int32
			for _, e := range list {
				ids = append(ids, e.IDs)
			}
			got, err := m.EncodeIDs(context.Background(), ids, EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, e := range list {
				worst = math.Max(worst, difference(got.Vectors[i], e.Embedding))
			}
			if worst > tolerance {
				t.Errorf("max difference %.2g, want at most %g", worst, tolerance)
			}
			for i := range list { // a batch equals its members, one by one
				one, err := m.EncodeIDs(context.Background(), ids[i:i+1], EncodeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if d := difference(one.Vectors[0], got.Vectors[i]); d > 1e-6 {
					t.Errorf("text %d alone differs by %.2g from itself in a batch", i, d)
				}
			}
		})
	}
}

// TestInt8TooWide asks for layers whose inputs are more than an int32 can sum, and for some that
// are as wide as may be.
func TestInt8TooWide(t *testing.T) {
	for sizes, wide := range map[string]bool{
		`"num_attention_heads":1024,"head_dim":66,"intermediate_size":8`:     true,
		`"num_attention_heads":2,"head_dim":4,"intermediate_size":65537`:     true,
		`"num_attention_heads":1024,"head_dim":64,"intermediate_size":65536`: false,
	} {
		f, err := parseFields("config.json", []byte(`{"model_type":"qwen3","vocab_size":9,"hidden_size":8,"num_key_value_heads":1,"num_hidden_layers":1,"max_position_embeddings":9,`+sizes+`}`))
		if err != nil {
			t.Fatal(err)
		}
		a, err := readArchitecture(f)
		if err != nil {
			t.Fatal(err)
		}
		ck, err := safetensors.OpenFile(fstest.MapFS{"x": {Data: weights{}.safetensors()}}, "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := loadStack(ck, a, Int8); errors.Is(err, ErrConfig) != wide {
			t.Errorf("%s: %v, want ErrConfig: %v", sizes, err, wide)
		}
	}
}

// TestInt8 bounds how far vectors move when the layers work in bytes. The made-up weights of the
// fixtures suffer more than trained ones.
func TestInt8(t *testing.T) {
	for _, dir := range fixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := load(t, dir, Options{Precision: Int8})
			if m.Info().Labels > 0 {
				t.Skip("a cross-encoder")
			}
			least := 1.0
			for _, e := range readExpectations(t, dir) {
				got, err := m.EncodeIDs(context.Background(), [][]int32{e.IDs}, EncodeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				least = min(least, cosine(got.Vectors[0], e.Embedding))
			}
			t.Logf("least cosine %.5f", least)
			if least < 0.995 {
				t.Errorf("least cosine %.5f, want at least 0.995", least)
			}
		})
	}
}

func cosine(a, b []float32) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// TestConcurrent calls one model from many goroutines, each with its own texts, and wants what
// single calls give.
func TestConcurrent(t *testing.T) {
	m := load(t, "testdata/modernbert", Options{Threads: 3, MaxBatchTokens: 70})
	list := readExpectations(t, "testdata/modernbert")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			var texts []string
			for i := range list {
				texts = append(texts, list[(i*(2*n+1)+n)%len(list)].Text)
			}
			got, err := m.Encode(context.Background(), texts, EncodeOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range texts {
				if d := difference(got.Vectors[i], list[(i*(2*n+1)+n)%len(list)].Embedding); d > tolerance {
					t.Errorf("goroutine %d, text %d differs by %.2g", n, i, d)
				}
			}
		})
	}
	wg.Wait()
	if len(m.slots) != 0 || len(m.spaces) > 3 {
		t.Errorf("%d slots taken, %d workspaces kept, want 0 and at most 3", len(m.slots), len(m.spaces))
	}
}

// TestSplits encodes the same texts with other numbers of goroutines and other batches.
func TestSplits(t *testing.T) {
	list := readExpectations(t, "testdata/modernbert")
	var texts []string
	for range 6 { // enough tokens for several blocks
		for _, e := range list {
			texts = append(texts, e.Text)
		}
	}
	for _, o := range []Options{{Threads: 1}, {Threads: 1, MaxBatchTokens: 1}, {Threads: 2, MaxBatchTokens: 1 << 20}, {Threads: 5}, {Threads: 64, MaxBatchTokens: 100}} {
		m := load(t, "testdata/modernbert", o)
		got, err := m.Encode(context.Background(), texts, EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range texts {
			if d := difference(got.Vectors[i], list[i%len(list)].Embedding); d > tolerance {
				t.Errorf("%+v: text %d differs by %.2g", o, i, d)
			}
		}
	}
}

// countdown is a context that ends after a number of looks at it.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func (c *countdown) Done() <-chan struct{} { return nil }

// TestCancel ends the context before each of the checks and wants its error, and the slots back.
func TestCancel(t *testing.T) {
	m := load(t, "testdata/modernbert", Options{Threads: 1})
	seqs := []sequence{{ids: []int32{2, 42, 3}}}
	checks := 0
	for ; ; checks++ {
		c := &countdown{Context: context.Background()}
		c.left.Store(int64(checks))
		b := &batch{ids: seqs[0].ids, offsets: []int{0, 3}}
		if err := m.stack.forward(c, &workspace{}, b, 1, nil); err == nil {
			break
		} else if err != context.Canceled {
			t.Fatal(err)
		}
	}
	if layers := len(m.stack.layers); checks < layers {
		t.Errorf("forward looked at the context %d times, want at least once for each of %d layers", checks, layers)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Encode(ctx, []string{"a"}, EncodeOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Encode with an ended context: %v", err)
	}
	if _, err := m.Encode(context.Background(), []string{"a"}, EncodeOptions{}); err != nil {
		t.Errorf("Encode after that: %v", err)
	}
}

func TestEncodeIDsRefused(t *testing.T) {
	m := load(t, "testdata/modernbert", Options{})
	for _, id := range []int32{-1, 818, math.MaxInt32} {
		if _, err := m.EncodeIDs(context.Background(), [][]int32{{1}, {2, id}}, EncodeOptions{}); !errors.Is(err, ErrTokenID) {
			t.Errorf("id %d: %v, want ErrTokenID", id, err)
		}
	}
	if _, err := m.Score(context.Background(), [][2]string{{"a", "b"}}); !errors.Is(err, ErrNoHead) {
		t.Errorf("Score without a head: %v, want ErrNoHead", err)
	}
	r, err := m.EncodeIDs(context.Background(), [][]int32{make([]int32, 1000), nil}, EncodeOptions{KeepIDs: true})
	if err != nil || len(r.IDs[0]) != m.MaxSeqLength() || !r.Truncated[0] || len(r.Vectors[1]) != 48 {
		t.Errorf("a long and an empty text: %v, %v", r, err)
	}
	if r, err := m.Encode(context.Background(), nil, EncodeOptions{}); err != nil || len(r.Vectors) != 0 {
		t.Errorf("no texts: %v, %v", r, err)
	}
}

// TestTokenization: texts take time to become tokens, a part of what the whole takes, and tokens
// none.
func TestTokenization(t *testing.T) {
	m := load(t, "testdata/modernbert", Options{})
	texts := []string{strings.Repeat("some words ", 2000), "and more"}
	began := time.Now()
	r, err := m.Encode(t.Context(), texts, EncodeOptions{KeepIDs: true})
	whole := time.Since(began)
	if err != nil || r.Tokenization <= 0 || r.Tokenization >= whole {
		t.Errorf("Encode: %v of %v, %v", r.Tokenization, whole, err)
	}
	if states, err := m.EncodeTokens(t.Context(), texts, EncodeOptions{}); err != nil || states.Tokenization <= 0 {
		t.Errorf("EncodeTokens: %v, %v", states.Tokenization, err)
	}
	if r, err = m.EncodeIDs(t.Context(), r.IDs, EncodeOptions{}); err != nil || r.Tokenization != 0 {
		t.Errorf("EncodeIDs: %v, %v", r.Tokenization, err)
	}
}

// TestInspect compares the states with the vector, and the weights with their sums and with the
// mask.
func TestInspect(t *testing.T) {
	for _, name := range []string{"bert-mean", "modernbert", "qwen3-lasttoken"} {
		m := load(t, "testdata/"+name, Options{})
		const text = "  Transformers replaced recurrent networks in many tasks.\n"
		layer := m.Info().Layers - 1
		in, err := m.Inspect(context.Background(), text, InspectOptions{Attention: true, Layer: layer, Head: 1, States: true})
		if err != nil {
			t.Fatal(err)
		}
		if in.Text != strip(text) || len(in.Tokens) != len(in.IDs) || len(in.States) != layer+2 {
			t.Errorf("%s: text %q, %d tokens, %d ids, %d states", name, in.Text, len(in.Tokens), len(in.IDs), len(in.States))
		}
		want := encode(t, m, EncodeOptions{}, text)[0]
		got := make([]float32, 48)
		pooling.Sequence(got, in.States[layer+1], 48, 0, m.pool.modes)
		pooling.Normalize(got)
		if d := difference(got, want); d > 1e-6 {
			t.Errorf("%s: the last states give a vector that differs by %.2g", name, d)
		}
		for i, row := range in.Attention {
			sum := 0.0
			for j, p := range row {
				sum += float64(p)
				if name == "qwen3-lasttoken" && j > i && p != 0 {
					t.Errorf("%s: token %d sees token %d", name, i, j)
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("%s: weights of token %d sum to %v", name, i, sum)
			}
		}
		mean, err := m.Inspect(context.Background(), text, InspectOptions{Attention: true, Head: AllHeads})
		if err != nil || mean.States != nil || len(mean.Attention) != len(mean.IDs) {
			t.Errorf("%s: all heads: %v", name, err)
		}
		for _, o := range []InspectOptions{{Attention: true, Layer: layer + 1}, {Attention: true, Head: 4}, {Attention: true, Layer: -1}, {Attention: true, Head: -2}} {
			if _, err := m.Inspect(context.Background(), text, o); !errors.Is(err, ErrInspect) {
				t.Errorf("%s: %+v: %v, want ErrInspect", name, o, err)
			}
		}
	}
}

// TestSmoothing gives the norms channels that are much larger than the others, and requires that
// the factors reduce the error of int8.
func TestSmoothing(t *testing.T) {
	file, err := os.ReadFile("testdata/bert-mean/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	header, data := splitFile(t, file)
	for name, e := range header {
		if strings.HasSuffix(name, "LayerNorm.weight") {
			for i := e.Offsets[0]; i < e.Offsets[0]+8; i += 4 { // two channels
				binary.LittleEndian.PutUint32(data[i:], math.Float32bits(20))
			}
		}
	}
	fsys := overlay{os.DirFS("testdata/bert-mean"), map[string]string{"model.safetensors": joinFile(header, data)}}
	exact, smooth, rough := mustLoad(t, fsys, Options{}), mustLoad(t, fsys, Options{Precision: Int8}), mustLoad(t, fsys, Options{Precision: Int8})
	ck, err := safetensors.Open(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	if rough.stack, err = loadStack(ck, rough.stack.architecture, Int8); err != nil {
		t.Fatal(err)
	}
	want := encode(t, exact, EncodeOptions{}, sampleTexts...)
	loss := func(m *Model) (sum float64) {
		for i, v := range encode(t, m, EncodeOptions{}, sampleTexts...) {
			sum += 1 - dot64(v, want[i])
		}
		return sum
	}
	if with, without := loss(smooth), loss(rough); with > 0.7*without {
		t.Errorf("1 - cosine of int8 is %.2g with factors and %.2g without", with, without)
	}
}
