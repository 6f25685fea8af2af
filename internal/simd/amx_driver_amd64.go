//go:build !purego

package simd

import "unsafe"

const (
	tileGroups = 16 // groups of four input channels in a tile of AMX
	tileDepth  = 4 * tileGroups
	tileSums   = 2 * 2 * 16 * 16

	// amxBehind is how many rows after the last the kernels read, because the blocks of a call have
	// equal heights; their products are discarded.
	amxBehind = 31

	// amxRows and amxCols are the largest part of dst that one call of a kernel writes: large
	// enough for the tile configuration, which takes as long as ten tile products, to be
	// negligible; small enough to stay in the first-level cache for the activation.
	amxRows = 64
	amxCols = 4 * panelWidth

	// amxDeepest is the number of input channels up to which the kernels can split a sum of weights
	// into two words.
	amxDeepest = 1 << 15
)

// amxLeast is the least number of rows for which tiles are used. From six rows on a product alone
// is faster, but a short query is not: reading the weights limits it, and its processor time grew
// by a quarter. A variable for tests, which send every shape through the tiles.
var amxLeast = 16

// tiled reports whether the product of rows rows uses AMX tiles.
func (m *MatrixInt8) tiled(rows int) bool {
	return active >= AMX && rows >= amxLeast && m.in <= amxDeepest
}

// tiles prepares rows rows for tiles: it clears the bytes after the in bytes of each row up to
// width, which are multiplied by weights of other channels, and stores with the zero of each row
// its 128-fold, by which the kernels multiply the halves of a sum of weights.
func (q *rowsInt8) tiles(rows, in, width int) {
	for r := range rows {
		if in < width {
			clear(q.data[r*width+in : (r+1)*width])
		}
		q.zero[r] |= q.zero[r] << 23
	}
	if q.sums == nil {
		q.sums = alignedFloats(tileSums)
	}
}

// mulTiles passes each panel of weights over all rows; the rows of q are whole tiles wide.
func (m *MatrixInt8) mulTiles(dst []float32, q *rowsInt8, rows, from, to int, e Epilogue) {
	for col := from; col < to; col += amxCols {
		cols := min(amxCols, to-col)
		for r := 0; r < rows; r += amxRows {
			n := min(amxRows, rows-r)
			m.part(dst, q, r, n, col, cols, e)
			if e.Act != Identity {
				activateTile(dst[r*m.out+col:], m.out, n, cols, e.Act)
			}
		}
	}
}

// part multiplies the rows r..r+rows of q with the columns col..col+cols.
func (m *MatrixInt8) part(dst []float32, q *rowsInt8, r, rows, col, cols int, e Epilogue) {
	steps := (m.groups + tileGroups - 1) / tileGroups
	lda := steps * tileDepth
	at := r*m.out + col
	bias, residual := e.at(at, col)
	then := m.start() + uintptr((col+cols+panelWidth-1)/panelWidth*m.groups*panelBytes)
	if col+cols == m.out && e.Then != nil {
		then = e.Then.start()
	}
	multiply, height := gemmInt8AMXSingle, rows
	if rows > 16 {
		blocks := (rows + 31) / 32
		multiply, height = gemmInt8AMX, (rows+blocks-1)/blocks
	}
	multiply(&dst[at], m.out, &q.data[r*lda], lda, &m.data[col*m.groups*4], m.groups*panelBytes, steps, rows, height, cols,
		&q.scale[r], &q.zero[r], &m.scale[col], &m.sum[col], bias, residual, (*int32)(unsafe.Pointer(unsafe.SliceData(q.sums))), then)
}
