//go:build !purego

package simd

import (
	"sync"
	"unsafe"
)

func rowRange(x []float32) (lo, hi float32) {
	if active == Go {
		return rowRangeGo(x)
	}
	for len(x) > 0 {
		n := min(len(x), longest)
		least, most := rowRangeNEON(first(x), n)
		lo, hi = min(lo, least), max(hi, most)
		x = x[n:]
	}
	return lo, hi
}

// rowsInt8 is a block of rows rounded to bytes less 128, because the products are those of signed
// bytes.
type rowsInt8 struct {
	data  []int8 // [rows, 4·groups]
	scale []float32
	zero  []int32 // less 128, too
}

var rowsInt8Pool = sync.Pool{New: func() any { return new(rowsInt8) }}

func (q *rowsInt8) grow(rows, width int) {
	if len(q.data) < rows*width {
		q.data = make([]int8, rows*width)
	}
	if len(q.scale) < rows {
		q.scale, q.zero = make([]float32, rows), make([]int32, rows)
	}
}

// set rounds x [rows, in]; width is in rounded up to whole groups. The weights of the bytes after
// in are zero, so these are undefined.
func (q *rowsInt8) set(x []float32, rows, in, width int) {
	for r := range rows {
		from, dst := x[r*in:(r+1)*in], q.data[r*width:]
		scale, inverse, zero := steps(rowRange(from))
		whole := in &^ 7
		quantizeNEON(&dst[0], &from[0], whole, inverse, zero)
		var rest [8]uint8
		quantizeRowGo(rest[:], from[whole:], inverse, zero)
		for i := range in - whole {
			dst[whole+i] = int8(rest[i] ^ 128)
		}
		q.scale[r], q.zero[r] = scale, zero-128
	}
}

func (m *MatrixInt8) mul(dst, x []float32, rows, from, to int, e Epilogue) {
	if active == Go || m.in == 0 {
		m.mulGo(dst, x, rows, from, to, e)
		return
	}
	q := rowsInt8Pool.Get().(*rowsInt8)
	defer rowsInt8Pool.Put(q)
	width := 4 * m.groups
	block := blockRows(rows, width/2) // a quarter of the bytes of float32, and the other half for dst
	q.grow(block, width)
	for r := 0; r < rows; r += block {
		n := min(block, rows-r)
		q.set(x[r*m.in:(r+n)*m.in], n, m.in, width)
		b := e
		if e.Residual != nil {
			b.Residual = e.Residual[r*m.out:]
		}
		for col := from; col < to; col += panelWidth {
			cols := min(panelWidth, to-col)
			m.mulPanel(dst[r*m.out:], q, n, col, cols, &b)
			activateTile(dst[r*m.out+col:], m.out, n, cols, e.Act)
		}
	}
}

// mulPanel is that of Matrix, for the columns col..col+n of one panel.
func (m *MatrixInt8) mulPanel(dst []float32, q *rowsInt8, rows, col, n int, e *Epilogue) {
	for j := 0; j < n; {
		s := tileShape(rows, n-j)
		count := (rows + s.rows - 1) / s.rows
		for t := range count {
			r := rows * t / count
			height := rows*(t+1)/count - r
			at := r*m.out + col + j
			if j+s.cols <= n {
				bias, residual := e.at(at, col+j)
				m.tile(s, &dst[at], m.out, q, r, height, col+j, bias, residual)
				continue
			}
			var tile [tileSize]float32
			m.tile(s, &tile[0], s.cols, q, r, height, col+j, nil, nil)
			e.storeTile(dst, tile[:], s.cols, n-j, height, r, col+j, m.out)
		}
		j += s.cols
	}
}

// tile multiplies the rows r..r+rows of q with the columns from col on.
func (m *MatrixInt8) tile(s shape, c *float32, ldc int, q *rowsInt8, r, rows, col int, bias, residual *float32) {
	a, b := &q.data[r*4*m.groups], &m.data[(col/panelWidth*m.groups*panelWidth+col%panelWidth)*4]
	scale, zero, colScale, colSum := &q.scale[r], &q.zero[r], &m.scale[col], &m.sum[col]
	switch dot := active == NEONDot; { // no variable of type func, through which pointers would escape
	case dot && s.cols == 32:
		gemmInt8x8NEONDot(c, ldc, a, m.groups, b, m.groups, rows, scale, zero, colScale, colSum, bias, residual, m.out)
	case dot && s.cols == 16:
		gemmInt8x4NEONDot(c, ldc, a, m.groups, b, m.groups, rows, scale, zero, colScale, colSum, bias, residual, m.out)
	case dot:
		gemmInt8x2NEONDot(c, ldc, a, m.groups, b, m.groups, rows, scale, zero, colScale, colSum, bias, residual, m.out)
	case s.cols == 32:
		gemmInt8x8NEON(c, ldc, a, m.groups, b, m.groups, rows, scale, zero, colScale, colSum, bias, residual, m.out)
	case s.cols == 16:
		gemmInt8x4NEON(c, ldc, a, m.groups, b, m.groups, rows, scale, zero, colScale, colSum, bias, residual, m.out)
	default:
		gemmInt8x2NEON(c, ldc, a, m.groups, b, m.groups, rows, scale, zero, colScale, colSum, bias, residual, m.out)
	}
}

func dotInt8(a, b []int8) int32 {
	if active == Go {
		return dotInt8Go(a, b)
	}
	var sum int32
	for len(a) >= 16 {
		n := min(len(a)&^15, 4*longest)
		if active == NEONDot {
			sum += dotInt8NEONDot(unsafe.SliceData(a), unsafe.SliceData(b), n)
		} else {
			sum += dotInt8NEON(unsafe.SliceData(a), unsafe.SliceData(b), n)
		}
		a, b = a[n:], b[n:]
	}
	return sum + dotInt8Go(a, b)
}

func dotRowsInt8(dst []int32, q, base []int8, ids []uint32) {
	whole := len(q) &^ 15
	if active == Go || whole == 0 {
		dotRowsInt8Go(dst, q, base, ids)
		return
	}
	for len(ids) >= 4 {
		n := min(len(ids), max(4, 4*longest/len(q))) &^ 3
		d, r := unsafe.SliceData(dst), unsafe.SliceData(ids)
		if active == NEONDot {
			dotRowsInt8NEONDot(d, unsafe.SliceData(q), unsafe.SliceData(base), r, n, whole, len(q))
		} else {
			dotRowsInt8NEON(d, unsafe.SliceData(q), unsafe.SliceData(base), r, n, whole, len(q))
		}
		if whole < len(q) {
			for i, id := range ids[:n] {
				dst[i] += dotInt8Go(q[whole:], base[int(id)*len(q)+whole:][:len(q)-whole])
			}
		}
		dst, ids = dst[n:], ids[n:]
	}
	for i, id := range ids {
		dst[i] = dotInt8(q, base[int(id)*len(q):][:len(q)])
	}
}
