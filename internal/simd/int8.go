package simd

import (
	"fmt"
	"math"
	"unsafe"
)

// maxInt8Depth is the largest number of input channels whose products fit into an int32:
// 65536·255·127 < 2³¹.
const maxInt8Depth = 65536

// behindGroups is how many groups a back end may read after the last panel, multiplied by 0.
const behindGroups = 15

// MatrixInt8 is the weight [out, in] of a linear layer, rounded to int8 with one scale per output
// channel, packed for Mul. It is read-only and safe for concurrent use.
//
// The packed form is that of Matrix, in groups of four input channels: the weights of output
// channel 32p+j for the channels 4g..4g+3 are the four bytes from data[((p·groups+g)·32+j)·4] on,
// with zeros beyond out and in.
type MatrixInt8 struct {
	out, in int
	groups  int // ceil(in/4)
	data    []int8
	scale   []float32 // of each output channel, zero beyond out
	sum     []int32   // of the rounded weights of each output channel
}

// PackInt8 rounds w [out, in] to 127 steps of the largest magnitude of each row, to even, and packs
// it. in is at most 65536. A row with a NaN or an infinity gives NaN.
func PackInt8(w []float32, out, in int) *MatrixInt8 {
	if out < 0 || in < 0 || in > maxInt8Depth || len(w) != out*in {
		panic(fmt.Sprintf("simd: PackInt8: len(w) is %d, want out*in = %d*%d with in <= %d", len(w), out, in, maxInt8Depth))
	}
	panels := (out + panelWidth - 1) / panelWidth
	m := &MatrixInt8{out: out, in: in, groups: (in + 3) / 4}
	m.data = alignedBytes((panels*m.groups + behindGroups) * panelWidth * 4)
	m.scale = make([]float32, panels*panelWidth)
	m.sum = make([]int32, panels*panelWidth)
	for o := range out {
		row := w[o*in : (o+1)*in]
		lo, hi := rowRange(row)
		largest := max(-lo, hi)
		m.scale[o] = largest / 127
		if !(largest > 0) || math.IsInf(float64(largest), 0) {
			m.scale[o] *= 0 // a row of zeros stays 0, NaN and Inf become NaN
			continue
		}
		at := (o/panelWidth*m.groups*panelWidth + o%panelWidth) * 4
		inverse := 127 / float64(largest)
		for k, v := range row {
			q := roundEven(float64(v) * inverse)
			m.data[at+k/4*panelWidth*4+k%4] = int8(q)
			m.sum[o] += q
		}
	}
	return m
}

// Out is the number of output channels, the width of dst in Mul.
func (m *MatrixInt8) Out() int { return m.out }

func (m *MatrixInt8) start() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(m.data))) }

// Mul writes act(x·Wᵀ + bias) + residual to dst [rows, out] like Matrix.Mul, with products of
// bytes: each row of x is rounded to 256 steps from min(0, row) to max(0, row). The sums of
// products are exact, and so the same in each back end.
func (m *MatrixInt8) Mul(dst, x []float32, rows int, e Epilogue) {
	e.check("Mul", dst, x, rows, m.out, m.in)
	if rows == 0 || m.out == 0 {
		return
	}
	m.mul(dst, x, rows, 0, m.out, e)
}

// MulShare is Mul for the columns Share(Out(), part, parts) of dst alone.
func (m *MatrixInt8) MulShare(dst, x []float32, rows, part, parts int, e Epilogue) {
	e.check("MulShare", dst, x, rows, m.out, m.in)
	if from, to := Share(m.out, part, parts); rows > 0 && from < to {
		m.mul(dst, x, rows, from, to, e)
	}
}

// steps turns the range of a row into its quantisation x ≈ scale·(q - zero), 0 <= q <= 255. A range
// too small to be inverted counts as zero; NaN and infinities make scale NaN or infinite.
func steps(lo, hi float32) (scale, inverse float32, zero int32) {
	const smallest = 1e-35
	width := hi - lo
	if width < smallest {
		return 0, 0, 0
	}
	inverse = 255 / width
	if !(inverse > 0) {
		return width * float32(math.NaN()), 0, 0
	}
	return width / 255, inverse, roundEven(float64(float32(-lo * inverse)))
}

// roundEven rounds x, |x| < 2³¹, to the nearest integer and ties to even: adding 3·2⁵¹ leaves no
// bits for fractions. The conversion prevents fusing the sum with a product in x.
func roundEven(x float64) int32 {
	return int32(math.Float64bits(float64(x) + 3<<51))
}

func rowRangeGo(x []float32) (lo, hi float32) {
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

func quantizeRowGo(dst []uint8, x []float32, inverse float32, zero int32) {
	for i, v := range x {
		dst[i] = uint8(max(0, min(255, roundEven(float64(float32(v*inverse)))+zero)))
	}
}

func (m *MatrixInt8) mulGo(dst, x []float32, rows, from, to int, e Epilogue) {
	q := make([]uint8, m.groups*4)
	var tile [panelWidth]float32
	for r := range rows {
		row := x[r*m.in : (r+1)*m.in]
		scale, inverse, zero := steps(rowRangeGo(row))
		quantizeRowGo(q, row, inverse, zero)
		for p := from / panelWidth; p*panelWidth < to; p++ {
			col := p * panelWidth
			width := min(panelWidth, m.out-col)
			sums := m.panelGo(p, q)
			for j := range width {
				tile[j] = float32(sums[j]-zero*m.sum[col+j]) * scale * m.scale[col+j]
			}
			e.storeGo(dst, tile[:width], r, col, m.out)
		}
	}
}

// panelGo returns the sums of products of the bytes of one row with the 32 columns of panel p.
func (m *MatrixInt8) panelGo(p int, q []uint8) (sums [panelWidth]int32) {
	panel := m.data[p*m.groups*panelWidth*4 : (p+1)*m.groups*panelWidth*4]
	for g := 0; g < len(q); g += 4 {
		a0, a1, a2, a3 := int32(q[g]), int32(q[g+1]), int32(q[g+2]), int32(q[g+3])
		w := (*[panelWidth * 4]int8)(panel[g*panelWidth:])
		for j := range sums {
			sums[j] += a0*int32(w[4*j]) + a1*int32(w[4*j+1]) + a2*int32(w[4*j+2]) + a3*int32(w[4*j+3])
		}
	}
	return sums
}

// DotInt8 is the inner product of a and b, which have the same length, at most 131071.
func DotInt8(a, b []int8) int32 {
	need("DotInt8", "b", len(b), len(a))
	return dotInt8(a, b[:len(a)])
}

// DotRowsInt8 writes to dst[i] the inner product of q with row ids[i] of base, whose rows are
// len(q) long, like DotRows.
func DotRowsInt8(dst []int32, q, base []int8, ids []uint32) {
	checkRows("DotRowsInt8", len(dst), len(q), len(base), ids)
	if len(ids) > 0 {
		dotRowsInt8(dst[:len(ids)], q, base, ids)
	}
}

func dotInt8Go(a, b []int8) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += int32(a[0]) * int32(b[0])
		s1 += int32(a[1]) * int32(b[1])
		s2 += int32(a[2]) * int32(b[2])
		s3 += int32(a[3]) * int32(b[3])
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		s0 += int32(v) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

func dotRowsInt8Go(dst []int32, q, base []int8, ids []uint32) {
	for i, id := range ids {
		at := int(id) * len(q)
		dst[i] = dotInt8Go(q, base[at:at+len(q)])
	}
}

func alignedBytes(n int) []int8 {
	f := alignedFloats((n + 3) / 4)
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(f))), n)
}
