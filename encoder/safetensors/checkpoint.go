package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"sync"
)

// File names in a checkpoint's folder.
const (
	SingleName = "model.safetensors"
	IndexName  = "model.safetensors.index.json"
)

// Checkpoint is the set of tensors of one file or of several shards. Its methods are safe for
// concurrent use until Close.
type Checkpoint struct {
	shards  []*shard
	tensors map[string]located
}

type located struct {
	Tensor
	in *shard
}

type shard struct {
	name  string
	file  fs.File
	data  io.ReaderAt
	size  int64 // of the whole file
	start int64 // of the data part
}

// Open opens the checkpoint in the folder dir ("." for the root of fsys): model.safetensors, or
// else the shards that model.safetensors.index.json names. It reads and checks the headers only.
func Open(fsys fs.FS, dir string) (*Checkpoint, error) {
	name := path.Join(dir, SingleName)
	c, err := OpenFile(fsys, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	index := path.Join(dir, IndexName)
	raw, indexErr := readLimited(fsys, index, MaxHeaderBytes)
	if errors.Is(indexErr, fs.ErrNotExist) {
		return nil, fmt.Errorf("safetensors: neither %s nor %s exists%s: %w", name, index, instead(fsys, dir), fs.ErrNotExist)
	}
	if indexErr != nil {
		return nil, indexErr
	}
	return openShards(fsys, dir, index, raw)
}

// instead names weights in a format that is not read, and how to convert them.
func instead(fsys fs.FS, dir string) string {
	for _, name := range []string{"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack", "onnx/model.onnx"} {
		if _, err := fs.Stat(fsys, path.Join(dir, name)); err == nil {
			return fmt.Sprintf(", and %s is not read; load and save the checkpoint with a current sentence-transformers or transformers, which write safetensors", name)
		}
	}
	return ""
}

// OpenFile opens one file.
func OpenFile(fsys fs.FS, name string) (*Checkpoint, error) {
	s, tensors, err := openShard(fsys, name)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{shards: []*shard{s}, tensors: make(map[string]located, len(tensors))}
	for n, t := range tensors {
		c.tensors[n] = located{t, s}
	}
	return c, nil
}

func openShards(fsys fs.FS, dir, index string, raw []byte) (*Checkpoint, error) {
	weightMap, err := decodeIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", index, err)
	}
	c := &Checkpoint{tensors: map[string]located{}}
	for _, file := range slices.Compact(slices.Sorted(maps.Values(weightMap))) {
		s, tensors, err := openShard(fsys, path.Join(dir, file))
		if err != nil {
			c.Close()
			return nil, err
		}
		c.shards = append(c.shards, s)
		for n, t := range tensors {
			if weightMap[n] == file { // the index may assign the tensor to another file
				c.tensors[n] = located{t, s}
			}
		}
	}
	for n, file := range weightMap {
		if _, ok := c.tensors[n]; !ok {
			c.Close()
			return nil, fmt.Errorf("%w: %s puts tensor %q into %s, which lacks it", ErrFormat, index, n, file)
		}
	}
	return c, nil
}

func openShard(fsys fs.FS, name string) (_ *shard, _ map[string]Tensor, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w: not a regular file", ErrFormat)
	}
	s := &shard{name: name, file: f, size: info.Size()}
	if at, ok := f.(io.ReaderAt); ok {
		s.data = at
	} else { // file systems without random access: hold the bytes
		b, err := io.ReadAll(io.LimitReader(f, s.size))
		if err != nil {
			return nil, nil, err
		}
		s.data = bytes.NewReader(b)
	}
	tensors, err := s.readHeader()
	return s, tensors, err
}

func (s *shard) readHeader() (map[string]Tensor, error) {
	if s.size < 8 {
		return nil, fmt.Errorf("%w: %d bytes, too short for a header length", ErrFormat, s.size)
	}
	var prefix [8]byte
	if err := readAt(s.data, prefix[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if string(prefix[:]) == "version " {
		return nil, fmt.Errorf("%w: a pointer of git-lfs, not the file itself; `git lfs pull` fetches it", ErrFormat)
	}
	if n > MaxHeaderBytes {
		return nil, fmt.Errorf("%w: a header of %d bytes, at most %d are allowed", ErrFormat, n, MaxHeaderBytes)
	}
	if int64(n) > s.size-8 {
		return nil, fmt.Errorf("%w: a header of %d bytes in a file of %d; it is incomplete, or no safetensors", ErrFormat, n, s.size)
	}
	raw := make([]byte, n)
	if err := readAt(s.data, raw, 8); err != nil {
		return nil, err
	}
	s.start = 8 + int64(n)
	return decodeHeader(raw, s.size-s.start)
}

// readAt fills b; it is an error if the file has become shorter since its size was read.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%d bytes at offset %d: %w", len(b), off, err)
}

// Close closes the files.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, s := range c.shards {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}

// Tensor describes the tensor called name.
func (c *Checkpoint) Tensor(name string) (Tensor, bool) {
	t, ok := c.tensors[name]
	return t.Tensor, ok
}

// Names lists all tensors, sorted.
func (c *Checkpoint) Names() []string {
	return slices.Sorted(maps.Keys(c.tensors))
}

// chunks holds the read buffers of Float32, so that tensors are not allocated twice.
var chunks = sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}

