package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// ErrFormat is a file that is no GGUF, is damaged, or holds a model that is not supported.
var ErrFormat = errors.New("gguf: bad file")

// Bounds of what a header may ask for. Beyond them, every count is held against the bytes that are
// left of the file before anything is allocated.
const (
	maxEntries = 1 << 16 // metadata, and tensors
	maxString  = 64 << 20
	maxArray   = 4 << 20
	maxName    = 256
)

// tensor is an entry of the file.
type tensor struct {
	shape  []int // row-major
	kind   *Type
	offset int64 // from the begin of the file
}

// len is the number of elements.
func (t *tensor) len() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// file is a header: metadata as int64, float64, bool, string, []string or []float64, and tensors.
type file struct {
	meta    map[string]any
	tensors map[string]*tensor
}

// scanner reads a header.
type scanner struct {
	r    *bufio.Reader
	size int64 // of the file
	at   int64
}

// readFile reads the header of a file of the given size.
func readFile(r io.ReaderAt, size int64) (*file, error) {
	s := &scanner{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16), size: size}
	f, err := s.file()
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: it ends at byte %d, within its header", ErrFormat, size)
		}
		return nil, err
	}
	return f, nil
}

func (s *scanner) file() (*file, error) {
	magic, err := s.bytes(4)
	if err != nil {
		return nil, err
	}
	if string(magic) != "GGUF" {
		return nil, fmt.Errorf("%w: it begins with %q, want GGUF", ErrFormat, magic)
	}
	version, err := s.uint32()
	if err != nil {
		return nil, err
	}
	if version != 2 && version != 3 {
		return nil, fmt.Errorf("%w: version %d, want 2 or 3", ErrFormat, version)
	}
	count, err := s.count("tensors", maxEntries, 1)
	if err != nil {
		return nil, err
	}
	pairs, err := s.count("metadata", maxEntries, 1)
	if err != nil {
		return nil, err
	}
	f := &file{meta: make(map[string]any), tensors: make(map[string]*tensor)}
	for range pairs {
		if err := s.pair(f.meta); err != nil {
			return nil, err
		}
	}
	alignment := int64(32)
	if n, ok := f.meta["general.alignment"].(int64); ok {
		if n < 1 || n > 1<<20 {
			return nil, fmt.Errorf("%w: general.alignment is %d, want 1 to %d", ErrFormat, n, 1<<20)
		}
		alignment = n
	}
	for range count {
		if err := s.tensor(f.tensors); err != nil {
			return nil, err
		}
	}
	start := (s.at + alignment - 1) / alignment * alignment
	for name, t := range f.tensors {
		bytes := int64(t.len()/t.kind.block) * int64(t.kind.bytes)
		if t.offset < 0 || t.offset > s.size-start || bytes > s.size-start-t.offset {
			return nil, fmt.Errorf("%w: tensor %q has %d bytes at offset %d, the file has %d after its header", ErrFormat, name, bytes, t.offset, max(0, s.size-start))
		}
		t.offset += start
	}
	return f, nil
}

