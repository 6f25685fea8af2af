package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Errors of a malformed file. ErrFormat covers all but those that have a name of their own.
var (
	ErrFormat = errors.New("safetensors: malformed file")
	ErrDType  = errors.New("safetensors: unsupported dtype")
)

// Limits of what a header may ask for. The format itself allows a header of 100,000,000 bytes; the largest encoders need less than one
// hundredth of these figures.
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
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("%w: the header is not UTF-8", ErrFormat)
	}
	d := &headerDecoder{dec: json.NewDecoder(bytes.NewReader(raw))}
	d.dec.UseNumber()
	tensors, metadata := map[string]Tensor{}, false
	err := d.object(func(name string) error {
		if name != "__metadata__" {
			return d.tensor(tensors, name)
		}
		if metadata {
			return fmt.Errorf("%w: __metadata__ occurs twice", ErrFormat)
		}
		metadata = true
		return d.metadata()
	})
	if err != nil {
		return nil, err
	}
	for _, b := range raw[d.dec.InputOffset():] {
		if b != ' ' {
			return nil, fmt.Errorf("%w: byte 0x%02x after the header's JSON, only spaces may follow", ErrFormat, b)
		}
	}
	return tensors, checkCover(tensors, dataBytes)
}

// checkCover wants the tensors to lie one after another, from the first byte of the data to its last. Shared or skipped bytes would let
// a small file stand for a large one, or carry something else.
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
	if at != dataBytes {
		return fmt.Errorf("%w: the tensors end at byte %d of the data, the file has %d", ErrFormat, at, dataBytes)
	}
	return nil
}

// headerDecoder walks the header's tokens. encoding/json's Unmarshal would keep the last of two equal keys without a word.
type headerDecoder struct{ dec *json.Decoder }

func (d *headerDecoder) token() (json.Token, error) {
	t, err := d.dec.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%w: header: %v", ErrFormat, err)
	}
	return t, nil
}

func (d *headerDecoder) delim(want json.Delim, what string) error {
	t, err := d.token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%w: %s: got %v, want %q", ErrFormat, what, t, rune(want))
	}
	return nil
}

// object reads an object and calls member after each key; member reads the value.
func (d *headerDecoder) object(member func(key string) error) error {
	if err := d.delim('{', "header"); err != nil {
		return err
	}
	for d.dec.More() {
		key, err := d.str("key")
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
	return d.delim('}', "header")
}

func (d *headerDecoder) str(what string) (string, error) {
	t, err := d.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("%w: %s: got %v, want a string", ErrFormat, what, t)
	}
	return s, nil
}

// numbers reads an array of at most limit non-negative integers below 2^63, written without sign, fraction or exponent.
func (d *headerDecoder) numbers(what string, limit int) ([]int64, error) {
	if err := d.delim('[', what); err != nil {
		return nil, err
	}
	ns := []int64{}
	for d.dec.More() {
		if len(ns) == limit {
			return nil, fmt.Errorf("%w: %s: more than %d numbers", ErrFormat, what, limit)
		}
		t, err := d.token()
		if err != nil {
			return nil, err
		}
		num, ok := t.(json.Number)
		n, err := strconv.ParseUint(string(num), 10, 63)
		if !ok || err != nil {
			return nil, fmt.Errorf("%w: %s: got %v, want an integer from 0 to 2^63-1", ErrFormat, what, t)
		}
		ns = append(ns, int64(n))
	}
	return ns, d.delim(']', what)
}

// tensor reads what the header says of the tensor called name.
func (d *headerDecoder) tensor(tensors map[string]Tensor, name string) error {
	if len(name) > MaxNameBytes {
		return fmt.Errorf("%w: a tensor name of %d bytes, at most %d are allowed", ErrFormat, len(name), MaxNameBytes)
	}
	if _, dup := tensors[name]; dup {
		return fmt.Errorf("%w: tensor %q occurs twice", ErrFormat, name)
	}
	if len(tensors) == MaxTensors {
		return fmt.Errorf("%w: more than %d tensors", ErrFormat, MaxTensors)
	}
	var dtype string
	var shape, offsets []int64
	seen := map[string]bool{}
	err := d.object(func(key string) (err error) {
		what := fmt.Sprintf("tensor %q: %s", name, key)
		if seen[key] {
			return fmt.Errorf("%w: %s occurs twice", ErrFormat, what)
		}
		seen[key] = true
		switch key {
		case "dtype":
			dtype, err = d.str(what)
		case "shape":
			shape, err = d.numbers(what, MaxRank)
		case "data_offsets":
			offsets, err = d.numbers(what, 2)
		default:
			err = fmt.Errorf("%w: %s: unknown key, want dtype, shape, data_offsets", ErrFormat, what)
		}
		return err
	})
	if err != nil {
		return err
	}
	t, err := newTensor(name, DType(dtype), shape, offsets)
	if err != nil {
		return err
	}
	tensors[name] = t
	return nil
}

// metadata checks __metadata__, an object of strings; nothing here needs what they say.
func (d *headerDecoder) metadata() error {
	seen := map[string]bool{}
	return d.object(func(key string) error {
		if seen[key] {
			return fmt.Errorf("%w: __metadata__ %q occurs twice", ErrFormat, key)
		}
		seen[key] = true
		_, err := d.str("__metadata__ " + strconv.Quote(key))
		return err
	})
}

// newTensor checks that shape times dtype is the length of the byte range.
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
