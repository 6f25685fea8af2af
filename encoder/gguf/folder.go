package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"time"
)

// folder is the checkpoint that a file holds.
type folder struct {
	fsys    fs.FS
	name    string
	small   memory
	weights map[string]*weights // by path
}

// weights is a virtual model.safetensors.
type weights struct {
	header  []byte // with the eight bytes of its length
	tensors []stored
	size    int64
}

// stored is a tensor of it.
type stored struct {
	name  string
	from  *tensor // nil: zeros
	shape []int
	add   float32           // to every number
	row   func(row int) int // the row of the file for a row; nil: the same
	at    int64             // first byte in the virtual file
}

func (s *stored) len() int {
	n := 1
	for _, d := range s.shape {
		n *= d
	}
	return n
}

// Open reads the header of the file name in fsys and returns the checkpoint it holds. The weights
// are read from the file when the checkpoint's are.
func Open(fsys fs.FS, name string) (fs.FS, error) {
	in, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	at, ok := in.(io.ReaderAt)
	if !ok || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no regular file", ErrFormat, name)
	}
	f, err := readFile(at, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c, err := convert(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := &folder{fsys: fsys, name: name, small: memory{}, weights: map[string]*weights{}}
	for path, data := range c.files {
		b, err := json.Marshal(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s: %v", name, ErrFormat, path, err)
		}
		out.small[path] = b
	}
	if c.tokenizer != nil {
		out.small["tokenizer.json"] = c.tokenizer
	}
	for path, list := range c.weights {
		if out.weights[path], err = layOut(list); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// layOut writes the header of a model.safetensors with the tensors one after another.
func layOut(list []stored) (*weights, error) {
	type entry struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	w := &weights{tensors: list}
	entries, at := map[string]entry{}, int64(0)
	for i := range list {
		t := &list[i]
		end := at + 4*int64(t.len())
		entries[t.name] = entry{"F32", t.shape, [2]int64{at, end}}
		t.at, at = at, end
	}
	header, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	w.header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	for i := range list {
		list[i].at += int64(len(w.header))
	}
	w.size = int64(len(w.header)) + at
	return w, nil
}

// Open implements fs.FS.
func (f *folder) Open(name string) (fs.File, error) {
	w, ok := f.weights[name]
	if !ok {
		return f.small.Open(name)
	}
	in, err := f.fsys.Open(f.name)
	if err != nil {
		return nil, err
	}
	at, ok := in.(io.ReaderAt)
	if !ok {
		in.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	v := &virtual{weights: w, in: in, data: at, name: name}
	v.Reader = io.NewSectionReader(v, 0, w.size)
	return v, nil
}

// virtual is an open model.safetensors. Reading a part expands the blocks that it needs.
type virtual struct {
	io.Reader
	*weights
	in   fs.File
	data io.ReaderAt
	name string
}

func (v *virtual) Close() error               { return v.in.Close() }
func (v *virtual) Stat() (fs.FileInfo, error) { return info{v.name, v.size}, nil }

// ReadAt implements io.ReaderAt.
func (v *virtual) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 || off > v.size {
		return 0, &fs.PathError{Op: "read", Path: v.name, Err: fs.ErrInvalid}
	}
	if off < int64(len(v.header)) {
		n = copy(p, v.header[off:])
	}
	i, found := slices.BinarySearchFunc(v.tensors, off+int64(n), func(t stored, at int64) int {
		return int(min(1, max(-1, t.at-at)))
	})
	if !found && i > 0 {
		i--
	}
	for ; n < len(p) && i < len(v.tensors); i++ {
		t := &v.tensors[i]
		read, err := v.part(p[n:], t, off+int64(n)-t.at)
		if n += read; err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// part copies the bytes of one tensor from off on.
func (v *virtual) part(p []byte, t *stored, off int64) (n int, err error) {
	total := t.len()
	width := 1 // of a bias each number is a row
	if len(t.shape) > 1 {
		width = t.shape[len(t.shape)-1]
	}
	const most = 1 << 16
	for first := int(off / 4); n < len(p) && first < total; {
		count := min(total-first, (len(p)-n)/4+2, most)
		from := first
		if t.row != nil { // one row, or a part of it, at a time
			count = min(count, width-first%width)
			from = t.row(first/width)*width + first%width
		}
		x := make([]float32, count)
		if t.from != nil {
			if err := v.expand(x, t.from, from); err != nil {
				return n, err
			}
		}
		b := make([]byte, 0, 4*count)
		for _, f := range x {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f+t.add))
		}
		n += copy(p[n:], b[off+int64(n)-4*int64(first):])
		first += count
	}
	return n, nil
}

// expand reads the numbers of a tensor from number from on.
func (v *virtual) expand(dst []float32, t *tensor, from int) error {
	k := t.kind
	first, last := from/k.block, (from+len(dst)-1)/k.block
	raw := make([]byte, (last-first+1)*k.bytes)
	if n, err := v.data.ReadAt(raw, t.offset+int64(first)*int64(k.bytes)); n < len(raw) {
		return fmt.Errorf("%s: %w: %v", v.name, io.ErrUnexpectedEOF, err)
	}
	block := make([]float32, k.block)
	for i, at := 0, from-first*k.block; i < len(dst); raw, at = raw[k.bytes:], 0 {
		k.expand(block, raw)
		i += copy(dst[i:], block[at:])
	}
	return nil
}

// info describes the virtual file.
type info struct {
	name string
	size int64
}

func (i info) Name() string     { return i.name }
func (i info) Size() int64      { return i.size }
func (info) Mode() fs.FileMode  { return 0o444 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }

// memory holds small files by path.
type memory map[string][]byte

func (m memory) Open(name string) (fs.File, error) {
	b, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &smallFile{Reader: bytes.NewReader(b), info: info{name, int64(len(b))}}, nil
}

type smallFile struct {
	*bytes.Reader
	info info
}

func (f *smallFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *smallFile) Close() error               { return nil }
