package safetensors

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"example.com/searchd/internal/strictjson"
)

// Errors of a malformed file: ErrFormat unless another is named.
var (
	ErrFormat = errors.New("safetensors: malformed file")
	ErrDType  = errors.New("safetensors: unsupported dtype")
)

// Limits of a header, far above the needs of the largest encoders.
const (
	MaxHeaderBytes = 10_000_000
	MaxTensors     = 100_000
	MaxRank        = 8
	MaxNameBytes   = 1024
)

// Tensor describes one tensor of a checkpoint.
type Tensor struct {
	Name  string
	DType DType
	Shape []int // sizes, outermost first; empty for a scalar

	elements int
	begin    int64 // byte range within the data part of its file
	end      int64
}

// Len returns the number of elements, the product of the shape.
func (t Tensor) Len() int { return t.elements }

// decodeHeader decodes and checks the JSON header raw of a file whose data part is dataBytes long.
func decodeHeader(raw []byte, dataBytes int64) (map[string]Tensor, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fmt.Errorf("%w: the header does not begin with '{'", ErrFormat)
	}
	r := strictjson.New(raw)
	tensors, metadata := map[string]Tensor{}, false
	err := r.Pairs(func(name string) error {
		if name != "__metadata__" {
			return readTensor(r, tensors, name)
		}
		if metadata {
			return errors.New("__metadata__ occurs twice")
		}
		metadata = true
		entries := 0
		return r.Object(func(string) error { // strings, which are not used
			if entries++; entries > MaxTensors {
				return r.Errorf("more than %d entries of __metadata__", MaxTensors)
			}
			_, err := r.String()
			return err
		})
	})
	if errors.Is(err, ErrFormat) || errors.Is(err, ErrDType) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: header: %v", ErrFormat, err)
	}
	if rest := strings.TrimLeft(r.Rest(), " "); rest != "" {
		return nil, fmt.Errorf("%w: byte 0x%02x after the header's JSON, only spaces may follow", ErrFormat, rest[0])
	}
	return tensors, checkCover(tensors, dataBytes)
}

// checkCover requires that the tensors are consecutive from the first byte of the data to the last:
// shared or skipped bytes could expand a small file or carry something else.
func checkCover(tensors map[string]Tensor, dataBytes int64) error {
	order := slices.SortedFunc(maps.Values(tensors), func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) // tensors of no bytes come before the one that shares their begin
	})
	at := int64(0)
	for _, t := range order {
		if t.begin != at {
			return fmt.Errorf("%w: tensor %q begins at byte %d of the data, want %d (no gap, no overlap)", ErrFormat, t.Name, t.begin, at)
		}
		at = t.end
	}
	if at > dataBytes {
		return fmt.Errorf("%w: the tensors end at byte %d of the data, the file has %d; it is incomplete, as after an interrupted download", ErrFormat, at, dataBytes)
	}
	if at != dataBytes {
		return fmt.Errorf("%w: the tensors end at byte %d of the data, the file has %d", ErrFormat, at, dataBytes)
	}
	return nil
}

// numbers reads an array of at most limit non-negative integers below 2^63, written without sign,
// fraction or exponent.
func numbers(r *strictjson.Reader, limit int) ([]int64, error) {
	ns := []int64{}
	err := r.Array(func() error {
		if len(ns) == limit {
			return r.Errorf("more than %d numbers", limit)
		}
		n, err := r.Integer(math.MaxInt64)
		ns = append(ns, n)
		return err
	})
	return ns, err
}

// readTensor reads the header's entry for the tensor called name.
func readTensor(r *strictjson.Reader, tensors map[string]Tensor, name string) error {
	if len(name) > MaxNameBytes {
		return fmt.Errorf("a tensor name of %d bytes, at most %d are allowed", len(name), MaxNameBytes)
	}
	if _, dup := tensors[name]; dup {
		return fmt.Errorf("tensor %q occurs twice", name)
	}
	if len(tensors) == MaxTensors {
		return fmt.Errorf("more than %d tensors", MaxTensors)
	}
	var dtype string
	var shape, offsets []int64
	err := r.Object(func(key string) (err error) {
		switch key {
		case "dtype":
			dtype, err = r.String()
		case "shape":
			shape, err = numbers(r, MaxRank)
		case "data_offsets":
			offsets, err = numbers(r, 2)
		default:
			err = errors.New("unknown key, want dtype, shape, data_offsets")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	t, err := newTensor(name, DType(dtype), shape, offsets)
	if err != nil {
		return err
	}
	tensors[name] = t
	return nil
}

// newTensor checks that shape and dtype give the length of the byte range.
func newTensor(name string, dtype DType, shape, offsets []int64) (Tensor, error) {
	fail := func(format string, args ...any) (Tensor, error) {
		return Tensor{}, fmt.Errorf("%w: tensor %q: %s", ErrFormat, name, fmt.Sprintf(format, args...))
	}
	width, known := dtypeBits[dtype]
	if !known {
		return Tensor{}, fmt.Errorf("%w: tensor %q: %q is none of the format's", ErrDType, name, dtype)
	}
	if shape == nil || len(offsets) != 2 {
		return fail("shape and two data_offsets are needed, got %v and %v", shape, offsets)
	}
	begin, end := offsets[0], offsets[1]
	if begin > end {
		return fail("data_offsets [%d, %d]: the begin lies after the end", begin, end)
	}
	elements := uint64(1)
	t := Tensor{Name: name, DType: dtype, Shape: make([]int, len(shape)), begin: begin, end: end}
	for i, n := range shape {
		hi, lo := bits.Mul64(elements, uint64(n))
		if hi != 0 || lo > 1<<60 || n > 1<<60 {
			return fail("shape %v: the product overflows", shape)
		}
		elements, t.Shape[i] = lo, int(n)
	}
	hi, size := bits.Mul64(elements, width)
	if hi != 0 || size%8 != 0 {
		return fail("shape %v of %s is no whole number of bytes", shape, dtype)
	}
	if size/8 != uint64(end-begin) {
		return fail("shape %v of %s takes %d bytes, data_offsets [%d, %d] hold %d", shape, dtype, size/8, begin, end, end-begin)
	}
	t.elements = int(elements)
	return t, nil
}
