//go:build !purego

package simd

import (
	"sync"
	"unsafe"
)

// tileShape is the rows and columns that one call of the active back end's widest gemm takes.
func tileShape() (rows, cols int) {
	if active == AVX2 {
		return 6, 16
	}
	return 14, 32
}

// prefetch is what a kernel fetches on the way: at each step of k a vector pair's bytes at next, which moves on by stride.
// next may lie outside of all memory, so it must not be a pointer.
type prefetch struct {
	next   uintptr
	stride int
}

// panelBytes is the distance of two steps of a packed panel: 32 float32, or 32 groups of four int8.
const panelBytes = 4 * panelWidth

// ahead is the prefetch for one of parts tiles that pass over the same panel of steps steps, at address panel. A panel comes
// from the last cache or from memory, several times more slowly than the first tile over it could read it; so the tiles
// share the next one among them. Where they are few that is too far ahead for the first-level cache, and each fetches what
// it will read 8 KiB later: 2 to 16 KiB serve alike.
func ahead(panel, following uintptr, steps, part, parts int) prefetch {
	const few, near = 3, 8192
	if parts < few {
		return prefetch{next: panel + near, stride: panelBytes}
	}
	stride := (panelBytes + parts - 1) / parts
	return prefetch{next: following + uintptr(part*steps*stride), stride: stride}
}

// gemm is one tile: c [rows, cols] = a [rows, k] · b [k, cols] + bias + residual, with bias and residual possibly nil.
// Whole vectors of b are read: at least cols columns, rounded up to the vector.
func gemm(c *float32, ldc int, a *float32, lda int, b *float32, ldb, k, rows, cols int, bias, residual *float32, ldr int, p prefetch) {
	switch {
	case active == AVX2 && cols > 8:
		gemm2AVX2(c, ldc, a, lda, b, ldb, k, rows, cols, bias, residual, ldr, p.next, p.stride)
	case active == AVX2:
		gemm1AVX2(c, ldc, a, lda, b, ldb, k, rows, cols, bias, residual, ldr, p.next, p.stride)
	case cols > 16:
		gemm2AVX512(c, ldc, a, lda, b, ldb, k, rows, cols, bias, residual, ldr, p.next, p.stride)
	default:
		gemm1AVX512(c, ldc, a, lda, b, ldb, k, rows, cols, bias, residual, ldr, p.next, p.stride)
	}
}

// blockRows is how many rows of x, k wide, stay in the second-level cache while all panels of weights pass by.
func blockRows(rows, k int) int {
	const block = 192 << 10 // elements
	limit := max(64, block/max(1, k))
	blocks := (rows + limit - 1) / limit
	return (rows + blocks - 1) / blocks
}

func (m *Matrix) mul(dst, x []float32, rows, from, to int, e Epilogue) {
	if active == Go || m.in == 0 {
		m.mulGo(dst, x, rows, from, to, e)
		return
	}
	block := blockRows(rows, m.in)
	for r := 0; r < rows; r += block {
		n := min(block, rows-r)
		b := e
		if e.Residual != nil {
			b.Residual = e.Residual[r*m.out:]
		}
		m.mulBlock(dst[r*m.out:], x[r*m.in:], n, from, to, b)
	}
}

// after is where the panel behind panel p begins: in m, or in what is multiplied next.
func after(start uintptr, p, panels, size int, then Packed) uintptr {
	if p+1 == panels && then != nil {
		return then.start()
	}
	return start + uintptr((p+1)*size)
}

// mulBlock passes each panel of weights in [from, to) over all rows, in tiles of nearly equal height.
func (m *Matrix) mulBlock(dst, x []float32, rows, from, to int, e Epilogue) {
	tileRows, tileCols := tileShape()
	tiles := (rows + tileRows - 1) / tileRows
	part, parts := 0, tiles*(panelWidth/tileCols)
	var following uintptr
	for col := from; col < to; col += tileCols {
		cols := min(tileCols, to-col)
		panel := &m.data[col/panelWidth*m.in*panelWidth+col%panelWidth]
		var bias *float32
		if e.Bias != nil {
			bias = &e.Bias[col]
		}
		if col%panelWidth == 0 {
			part = 0
			following = after(m.start(), col/panelWidth, (to+panelWidth-1)/panelWidth, m.in*panelBytes, e.Then)
		}
		for t := range tiles {
			r := rows * t / tiles
			n := rows*(t+1)/tiles - r
			at := r*m.out + col
			a := &x[r*m.in]
			fetch := ahead(uintptr(unsafe.Pointer(panel)), following, m.in, part, parts)
			part++
			switch {
			case e.Act == Identity && e.Residual == nil:
				gemm(&dst[at], m.out, a, m.in, panel, panelWidth, m.in, n, cols, bias, nil, 0, fetch)
			case e.Act == Identity:
				gemm(&dst[at], m.out, a, m.in, panel, panelWidth, m.in, n, cols, bias, &e.Residual[at], m.out, fetch)
			case e.Residual == nil:
				gemm(&dst[at], m.out, a, m.in, panel, panelWidth, m.in, n, cols, bias, nil, 0, fetch)
				activateTile(dst[at:], m.out, n, cols, e.Act)
			default:
				var tile [14 * panelWidth]float32
				gemm(&tile[0], panelWidth, a, m.in, panel, panelWidth, m.in, n, cols, bias, nil, 0, fetch)
				finishTile(dst[at:], m.out, tile[:], n, cols, e.Act, e.Residual[at:])
			}
		}
	}
}

