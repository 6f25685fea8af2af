// Package picture reads pictures and prepares them for a vision transformer, pixel for pixel as
// Hugging Face's image processors do with Pillow.
//
// [Decode] reads JPEG, PNG, GIF and WebP into RGB. Sizes are checked against [Limits] before
// anything is decoded, so that a small file cannot ask for much memory. [Preprocess] resizes, crops
// and normalises with the numbers of a checkpoint's preprocessor_config.json.
//
// # Caveats
//
// Colour profiles are ignored, as Pillow ignores them. Of an animated GIF the first frame counts;
// animated WebP is not supported.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// Errors of a file.
var (
	// ErrFormat is a file that is no picture of a supported format, or a damaged one.
	ErrFormat = errors.New("picture: not a picture that can be read")
	// ErrTooLarge is a picture beyond the limits.
	ErrTooLarge = errors.New("picture: too large")
)

// Limits bound what a picture may cost. The zero value stands for the defaults.
type Limits struct {
	// Pixels is the greatest width times height. 0 means 100 million.
	Pixels int
	// Bytes is the most memory that decoding may take. 0 means 512 MiB.
	Bytes int
}

// maxSide bounds the width and the height; only PNG could have more.
const maxSide = 1<<16 - 1

// Picture is RGB, 8 bits each.
type Picture struct {
	Width, Height int
	Pixels        []byte // [Height, Width, 3]
	Alpha         []byte // [Height, Width]; nil: opaque
}

// Formats lists what Decode reads.
const Formats = "JPEG, PNG, GIF or WebP"

// Decode reads a picture and turns it by the orientation in its EXIF data, as
// transformers.image_utils.load_image does. Grey, palettes, inks and 16 bits become RGB as Pillow's
// convert("RGB") has it. It returns ErrFormat or ErrTooLarge.
func Decode(b []byte, l Limits) (p *Picture, err error) {
	if l.Pixels <= 0 {
		l.Pixels = 100_000_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 512 << 20
	}
	defer func() { // a decoder that meets bytes its author did not think of must not end the program
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("%w: the decoder failed: %v", ErrFormat, r)
		}
	}()
	f := formatOf(b)
	if f == nil {
		return nil, fmt.Errorf("%w: want %s", ErrFormat, Formats)
	}
	cost, config, err := f.inspect(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFormat, f.name, err)
	}
	w, h := config.Width, config.Height
	if w <= 0 || h <= 0 {
		return nil, fmt.Errorf("%w: %s of %d×%d pixels", ErrFormat, f.name, w, h)
	}
	const rgb, alpha = 3, 1
	cost += rgb + alpha
	if max(w, h) > maxSide {
		return nil, fmt.Errorf("%w: %s of %d×%d pixels, no side may have more than %d", ErrTooLarge, f.name, w, h, maxSide)
	}
	if w > l.Pixels/h || w*h > l.Bytes/cost {
		return nil, fmt.Errorf("%w: %s of %d×%d pixels, at most %d can be read", ErrTooLarge, f.name, w, h, min(l.Pixels, l.Bytes/cost))
	}
	var r io.Reader = bytes.NewReader(b)
	transparent := -1
	if f.name == "GIF" {
		r, transparent = opaqueGIF(b)
	}
	m, err := f.decode(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFormat, f.name, err)
	}
	if !m.Bounds().In(image.Rect(0, 0, w, h)) {
		return nil, fmt.Errorf("%w: %s: a frame at %v outside of %d×%d pixels", ErrFormat, f.name, m.Bounds(), w, h)
	}
	return render(m, w, h, transparent, f.name == "WebP", ReadEXIF(b).Orientation), nil
}

// format is how files of one kind are read.
type format struct {
	name    string
	magic   func(b []byte) bool
	inspect func(b []byte) (bytesPerPixel int, c image.Config, err error) // reads headers only
	decode  func(r io.Reader) (image.Image, error)
	exif    func(b []byte) []byte // the TIFF structure; nil: the format has none
}

var formats = []format{
	{"JPEG", prefix("\xff\xd8\xff"), inspectJPEG, jpeg.Decode, exifOfJPEG},
	{"PNG", prefix("\x89PNG\r\n\x1a\n"), inspectPNG, png.Decode, exifOfPNG},
	{"GIF", prefix("GIF8"), inspectGIF, gif.Decode, nil},
	{"WebP", isWebP, inspectWebP, webp.Decode, exifOfWebP},
}

func formatOf(b []byte) *format {
	for i := range formats {
		if formats[i].magic(b) {
			return &formats[i]
		}
	}
	return nil
}

// Known reports whether b begins like a picture that Decode may read.
func Known(b []byte) bool { return formatOf(b) != nil }

func prefix(s string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(s)) }
}

// inspectJPEG counts what decoding holds beside the samples: a converted copy for RGB and CMYK, and
// the coefficients that a progressive file keeps until its end.
func inspectJPEG(b []byte) (int, image.Config, error) {
	c, err := jpeg.DecodeConfig(bytes.NewReader(b))
	cost, channels := 3, 3
	switch c.ColorModel {
	case color.GrayModel:
		cost, channels = 1, 1
	case color.RGBAModel:
		cost = 7
	case color.CMYKModel:
		cost, channels = 8, 4
	}
	if progressive(b) {
		const coefficient = 4
		cost += coefficient * channels
	}
	return cost, c, err
}

// inspectPNG counts the passes of an interlaced file beside the picture.
func inspectPNG(b []byte) (int, image.Config, error) {
	c, err := png.DecodeConfig(bytes.NewReader(b))
	cost := 4
	switch c.ColorModel {
	case color.Gray16Model:
		cost = 2
	case color.RGBA64Model, color.NRGBA64Model:
		cost = 8
	case color.GrayModel:
		cost = 1
	}
	if _, ok := c.ColorModel.(color.Palette); ok {
		cost = 1
	}
	const interlace = 28 // offset of the byte in IHDR, which comes first
	if len(b) > interlace && b[interlace] != 0 {
		cost *= 2
	}
	return cost, c, err
}
