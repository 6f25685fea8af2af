package hnsw

import (
	"errors"
	"fmt"
	"math"
)

// Errors of Add, AddBatch, Search and Exact: the input is wrong and nothing has changed.
var (
	ErrDimension = errors.New("hnsw: dimension mismatch")
	ErrNotFinite = errors.New("hnsw: vector has a component that is not finite")
	ErrZero      = errors.New("hnsw: zero vector has no direction")
	ErrExists    = errors.New("hnsw: id exists with another vector")
	ErrArgument  = errors.New("hnsw: argument out of range")
	ErrFull      = errors.New("hnsw: graph is full")
)

// ErrOptions is what New and ReadSnapshot return for options out of range.
var ErrOptions = errors.New("hnsw: invalid options")

// Metric is the measure of distance.
type Metric uint8

const (
	Cosine Metric = iota // 1 - dot of the unit vectors; vectors are scaled to unit length when they are added
	Dot                  // 1 - dot of the vectors as they are
	L2                   // squared Euclidean distance
)

func (m Metric) String() string {
	switch m {
	case Cosine:
		return "cosine"
	case Dot:
		return "dot"
	case L2:
		return "l2"
	default:
		return fmt.Sprintf("Metric(%d)", uint8(m))
	}
}

// Quantization is the form of the vectors on which the graph is walked and built.
type Quantization uint8

const (
	QuantizeNone Quantization = iota // float32
	QuantizeInt8                     // one byte per component; the best are scored again in float32
)

func (z Quantization) String() string {
	switch z {
	case QuantizeNone:
		return "none"
	case QuantizeInt8:
		return "int8"
	default:
		return fmt.Sprintf("Quantization(%d)", uint8(z))
	}
}

// Limits of Options, of ids in a graph and of a search.
const (
	MaxDim = 1 << 16
	MaxM   = 128
	MaxEf  = 1 << 16
	MaxK   = 1 << 20

	maxLevel = 15
	maxNodes = 1<<31 - 2 // a key keeps one bit for "expanded", a link one value for "none"
)

// Options of a graph. The zero value of each field but Dim is the documented default.
type Options struct {
	Dim            int          // components per vector, 1 to MaxDim
	Metric         Metric       // Cosine
	M              int          // links of a new node per layer, 2 to MaxM; 0: 16. Layer 0 holds up to 2M
	EfConstruction int          // beam width of an insertion, up to MaxEf; 0: 200
	EfSearch       int          // beam width of a search that names none; 0: calibrated to TargetRecall
	TargetRecall   float64      // recall@10 that the calibrated beam width aims at, in (0, 1); 0: 0.98
	Quantize       Quantization // QuantizeNone
	ExactBelow     int          // scan all vectors while there are fewer; 0: 4,000 (0.2 ms at 384 components); negative: never
	Capacity       int          // expected number of vectors, so that they share one segment; 0: unknown
	Seed           uint64       // of the levels and the rotation of codes

	// Source, where not nil, holds the vectors, and the graph only their codes; Quantize must be
	// QuantizeInt8.
	Source Source
}

// Defaults of Options.
const (
	DefaultM              = 16
	DefaultEfConstruction = 200
	DefaultTargetRecall   = 0.98
	DefaultExactBelow     = 4000
)

// withDefaults returns o with zero fields filled in.
func (o Options) withDefaults() Options {
	if o.M == 0 {
		o.M = DefaultM
	}
	if o.EfConstruction == 0 {
		o.EfConstruction = DefaultEfConstruction
	}
	if o.TargetRecall == 0 {
		o.TargetRecall = DefaultTargetRecall
	}
	if o.ExactBelow == 0 {
		o.ExactBelow = DefaultExactBelow
	}
	return o
}

// Validate names every field that is out of range at once. Zero stands for the default.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any, allowed string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s = %v, want %s", ErrOptions, field, value, allowed))
		}
	}
	check(o.Dim >= 1 && o.Dim <= MaxDim, "Dim", o.Dim, fmt.Sprintf("1 to %d", MaxDim))
	check(o.Metric <= L2, "Metric", o.Metric, "Cosine, Dot or L2")
	check(o.M == 0 || o.M >= 2 && o.M <= MaxM, "M", o.M, fmt.Sprintf("0 or 2 to %d", MaxM))
	check(o.EfConstruction >= 0 && o.EfConstruction <= MaxEf, "EfConstruction", o.EfConstruction, fmt.Sprintf("0 to %d", MaxEf))
	check(o.EfSearch >= 0 && o.EfSearch <= MaxEf, "EfSearch", o.EfSearch, fmt.Sprintf("0 to %d", MaxEf))
	check(o.TargetRecall >= 0 && o.TargetRecall < 1, "TargetRecall", o.TargetRecall, "0 (default) or below 1")
	check(o.Quantize <= QuantizeInt8, "Quantize", o.Quantize, "QuantizeNone or QuantizeInt8")
	check(o.Source == nil || o.Quantize == QuantizeInt8, "Source", "set", "nil, or Quantize = QuantizeInt8")
	check(o.Capacity >= 0 && o.Capacity <= maxNodes, "Capacity", o.Capacity, fmt.Sprintf("0 to %d", maxNodes))
	return errors.Join(errs...)
}

// checkVector returns an error if v cannot be added or searched for.
func (o *Options) checkVector(v []float32) error {
	if len(v) != o.Dim {
		return fmt.Errorf("%w: got %d components, want %d", ErrDimension, len(v), o.Dim)
	}
	var sum float64
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%w: component %d is %v", ErrNotFinite, i, x)
		}
		sum += f * f
	}
	if sum == 0 && o.Metric == Cosine {
		return fmt.Errorf("%w: cosine needs a component other than 0", ErrZero)
	}
	// Distances are computed in float32: a sum of squares beyond its range would be infinite there.
	if sum > maxSquaredNorm && o.Metric != Cosine {
		return fmt.Errorf("%w: squared length %.3g is above %.3g", ErrNotFinite, sum, maxSquaredNorm)
	}
	return nil
}

// maxSquaredNorm keeps dot products, and four times as much for squared differences, within
// float32.
const maxSquaredNorm = math.MaxFloat32 / 8

// prepare writes to dst [dim] the checked vector v as the graph keeps it: scaled to unit length for
// Cosine, with -0 replaced by +0, so that equal vectors are equal bit for bit. A vector that is of
// unit length already, to within one part in a million, keeps its bits.
func (o *Options) prepare(dst, v []float32) {
	if o.Metric != Cosine {
		for i, x := range v {
			dst[i] = x + 0
		}
		return
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.Abs(sum-1) <= 1e-6 {
		for i, x := range v {
			dst[i] = x + 0
		}
		return
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		dst[i] = float32(float64(x)*scale) + 0
	}
}
