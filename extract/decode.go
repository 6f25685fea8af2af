package extract

import (
	"bufio"
	"bytes"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"example.com/searchd/extract/content"
)

// ofLines are the formats that declare no encoding; those of inUTF16 may be in UTF-16.
var (
	ofLines = map[Format]bool{CSV: true, Markdown: true, Text: true, VCF: true, ICS: true}
	inUTF16 = map[Format]bool{CSV: true, Markdown: true, Text: true, VCF: true, ICS: true, HTML: true, EML: true, JSONL: true, IPYNB: true, Canvas: true, OPML: true}
)

// decode decodes a stream without a byte order mark if it looks like UTF-16, or if its format
// declares no encoding and it is in Options.Encoding or seems to be in a legacy one. The Decoder
// handles the rest.
func (x *source) decode(br *bufio.Reader) (*bufio.Reader, error) {
	enc := encoding.Encoding(nil)
	if inUTF16[x.format] && !x.Marked {
		enc = content.LooksUTF16(br, !x.format.ofRecords())
	}
	if enc == nil && ofLines[x.format] && !x.Marked && !x.Decoder.Strict {
		size := bufferSize
		if x.Decoder.Enc == nil && x.info == nil && x.format.ofRecords() { // one must not wait for more of records
			size = br.Buffered()
		}
		head, _ := br.Peek(size)
		bad, multi := content.ScanUTF8(content.WholeRunes(head))
		if x.Decoder.Enc != nil && (bad > multi || bytes.IndexByte(head, 0) >= 0 || x.Decoder.Escaped && bytes.IndexByte(head, 0x1b) >= 0) {
			enc = x.Decoder.Enc
		}
		if x.Decoder.Enc == nil && bad > multi && bytes.IndexByte(head, 0) < 0 {
			if g := content.GuessCharset(head); g.Confidence > 0 {
				enc = g.Enc
				if err := x.Warnf(0, "%s", g); err != nil {
					return nil, err
				}
			}
		}
	}
	if enc == nil {
		return br, nil
	}
	x.Marked = true
	return bufio.NewReaderSize(transform.NewReader(br, enc.NewDecoder()), bufferSize), nil
}