// pair reads one entry of the metadata.
func (s *scanner) pair(meta map[string]any) error {
	key, err := s.string(maxName)
	if err != nil {
		return err
	}
	kind, err := s.uint32()
	if err != nil {
		return err
	}
	if kind != kindArray {
		meta[key], err = s.value(kind)
	} else {
		meta[key], err = s.array()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// Types of values.
const (
	kindUint8 = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
)

// kindBytes are the sizes of the types; of a string the least.
var kindBytes = []int64{1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8}

// value reads a value that is no array.
func (s *scanner) value(kind uint32) (any, error) {
	if kind == kindString {
		return s.string(maxString)
	}
	if int(kind) >= len(kindBytes) || kind == kindArray {
		return nil, fmt.Errorf("%w: a value of type %d, want 0 to %d", ErrFormat, kind, len(kindBytes)-1)
	}
	b, err := s.bytes(kindBytes[kind])
	if err != nil {
		return nil, err
	}
	var u uint64
	for i, x := range b {
		u |= uint64(x) << (8 * i)
	}
	switch kind {
	case kindInt8:
		return int64(int8(u)), nil
	case kindInt16:
		return int64(int16(u)), nil
	case kindInt32:
		return int64(int32(u)), nil
	case kindFloat32:
		return float64(math.Float32frombits(uint32(u))), nil
	case kindFloat64:
		return math.Float64frombits(u), nil
	case kindBool:
		return u != 0, nil
	}
	return int64(u), nil
}

// array reads strings, or numbers as float64.
func (s *scanner) array() (any, error) {
	kind, err := s.uint32()
	if err != nil {
		return nil, err
	}
	if int(kind) >= len(kindBytes) || kind == kindArray {
		return nil, fmt.Errorf("%w: an array of type %d, want strings or numbers", ErrFormat, kind)
	}
	n, err := s.count("elements", maxArray, kindBytes[kind])
	if err != nil {
		return nil, err
	}
	if kind == kindString {
		list := make([]string, 0, min(n, 1<<16))
		for range n {
			text, err := s.string(maxString)
			if err != nil {
				return nil, err
			}
			list = append(list, text)
		}
		return list, nil
	}
	list := make([]float64, n)
	for i := range list {
		v, err := s.value(kind)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case int64:
			list[i] = float64(v)
		case float64:
			list[i] = v
		case bool:
			if v {
				list[i] = 1
			}
		}
	}
	return list, nil
}

// tensor reads the description of a tensor; its offset counts from the begin of the data.
func (s *scanner) tensor(tensors map[string]*tensor) error {
	name, err := s.string(maxName)
	if err != nil {
		return err
	}
	if _, ok := tensors[name]; ok {
		return fmt.Errorf("%w: tensor %q is there twice", ErrFormat, name)
	}
	dims, err := s.uint32()
	if err != nil {
		return err
	}
	if dims < 1 || dims > 4 {
		return fmt.Errorf("%w: tensor %q has %d dimensions, want 1 to 4", ErrFormat, name, dims)
	}
	t := &tensor{shape: make([]int, dims)}
	total := int64(1)
	for i := range t.shape {
		n, err := s.uint64()
		if err != nil {
			return err
		}
		if n < 1 || n > math.MaxInt32 || int64(n) > math.MaxInt64/total/64 {
			return fmt.Errorf("%w: tensor %q has a dimension of %d", ErrFormat, name, n)
		}
		t.shape[i] = int(n)
		total *= int64(n)
	}
	kind, err := s.uint32()
	if err != nil {
		return err
	}
	if t.kind = typeOf(kind); t.kind == nil {
		return fmt.Errorf("%w: tensor %q is of type %d, want one of %s", ErrFormat, name, kind, typeNames())
	}
	if t.shape[0]%t.kind.block != 0 {
		return fmt.Errorf("%w: tensor %q of type %s has rows of %d, want a multiple of %d", ErrFormat, name, t.kind.Name, t.shape[0], t.kind.block)
	}
	offset, err := s.uint64()
	if err != nil {
		return err
	}
	if offset > math.MaxInt64/2 {
		return fmt.Errorf("%w: tensor %q at offset %d", ErrFormat, name, offset)
	}
	t.offset = int64(offset)
	slices.Reverse(t.shape)
	tensors[name] = t
	return nil
}

// bytes reads n bytes, which the file must have.
func (s *scanner) bytes(n int64) ([]byte, error) {
	if n > s.size-s.at {
		return nil, io.ErrUnexpectedEOF
	}
	b := make([]byte, n)
	_, err := io.ReadFull(s.r, b)
	s.at += n
	return b, err
}

func (s *scanner) uint32() (uint32, error) {
	b, err := s.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (s *scanner) uint64() (uint64, error) {
	b, err := s.bytes(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads how many things follow, each of which takes at least the given bytes.
func (s *scanner) count(what string, most int, bytes int64) (int, error) {
	n, err := s.uint64()
	if err != nil {
		return 0, err
	}
	if n > uint64(most) {
		return 0, fmt.Errorf("%w: %d %s, at most %d are allowed", ErrFormat, n, what, most)
	}
	if int64(n)*bytes > s.size-s.at {
		return 0, io.ErrUnexpectedEOF
	}
	return int(n), nil
}

func (s *scanner) string(most int) (string, error) {
	n, err := s.uint64()
	if err != nil {
		return "", err
	}
	if n > uint64(most) {
		return "", fmt.Errorf("%w: a string of %d bytes, at most %d are allowed", ErrFormat, n, most)
	}
	b, err := s.bytes(int64(n))
	return string(b), err
}
