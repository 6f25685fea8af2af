package encoder

import (
	"example.com/searchd/internal/simd"
)

// adapterSpec is a set of low-rank changes of all linear layers and tables, one for each task. The
// prompt that has the name of a task brings its changes; other texts go through the plain weights.
// Source: arXiv:2409.10173 and jinaai/xlm-roberta-flash-implementation modeling_lora.py.
type adapterSpec struct {
	tasks []string
	rank  int
	scale float64 // of the products
}

// Suffixes of the tensors of a parametrised weight.
const (
	parametrized = ".parametrizations.weight.original"
	adapterA     = ".parametrizations.weight.0.lora_A"
	adapterB     = ".parametrizations.weight.0.lora_B"
)

// lowRank is the change of one linear layer: (x·Aᵀ)·Bᵀ.
type lowRank struct {
	a, b *simd.Matrix // [rank, in], [out, rank] with the scale
	rank int
}

// add adds the change for x [rows, in] to dst [rows, out].
func (r *lowRank) add(dst, x []float32, rows int) {
	inner := make([]float32, rows*r.rank)
	r.a.Mul(inner, x, rows, simd.Epilogue{})
	r.b.Mul(dst, inner, rows, simd.Epilogue{Residual: dst})
}

// lowTable is the change of a table: row i of A times B.
type lowTable struct {
	a, b  []float32 // [rows, rank], [rank, width] with the scale
	rank  int
	width int
}

// add adds the change of row id to dst [width].
func (t *lowTable) add(dst []float32, id int) {
	for r, v := range t.a[id*t.rank : (id+1)*t.rank] {
		simd.Axpy(dst, v, t.b[r*t.width:(r+1)*t.width])
	}
}

// loadAdapters makes a stack for each task, which shares the weights of s.
func (s *stack) loadAdapters(l *loader) {
	spec := s.adapters
	if spec == nil || l.err != nil {
		return
	}
	variants := make([]*stack, len(spec.tasks))
	for t := range variants {
		v := *s
		v.layers, v.variants = make([]*layer, len(s.layers)), nil
		variants[t] = &v
	}
	e := s.embedding
	words := l.lowTables(trimWeight(l.words), spec, s.vocab, e)
	types := l.lowTables(trimWeight(s.typeTable), spec, s.types, e)
	for t, v := range variants {
		if l.dry || l.err != nil {
			break
		}
		v.words = words[t]
		v.segments = append([]float32(nil), s.segments...)
		for i := range s.types {
			types[t].add(v.segments[i*e:(i+1)*e], i)
		}
	}
	h := s.hidden
	for i, own := range s.layers {
		qkv := l.lowRanks(own.spec.root+own.spec.qkv, spec, (s.heads+2*s.kvHeads)*s.headSize, h, own.smoothing.qkv)
		output := l.lowRanks(own.spec.root+own.spec.output, spec, h, s.heads*s.headSize, nil)
		up := l.lowRanks(own.spec.root+own.spec.up, spec, s.intermediate, h, own.smoothing.up)
		down := l.lowRanks(own.spec.root+own.spec.down, spec, h, s.intermediate, nil)
		for t, v := range variants {
			if l.dry || l.err != nil {
				break
			}
			b := *own
			b.qkv, b.output, b.up, b.down = own.qkv.with(qkv[t]), own.output.with(output[t]), own.up.with(up[t]), own.down.with(down[t])
			v.layers[i] = &b
		}
	}
	s.variants = map[string]*stack{}
	for t, task := range spec.tasks {
		s.variants[task] = variants[t]
	}
}

func trimWeight(name string) string {
	for _, suffix := range []string{parametrized, ".weight"} {
		if n := len(name) - len(suffix); n > 0 && name[n:] == suffix {
			return name[:n]
		}
	}
	return name
}

// with returns l with a change.
func (l *linear) with(r *lowRank) *linear {
	c := *l
	c.low = r
	return &c
}

// lowRanks reads the changes of a linear layer, one for each task; nil in a dry run.
func (l *loader) lowRanks(base string, spec *adapterSpec, out, in int, reciprocal []float32) []*lowRank {
	a := l.tensor(base+adapterA, len(spec.tasks), spec.rank, in)
	b := l.tensor(base+adapterB, len(spec.tasks), out, spec.rank)
	if a == nil || b == nil {
		return nil
	}
	for k := range a {
		if reciprocal != nil { // the inputs come multiplied by it
			a[k] /= reciprocal[k%in]
		}
	}
	for k := range b {
		b[k] *= float32(spec.scale)
	}
	list := make([]*lowRank, len(spec.tasks))
	for t := range list {
		list[t] = &lowRank{
			a: simd.Pack(a[t*spec.rank*in:(t+1)*spec.rank*in], spec.rank, in),
			b: simd.Pack(b[t*out*spec.rank:(t+1)*out*spec.rank], out, spec.rank), rank: spec.rank,
		}
	}
	return list
}

// lowTables reads the changes of a table, one for each task; nil in a dry run.
func (l *loader) lowTables(base string, spec *adapterSpec, rows, width int) []*lowTable {
	a := l.tensor(base+adapterA, len(spec.tasks), rows, spec.rank)
	b := l.tensor(base+adapterB, len(spec.tasks), spec.rank, width)
	if a == nil || b == nil {
		return nil
	}
	for k := range b {
		b[k] *= float32(spec.scale)
	}
	list := make([]*lowTable, len(spec.tasks))
	for t := range list {
		list[t] = &lowTable{
			a: a[t*rows*spec.rank : (t+1)*rows*spec.rank], b: b[t*spec.rank*width : (t+1)*spec.rank*width],
			rank: spec.rank, width: width,
		}
	}
	return list
}
