//go:build linux && !race

// The limit on memory is Linux's, and the race detector reserves far more address space than the child may have.

package pdf

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// bombs are files that take all there is, each in its own way.
func bombs() map[string][]byte {
	zeros := strings.Repeat("\x00", 64<<20)
	deep := strings.Repeat("[", 20<<20)
	return map[string][]byte{
		"deflate bomb":       pages(stream("/Filter /FlateDecode", deflate("BT /F1 9 Tf ("+zeros+zeros+zeros+") Tj ET"))),
		"nested arrays":      pages(stream("/Filter /FlateDecode", deflate(deep))),
		"claimed size":       bytes.Replace(pages(stream("", "x")), []byte("/Size 6"), []byte("/Size 99999999999"), 1),
		"xref of billions":   bytes.Replace(pages(stream("", "x")), []byte("xref\n0 6"), []byte("xref\n4000000000 6"), 1),
		"page tree loop":     file(catalogue, "<< /Type /Pages /Count 5 /Kids [2 0 R 2 0 R] >>"),
		"page tree of many":  file(catalogue, "<< /Type /Pages /Count 2000000000 /Kids [2 0 R] >>"),
		"parent loop":        file(catalogue, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", "<< /Type /Page /Parent 3 0 R /Contents 4 0 R >>", stream("", "BT /F1 9 Tf (x) Tj ET")),
		"stream in itself":   file(catalogue, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", "<< /Length 4 0 R >>\nstream\nx\nendstream"),
		"form in itself":     file(catalogue, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", "<< /Type /Page /Parent 2 0 R /Resources << /XObject << /X 4 0 R >> >> /Contents 4 0 R >>", stream("/Subtype /Form /Resources << /XObject << /X 4 0 R >> >>", "/X Do /X Do /X Do /X Do /X Do /X Do")),
		"previous xref loop": bytes.Replace(pages(stream("", "x")), []byte("/Root"), []byte("/Prev 9 /Root"), 1),
		"endless numbers":    pages(stream("/Filter /FlateDecode", deflate(strings.Repeat("1 ", 40<<20)))),
	}
}

// Each ends within its limits, with an error or a text, and takes nothing of this process with it.
func TestBombs(t *testing.T) {
	r := Reader{Command: Self(), Time: 2 * time.Second, Memory: 256 << 20}
	for name, in := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			got, err := r.Read(context.Background(), in)
			if d := time.Since(began); d > 30*time.Second { // of a loaded machine
				t.Errorf("took %v", d)
			}
			if len(got.Text) > 1000 {
				t.Errorf("%d bytes of text", len(got.Text))
			}
			t.Logf("%v: %v %q %q", time.Since(began).Round(time.Millisecond), err, got.Warning, got.Text)
			if err != nil && strings.Contains(err.Error(), "its reader failed") {
				t.Errorf("a death without a reason in words: %v", err)
			}
		})
	}
}
