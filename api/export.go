package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"example.com/searchd/search"
	"example.com/searchd/search/passage"
)

// exportDocuments sends all documents of a collection as NDJSON that can be imported. Each page is
// a snapshot of its own.
func (s *Server) exportDocuments(w http.ResponseWriter, r *http.Request) error {
	c := r.PathValue("collection")
	rc := http.NewResponseController(w)
	cursor, page := "", 200
	for first := true; ; first = false {
		docs, next, err := s.o.Engine.Documents(r.Context(), c, cursor, page)
		if err == nil {
			err = s.stillAllowed(r.Context())
		}
		if err != nil {
			if !first {
				panic(http.ErrAbortHandler) // a cut connection cannot be taken for the end of the documents
			}
			return err
		}
		if first {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.WriteHeader(http.StatusOK)
		}
		rc.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout))
		if err := writeLines(w, docs); err != nil {
			return err
		}
		rc.Flush()
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// exportLine has no passages: an import makes them again.
type exportLine struct {
	ID       string                     `json:"id"`
	Revision uint64                     `json:"revision"`
	Document json.RawMessage            `json:"document"`
	Blocks   map[string][]passage.Block `json:"blocks,omitempty"`
	Vector   []float32                  `json:"vector,omitempty"`
	Vectors  []search.StoredVector      `json:"vectors,omitempty"`
}

func writeLines(w http.ResponseWriter, docs []search.StoredDocument) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, d := range docs {
		if err := enc.Encode(exportLine{d.ID, d.Revision, d.Fields, d.Blocks, d.Vector, d.Vectors}); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
