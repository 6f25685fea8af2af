//go:build !purego

package simd

import "unsafe"

// tileShape is the shape of the active back end's gemm2.
func tileShape() shape {
	if active == AVX2 {
		return shape{6, 16}
	}
	return shape{14, panelWidth}
}

// wide is the shape of the AVX-512 kernels for two whole panels: for each product they load two
// thirds of what the others load.
var wide = shape{6, 2 * panelWidth}

// choose returns the shape for the next tiles of rows rows, of which cols columns are left. Rows
// that fit into one tile of the narrow shape use it: then each weight is read once, which limits
// the speed, and one panel is prefetched better than two.
func choose(narrow shape, rows, cols int) shape {
	if narrow.cols < panelWidth || cols < wide.cols || rows <= narrow.rows {
		return narrow
	}
	return wide
}

// prefetch is what a kernel prefetches: at each step of k the bytes of two vectors, or a line, at
// next, which advances by stride. next may be outside of all memory, so it must not be a pointer.
type prefetch struct {
	next   uintptr
	stride int
}

// panelBytes is the distance of two steps of a packed panel: 32 float32, or 32 groups of four int8.
const panelBytes = 4 * panelWidth

// ahead is the prefetch for one of parts tiles over the same panels, at address panel, of steps
// steps of width bytes. Panels come from the last cache or from memory, several times more slowly
// than a tile could read them, so the tiles share the prefetch of the next ones, a line or two at
// each step. With too few tiles for that, each prefetches what it will read soon: of one panel 8
// KiB later (2 to 16 are alike); of two panels half of the second, 2 KiB later, and the processor
// detects the rest.
func ahead(panel, following uintptr, steps, width, part, parts int) prefetch {
	switch {
	case width > panelBytes && parts < 4:
		return prefetch{next: panel + uintptr(steps*panelBytes) + 2048, stride: panelBytes}
	case parts < 3:
		return prefetch{next: panel + 8192, stride: panelBytes}
	}
	stride := (width + parts - 1) / parts
	return prefetch{next: following + uintptr(part*steps*stride), stride: stride}
}

// gemm is one tile: c [rows, cols] = a [rows, k] · b [k, cols] + bias + residual, where bias and
// residual may be nil. Of b whole vectors are read: cols rounded up.
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

// after is the address of panel p of m, or of the weights that are used next if m has no more.
func after(start uintptr, p, panels, size int, then Packed) uintptr {
	if p >= panels && then != nil {
		return then.start()
	}
	return start + uintptr(p*size)
}

// tiles passes each panel of weights in the columns [from, to), or two at a time, over all rows, in
// tiles of nearly equal height: it calls tile for the rows r..r+n and the columns col..col+cols of
// each, whose shape is at most s. size is the bytes of a panel, start the address of the first.
func tiles(narrow shape, rows, from, to int, start uintptr, steps int, then Packed, tile func(s shape, r, n, col, cols int, p prefetch)) {
	size, panels := steps*panelBytes, (to+panelWidth-1)/panelWidth
	part, parts := 0, 0
	var following uintptr
	for col := from; col < to; {
		s := choose(narrow, rows, to-col)
		cols := min(s.cols, to-col)
		count := (rows + s.rows - 1) / s.rows
		if col%panelWidth == 0 {
			part, parts = 0, count*max(1, panelWidth/s.cols)
			following = after(start, (col+max(s.cols, panelWidth))/panelWidth, panels, size, then)
		}
		panel := start + uintptr(col/panelWidth*size)
		for t := range count {
			r := rows * t / count
			tile(s, r, rows*(t+1)/count-r, col, cols, ahead(panel, following, steps, max(s.cols, panelWidth)*4, part, parts))
			part++
		}
		col += s.cols
	}
}

// mulBlock multiplies all rows with the columns [from, to).
func (m *Matrix) mulBlock(dst, x []float32, rows, from, to int, e Epilogue) {
	tiles(tileShape(), rows, from, to, m.start(), m.in, e.Then, func(s shape, r, n, col, cols int, p prefetch) {
		at := r*m.out + col
		bias, residual := e.at(at, col)
		m.tile(&dst[at], x, s, r, n, col, cols, bias, residual, p)
		if e.Act != Identity {
			activateTile(dst[at:], m.out, n, cols, e.Act)
		}
	})
}

// tile multiplies the rows r..r+n of x with the columns col..col+cols.
func (m *Matrix) tile(c *float32, x []float32, s shape, r, n, col, cols int, bias, residual *float32, p prefetch) {
	a, b := &x[r*m.in], &m.data[col/panelWidth*m.in*panelWidth+col%panelWidth]
	if s == wide {
		gemm4AVX512(c, m.out, a, m.in, b, m.in*panelWidth, m.in, n, bias, residual, m.out, p.next, p.stride)
	} else {
		gemm(c, m.out, a, m.in, b, panelWidth, m.in, n, cols, bias, residual, m.out, p)
	}
}

// mulNT packs 32 rows of b at a time into a panel [k, 32], scaled by alpha, and multiplies all rows
// of a with it.
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

// packTransposed writes alpha·bᵀ to panel [k, 32]; b is [n, k] with n <= 32. The columns from n on
// are undefined. Rows that the kernel cannot read in place, because they end before a whole group
// or before four columns, are copied to edge.
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

// mulNN reads b in place, whole vectors at a time; columns that do not fill a vector are copied to
// a panel first.
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
	s := tileShape()
	for col := 0; col < whole; col += s.cols {
		mulPanel(dst[col:], ldd, a, lda, b[col:], ldb, m, min(s.cols, whole-col), k, accumulate)
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

// mulPanel writes, or with accumulate adds, a [m, k] · b [k, n] to dst, n <= 32; b holds whole
// vectors.
func mulPanel(dst []float32, ldd int, a []float32, lda int, b []float32, ldb, m, n, k int, accumulate bool) {
	s := tileShape()
	tiles := (m + s.rows - 1) / s.rows
	for col := 0; col < n; col += s.cols {
		cols := min(s.cols, n-col)
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
