package simd

import (
	"fmt"
	"unsafe"
)

// panelWidth is the number of output channels that are packed side by side.
const panelWidth = 32

// Matrix is the weight [out, in] of a linear layer y = x·Wᵀ, packed for Mul. It is read-only and
// safe for concurrent use.
//
// The packed form is ceil(out/32) panels; panel p holds, for each k in [0, in), the weights of the
// 32 output channels from 32p on: data[(p·in+k)·32+j] = w[(32p+j)·in+k], zero where 32p+j >= out.
type Matrix struct {
	out, in int
	data    []float32
}

// Pack copies w [out, in], the layout of a safetensors Linear weight, into a Matrix.
func Pack(w []float32, out, in int) *Matrix {
	if out < 0 || in < 0 || len(w) != out*in {
		panic(fmt.Sprintf("simd: Pack: len(w) is %d, want out*in = %d*%d", len(w), out, in))
	}
	panels := (out + panelWidth - 1) / panelWidth
	m := &Matrix{out: out, in: in, data: alignedFloats(panels * in * panelWidth)}
	for o := 0; o < out; o += panelWidth {
		packPanel(m.data[o*in:], w[o*in:], min(panelWidth, out-o), in)
	}
	return m
}

// packPanel writes rows rows of w, in long, to the columns of a panel, a few at a time so that the
// lines written stay near.
func packPanel(panel, w []float32, rows, in int) {
	const block = 16
	for from := 0; from < in; from += block {
		for j := range rows {
			for k := from; k < min(from+block, in); k++ {
				panel[k*panelWidth+j] = w[j*in+k]
			}
		}
	}
}

// Out is the number of output channels, the width of dst in Mul.
func (m *Matrix) Out() int { return m.out }

// Epilogue is what Mul does to each product before it stores it. The zero value does nothing.
type Epilogue struct {
	Bias     []float32  // [out], added first; nil for none
	Act      Activation // applied second
	Residual []float32  // [rows, out], added last, where there is no activation; nil for none; may be dst itself
	Then     Packed     // the weights that the caller uses next, which Mul prefetches; nil for none
}

// Packed is a Matrix or a MatrixInt8.
type Packed interface {
	Out() int
	Mul(dst, x []float32, rows int, e Epilogue)
	MulShare(dst, x []float32, rows, part, parts int, e Epilogue)
	start() uintptr // of the packed weights
}

func (m *Matrix) start() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(m.data))) }

// Mul writes act(x·Wᵀ + bias) + residual to dst [rows, out]; x is [rows, in] and must not overlap
// dst.
func (m *Matrix) Mul(dst, x []float32, rows int, e Epilogue) {
	e.check("Mul", dst, x, rows, m.out, m.in)
	if rows == 0 || m.out == 0 {
		return
	}
	m.mul(dst, x, rows, 0, m.out, e)
}

// MulShare is Mul for the columns Share(Out(), part, parts) of dst alone.
func (m *Matrix) MulShare(dst, x []float32, rows, part, parts int, e Epilogue) {
	e.check("MulShare", dst, x, rows, m.out, m.in)
	if from, to := Share(m.out, part, parts); rows > 0 && from < to {
		m.mul(dst, x, rows, from, to, e)
	}
}

// Share divides out columns among parts goroutines, in whole panels: part, counted from 0, has the
// columns [from, to).
func Share(out, part, parts int) (from, to int) {
	if part < 0 || part >= parts {
		panic(fmt.Sprintf("simd: Share: part %d of %d", part, parts))
	}
	panels := (out + panelWidth - 1) / panelWidth
	return min(out, panels*part/parts*panelWidth), min(out, panels*(part+1)/parts*panelWidth)
}

func (e *Epilogue) check(call string, dst, x []float32, rows, out, in int) {
	if rows < 0 {
		panic(fmt.Sprintf("simd: %s: rows is %d", call, rows))
	}
	need(call, "dst", len(dst), rows*out)
	need(call, "x", len(x), rows*in)
	checkActivation(e.Act)
	if e.Bias != nil {
		need(call, "bias", len(e.Bias), out)
	}
	if e.Residual != nil {
		need(call, "residual", len(e.Residual), rows*out)
		if e.Act != Identity {
			panic(fmt.Sprintf("simd: %s: a residual after the activation %v", call, e.Act))
		}
	}
}

// mulGo computes the columns [from, to); from is a multiple of 32.
func (m *Matrix) mulGo(dst, x []float32, rows, from, to int, e Epilogue) {
	var tile [2 * panelWidth]float32
	for p := from / panelWidth; p*panelWidth < to; p++ {
		panel := m.data[p*m.in*panelWidth : (p+1)*m.in*panelWidth]
		col := p * panelWidth
		width := min(panelWidth, m.out-col)
		for r := 0; r < rows; r += 2 {
			x0 := x[r*m.in : (r+1)*m.in]
			x1 := x0
			if r+1 < rows {
				x1 = x[(r+1)*m.in : (r+2)*m.in]
			}
			tileGo(&tile, panel, x0, x1, width)
			e.storeGo(dst, tile[:width], r, col, m.out)
			if r+1 < rows {
				e.storeGo(dst, tile[panelWidth:panelWidth+width], r+1, col, m.out)
			}
		}
	}
}

// tileGo computes two rows of one panel in tiles of 2 x 4, which is what fits into the registers of
// scalar code.
func tileGo(tile *[2 * panelWidth]float32, panel, x0, x1 []float32, width int) {
	x1 = x1[:len(x0)]
	for j := 0; j < width; j += 4 {
		var s00, s01, s02, s03, s10, s11, s12, s13 float32
		b := panel[j:]
		for k, a0 := range x0 {
			a1 := x1[k]
			w := (*[4]float32)(b[k*panelWidth:])
			s00 += a0 * w[0]
			s01 += a0 * w[1]
			s02 += a0 * w[2]
			s03 += a0 * w[3]
			s10 += a1 * w[0]
			s11 += a1 * w[1]
			s12 += a1 * w[2]
			s13 += a1 * w[3]
		}
		tile[j], tile[j+1], tile[j+2], tile[j+3] = s00, s01, s02, s03
		u := tile[panelWidth+j:]
		u[0], u[1], u[2], u[3] = s10, s11, s12, s13
	}
}

// storeGo applies the epilogue to one row of a tile and writes it to dst [rows, out] at (row, col).
func (e *Epilogue) storeGo(dst, tile []float32, row, col, out int) {
	if e.Bias != nil {
		for j, b := range e.Bias[col : col+len(tile)] {
			tile[j] += b
		}
	}
	activateGo(tile, e.Act)
	at := row*out + col
	if e.Residual != nil {
		for j, v := range e.Residual[at : at+len(tile)] {
			tile[j] += v
		}
	}
	copy(dst[at:], tile)
}
