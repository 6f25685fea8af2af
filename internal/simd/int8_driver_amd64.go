//go:build !purego

package simd

import (
	"sync"
	"unsafe"
)

func rowRange(x []float32) (lo, hi float32) {
	switch active {
	case Go:
		return rowRangeGo(x)
	case AVX2:
		return rowRangeAVX2(first(x), len(x))
	}
	return rowRangeAVX512(first(x), len(x))
}

// rowsInt8 is a block of rows rounded to bytes.
type rowsInt8 struct {
	data  []uint8 // [rows, 4·groups]
	scale []float32
	zero  []int32
	sums  []float32 // room for a block of tiles, as int32
}

var rowsInt8Pool = sync.Pool{New: func() any { return new(rowsInt8) }}

// slack is how far after the end of a row the rounding kernels write.
const slack = 16

func (q *rowsInt8) grow(rows, width int) {
	if len(q.data) < rows*width+slack {
		q.data = make([]uint8, rows*width+slack)
	}
	if len(q.scale) < rows {
		q.scale, q.zero = make([]float32, rows), make([]int32, rows)
	}
}

// set rounds x [rows, in]; width is in rounded up to whole groups. The weights of the bytes after
// in are zero, so these are undefined.
func (q *rowsInt8) set(x []float32, rows, in, width int) {
	for r := 0; r < rows; {
		n := min(rows-r, max(1, longest/in))
		dst, from := &q.data[r*width], &x[r*in]
		if active == AVX2 {
			quantizeRowsAVX2(dst, width, from, n, in, &q.scale[r], &q.zero[r])
		} else {
			quantizeRowsAVX512(dst, width, from, n, in, &q.scale[r], &q.zero[r])
		}
		r += n
	}
}

func (m *MatrixInt8) mul(dst, x []float32, rows, from, to int, e Epilogue) {
	if active == Go || m.in == 0 {
		m.mulGo(dst, x, rows, from, to, e)
		return
	}
	q := rowsInt8Pool.Get().(*rowsInt8)
	defer rowsInt8Pool.Put(q)
	width, tiled := 4*m.groups, m.tiled(rows)
	if tiled {
		width = (width + tileDepth - 1) / tileDepth * tileDepth
	}
	block := blockRows(rows, width/2) // a quarter of the bytes of float32, and the other half for dst
	if tiled {
		q.grow(block+amxBehind, width)
	} else {
		q.grow(block, width)
	}
	for r := 0; r < rows; r += block {
		n := min(block, rows-r)
		q.set(x[r*m.in:(r+n)*m.in], n, m.in, width)
		b := e
		if e.Residual != nil {
			b.Residual = e.Residual[r*m.out:]
		}
		if tiled {
			q.tiles(n, m.in, width)
			m.mulTiles(dst[r*m.out:], q, n, from, to, b)
		} else {
			m.mulBlock(dst[r*m.out:], q, n, from, to, b)
		}
	}
}

// mulBlock is that of Matrix.
func (m *MatrixInt8) mulBlock(dst []float32, q *rowsInt8, rows, from, to int, e Epilogue) {
	narrow := shape{14, panelWidth}
	if active < AVX512VNNI {
		narrow = shape{4, 16}
	}
	tiles(narrow, rows, from, to, m.start(), m.groups, e.Then, func(s shape, r, n, col, cols int, p prefetch) {
		at := r*m.out + col
		bias, residual := e.at(at, col)
		m.tile(&dst[at], q, s, r, n, col, cols, bias, residual, p)
		if e.Act != Identity {
			activateTile(dst[at:], m.out, n, cols, e.Act)
		}
	})
}

// tile multiplies the rows r..r+rows of q with the columns col..col+cols.
func (m *MatrixInt8) tile(c *float32, q *rowsInt8, s shape, r, rows, col, cols int, bias, residual *float32, p prefetch) {
	width := 4 * m.groups
	a, b := &q.data[r*width], &m.data[(col/panelWidth*m.groups*panelWidth+col%panelWidth)*4]
	gap, scale, zero, colScale, colSum := m.groups*panelBytes, &q.scale[r], &q.zero[r], &m.scale[col], &m.sum[col]
	switch { // no variable of type func, through which pointers would escape
	case active < AVX512VNNI:
		gemmInt8AVX2(c, m.out, a, width, b, gap, m.groups, rows, cols, scale, zero, colScale, colSum, bias, residual, m.out, p.next, p.stride)
	case s == wide:
		gemmInt8WideVNNI(c, m.out, a, width, b, gap, m.groups, rows, cols, scale, zero, colScale, colSum, bias, residual, m.out, p.next, p.stride)
	default:
		gemmInt8VNNI(c, m.out, a, width, b, gap, m.groups, rows, cols, scale, zero, colScale, colSum, bias, residual, m.out, p.next, p.stride)
	}
}

func dotInt8(a, b []int8) int32 {
	switch {
	case active == Go:
		return dotInt8Go(a, b)
	case active >= AVX512VNNI:
		return dotInt8VNNI(unsafe.SliceData(a), unsafe.SliceData(b), len(a))
	}
	whole := len(a) &^ 15
	return dotInt8AVX2(unsafe.SliceData(a), unsafe.SliceData(b), whole) + dotInt8Go(a[whole:], b[whole:])
}

func dotRowsInt8(dst []int32, q, base []int8, ids []uint32) {
	if active == Go || len(q) == 0 {
		dotRowsInt8Go(dst, q, base, ids)
		return
	}
	whole := len(q) &^ 15
	for len(ids) > 0 {
		n := min(len(ids), max(4, 4*longest/len(q)))
		d, r := unsafe.SliceData(dst), unsafe.SliceData(ids)
		if active >= AVX512VNNI {
			dotRowsInt8VNNI(d, unsafe.SliceData(q), unsafe.SliceData(base), r, n, len(q), len(q))
		} else {
			dotRowsInt8AVX2(d, unsafe.SliceData(q), unsafe.SliceData(base), r, n, whole, len(q))
			if whole < len(q) {
				for i, id := range ids[:n] {
					dst[i] += dotInt8Go(q[whole:], base[int(id)*len(q)+whole:][:len(q)-whole])
				}
			}
		}
		dst, ids = dst[n:], ids[n:]
	}
}