// Float32 reads a tensor of dtype F32, F16, BF16 or F64 as float32, row-major, and one of dtype I8
// with its scales (see ScalesOf). A NaN or an infinity is refused, since it would spread to every
// vector. Errors: ErrDType for other dtypes, ErrFormat for a missing tensor, wrong scales or a
// value that is not finite.
func (c *Checkpoint) Float32(name string) ([]float32, error) {
	t, ok := c.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: no tensor %q", ErrFormat, name)
	}
	if t.DType == I8 {
		return c.scaled(name, t)
	}
	return c.plain(name, t)
}

// Numbers is Float32, but an I8 tensor without scales is read as integers.
func (c *Checkpoint) Numbers(name string) ([]float32, error) {
	t, ok := c.tensors[name]
	if _, scales := c.tensors[ScalesOf(name)]; ok && !scales && t.DType == I8 {
		return c.plain(name, t)
	}
	return c.Float32(name)
}

// ScalesOf names the tensor that holds the scales of the rows of an I8 tensor: row r of the matrix
// is its bytes times scale r.
func ScalesOf(name string) string { return name + ".scales" }

// scaled reads an I8 matrix [rows, columns] and multiplies each row by its scale.
func (c *Checkpoint) scaled(name string, t located) ([]float32, error) {
	s, ok := c.tensors[ScalesOf(name)]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: %s: tensor %q is I8 and has no %q", ErrFormat, t.in.name, name, ScalesOf(name))
	case len(t.Shape) != 2 || s.DType == I8 || !slices.Equal(s.Shape, t.Shape[:1]):
		return nil, fmt.Errorf("%w: %s: tensor %q is I8 %v, its %q is %s %v, want a matrix and one float for each row",
			ErrFormat, t.in.name, name, t.Shape, ScalesOf(name), s.DType, s.Shape)
	}
	scales, err := c.plain(ScalesOf(name), s)
	if err != nil {
		return nil, err
	}
	dst := make([]float32, t.elements)
	raw := make([]byte, len(dst)/max(len(scales), 1))
	for r, scale := range scales {
		row := dst[r*len(raw) : (r+1)*len(raw)]
		if err := readAt(t.in.data, raw, t.in.start+t.begin+int64(r*len(raw))); err != nil {
			return nil, fmt.Errorf("%s: tensor %q: %w", t.in.name, name, err)
		}
		for i, b := range raw {
			row[i] = float32(int8(b)) * scale
		}
		if i := notFinite(row); i >= 0 {
			return nil, fmt.Errorf("%w: %s: tensor %q: element %d is %v, want finite numbers", ErrFormat, t.in.name, name, r*len(row)+i, row[i])
		}
	}
	return dst, nil
}

// plain reads the elements of a tensor as they are.
func (c *Checkpoint) plain(name string, t located) ([]float32, error) {
	if err := t.DType.float(nil, nil); err != nil {
		return nil, fmt.Errorf("%s: tensor %q: %w", t.in.name, name, err)
	}
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	dst := make([]float32, t.elements)
	width := int(dtypeBits[t.DType] / 8)
	per := len(*buf) / width
	for done := 0; done < len(dst); done += per {
		part := dst[done:min(done+per, len(dst))]
		raw := (*buf)[:len(part)*width]
		if err := readAt(t.in.data, raw, t.in.start+t.begin+int64(done*width)); err != nil {
			return nil, fmt.Errorf("%s: tensor %q: %w", t.in.name, name, err)
		}
		if err := t.DType.float(part, raw); err != nil {
			return nil, err
		}
		if i := notFinite(part); i >= 0 {
			return nil, fmt.Errorf("%w: %s: tensor %q: element %d is %v, want finite numbers", ErrFormat, t.in.name, name, done+i, part[i])
		}
	}
	return dst, nil
}

// notFinite returns the index of the first NaN or infinity, or -1.
func notFinite(x []float32) int {
	for i, v := range x {
		if math.Float32bits(v)&0x7f800000 == 0x7f800000 {
			return i
		}
	}
	return -1
}

// SHA256 hashes the bytes of the files, shards in the order of their names.
func (c *Checkpoint) SHA256() ([32]byte, error) {
	h := sha256.New()
	for _, s := range c.shards {
		if _, err := io.Copy(h, io.NewSectionReader(s.data, 0, s.size)); err != nil {
			return [32]byte{}, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return [32]byte(h.Sum(nil)), nil
}

// Int64 reads a tensor of dtype I64 or I32. Errors as Float32.
func (c *Checkpoint) Int64(name string) ([]int64, error) {
	t, ok := c.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: no tensor %q", ErrFormat, name)
	}
	if t.DType != "I64" && t.DType != "I32" {
		return nil, fmt.Errorf("%s: tensor %q: %w: %s, want I64 or I32", t.in.name, name, ErrDType, t.DType)
	}
	raw := make([]byte, t.end-t.begin)
	if err := readAt(t.in.data, raw, t.in.start+t.begin); err != nil {
		return nil, fmt.Errorf("%s: tensor %q: %w", t.in.name, name, err)
	}
	dst := make([]int64, t.elements)
	for i := range dst {
		if t.DType == "I64" {
			dst[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		} else {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		}
	}
	return dst, nil
}
