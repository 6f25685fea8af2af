package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"searchd/extract"
	"searchd/search"
)

// runCSV reads CSV as ingest reads CSV files: the first row names the fields, the delimiter is recognised, numbers and true and false are
// taken for what they are, _id or id is the id. A row that cannot be right is answered with its error.
func (im *importer) runCSV(ctx context.Context, body io.Reader) error {
	src := &failingReader{r: body}
	im.line = 1
	err := extract.Reader(ctx, src, "", extract.CSV, extract.Options{MaxLine: int64(im.s.o.MaxItem)},
		func(d extract.Document) error {
			im.line = d.Line
			raw, err := json.Marshal(d.Fields)
			if err != nil {
				return im.add(ctx, search.Document{ID: d.ID}, err, 0)
			}
			return im.add(ctx, search.Document{ID: d.ID, Fields: raw}, nil, len(raw))
		},
		func(e extract.ItemError) error {
			if e.Warning || src.err != nil { // the end tells what was wrong with the body
				return nil
			}
			im.line = max(1, e.Line)
			return im.add(ctx, search.Document{}, &requestError{kind: errMalformed, detail: fmt.Sprintf("line %d: %s", im.line, e.Reason)}, 0)
		})
	if err != nil && src.err == nil {
		return im.abort(err)
	}
	return im.end(ctx, src.err)
}

// failingReader remembers the error that ended a body.
type failingReader struct {
	r   io.Reader
	err error
}

func (f *failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
