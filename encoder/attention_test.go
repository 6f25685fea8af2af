package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"example.com/searchd/encoder/position"
)

// attentionCase is an architecture of which only the attention matters.
type attentionCase struct {
	name     string
	heads    int
	kvHeads  int
	headSize int
	causal   bool
	window   int
	alibi    bool
	relative bool
}

// stack makes a stack without weights but those of the bias.
func (c attentionCase) stack(rng *rand.Rand) *stack {
	a := &architecture{heads: c.heads, kvHeads: c.kvHeads, headSize: c.headSize, causal: c.causal, alibi: c.alibi}
	a.specs = []layerSpec{{window: c.window}}
	s := &stack{architecture: a, alpha: float32(1 / math.Sqrt(float64(c.headSize)))}
	s.layers = []*layer{{spec: &a.specs[0]}}
	switch {
	case c.alibi:
		s.bias = newScoreBias(a, nil)
	case c.relative:
		s.bias = &scoreBias{table: normals(rng, 32*c.heads), relativeTable: relativeTable{rows: 32, buckets: 32, maxDistance: 128}, heads: c.heads}
	}
	return s
}

func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// run computes attention over qkv [T, (A+2K)*D] and returns the context [T, A*D].
func run(s *stack, qkv []float32, offsets []int, t team) []float32 {
	b := &batch{ids: make([]int32, offsets[len(offsets)-1]), offsets: offsets}
	w := &workspace{}
	w.prepare(s, b, t)
	copy(w.qkv, qkv)
	for i := range w.context {
		w.context[i] = float32(math.NaN()) // must be overwritten
	}
	s.attend(w, &batch{}, 0, t)
	return w.context
}

// step is the distance of the queries that the reference implementation computes.
const step = 5

// slowAttention is the reference implementation: all scores of a query and head at once, in
// float64, for every fifth query. The others are NaN.
func slowAttention(s *stack, c attentionCase, qkv []float32, offsets []int) []float32 {
	d, width := s.headSize, (s.heads+2*s.kvHeads)*s.headSize
	slopes := position.AlibiSlopes(s.heads)
	out := make([]float32, offsets[len(offsets)-1]*s.heads*d)
	for i := range out {
		out[i] = float32(math.NaN())
	}
	at := func(token, column int) float64 { return float64(qkv[token*width+column]) }
	for n := range len(offsets) - 1 {
		for h := range s.heads {
			kv := h * s.kvHeads / s.heads
			for i := offsets[n]; i < offsets[n+1]; i += step {
				var weights []float64
				var keys []int
				sum := 0.0
				for j := offsets[n]; j < offsets[n+1]; j++ {
					if c.causal && j > i || c.window > 0 && (j-i >= c.window || i-j >= c.window) {
						continue
					}
					score := 0.0
					for x := range d {
						score += at(i, h*d+x) * at(j, (s.heads+kv)*d+x)
					}
					score /= math.Sqrt(float64(d))
					if c.alibi {
						score -= float64(slopes[h]) * math.Abs(float64(i-j))
					}
					if c.relative {
						score += float64(s.bias.table[position.Bucket(j-i, 32, 128)*s.heads+h])
					}
					weights, keys = append(weights, math.Exp(score)), append(keys, j)
					sum += math.Exp(score)
				}
				for x := range d {
					v := 0.0
					for k, j := range keys {
						v += weights[k] / sum * at(j, (s.heads+s.kvHeads+kv)*d+x)
					}
					out[(i*s.heads+h)*d+x] = float32(v)
				}
			}
		}
	}
	return out
}

// knownDifference is the greatest difference where want is a number.
func knownDifference(got, want []float32) float64 {
	worst := 0.0
	for i, v := range want {
		if v == v {
			worst = max(worst, math.Abs(float64(v-got[i])))
		}
	}
	return worst
}

func TestAttention(t *testing.T) {
	cases := []attentionCase{
		{name: "full", heads: 3, kvHeads: 3, headSize: 8},
		{name: "causal", heads: 2, kvHeads: 2, headSize: 8, causal: true},
		{name: "window", heads: 2, kvHeads: 2, headSize: 8, window: 9},
		{name: "wide window", heads: 1, kvHeads: 1, headSize: 8, window: 400},
		{name: "causal window", heads: 2, kvHeads: 1, headSize: 8, window: 5, causal: true},
		{name: "grouped", heads: 6, kvHeads: 2, headSize: 4},
		{name: "alibi", heads: 6, kvHeads: 6, headSize: 4, alibi: true},
		{name: "relative", heads: 2, kvHeads: 2, headSize: 4, relative: true},
	}
	lengths := []int{1, 0, 2, queryTile - 1, queryTile, queryTile + 1, 2*keyTile + 7}
	offsets := []int{0}
	for _, n := range lengths {
		offsets = append(offsets, offsets[len(offsets)-1]+n)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(len(c.name))))
			s := c.stack(rng)
			qkv := normals(rng, offsets[len(offsets)-1]*(c.heads+2*c.kvHeads)*c.headSize)
			want := slowAttention(s, c, qkv, offsets)
			for _, size := range []team{1, 3} {
				got := run(s, qkv, offsets, size)
				for i := range want {
					if got[i] != got[i] {
						t.Fatalf("team of %d: NaN at %d", size, i)
					}
				}
				if d := knownDifference(got, want); d > 5e-6 {
					t.Errorf("team of %d: max difference %.2g, want at most 5e-6", size, d)
				}
			}
		})
	}
}

