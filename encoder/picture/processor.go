package picture

import "fmt"

// Processor holds the settings of an image processor. The steps have the order of its fields.
type Processor struct {
	Blend           bool // put transparent pictures on white; else their transparency is dropped
	Shortest        int  // resize so that the shorter side has this length; 0: see the next two
	Width, Height   int  // resize to this size; 0: no resizing
	Filter          Filter
	CropW, CropH    int         // cut this much from the middle, filled up with black; 0: nothing is cut
	Rescale         float64     // factor of the samples, 1 for none
	Mean, Deviation *[3]float64 // subtracted, and then divided by; nil: none
}

// Size returns the size of the result where it does not depend on the picture.
func (p *Processor) Size() (width, height int, fixed bool) {
	switch {
	case p.CropW > 0:
		return p.CropW, p.CropH, true
	case p.Shortest == 0 && p.Width > 0:
		return p.Width, p.Height, true
	}
	return 0, 0, false
}

// Apply returns the samples [3, height, width] of a picture, one plane for each colour. It needs a
// fixed size.
func (p *Processor) Apply(m *Picture) []float32 {
	w, h, fixed := p.Size()
	if !fixed {
		panic(fmt.Sprintf("picture: Apply with %+v, which gives no fixed size", *p))
	}
	width, height := m.Width, m.Height
	switch {
	case p.Shortest > 0 && width <= height:
		width, height = p.Shortest, p.Shortest*height/width
	case p.Shortest > 0:
		width, height = p.Shortest*width/height, p.Shortest
	case p.Width > 0:
		width, height = p.Width, p.Height
	}
	// shifts round down, as Python's // does for pictures smaller than the crop
	left, top := (width-w)>>1, (height-h)>>1
	pixels := m.resize(m.rows(p.Blend), p.Filter, width, height, left, top, w, h)
	planes := make([]float32, 3*w*h)
	for c := range 3 {
		table, plane := p.table(c), planes[c*w*h:(c+1)*w*h]
		for i := range plane {
			plane[i] = table[pixels[3*i+c]]
		}
	}
	return planes
}

// rows returns a function that returns row y as RGB until its next call, on white with blend as by
// Pillow's alpha_composite.
func (m *Picture) rows(blend bool) func(y int) []byte {
	plain := func(y int) []byte { return m.Pixels[3*y*m.Width : 3*(y+1)*m.Width] }
	if !blend || m.Alpha == nil {
		return plain
	}
	line := make([]byte, 3*m.Width)
	return func(y int) []byte {
		row := plain(y)
		for x, a := range m.Alpha[y*m.Width : (y+1)*m.Width] {
			for c := range 3 {
				const white, fraction = 255, 7 // binary places
				v := uint32(row[3*x+c])*(uint32(a)<<fraction) + white*(uint32(255-a)<<fraction) + 0x80<<fraction
				line[3*x+c] = byte((v>>8 + v) >> 8 >> fraction)
			}
		}
		return line
	}
}

// table returns what each sample of colour c becomes, in the arithmetic of transformers: the factor
// in float64, the rest in float32.
func (p *Processor) table(c int) (t [256]float32) {
	for i := range t {
		t[i] = float32(float64(i) * p.Rescale)
		if p.Mean != nil {
			t[i] = (t[i] - float32(p.Mean[c])) / float32(p.Deviation[c])
		}
	}
	return t
}

// Patches reorders the samples of a picture [3, side, side] by square patches, from left to right
// and from top to bottom: [patches, 3, patch, patch]. What is left at the right and at the bottom
// is dropped.
func Patches(planes []float32, side, patch int) []float32 {
	n := side / patch
	out := make([]float32, 0, n*n*3*patch*patch)
	for i := range n * n {
		top, left := i/n*patch, i%n*patch
		for c := range 3 {
			for y := range patch {
				at := (c*side+top+y)*side + left
				out = append(out, planes[at:at+patch]...)
			}
		}
	}
	return out
}
