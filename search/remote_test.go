package search_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/searchd/search"
)

// TestRemoteEmbedder: a collection is encoded by another server, is searched by words while that
// fails, and goes on after a restart; its key is in no file.
func TestRemoteEmbedder(t *testing.T) {
	var asked atomic.Int64
	var broken atomic.Bool
	fake := &fakeEmbedder{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if broken.Load() || r.Header.Get("Authorization") != "Bearer hunter2-hunter2" {
			w.WriteHeader(403)
			return
		}
		var q struct{ Inputs []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		e, err := fake.Embed(r.Context(), q.Inputs, search.EmbedOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		json.NewEncoder(w).Encode(e.Vectors)
	}))
	defer s.Close()
	u, _ := url.Parse(s.URL)
	t.Setenv("EMBEDDER_HOSTS", u.Host)
	t.Setenv("EMBEDDER_KEY_TEST", "hunter2-hunter2")
	dir := t.TempDir()
	e := openWith(t, dir, search.Options{Embedder: refuses{&fakeEmbedder{}}})
	embedder := search.EmbedderSettings{Source: "tei", URL: s.URL, Dimension: fakeDim, KeyEnv: "EMBEDDER_KEY_TEST"}
	info, err := e.CreateCollection(t.Context(), "far", search.Settings{Embedder: &embedder})
	if err != nil || info.Model.Name != "tei" || asked.Load() != 0 {
		t.Fatalf("%+v, %v", info, err)
	}
	ingest(t, e, "far", doc("car", `{"text":"a red car"}`), doc("cat", `{"text":"a sleeping cat"}`))
	find := func(e *search.Engine, q search.Query) (*search.Response, error) {
		return e.Search(t.Context(), "far", q)
	}
	if r, err := find(e, search.Query{Q: "kitten", Mode: search.Semantic}); err != nil || idsOf(r)[0] != "cat" {
		t.Errorf("by meaning: %v, %v", r, err)
	}
	broken.Store(true)
	if r, err := find(e, search.Query{Q: "red vehicle"}); err != nil || !r.Degraded || len(r.Hits) != 1 {
		t.Errorf("while the server fails: %+v, %v", r, err)
	}
	if _, err := find(e, search.Query{Q: "vehicle", Mode: search.Semantic}); !errors.Is(err, search.ErrEmbedder) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("by meaning alone: %v", err)
	}
	if _, err := e.Ingest(t.Context(), "far", []search.Document{doc("x", `{"text":"y"}`)}); !errors.Is(err, search.ErrEmbedder) {
		t.Errorf("ingest: %v", err)
	}
	broken.Store(false)
	// The address may change in place, what decides the vectors may not.
	change := func(f func(*search.EmbedderSettings)) error {
		_, err := e.ChangeSettings(t.Context(), "far", func(s search.Settings) (search.Settings, error) {
			next := *s.Embedder
			f(&next)
			s.Embedder = &next
			return s, nil
		})
		return err
	}
	if err := change(func(e *search.EmbedderSettings) { e.Batch = 1 }); err != nil {
		t.Errorf("another batch: %v", err)
	}
	if err := change(func(e *search.EmbedderSettings) { e.QueryPrompt = "query: " }); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("another prompt: %v", err)
	}
	before := asked.Load()
	ingest(t, e, "far", doc("d1", `{"text":"one"}`), doc("d2", `{"text":"two"}`))
	if n := asked.Load() - before; n != 2 {
		t.Errorf("%d requests for two texts, one at a time", n)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "hunter2") {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	e = openWith(t, dir, search.Options{Embedder: &fakeEmbedder{}})
	if r, err := find(e, search.Query{Q: "automobile", Mode: search.Semantic}); err != nil || idsOf(r)[0] != "car" {
		t.Errorf("after a restart: %v, %v", r, err)
	}
	// To the model of this server and back.
	for _, s := range []search.Settings{{}, {Embedder: &embedder}} {
		task, err := e.Reembed(t.Context(), "far", search.ReembedOptions{Settings: &s})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, e, task)
		info, err := e.Collection(t.Context(), "far")
		if err != nil || (info.Model.Name == "tei") != (s.Embedder != nil) || info.Passages != 4 {
			t.Errorf("re-embedded: %+v, %v", info, err)
		}
		if r, err := find(e, search.Query{Q: "kitten", Mode: search.Semantic}); err != nil || idsOf(r)[0] != "cat" {
			t.Errorf("re-embedded: %v, %v", r, err)
		}
	}
	t.Setenv("EMBEDDER_HOSTS", "")
	if _, err := e.CreateCollection(t.Context(), "no", search.Settings{Embedder: &embedder}); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), "embedder.url") {
		t.Errorf("a host that is not listed: %v", err)
	}
}