// TestWeights multiplies the weights that Inspect shows with the values and wants what attention
// gives.
func TestWeights(t *testing.T) {
	const n = queryTile + 9
	for _, c := range []attentionCase{
		{name: "grouped", heads: 4, kvHeads: 2, headSize: 4},
		{name: "causal", heads: 2, kvHeads: 2, headSize: 4, causal: true},
		{name: "window", heads: 2, kvHeads: 2, headSize: 4, window: 7},
		{name: "alibi", heads: 3, kvHeads: 3, headSize: 4, alibi: true},
		{name: "relative", heads: 2, kvHeads: 2, headSize: 4, relative: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 3))
			s := c.stack(rng)
			d, width := c.headSize, (c.heads+2*c.kvHeads)*c.headSize
			w := &workspace{}
			w.prepare(s, &batch{ids: make([]int32, n), offsets: []int{0, n}}, 1)
			copy(w.qkv, normals(rng, n*width))
			s.attend(w, &batch{}, 0, 1)
			for head := range c.heads {
				weights := make([][]float32, n)
				for i := range weights {
					weights[i] = make([]float32, n)
				}
				s.addMatrix(weights, s.layers[0].spec, w, head, 1)
				value := (c.heads + c.kvHeads + head*c.kvHeads/c.heads) * d
				for i, row := range weights {
					got := make([]float32, d)
					for j, p := range row {
						for x := range got {
							got[x] += p * w.qkv[j*width+value+x]
						}
					}
					if diff := difference(got, w.context[(i*c.heads+head)*d:][:d]); diff > 2e-6 {
						t.Fatalf("head %d, token %d: differs by %.2g", head, i, diff)
					}
				}
			}
		})
	}
}

// TestWorkedExample checks the textbook numbers of scaled dot-product attention: three tokens that
// are query, key and value at once.
func TestWorkedExample(t *testing.T) {
	x := []float32{1, 0, 1, 0 /**/, 0, 1, 0, 1 /**/, 1, 1, 0, 0}
	// exp(1), exp(0), exp(1/2) over their sum; for the third token exp(1/2), exp(1/2), exp(1) over
	// theirs.
	wantWeights := []float32{.506, .186, .307, .186, .506, .307, .274, .274, .452}
	wantOutput := []float32{.814, .494, .506, .186, .494, .814, .186, .506, .726, .726, .274, .274}
	var qkv []float32
	for i := range 3 {
		row := x[4*i : 4*i+4]
		qkv = append(append(append(qkv, row...), row...), row...)
	}
	s := attentionCase{heads: 1, kvHeads: 1, headSize: 4}.stack(nil)
	if d := difference(run(s, qkv, []int{0, 3}, 1), wantOutput); d > 6e-4 {
		t.Errorf("output differs by %.2g, want at most 6e-4", d)
	}
	weights := [][]float32{make([]float32, 3), make([]float32, 3), make([]float32, 3)}
	s.addMatrix(weights, s.layers[0].spec, &workspace{qkv: qkv, qkvWidth: 12}, 0, 1)
	for i, row := range weights {
		if d := difference(row, wantWeights[3*i:3*i+3]); d > 6e-4 {
			t.Errorf("weights of token %d: %v, want %v", i, row, wantWeights[3*i:3*i+3])
		}
	}
}

// TestLongText bounds the memory of attention over 8192 tokens, whose scores would take 256 MiB for
// each head.
func TestLongText(t *testing.T) {
	if testing.Short() {
		t.Skip("a second of arithmetic")
	}
	const length, d = 8192, 4
	c := attentionCase{heads: 1, kvHeads: 1, headSize: d, alibi: true}
	s := c.stack(nil)
	qkv := normals(rand.New(rand.NewPCG(1, 1)), length*3*d)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := run(s, qkv, []int{0, length}, 2)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes allocated for %d tokens, want at most 4 MiB", used, length)
	}
	for _, i := range []int{0, 700, length - 1} { // three queries, in float64
		want, sum := make([]float64, d), 0.0
		for j := range length {
			score := -float64(position.AlibiSlopes(1)[0]) * math.Abs(float64(i-j))
			for x := range d {
				score += float64(qkv[i*3*d+x]) * float64(qkv[j*3*d+d+x]) / math.Sqrt(d)
			}
			sum += math.Exp(score)
			for x := range d {
				want[x] += math.Exp(score) * float64(qkv[j*3*d+2*d+x])
			}
		}
		for x := range d {
			if diff := math.Abs(want[x]/sum - float64(got[i*d+x])); diff > 5e-6 {
				t.Errorf("query %d: dimension %d differs by %.2g, want at most 5e-6", i, x, diff)
			}
		}
	}
}

func BenchmarkAttention(b *testing.B) {
	for _, length := range []int{16, 128, 512, 2048} {
		b.Run(fmt.Sprintf("tokens=%d", length), func(b *testing.B) {
			s := attentionCase{heads: 12, kvHeads: 12, headSize: 32}.stack(nil)
			w := &workspace{}
			bt := &batch{ids: make([]int32, length), offsets: []int{0, length}}
			w.prepare(s, bt, 1)
			copy(w.qkv, normals(rand.New(rand.NewPCG(1, 1)), len(w.qkv)))
			b.ReportAllocs()
			for b.Loop() {
				s.attend(w, &batch{}, 0, 1)
			}
		})
	}
}

// TestPaddingInText checks the positions of RoBERTa when the padding token occurs as a word: it
// takes the row of the padding and does not count.
func TestPaddingInText(t *testing.T) {
	s := &stack{architecture: &architecture{positions: positionTable{offset: 2, padID: 1}}}
	b := &batch{ids: []int32{0, 7, 1, 8, 2, 0, 2}, offsets: []int{0, 5, 7}}
	if got, want := fmt.Sprint(s.positionIndexes(nil, b)), "[2 3 1 4 5 2 3]"; got != want {
		t.Errorf("positionIndexes = %s, want %s", got, want)
	}
}
