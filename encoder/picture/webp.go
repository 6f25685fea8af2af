package picture

import (
	"bytes"
	"errors"
	"image"

	"golang.org/x/image/webp"
)

func isWebP(b []byte) bool {
	return len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP"
}

var errAnimated = errors.New("animated, only still pictures are supported")

// inspectWebP counts a copy of the picture that transforms and the alpha channel may need. The
// decoder refuses frames of another size than the header's.
func inspectWebP(b []byte) (int, image.Config, error) {
	animated := false
	chunks(b, func(id string, _ []byte) bool {
		animated = id == "ANIM" || id == "ANMF"
		return !animated
	})
	if animated {
		return 0, image.Config{}, errAnimated
	}
	c, err := webp.DecodeConfig(bytes.NewReader(b))
	return 8, c, err
}

// fancyWebP writes row y of the picture as libwebp does: chroma interpolated between its four
// nearest samples, colours of the limited range of BT.601.
func fancyWebP(dst []byte, m *image.YCbCr, w, h, y int) {
	luma := m.Y[y*m.YStride:]
	cw, ch := (w+1)/2, (h+1)/2
	// rows near and far hold the chroma next to this row and the next one on its other side
	near := y / 2
	far := near + 1
	if y%2 == 0 {
		far = near - 1
	}
	if far < 0 || far >= ch {
		far = near
	}
	sample := func(plane []byte, x int) int {
		i := x / 2
		j := i + 1
		if x%2 == 0 {
			j = i - 1
		}
		a, b := plane[near*m.CStride:], plane[far*m.CStride:]
		if j < 0 || j >= cw { // the first and the last pixel of an even width
			return (3*int(a[i]) + int(b[i]) + 2) >> 2
		}
		n, side, over, diagonal := int(a[i]), int(a[j]), int(b[i]), int(b[j])
		// both steps round as those of libwebp
		mean := (n + side + over + diagonal + 8 + 2*(side+over)) >> 3
		return (mean + n) >> 1
	}
	for x := range w {
		yy, u, v := int(luma[x])*19077>>8, sample(m.Cb, x), sample(m.Cr, x)
		dst[3*x] = clip6(yy + v*26149>>8 - 14234)
		dst[3*x+1] = clip6(yy - u*6419>>8 - v*13320>>8 + 8708)
		dst[3*x+2] = clip6(yy + u*33050>>8 - 17685)
	}
}

// clip6 rounds a number with 6 binary places down to a byte.
func clip6(v int) byte { return byte(min(max(v>>6, 0), 255)) }
