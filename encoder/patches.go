package encoder

import "example.com/searchd/internal/simd"

// patchSpec names the tensors that make the first states of a picture: each square patch is a
// token, whose state is a linear function of its samples. Letters: C colours, S side of a picture,
// P side of a patch.
type patchSpec struct {
	weight       string // [H, C, P, P]
	bias         bool
	class        string // [H], a token before the patches; "": none
	classBatched bool   // it is [1, 1, H]
	size         int    // S
	patch        int    // P; before readPatches, the default
}

// colors is C: red, green and blue.
const colors = 3

// maxPatches bounds the tokens of a picture, far above every published encoder.
const maxPatches = 1 << 14

// grid returns the number of patches in a row.
func (p *patchSpec) grid() int { return p.size / p.patch }

// inputs returns the number of samples of a patch.
func (p *patchSpec) inputs() int { return colors * p.patch * p.patch }

// tokens returns the number of tokens of a picture.
func (p *patchSpec) tokens() int {
	n := p.grid() * p.grid()
	if p.class != "" {
		n++
	}
	return n
}

// readPatches reads the sizes of pictures and patches, and sets the rows of the position table.
func (a *architecture) readPatches(f *fields) {
	p := a.patches
	if p.patch == 0 {
		p.patch = 16
	}
	const maxSide = 4096
	p.size = f.int("image_size", 224, 1, maxSide)
	p.patch = f.int("patch_size", p.patch, 1, p.size)
	if p.grid()*p.grid() > maxPatches {
		f.fail("patch_size", "is %d, which cuts pictures of side %d into more than %d patches", p.patch, p.size, maxPatches)
		p.patch = p.size
	}
	if n := f.int("num_channels", colors, 1, 1024); n != colors {
		f.fail("num_channels", "is %d, only %d is supported", n, colors)
	}
	a.maxTokens = p.tokens()
	a.positions = positionTable{rows: a.maxTokens, padID: -1}
}

// patches makes the first states of pictures.
type patches struct {
	*patchSpec
	linear *linear   // [H, C*P*P]
	first  []float32 // [H], of the class token; nil: none
}

func (l *loader) patches(a *architecture) *patches {
	spec := a.patches
	if spec == nil {
		return nil
	}
	p := &patches{patchSpec: spec, linear: &linear{}}
	p.linear.w = l.pack(l.tensor(spec.weight+".weight", a.hidden, colors, spec.patch, spec.patch), a.hidden, spec.inputs())
	if spec.bias {
		p.linear.bias = l.tensor(spec.weight+".bias", a.hidden)
	}
	switch {
	case spec.classBatched:
		p.first = l.tensor(spec.class, 1, 1, a.hidden)
	case spec.class != "":
		p.first = l.tensor(spec.class, a.hidden)
	}
	return p
}

// write writes the states of the tokens [from, to) of a batch of pictures to x, without positions.
func (p *patches) write(x []float32, b *batch, from, to int) {
	hidden, n := len(x)/(to-from), p.inputs()
	for k, pixels := range b.pixels {
		begin := b.offsets[k]
		lo, hi := max(from, begin), min(to, b.offsets[k+1])
		if lo >= hi {
			continue
		}
		if p.first != nil {
			if begin++; lo < begin {
				copy(x[(lo-from)*hidden:], p.first)
				lo = begin
			}
		}
		if lo < hi {
			p.linear.mul(x[(lo-from)*hidden:(hi-from)*hidden], pixels[(lo-begin)*n:(hi-begin)*n], hi-lo, simd.Identity, nil)
		}
	}
}