// finishTile writes act(tile) + residual to dst; tile is [rows, 32]. It serves an activation before a residual that may be
// dst itself: the product cannot go to dst first.
func finishTile(dst []float32, ldd int, tile []float32, rows, cols int, act Activation, residual []float32) {
	activateTile(tile, panelWidth, rows, cols, act)
	for i := range rows {
		t := tile[i*panelWidth:][:cols]
		axpy(t, 1, residual[i*ldd:][:cols])
		copy(dst[i*ldd:], t)
	}
}

// scratch holds one panel of a transposed or copied operand.
var scratch = sync.Pool{New: func() any { return new([]float32) }}

func borrow(n int) *[]float32 {
	p := scratch.Get().(*[]float32)
	if len(*p) < n {
		*p = alignedFloats(n)
	}
	return p
}

// mulNT packs 32 rows of b at a time into a panel [k, 32], scaled by alpha, and multiplies all rows of a with it.
func mulNT(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, alpha float32) {
	if active == Go || k == 0 {
		mulNTGo(dst, ldd, a, lda, b, ldb, m, n, k, alpha)
		return
	}
	if m == 1 { // packing would cost more than the product
		for j := range n {
			dst[j] = alpha * dot(a[:k], b[j*ldb:][:k])
		}
		return
	}
	kPadded := (k + 3) &^ 3
	p := borrow(kPadded * panelWidth * 2)
	defer scratch.Put(p)
	panel, edge := (*p)[:kPadded*panelWidth], (*p)[kPadded*panelWidth:kPadded*panelWidth*2]
	for col := 0; col < n; col += panelWidth {
		cols := min(panelWidth, n-col)
		packTransposed(panel, edge, b[col*ldb:], ldb, cols, k, alpha)
		mulPanel(dst[col:], ldd, a, lda, panel, panelWidth, m, cols, k, false)
	}
}

// packTransposed writes alpha·bᵀ to panel [k, 32]; b is [n, k] with n <= 32. The columns from n on hold anything.
// What the kernel cannot read in place, rows that end before a whole group or before four columns, it copies to edge.
func packTransposed(panel, edge, b []float32, ldb, n, k int, alpha float32) {
	lanes := 16
	if active == AVX2 {
		lanes = 8
	}
	kPadded := (k + 3) &^ 3
	for i := 0; i < n; i += lanes {
		from, ld := b[i*ldb:], ldb
		if rows := min(lanes, n-i); rows < lanes || k != kPadded {
			for r := range rows {
				copy(edge[r*kPadded:][:k], from[r*ldb:])
			}
			from, ld = edge, kPadded
		}
		if active == AVX2 {
			transposeAVX2(&panel[i], &from[0], ld, kPadded, alpha)
		} else {
			transposeAVX512(&panel[i], &from[0], ld, kPadded, alpha)
		}
	}
}

// mulNN reads b in place, whole vectors at a time; columns that do not fill a vector are copied to a panel first.
func mulNN(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, accumulate bool) {
	if active == Go {
		mulNNGo(dst, ldd, a, lda, b, ldb, m, n, k, accumulate)
		return
	}
	lanes := 16
	if active == AVX2 {
		lanes = 8
	}
	whole := n &^ (lanes - 1)
	_, tileCols := tileShape()
	for col := 0; col < whole; col += tileCols {
		mulPanel(dst[col:], ldd, a, lda, b[col:], ldb, m, min(tileCols, whole-col), k, accumulate)
	}
	if whole == n {
		return
	}
	p := borrow(k * lanes)
	defer scratch.Put(p)
	panel := (*p)[:k*lanes]
	for i := range k {
		copy(panel[i*lanes:][:n-whole], b[i*ldb+whole:])
	}
	mulPanel(dst[whole:], ldd, a, lda, panel, lanes, m, n-whole, k, accumulate)
}

// mulPanel writes, or with accumulate adds, a [m, k] · b [k, n] to dst, n <= 32; b holds whole vectors.
func mulPanel(dst []float32, ldd int, a []float32, lda int, b []float32, ldb, m, n, k int, accumulate bool) {
	tileRows, tileCols := tileShape()
	tiles := (m + tileRows - 1) / tileRows
	for col := 0; col < n; col += tileCols {
		cols := min(tileCols, n-col)
		for t := range tiles {
			r := m * t / tiles
			rows := m*(t+1)/tiles - r
			c := &dst[r*ldd+col]
			var residual *float32
			if accumulate {
				residual = c
			}
			const rowsAhead = 4
			fetch := prefetch{next: uintptr(unsafe.Pointer(&b[col])) + uintptr(rowsAhead*4*ldb), stride: 4 * ldb}
			gemm(c, ldd, &a[r*lda], lda, &b[col], ldb, k, rows, cols, nil, residual, ldd, fetch)
		}
	}
}
