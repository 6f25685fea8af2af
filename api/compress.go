package api

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// minCompressed is the length in bytes from which an answer is compressed.
const minCompressed = 1 << 10

// compressed are the media types that are compressed. Snapshots are not, since clients ask for
// parts of them.
var compressed = []string{
	"application/json", "application/problem+json", "application/x-ndjson", "application/yaml",
	"text/html", "text/css", "text/javascript", "application/javascript", "text/plain", "image/svg+xml",
}

// compress makes h send answers with gzip to clients that accept it. An ETag does not depend on the
// coding. The level needs 14 KB of memory for an answer instead of 0.8 MB, so that many clients may
// read slowly.
func compress(h http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.ContentTypes(compressed),
		gzhttp.CompressionLevel(gzip.StatelessCompression), gzhttp.EnableZstd(false))
	if err != nil {
		return nil, err
	}
	return wrap(h), nil
}
