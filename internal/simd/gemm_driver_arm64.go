//go:build !purego

package simd

// tileShape is the shape of the next tile of rows rows, of which cols columns are left. Few rows
// have wide tiles, which read b once. A tile is no wider than the columns, rounded up to eight,
// which are read of b.
func tileShape(rows, cols int) shape {
	s := shape{2, panelWidth}
	for s.cols > tileLeast && (rows > s.rows || s.cols >= cols+tileLeast) {
		s = shape{2 * s.rows, s.cols / 2}
	}
	return s
}

// tileLeast is the number of columns of the narrowest tile, tileSize the number of sums of each.
const (
	tileLeast = 8
	tileSize  = 2 * panelWidth
)

// gemm is one tile: c [rows, s.cols] = a [rows, k] · b [k, s.cols] + bias + residual, with bias and
// residual possibly nil.
func gemm(s shape, c *float32, ldc int, a *float32, lda int, b *float32, ldb, k, rows int, bias, residual *float32, ldr int) {
	switch s.cols {
	case 32:
		gemm8NEON(c, ldc, a, lda, b, ldb, k, rows, bias, residual, ldr)
	case 16:
		gemm4NEON(c, ldc, a, lda, b, ldb, k, rows, bias, residual, ldr)
	default:
		gemm2NEON(c, ldc, a, lda, b, ldb, k, rows, bias, residual, ldr)
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
		for col := from; col < to; col += panelWidth {
			cols := min(panelWidth, to-col)
			mulPanel(dst[r*m.out:], m.out, col, x[r*m.in:], m.in, m.data[col*m.in:], panelWidth, n, cols, m.in, &b)
			activateTile(dst[r*m.out+col:], m.out, n, cols, e.Act)
		}
	}
}

// mulPanel writes a [m, k] · b [k, n] to the columns from col on of dst, whose rows are ldd apart,
// with bias and residual of e, which lies as dst does. n is at most 32; of b as many columns are
// read, rounded up to eight.
func mulPanel(dst []float32, ldd, col int, a []float32, lda int, b []float32, ldb, m, n, k int, e *Epilogue) {
	for j := 0; j < n; {
		s := tileShape(m, n-j)
		count := (m + s.rows - 1) / s.rows
		for t := range count {
			r := m * t / count
			rows := m*(t+1)/count - r
			at := r*ldd + col + j
			if j+s.cols <= n {
				bias, residual := e.at(at, col+j)
				gemm(s, &dst[at], ldd, &a[r*lda], lda, &b[j], ldb, k, rows, bias, residual, ldd)
				continue
			}
			var tile [tileSize]float32
			gemm(s, &tile[0], s.cols, &a[r*lda], lda, &b[j], ldb, k, rows, nil, nil, 0)
			e.storeTile(dst, tile[:], s.cols, n-j, rows, r, col+j, ldd)
		}
		j += s.cols
	}
}

// storeTile writes cols columns of a tile, whose rows are ld apart, to dst at (row, col), with bias
// and residual.
func (e *Epilogue) storeTile(dst, tile []float32, ld, cols, rows, row, col, ldd int) {
	plain := Epilogue{Bias: e.Bias, Residual: e.Residual}
	for i := range rows {
		plain.storeGo(dst, tile[i*ld:][:cols], row+i, col, ldd)
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
	p := borrow(k * panelWidth)
	defer scratch.Put(p)
	panel := (*p)[:k*panelWidth]
	for col := 0; col < n; col += panelWidth {
		cols := min(panelWidth, n-col)
		packTransposed(panel, b[col*ldb:], ldb, cols, k, alpha)
		mulPanel(dst, ldd, col, a, lda, panel, panelWidth, m, cols, k, &Epilogue{})
	}
}

// packTransposed writes alpha·bᵀ to panel [k, 32]; b is [n, k] with n <= 32. The columns from n on
// are undefined.
func packTransposed(panel, b []float32, ldb, n, k int, alpha float32) {
	wholeRows, whole := n&^3, k&^3
	for i := 0; i < wholeRows && whole > 0; i += 4 {
		transposeNEON(&panel[i], &b[i*ldb], ldb, whole, alpha)
	}
	for i := range n {
		from := whole
		if i >= wholeRows {
			from = 0
		}
		for p := from; p < k; p++ {
			panel[p*panelWidth+i] = alpha * b[i*ldb+p]
		}
	}
}

// mulNN reads b in place, eight columns at a time; those that are left are copied to a panel first.
func mulNN(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, accumulate bool) {
	if active == Go {
		mulNNGo(dst, ldd, a, lda, b, ldb, m, n, k, accumulate)
		return
	}
	var e Epilogue
	if accumulate {
		e.Residual = dst
	}
	whole := n &^ (tileLeast - 1)
	for col := 0; col < whole; col += panelWidth {
		mulPanel(dst, ldd, col, a, lda, b[col:], ldb, m, min(panelWidth, whole-col), k, &e)
	}
	if whole == n {
		return
	}
	p := borrow(k * tileLeast)
	defer scratch.Put(p)
	panel := (*p)[:k*tileLeast]
	for i := range k {
		copy(panel[i*tileLeast:][:n-whole], b[i*ldb+whole:])
	}
	mulPanel(dst, ldd, whole, a, lda, panel, tileLeast, m, n-whole, k, &e)
}
