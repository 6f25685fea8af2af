package picture

import "image"

// upsampler converts the planes of a JPEG to RGB as libjpeg does: chroma planes of half the size
// are interpolated ("fancy upsampling"), others repeated, and colours are converted in fixed point
// with 16 binary places.
type upsampler struct {
	m                    *image.YCbCr
	across, down         int // luma samples for each chroma sample
	width, chromaW       int
	chromaH              int
	sums                 []int // [chromaW], weighted sum of two rows
	blue, red            []byte
	redOfRed, blueOfBlue [256]int
	greenOfRed           [256]int
	greenOfBlue          [256]int
}

func newUpsampler(m *image.YCbCr) *upsampler {
	u := &upsampler{m: m, across: 1, down: 1, width: m.Rect.Dx()}
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		u.across = 2
	case image.YCbCrSubsampleRatio420:
		u.across, u.down = 2, 2
	case image.YCbCrSubsampleRatio440:
		u.down = 2
	case image.YCbCrSubsampleRatio411:
		u.across = 4
	case image.YCbCrSubsampleRatio410:
		u.across, u.down = 4, 2
	}
	u.chromaW, u.chromaH = (u.width+u.across-1)/u.across, (m.Rect.Dy()+u.down-1)/u.down
	u.sums = make([]int, u.chromaW)
	u.blue, u.red = make([]byte, u.chromaW*u.across), make([]byte, u.chromaW*u.across)
	const half = 1 << 15
	fix := func(x float64) int { return int(x*(1<<16) + 0.5) }
	for i := range 256 {
		x := i - 128
		u.redOfRed[i], u.blueOfBlue[i] = (fix(1.402)*x+half)>>16, (fix(1.772)*x+half)>>16
		u.greenOfRed[i], u.greenOfBlue[i] = -fix(0.71414)*x, -fix(0.34414)*x+half
	}
	return u
}

// row writes row y as RGB.
func (u *upsampler) row(dst []byte, y int) {
	u.chroma(u.blue, u.m.Cb, y)
	u.chroma(u.red, u.m.Cr, y)
	luma := u.m.Y[y*u.m.YStride:]
	for x := range len(dst) / 3 {
		l, b, r := int(luma[x]), u.blue[x], u.red[x]
		dst[3*x] = clip(l + u.redOfRed[r])
		dst[3*x+1] = clip(l + (u.greenOfBlue[b]+u.greenOfRed[r])>>16)
		dst[3*x+2] = clip(l + u.blueOfBlue[b])
	}
}

// chroma writes row y of a plane in full width.
func (u *upsampler) chroma(dst, plane []byte, y int) {
	at := y / u.down
	line := func(i int) []byte {
		i = min(max(i, 0), u.chromaH-1)
		return plane[i*u.m.CStride:][:u.chromaW]
	}
	near := line(at)
	const narrow = 2 // libjpeg repeats samples in pictures as narrow as this
	fancy := u.chromaW > narrow
	switch {
	case u.down == 2 && (u.across == 1 || u.across == 2 && fancy):
		far := line(at + 1)
		bias := 2
		if y%2 == 0 {
			far, bias = line(at-1), 1
		}
		for i, v := range near {
			u.sums[i] = 3*int(v) + int(far[i])
		}
		if u.across == 1 {
			for i, s := range u.sums {
				dst[i] = byte((s + bias) >> 2)
			}
			return
		}
		u.widen(dst, u.sums, 8, 7, 4)
	case u.across == 2 && fancy:
		for i, v := range near {
			u.sums[i] = int(v)
		}
		u.widen(dst, u.sums, 1, 2, 2)
	default:
		for i, v := range near {
			for k := range u.across {
				dst[i*u.across+k] = v
			}
		}
	}
}

// widen writes two numbers for each of x: three quarters of it and one of the neighbour to that
// side, rounded by the two biases and shifted.
func (u *upsampler) widen(dst []byte, x []int, left, right, shift int) {
	last := len(x) - 1
	for i, v := range x {
		a, b := v, v
		if i > 0 {
			a = x[i-1]
		}
		if i < last {
			b = x[i+1]
		}
		dst[2*i], dst[2*i+1] = byte((3*v+a+left)>>shift), byte((3*v+b+right)>>shift)
	}
}

func clip(v int) byte { return byte(min(max(v, 0), 255)) }
