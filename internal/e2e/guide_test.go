package e2e

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"example.com/searchd/api"
	"example.com/searchd/search"
)

var example = regexp.MustCompile("(?s)```http\n(GET|POST|PATCH) (\\S+)\n(.*?)```")

// TestGuide runs every request of the search reference against the notes: each is answered with 200
// and finds something.
func TestGuide(t *testing.T) {
	text := read(t, "../../docs/reference/search.md") + read(t, "../../docs/reference/query-language.md")
	e, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	for id, d := range readNotes(t) {
		fields, err := json.Marshal(d.Fields)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, search.Document{ID: id, Fields: fields})
	}
	if _, err := e.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	s, err := api.New(api.Options{Engine: e, Inference: e.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	examples := example.FindAllStringSubmatch(text, -1)
	if len(examples) < 12 {
		t.Errorf("%d examples, want at least 12", len(examples))
	}
	for _, m := range examples {
		t.Run(m[1]+" "+m[2], func(t *testing.T) {
			r := httptest.NewRequest(m[1], "http://localhost"+m[2], strings.NewReader(m[3]))
			if m[1] == http.MethodGet {
				r.Body = http.NoBody
			}
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusOK || m[1] != http.MethodPatch && !strings.HasSuffix(m[2], "/delete") && !bytes.Contains(w.Body.Bytes(), []byte(`"passages":[{`)) || bytes.Contains(w.Body.Bytes(), []byte(`"error":`)) {
				t.Errorf("%s\nstatus %d: %.600s", m[3], w.Code, w.Body)
			}
		})
	}
}
