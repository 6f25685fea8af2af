package pdf

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	scanDPI    = 300      // of the picture of a page
	maxPixels  = 12 << 20 // of it
	renderTime = 20 * time.Second
)

// recognise reads the pages without text by OCR, and notes the first error.
func (d *document) recognise(ctx context.Context, i *instance, doc uint64, ocr func(context.Context, []byte) (string, error)) {
	for n := range d.pages {
		p := &d.pages[n]
		if p.state != pageScan {
			continue
		}
		picture := i.picture(ctx, doc, n)
		if picture == nil || ctx.Err() != nil {
			return
		}
		text, err := ocr(ctx, picture)
		if text = strings.TrimSpace(text); text != "" && err == nil {
			p.state = pageRead
			p.add(text, nil)
		} else if err != nil && d.stopped == "" {
			d.stopped = fmt.Sprintf("page %d: %v", n+1, err)
		} else if err == nil {
			p.state = pageBlank
		}
	}
}

// picture returns page n as a portable graymap; nil if it cannot be rendered.
func (i *instance) picture(ctx context.Context, doc uint64, n int) []byte {
	ctx, cancel := context.WithTimeout(ctx, renderTime)
	defer cancel()
	page := i.call(ctx, "FPDF_LoadPage", doc, uint64(n))
	if page == 0 {
		return nil
	}
	defer i.quick("FPDF_ClosePage", page)
	number := func(bits uint64) float64 { return finite(float64(math.Float32frombits(uint32(bits)))) }
	w, h := number(i.quick("FPDF_GetPageWidthF", page)), number(i.quick("FPDF_GetPageHeightF", page))
	if w < 1 || h < 1 {
		return nil
	}
	scale := min(scanDPI/72., math.Sqrt(maxPixels/(w*h)))
	width, height := uint64(w*scale), uint64(h*scale)
	const gray, white, annotations = 1, 0xffffffff, 1
	bitmap := i.quick("FPDFBitmap_CreateEx", width, height, gray, 0, 0)
	if bitmap == 0 {
		return nil
	}
	defer i.quick("FPDFBitmap_Destroy", bitmap)
	i.quick("FPDFBitmap_FillRect", bitmap, 0, 0, width, height, white)
	i.call(ctx, "FPDF_RenderPageBitmap", bitmap, page, 0, 0, width, height, 0, annotations)
	stride := i.quick("FPDFBitmap_GetStride", bitmap)
	at := i.quick("FPDFBitmap_GetBuffer", bitmap)
	pixels, ok := i.memory.Read(uint32(at), uint32(stride*height))
	if !ok || i.err != nil || stride < width {
		return nil
	}
	picture := fmt.Appendf(nil, "P5 %d %d 255\n", width, height)
	for y := range height {
		picture = append(picture, pixels[y*stride:y*stride+width]...)
	}
	return picture
}
