package encoder

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/fstest"
)

// weights are the tensors of a made-up checkpoint, by name.
type weights map[string]*array

// array is a tensor in float64, row-major; the numbers are such that float32 holds them.
type array struct {
	shape []int
	x     []float64
}

// draw makes weights of the given shapes: matrices small enough for the states to stay of order
// one, norms near one.
func draw(seed uint64, shapes map[string][]int) weights {
	rng := rand.New(rand.NewPCG(seed, 99))
	w := weights{}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		a := &array{shape: shapes[name]}
		n := 1
		for _, d := range a.shape {
			n *= d
		}
		spread, center := 1.2/math.Sqrt(float64(a.shape[len(a.shape)-1])), 0.0
		if len(a.shape) == 1 {
			spread = 0.2
			if strings.HasSuffix(name, "weight") {
				center = 1
			}
		}
		for range n {
			a.x = append(a.x, float64(float32(center+spread*rng.NormFloat64())))
		}
		w[name] = a
	}
	return w
}

// safetensors writes the weights in the file format, as F32.
func (w weights) safetensors() []byte {
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header, at := map[string]entry{}, 0
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(w)) {
		a := w[name]
		header[name] = entry{"F32", a.shape, [2]int{at, at + 4*len(a.x)}}
		at += 4 * len(a.x)
		for _, v := range a.x {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	h, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h...), data...)
}

// folder is a checkpoint with this config and these weights.
func folder(config string, w weights) fstest.MapFS {
	return fstest.MapFS{"config.json": {Data: []byte(config)}, "model.safetensors": {Data: w.safetensors()}}
}

// states are the states of one sequence, [L][H].
type states [][]float64

// rows returns the rows of a table for ids.
func (w weights) rows(name string, ids ...int32) states {
	a := w[name]
	width := a.shape[1]
	var s states
	for _, id := range ids {
		s = append(s, slices.Clone(a.x[int(id)*width:(int(id)+1)*width]))
	}
	return s
}

// linear is x·Wᵀ + b, with b if it exists.
func (w weights) linear(x states, name string) states {
	a, bias := w[name+".weight"], w[name+".bias"]
	out := make(states, len(x))
	for i, row := range x {
		out[i] = make([]float64, a.shape[0])
		for o := range out[i] {
			for k, v := range row {
				out[i][o] += v * a.x[o*a.shape[1]+k]
			}
			if bias != nil {
				out[i][o] += bias.x[o]
			}
		}
	}
	return out
}

// conv1d is x·W + b with W [in, out], the linear layer of GPT-2.
func (w weights) conv1d(x states, name string) states {
	a := w[name+".weight"]
	t := &array{shape: []int{a.shape[1], a.shape[0]}, x: make([]float64, len(a.x))}
	for i := range a.shape[0] {
		for o := range a.shape[1] {
			t.x[o*a.shape[0]+i] = a.x[i*a.shape[1]+o]
		}
	}
	return weights{"w.weight": t, "w.bias": w[name+".bias"]}.linear(x, "w")
}

// layerNorm and rmsNorm return normed copies.
func (w weights) layerNorm(x states, name string, eps float64) states {
	return each(x, func(row []float64) []float64 {
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(len(row))
		}
		out := make([]float64, len(row))
		for j, v := range row {
			out[j] = w[name+".weight"].x[j] * (v - mean) / math.Sqrt(variance+eps)
			if b := w[name+".bias"]; b != nil {
				out[j] += b.x[j]
			}
		}
		return out
	})
}

func (w weights) rmsNorm(x states, name string, eps float64) states {
	return each(x, func(row []float64) []float64 {
		square := 0.0
		for _, v := range row {
			square += v * v / float64(len(row))
		}
		out := make([]float64, len(row))
		for j, v := range row {
			out[j] = w[name+".weight"].x[j] * v / math.Sqrt(square+eps)
		}
		return out
	})
}

func each(x states, f func([]float64) []float64) states {
	out := make(states, len(x))
	for i, row := range x {
		out[i] = f(row)
	}
	return out
}

// combine applies f to the elements of a and b.
func combine(a, b states, f func(p, q float64) float64) states {
	out := make(states, len(a))
	for i := range a {
		out[i] = make([]float64, len(a[i]))
		for j := range a[i] {
			out[i][j] = f(a[i][j], b[i][j])
		}
	}
	return out
}

func sum(p, q float64) float64     { return p + q }
func product(p, q float64) float64 { return p * q }

func apply(x states, f func(float64) float64) states {
	return combine(x, x, func(p, _ float64) float64 { return f(p) })
}

func gelu(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 }
func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }
func geluTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// columns cuts the columns [from, to) of every row.
func columns(x states, from, to int) states {
	return each(x, func(row []float64) []float64 { return row[from:to] })
}

// attend is softmax(q·kᵀ/sqrt(d))·v for each head, over the keys that sees allows; heads share keys
// in groups.
func attend(q, k, v states, heads, kvHeads int, sees func(i, j int) bool) states {
	d := len(q[0]) / heads
	out := make(states, len(q))
	for i := range q {
		out[i] = make([]float64, heads*d)
		for h := range heads {
			kv := h / (heads / kvHeads) * d
			p, total := make([]float64, len(k)), 0.0
			for j := range k {
				if !sees(i, j) {
					continue
				}
				for x := range d {
					p[j] += q[i][h*d+x] * k[j][kv+x] / math.Sqrt(float64(d))
				}
				p[j] = math.Exp(p[j])
				total += p[j]
			}
			for j := range k {
				for x := range d {
					out[i][h*d+x] += p[j] / total * v[j][kv+x]
				}
			}
		}
	}
	return out
}

// rotated turns each head by its position: complex numbers (x[j], x[j+d/2]) times
// exp(i·position·frequency(j)).
func rotated(x states, d int, frequency func(j int) float64) states {
	out := make(states, len(x))
	for i, row := range x {
		out[i] = slices.Clone(row)
		for h := 0; h < len(row); h += d {
			for j := range d / 2 {
				sin, cos := math.Sincos(float64(i) * frequency(j))
				a, b := row[h+j], row[h+j+d/2]
				out[i][h+j], out[i][h+j+d/2] = a*cos-b*sin, a*sin+b*cos
			}
		}
	}
	return out
}
