package picture

import "math"

// Filter is a kernel of Pillow's resize, by its number there.
type Filter int

// The filters.
const (
	Nearest  Filter = 0
	Lanczos  Filter = 1
	Bilinear Filter = 2
	Bicubic  Filter = 3
	Box      Filter = 4
	Hamming  Filter = 5
)

// support is the half width of the kernel at its natural scale.
func (f Filter) support() float64 { return [...]float64{0, 3, 1, 2, 0.5, 1}[f] }

// at returns the kernel at distance x.
func (f Filter) at(x float64) float64 {
	sinc := func(x float64) float64 {
		if x == 0 {
			return 1
		}
		return math.Sin(x*math.Pi) / (x * math.Pi)
	}
	switch f {
	case Lanczos:
		if -3 <= x && x < 3 {
			return sinc(x) * sinc(x/3)
		}
	case Bilinear:
		return max(0, 1-math.Abs(x))
	case Bicubic:
		const a = -0.5
		switch x = math.Abs(x); {
		case x < 1:
			return ((a+2)*x-(a+3))*x*x + 1
		case x < 2:
			return (((x-5)*x+8)*x - 4) * a
		}
	case Box:
		if x > -0.5 && x <= 0.5 {
			return 1
		}
	case Hamming:
		switch x = math.Abs(x); {
		case x == 0:
			return 1
		case x < 1:
			return math.Sin(x*math.Pi) / (x * math.Pi) * (0.54 + 0.46*math.Cos(x*math.Pi))
		}
	}
	return 0
}

// places is the number of binary places of the weights.
const places = 22

// taps are the weights of the input samples from first on for an output sample; none: it lies
// outside of the picture.
type taps struct {
	first   int
	weights []int32
}

// newTaps returns the weights for the samples [from, from+n) of the out samples to which in are
// resized. Source: Pillow Resample.c, precompute_coeffs and normalize_coeffs_8bpc.
func newTaps(f Filter, in, out, from, n int) []taps {
	list := make([]taps, n)
	scale := float64(in) / float64(out)
	stretch := max(scale, 1)
	support := f.support() * stretch
	var w []float64
	for i := range list {
		x := from + i
		if x < 0 || x >= out {
			continue
		}
		center := (float64(x) + 0.5) * scale
		if f == Nearest {
			list[i] = taps{min(int(center), in-1), []int32{1 << places}}
			continue
		}
		first, end := max(int(center-support+0.5), 0), min(int(center+support+0.5), in)
		w = w[:0]
		sum := 0.0
		for k := first; k < end; k++ {
			v := f.at((float64(k) - center + 0.5) * (1 / stretch))
			w = append(w, v)
			sum += v
		}
		weights := make([]int32, len(w))
		for k, v := range w {
			if sum != 0 {
				v /= sum
			}
			weights[k] = int32(math.Trunc(v*(1<<places) + math.Copysign(0.5, v)))
		}
		list[i] = taps{first, weights}
	}
	return list
}

// round turns a sum of weighted samples into a byte.
func round(v int32) byte { return clip(int(v >> places)) }

// half is added to each sum before round.
const half = 1 << (places - 1)

// resize returns [h, w, 3], what lies in the window from (left, top) of the picture resized to
// width×height; samples outside of it are 0. Only the window is in memory, however large the whole
// result would be. rows returns row y of the picture as RGB until its next call.
//
// The two passes round in between. Pillow 13 begins with the columns if there is at least that much
// to gain: if the height shrinks, and by more than twice what the width does; else with the rows.
func (p *Picture) resize(rows func(y int) []byte, f Filter, width, height, left, top, w, h int) []byte {
	dst := make([]byte, 3*w*h)
	across, down := newTaps(f, p.Width, width, left, w), newTaps(f, p.Height, height, top, h)
	if shrinks := p.Height - height; shrinks > 0 && shrinks > 2*(p.Width-width) {
		columnsFirst(dst, rows, p.Width, across, down)
	} else {
		rowsFirst(dst, rows, across, down)
	}
	for i := range w * h {
		if len(across[i%w].weights) == 0 || len(down[i/w].weights) == 0 {
			clear(dst[3*i : 3*i+3])
		}
	}
	return dst
}

// columnsFirst reads each row for every sample that it contributes to.
func columnsFirst(dst []byte, rows func(y int) []byte, width int, across, down []taps) {
	sums, line := make([]int32, 3*width), make([]byte, 3*width)
	for r, t := range down {
		for i := range sums {
			sums[i] = half
		}
		for k, weight := range t.weights {
			for i, v := range rows(t.first + k) {
				sums[i] += weight * int32(v)
			}
		}
		for i, s := range sums {
			line[i] = round(s)
		}
		horizontal(dst[3*r*len(across):3*(r+1)*len(across)], line, across)
	}
}

// rowsFirst reads each row once and adds it to every sample that it contributes to.
func rowsFirst(dst []byte, rows func(y int) []byte, across, down []taps) {
	width := 3 * len(across)
	sums, line := make([]int32, len(dst)), make([]byte, width)
	for i := range sums {
		sums[i] = half
	}
	done := -1 // the last row in line
	begin, end := 0, 0
	for y := 0; begin < len(down); y++ {
		for begin < len(down) && down[begin].first+len(down[begin].weights) <= y {
			begin++
		}
		for end = max(end, begin); end < len(down) && len(down[end].weights) > 0 && down[end].first <= y; end++ {
		}
		for r := begin; r < end; r++ {
			k := y - down[r].first
			if k >= len(down[r].weights) {
				continue
			}
			if done != y {
				horizontal(line, rows(y), across)
				done = y
			}
			weight, sum := down[r].weights[k], sums[r*width:(r+1)*width]
			for i, v := range line {
				sum[i] += weight * int32(v)
			}
		}
	}
	for i, s := range sums {
		dst[i] = round(s)
	}
}

// horizontal resizes a row.
func horizontal(dst, row []byte, columns []taps) {
	for x, t := range columns {
		r, g, b := int32(half), int32(half), int32(half)
		src := row[3*t.first:]
		for k, w := range t.weights {
			r += w * int32(src[3*k])
			g += w * int32(src[3*k+1])
			b += w * int32(src[3*k+2])
		}
		dst[3*x], dst[3*x+1], dst[3*x+2] = round(r), round(g), round(b)
	}
}
