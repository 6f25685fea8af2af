package hnsw

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

// Rows is a file of float32 rows, little-endian, without header, as a Source: ids are the numbers
// of rows. Where the system can, the file is mapped, so that its pages are the system's to keep or
// to drop.
type Rows struct {
	dim  int
	n    int
	file *os.File
	rows []float32 // mapped [n, dim]; nil where every row is read
}

var _ Source = (*Rows)(nil)

// OpenRows opens a file of rows of dim components. The file must not change while it is open.
func OpenRows(path string, dim int) (*Rows, error) {
	if dim < 1 || dim > MaxDim {
		return nil, fmt.Errorf("%w: dim = %d, want 1 to %d", ErrArgument, dim, MaxDim)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (info.Size() == 0 || info.Size()%int64(4*dim) != 0 || info.Size()/int64(4*dim) > maxNodes) {
		err = fmt.Errorf("%w: %s has %d bytes, want rows of %d, at most %d rows", ErrArgument, path, info.Size(), 4*dim, maxNodes)
	}
	if err != nil {
		_ = file.Close() // only read from
		return nil, err
	}
	r := &Rows{dim: dim, n: int(info.Size() / int64(4*dim)), file: file}
	r.rows = mapFloats(file, r.n*dim)
	return r, nil
}

// Len returns the number of rows.
func (r *Rows) Len() int { return r.n }

// Read implements Source.
func (r *Rows) Read(ctx context.Context, ids []uint32, each func(i int, v []float32)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.rows != nil {
		for i, id := range ids {
			if at := int(id) * r.dim; int(id) < r.n {
				each(i, r.rows[at:at+r.dim:at+r.dim])
			}
		}
		return nil
	}
	b, v := make([]byte, 4*r.dim), make([]float32, r.dim)
	for i, id := range ids {
		if int(id) >= r.n {
			continue
		}
		if _, err := r.file.ReadAt(b, int64(id)*int64(4*r.dim)); err != nil {
			return err
		}
		for j := range v {
			v[j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:]))
		}
		each(i, v)
	}
	return nil
}

// Close releases the file. Nothing may be reading.
func (r *Rows) Close() error {
	err := unmapFloats(r.rows)
	r.rows = nil
	if closeErr := r.file.Close(); err == nil {
		err = closeErr
	}
	return err
}
