package picture

import (
	"image"
	"image/color"
)

// render converts a decoded picture to RGB on a canvas of w×h pixels and turns it upright.
// transparent is the index of the transparent colour of a GIF, -1 for none; like Pillow, render
// fills with it, or else with the first colour, what the frame does not cover.
func render(m image.Image, w, h, transparent int, isWebP bool, orientation int) *Picture {
	p := &Picture{Width: w, Height: h, Pixels: make([]byte, 3*w*h)}
	if orientation >= 5 {
		p.Width, p.Height = h, w
	}
	write, writeAlpha := rowWriter(m, isWebP), alphaWriter(m, transparent)
	bounds := m.Bounds()
	row, alpha := make([]byte, 3*w), make([]byte, w)
	if writeAlpha != nil {
		p.Alpha = make([]byte, w*h)
	}
	at, right, down := place(orientation, w, h)
	for y := range h {
		if bounds != image.Rect(0, 0, w, h) {
			fill(row, m, max(0, transparent))
			clear(alpha)
		}
		if y >= bounds.Min.Y && y < bounds.Max.Y {
			write(row[3*bounds.Min.X:3*bounds.Max.X], y-bounds.Min.Y)
			if writeAlpha != nil {
				writeAlpha(alpha[bounds.Min.X:bounds.Max.X], y-bounds.Min.Y)
			}
		}
		for x, to := 0, at+y*down; x < w; x, to = x+1, to+right {
			copy(p.Pixels[3*to:3*to+3], row[3*x:])
			if p.Alpha != nil {
				p.Alpha[to] = alpha[x]
			}
		}
	}
	return p
}

// fill fills a row with a colour of the palette of m.
func fill(row []byte, m image.Image, index int) {
	colors, ok := m.(*image.Paletted)
	if !ok || index >= len(colors.Palette) {
		clear(row)
		return
	}
	c := color.NRGBAModel.Convert(colors.Palette[index]).(color.NRGBA)
	for x := range len(row) / 3 {
		row[3*x], row[3*x+1], row[3*x+2] = c.R, c.G, c.B
	}
}

// alphaWriter returns the function that writes the alpha channel of row y of m; nil: m is opaque.
func alphaWriter(m image.Image, transparent int) func(dst []byte, y int) {
	channel := func(pix []byte, stride, first, step int) func([]byte, int) {
		return func(dst []byte, y int) {
			for x := range dst {
				dst[x] = pix[y*stride+first+x*step]
			}
		}
	}
	switch m := m.(type) {
	case *image.NYCbCrA:
		return channel(m.A, m.AStride, 0, 1)
	case *image.NRGBA:
		return channel(m.Pix, m.Stride, 3, 4)
	case *image.NRGBA64:
		return channel(m.Pix, m.Stride, 6, 8)
	case *image.Paletted:
		var alphas [256]byte
		opaque := true
		for i, c := range m.Palette[:min(256, len(m.Palette))] {
			alphas[i] = color.NRGBAModel.Convert(c).(color.NRGBA).A
			if i == transparent {
				alphas[i] = 0
			}
			opaque = opaque && alphas[i] == 255
		}
		if opaque {
			return nil
		}
		return func(dst []byte, y int) {
			for x := range dst {
				dst[x] = alphas[m.Pix[y*m.Stride+x]]
			}
		}
	}
	return nil
}

// place returns where the first pixel of a picture of w×h pixels goes for an orientation, and the
// steps from a pixel to its neighbours right and down, all counted in pixels of the result.
func place(orientation, w, h int) (first, right, down int) {
	switch orientation {
	case 2: // mirrored left to right
		return w - 1, -1, w
	case 3: // upside down
		return w*h - 1, -1, -w
	case 4: // mirrored top to bottom
		return w * (h - 1), 1, -w
	case 5: // transposed
		return 0, h, 1
	case 6: // turned to the left
		return h - 1, h, -1
	case 7:
		return w*h - 1, -h, -1
	case 8: // turned to the right
		return h * (w - 1), -h, 1
	}
	return 0, 1, w
}

// rowWriter returns the function that writes row y of m, counted from the top of m, as RGB.
func rowWriter(m image.Image, isWebP bool) func(dst []byte, y int) {
	switch m := m.(type) {
	case *image.YCbCr:
		if isWebP {
			return func(dst []byte, y int) { fancyWebP(dst, m, m.Rect.Dx(), m.Rect.Dy(), y) }
		}
		return newUpsampler(m).row
	case *image.NYCbCrA:
		return func(dst []byte, y int) { fancyWebP(dst, &m.YCbCr, m.Rect.Dx(), m.Rect.Dy(), y) }
	case *image.Gray:
		return func(dst []byte, y int) { grey(dst, m.Pix[y*m.Stride:]) }
	case *image.Gray16:
		return func(dst []byte, y int) { grey16(dst, m.Pix[y*m.Stride:]) }
	case *image.RGBA:
		return func(dst []byte, y int) { every(dst, m.Pix[y*m.Stride:], 4, 1) }
	case *image.NRGBA:
		return func(dst []byte, y int) { every(dst, m.Pix[y*m.Stride:], 4, 1) }
	case *image.RGBA64:
		return func(dst []byte, y int) { every(dst, m.Pix[y*m.Stride:], 8, 2) }
	case *image.NRGBA64:
		return func(dst []byte, y int) { every(dst, m.Pix[y*m.Stride:], 8, 2) }
	case *image.CMYK:
		return func(dst []byte, y int) { cmyk(dst, m.Pix[y*m.Stride:]) }
	case *image.Paletted:
		var colors [256][3]byte
		for i, c := range m.Palette[:min(256, len(m.Palette))] {
			n := color.NRGBAModel.Convert(c).(color.NRGBA)
			colors[i] = [3]byte{n.R, n.G, n.B}
		}
		return func(dst []byte, y int) {
			for x, i := range m.Pix[y*m.Stride:][:len(dst)/3] {
				copy(dst[3*x:3*x+3], colors[i][:])
			}
		}
	}
	b := m.Bounds()
	return func(dst []byte, y int) {
		for x := range len(dst) / 3 {
			n := color.NRGBAModel.Convert(m.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			dst[3*x], dst[3*x+1], dst[3*x+2] = n.R, n.G, n.B
		}
	}
}

// every copies the first three channels of pixels that are step bytes apart; channels of 16 bits,
// width 2, keep their upper byte.
func every(dst, src []byte, step, width int) {
	for x := range len(dst) / 3 {
		dst[3*x], dst[3*x+1], dst[3*x+2] = src[step*x], src[step*x+width], src[step*x+2*width]
	}
}

func grey(dst, src []byte) {
	for x := range len(dst) / 3 {
		v := src[x]
		dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
	}
}

// grey16 converts big-endian grey of 16 bits, which Pillow does not scale: 255 and above are white.
func grey16(dst, src []byte) {
	for x := range len(dst) / 3 {
		v := src[2*x+1]
		if src[2*x] > 0 {
			v = 255
		}
		dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
	}
}

// cmyk converts inks as Pillow does.
func cmyk(dst, src []byte) {
	for x := range len(dst) / 3 {
		white := 255 - int(src[4*x+3])
		for c := range 3 {
			t := int(src[4*x+c])*white + 128
			dst[3*x+c] = byte(max(0, white-(t>>8+t)>>8))
		}
	}
}
