package picture

import (
	"bytes"
	"image"
	"image/gif"
	"io"
)

// inspectGIF reads the size of the canvas; a frame that does not fit into it is an error later.
func inspectGIF(b []byte) (int, image.Config, error) {
	c, err := gif.DecodeConfig(bytes.NewReader(b))
	return 1, c, err
}

// opaqueGIF returns the file without the transparency of its first frame, because the decoder drops
// the transparent colour, and the index of that colour; -1: none.
func opaqueGIF(b []byte) (r io.Reader, transparent int) {
	const header = 13
	r = bytes.NewReader(b)
	if len(b) < header {
		return r, -1
	}
	at, flags := header, -1
	if b[10]&0x80 != 0 {
		at += 3 << (1 + b[10]&7)
	}
	for at+6 < len(b) && b[at] == 0x21 { // extensions
		if b[at+1] == 0xf9 && b[at+3]&1 != 0 {
			flags, transparent = at+3, int(b[at+6])
		} else if b[at+1] == 0xf9 {
			flags = -1
		}
		for at += 2; at < len(b) && b[at] != 0; at += 1 + int(b[at]) {
		}
		at++
	}
	if flags < 0 {
		return r, -1
	}
	return io.MultiReader(bytes.NewReader(b[:flags]), bytes.NewReader([]byte{b[flags] &^ 1}), bytes.NewReader(b[flags+1:])), transparent
}
