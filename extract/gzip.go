package extract

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
)

const bufferSize = 64 << 10

// countReader counts the bytes that it reads, also in total.
type countReader struct {
	r     io.Reader
	n     int64
	total *int64
}

func (c *countReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	*c.total += int64(n)
	return n, err
}

// bombReader reads decompressed data and fails after too much of it.
type bombReader struct {
	r        io.Reader
	packed   *countReader
	n        int64
	maxBytes int64
	maxRatio int
}

func (b *bombReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	switch {
	case b.n > b.maxBytes:
		return 0, fmt.Errorf("gzip: unpacks to more than the limit of %d bytes", b.maxBytes)
	case b.n > 1<<20 && b.n/int64(b.maxRatio) > b.packed.n:
		// The decompressor reads ahead, so the packed count is never too small.
		return 0, fmt.Errorf("gzip: unpacks %d bytes to %d, more than the limit of %d to 1", b.packed.n, b.n, b.maxRatio)
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("gzip: damaged data: %w", err)
	}
	return n, err
}

// gunzip decompresses r if it is gzip. Double compression is an error, as it only serves bombs.
// packed must count what r reads.
func gunzip(r *bufio.Reader, packed *countReader, o Options) (_ *bufio.Reader, unpacked bool, _ error) {
	if !isGzip(r) {
		return r, false, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, true, fmt.Errorf("gzip: damaged header: %w", err)
	}
	out := bufio.NewReaderSize(&bombReader{r: z, packed: packed, maxBytes: o.MaxUnpacked, maxRatio: o.MaxRatio}, bufferSize)
	if isGzip(out) {
		return nil, true, fmt.Errorf("gzip: packed twice; unpack it once first")
	}
	return out, true, nil
}

func isGzip(r *bufio.Reader) bool {
	head, _ := r.Peek(3)
	return len(head) == 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8
}
