package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	stdlog "log"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/api"
	"example.com/searchd/api/apitest"
	"example.com/searchd/client"
	"example.com/searchd/search"
)

// server runs the API over an engine; wrap, where not nil, stands before it.
func server(t testing.TB, wrap func(http.Handler) http.Handler) (*client.Client, *apitest.Engine) {
	t.Helper()
	engine := apitest.New(t)
	s, err := api.New(api.Options{Engine: engine, Inference: engine, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handler()
	if wrap != nil {
		h = wrap(h)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := client.New(srv.URL, client.Options{MinWait: time.Millisecond, MaxWait: 20 * time.Millisecond, BatchDocuments: 10, Retries: 4})
	if err != nil {
		t.Fatal(err)
	}
	return c, engine
}

// TestDeleteByFilterUnfinished: the server's time may be up before it has deleted or counted
// everything.
func TestDeleteByFilterUnfinished(t *testing.T) {
	for _, tc := range []struct {
		name             string
		dryRun           bool
		answers          []string
		matched, deleted int
		want             error
	}{
		{"goes on", false, []string{`{"matched":512,"deleted":512,"complete":false}`, `{"matched":3,"deleted":3,"complete":true}`}, 515, 515, nil},
		{"comes no further", false, []string{`{"matched":5,"deleted":5,"complete":false}`, `{"matched":0,"deleted":0,"complete":false}`}, 5, 5, client.ErrIncomplete},
		{"dry run", true, []string{`{"matched":512,"deleted":0,"complete":false}`}, 512, 0, client.ErrIncomplete},
		{"whole dry run", true, []string{`{"matched":9,"deleted":0,"complete":true}`}, 9, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answers := tc.answers
			c, _ := server(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.WriteString(w, answers[0])
					answers = answers[1:]
				})
			})
			matched, deleted, err := c.DeleteByFilter(t.Context(), "docs", "a = 1", tc.dryRun)
			if matched != tc.matched || deleted != tc.deleted || !errors.Is(err, tc.want) || len(answers) > 0 {
				t.Errorf("DeleteByFilter = %d, %d, %v, want %d, %d, %v; answers left: %d", matched, deleted, err, tc.matched, tc.deleted, tc.want, len(answers))
			}
		})
	}
}

func numbered(n int) iter.Seq2[client.Document, error] {
	return func(yield func(client.Document, error) bool) {
		for i := range n {
			d := client.Document{ID: fmt.Sprintf("n%d", i), Fields: json.RawMessage(fmt.Sprintf(`{"title":"number %d"}`, i))}
			if !yield(d, nil) {
				return
			}
		}
	}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestNewChecksTheURL(t *testing.T) {
	for _, base := range []string{"", "ftp://x", "http://", "://", "http://x?q=1", "http://x/#top"} {
		if _, err := client.New(base, client.Options{}); err == nil {
			t.Errorf("New(%q): no error", base)
		}
	}
	for _, base := range []string{"localhost:8080", "localhost", "127.0.0.1:8080/", "[::1]:8080/search", "https://x"} {
		if _, err := client.New(base, client.Options{}); err != nil {
			t.Errorf("New(%q): %v", base, err)
		}
	}
}

// TestFieldsAreAnObject: what is no object is refused before it is sent, since the server would
// store {"document": ...}.
func TestFieldsAreAnObject(t *testing.T) {
	c, _ := server(t, nil)
	ctx := t.Context()
	must[*client.Collection](t)(c.CreateCollection(ctx, "docs", client.Settings{}))
	for _, fields := range []any{`{"title":"a string"}`, []byte(`{"title":"bytes"}`), 5, []string{"a"}, nil} {
		if _, err := c.PutDocument(ctx, "docs", "a", fields, client.Condition{}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("PutDocument of %T = %v, want ErrInvalid", fields, err)
		}
	}
	sum, err := c.Import(ctx, "docs", func(yield func(client.Document, error) bool) {
		_ = yield(client.Document{ID: "good", Fields: json.RawMessage(` {"title":"pancakes"}`)}, nil) &&
			yield(client.Document{ID: "bad", Fields: json.RawMessage(`"pancakes"`)}, nil)
	}, nil)
	if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), `"bad"`) || sum.Created != 1 {
		t.Errorf("Import = %+v, %v, want one document and ErrInvalid of the other", sum, err)
	}
	if info := must[*client.Collection](t)(c.Collection(ctx, "docs")); info.Documents != 1 {
		t.Errorf("%d documents, want 1", info.Documents)
	}
}

func TestRoundTrip(t *testing.T) {
	c, _ := server(t, nil)
	ctx := t.Context()
	must[*client.Collection](t)(c.CreateCollection(ctx, "docs", client.Settings{Language: "en"}))
	if _, err := c.CreateCollection(ctx, "docs", client.Settings{}); !errors.Is(err, client.ErrExists) {
		t.Errorf("second CreateCollection = %v, want ErrExists", err)
	}
	info := must[*client.Collection](t)(c.PatchCollection(ctx, "docs", client.Settings{Fields: map[string]client.FieldSettings{"a": {Type: "text"}}}))
	if info.Settings.Language != "en" || info.Settings.Fields["a"].Type != "text" {
		t.Errorf("PatchCollection: %+v", info.Settings)
	}
	var last *client.Result
	ids := []string{"a1", "notes/über uns.md", "export", "import", "delete", "..", "a%2Fb", "x?y#z"}
	for _, id := range ids {
		last = must[*client.Result](t)(c.PutDocument(ctx, "docs", id, map[string]string{"title": "pancakes " + id}, client.Condition{Absent: true}))
		if last.ID != id || last.Status != client.Created {
			t.Errorf("PutDocument(%q) = %+v", id, last)
		}
		if doc := must[*client.StoredDocument](t)(c.Document(ctx, "docs", id)); doc.ID != id {
			t.Errorf("Document(%q).ID = %q", id, doc.ID)
		}
	}
	if _, err := c.PutDocument(ctx, "docs", "a1", map[string]string{}, client.Condition{Revision: 999}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("PutDocument at a wrong revision = %v, want ErrConflict", err)
	}
	must[*client.Result](t)(c.PatchDocument(ctx, "docs", "x?y#z", map[string]any{"title": nil, "year": 2024}, client.Condition{Revision: last.Revision}))
	if doc := must[*client.StoredDocument](t)(c.Document(ctx, "docs", "x?y#z")); string(doc.Fields) != `{"year":2024}` {
		t.Errorf("after PatchDocument: %s", doc.Fields)
	}
	res := must[*client.Response](t)(c.Search(ctx, "docs", client.Query{Q: "pancakes", Limit: 3, Mode: "keyword", Explain: true}))
	if len(res.Hits) != 3 || res.Hits[0].Explain.Keyword == nil || res.RequestID == "" {
		t.Errorf("Search: %+v", res)
	}
	res = must[*client.Response](t)(c.Search(ctx, "docs", client.Query{Limit: 1, Passages: -1, ReturnFields: []string{}}))
	if len(res.Hits) != 1 || string(res.Hits[0].Document) != `{}` || len(res.Hits[0].Passages) != 0 || res.Total.Of != "all" {
		t.Errorf("Search without a query: %+v", res)
	}
	if none := must[*client.Response](t)(c.Search(ctx, "docs", client.Query{Q: "pancakes", Limit: -1})); len(none.Hits) != 0 || none.Total.Value == 0 {
		t.Errorf("Search of no hits: %+v", none)
	}
	batch := must[[]client.BatchResult](t)(c.SearchBatch(ctx, "docs", []client.Query{{Q: "pancakes"}, {Explain: true}}))
	if len(batch) != 2 || len(batch[0].Hits) == 0 || batch[0].Error != nil || batch[1].Error == nil || batch[1].Error.Code != "invalid_request" {
		t.Errorf("SearchBatch: %+v", batch)
	}
	if like := must[*client.Response](t)(c.Similar(ctx, "docs", client.Similar{IDs: []string{res.Hits[0].ID}})); len(like.Hits) == 0 {
		t.Errorf("Similar: %+v", like)
	}
	if x := must[*client.Explanation](t)(c.Explain(ctx, "docs", res.Hits[0].ID, client.Query{Q: "pancakes"})); x.Rank == 0 || x.Hit.ID != res.Hits[0].ID {
		t.Errorf("Explain: %+v", x)
	}
	if x := must[*client.Explanation](t)(c.Explain(ctx, "docs", res.Hits[0].ID, client.Query{Q: "pancakes", Mode: "keyword", Explain: true})); x.Hit.Explain == nil || x.Hit.Explain.Vector != nil {
		t.Errorf("Explain by words: %+v", x.Hit.Explain)
	}
	n := 0
	for _, err := range c.Export(ctx, "docs") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(ids) {
		t.Errorf("Export: %d documents, want %d", n, len(ids))
	}
	results := must[[]client.Result](t)(c.DeleteDocuments(ctx, "docs", []string{"..", "none"}))
	if results[0].Status != client.Deleted || results[1].Error == nil {
		t.Errorf("DeleteDocuments: %+v", results)
	}
	if err := c.DeleteDocument(ctx, "docs", "..", client.Condition{}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("DeleteDocument of a deleted one = %v, want ErrNotFound", err)
	}
	e := must[*client.Embeddings](t)(c.Embed(ctx, []string{"a cat", "a dog"}, client.EmbedOptions{Dimensions: 8}))
	if len(e.Vectors) != 2 || len(e.Vectors[0]) != 8 || e.Model != "bert-mean" || e.Tokens == 0 {
		t.Errorf("Embed: %+v", e)
	}
	if err := c.Ready(ctx); err != nil {
		t.Error(err)
	}
	if err := c.DropCollection(ctx, "docs"); err != nil {
		t.Error(err)
	}
	_, err := c.Search(ctx, "docs", client.Query{Q: "x"})
	var ce *client.Error
	if !errors.As(err, &ce) || ce.Code != "collection_not_found" || !errors.Is(err, client.ErrNotFound) {
		t.Errorf("Search in a dropped collection = %v", err)
	}
	if _, err = c.Embed(ctx, []string{""}, client.EmbedOptions{}); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "input") {
		t.Errorf("Embed of an empty text = %v, want ErrInvalid naming input", err)
	}
}

// refuse answers the first n requests of a kind with a status.
func refuse(n int32, status int, retryAfter string, tried *atomic.Int32) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" && tried.Add(1) <= n {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Retry-After", retryAfter)
				w.WriteHeader(status)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestBusyServerIsAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refused int32
		status  int
		tries   int32
		kind    error
	}{
		{"429", 3, 429, 4, nil},
		{"503", 3, 503, 4, nil},
		{"for too long", 100, 503, 5, client.ErrBusy},
		{"400 is final", 1, 400, 1, client.ErrInvalid},
		{"500 is final", 1, 500, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tried atomic.Int32
			c, _ := server(t, refuse(tt.refused, tt.status, "0", &tried))
			must[*client.Collection](t)(c.EnsureCollection(t.Context(), "docs", client.Settings{}))
			_, err := c.Search(t.Context(), "docs", client.Query{Q: "x"})
			if tried.Load() != tt.tries || (err == nil) != (tt.tries > tt.refused) || tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("%d tries, error %v; want %d", tried.Load(), err, tt.tries)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	var tried atomic.Int32
	engine := apitest.New(t)
	s, _ := api.New(api.Options{Engine: engine, Inference: engine, Logger: slog.New(slog.DiscardHandler)})
	srv := httptest.NewServer(refuse(1, 503, "1", &tried)(s.Handler()))
	defer srv.Close()
	c, _ := client.New(srv.URL, client.Options{MinWait: time.Millisecond})
	start := time.Now()
	if _, err := c.CreateCollection(t.Context(), "docs", client.Settings{}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < time.Second {
		t.Errorf("asked again after %v, the server said 1 s", d)
	}
	tried.Store(0)
	ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond) // less than a second, and enough to be refused in
	defer cancel()
	if _, err := c.CreateCollection(ctx, "more", client.Settings{}); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, client.ErrBusy) {
		t.Errorf("error %v, want the deadline and what was waited for", err)
	}
}

func TestImport(t *testing.T) {
	var tried atomic.Int32
	c, _ := server(t, refuse(2, 429, "", &tried))
	ctx := t.Context()
	must[*client.Collection](t)(c.EnsureCollection(ctx, "docs", client.Settings{}))
	next := 0
	sum, err := c.Import(ctx, "docs", numbered(95), func(n int, r client.Result) error {
		if n != next || r.ID != fmt.Sprintf("n%d", n) {
			t.Errorf("result %d is number %d, %+v", next, n, r)
		}
		next++
		return nil
	})
	if err != nil || sum.Created != 95 || next != 95 || tried.Load() != 12 {
		t.Errorf("Import = %+v, %v; %d results, %d requests", sum, err, next, tried.Load())
	}
	if sum, err = c.Import(ctx, "docs", numbered(95), nil); err != nil || sum.Unchanged != 95 {
		t.Errorf("the same again: %+v, %v", sum, err)
	}
	bad := func(yield func(client.Document, error) bool) {
		_ = yield(client.Document{ID: "bad\x00", Fields: json.RawMessage(`{"text":"x"}`)}, nil) && yield(client.Document{ID: "good", Fields: json.RawMessage(`{"text":"x"}`)}, nil)
	}
	if sum, err = c.Import(ctx, "docs", bad, nil); err != nil || sum.Failed != 1 || sum.Created != 1 {
		t.Errorf("with a bad document: %+v, %v", sum, err)
	}
	for _, stop := range []error{errors.New("stop"), &client.Error{Status: http.StatusRequestEntityTooLarge}} { // that one of another server, which each asks
		told := 0
		sum, err := c.Import(ctx, "docs", numbered(95), func(int, client.Result) error { told++; return stop })
		if !errors.Is(err, stop) || told != 1 || sum.Documents != 1 {
			t.Errorf("Import that each ends with %v = %+v, %v, after %d calls", stop, sum, err, told)
		}
	}
	if _, err = c.Import(ctx, "none", numbered(1), nil); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("Import into no collection = %v, want ErrNotFound", err)
	}
}

// cutting cuts the first answers to imports off after n bytes.
func cutting(times int32, n int) func(http.Handler) http.Handler {
	var count atomic.Int32
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "POST" || count.Add(1) > times {
				next.ServeHTTP(w, r)
				return
			}
			rec := httptest.NewRecorder()
			next.ServeHTTP(rec, r)
			w.Write(rec.Body.Bytes()[:min(n, rec.Body.Len())])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
	}
}

func TestImportGoesOnAfterABrokenAnswer(t *testing.T) {
	c, _ := server(t, cutting(3, 200))
	ctx := t.Context()
	must[*client.Collection](t)(c.EnsureCollection(ctx, "docs", client.Settings{}))
	next := 0
	sum, err := c.Import(ctx, "docs", numbered(10), func(n int, r client.Result) error {
		if n != next {
			t.Errorf("number %d, want %d", n, next)
		}
		next++
		return nil
	})
	if err != nil || sum.Documents != 10 || sum.Failed != 0 {
		t.Errorf("Import = %+v, %v", sum, err)
	}
	c, _ = server(t, cutting(1000, 0))
	must[*client.Collection](t)(c.EnsureCollection(ctx, "docs", client.Settings{}))
	if _, err := c.Import(ctx, "docs", numbered(10), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("answers that never come: %v, want io.ErrUnexpectedEOF", err)
	}
}

func TestImportHalvesWhatIsTooLarge(t *testing.T) {
	c, _ := server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if bytes.Count(b, []byte("\n")) > 3 {
				w.WriteHeader(413)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(b))
			next.ServeHTTP(w, r)
		})
	})
	must[*client.Collection](t)(c.EnsureCollection(t.Context(), "docs", client.Settings{}))
	if sum, err := c.Import(t.Context(), "docs", numbered(25), nil); err != nil || sum.Created != 25 {
		t.Errorf("Import = %+v, %v", sum, err)
	}
}

func TestForeignErrorPages(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(502)
		io.WriteString(w, "<html>"+strings.Repeat("bad gateway ", 1000))
	}))
	defer srv.Close()
	c, _ := client.New(srv.URL, client.Options{})
	_, err := c.Collections(t.Context())
	if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "502") {
		t.Errorf("error of %d bytes: %v", len(err.Error()), err)
	}
}

// The errors of a wrong address say what to write.
func TestWrongAddress(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	host := func(url string) string { _, host, _ := strings.Cut(url, "://"); return host }
	for address, want := range map[string]string{
		"https://" + host(plain.URL): "speaks HTTP, not HTTPS: write http://" + host(plain.URL),
		"http://" + host(secure.URL): "it speaks HTTPS: write https:// before its name",
		plain.URL:                    "server: 404, and not as searchd answers: 404 page not found",
	} {
		c, err := client.New(address, client.Options{Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Collections(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	engine, err := search.Open(dir, search.Options{})
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	s, err := api.New(api.Options{Engine: engine, Inference: engine.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()

	ctx := context.Background()
	c, err := client.New(srv.URL, client.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := c.EnsureCollection(ctx, "notes", client.Settings{}); err != nil {
		panic(err)
	}
	docs := func(yield func(client.Document, error) bool) {
		_ = yield(client.Document{ID: "kitchen/pancakes.md", Fields: json.RawMessage(`{"title":"Pancakes","text":"Flip them when bubbles show."}`)}, nil) &&
			yield(client.Document{ID: "garden/beans.md", Fields: json.RawMessage(`{"title":"Beans","text":"Sow them after the last frost."}`)}, nil)
	}
	sum, err := c.Import(ctx, "notes", docs, nil)
	if err != nil {
		panic(err)
	}
	res, err := c.Search(ctx, "notes", client.Query{Q: "when to flip pancakes", Mode: "keyword"})
	if err != nil {
		panic(err)
	}
	fmt.Println(sum.Created, "created; best:", res.Hits[0].ID)
	// Output: 2 created; best: kitchen/pancakes.md
}

// TestEmbedLongTexts: texts that are too long for one request together come in several.
func TestEmbedLongTexts(t *testing.T) {
	engine := apitest.New(t)
	s := must[*api.Server](t)(api.New(api.Options{Engine: engine, Inference: engine, Logger: slog.New(slog.DiscardHandler), MaxDocuments: 1000}))
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	c := must[*client.Client](t)(client.New(srv.URL, client.Options{BatchBytes: 600}))
	texts := []string{"a", strings.Repeat("long ", 180), "b", strings.Repeat("x", 300), strings.Repeat("y", 300), strings.Repeat("z", 300), "c"}
	all := must[*client.Embeddings](t)(c.Embed(t.Context(), texts, client.EmbedOptions{Dimensions: 4}))
	for i, text := range texts {
		one := must[*client.Embeddings](t)(c.Embed(t.Context(), []string{text}, client.EmbedOptions{Dimensions: 4}))
		if len(all.Vectors) != len(texts) || !slices.EqualFunc(all.Vectors[i], one.Vectors[0], func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 }) {
			t.Errorf("vector %d of %d is not that of text %d", i, len(all.Vectors), i)
		}
	}
}

// TestEmbedWithinTokens: no request has more tokens than a server takes, of whatever kind its texts
// are.
func TestEmbedWithinTokens(t *testing.T) {
	engine := apitest.New(t)
	s := must[*api.Server](t)(api.New(api.Options{Engine: engine, Inference: engine, Logger: slog.New(slog.DiscardHandler)}))
	requests := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests++; s.Handler().ServeHTTP(w, r) }))
	defer srv.Close()
	c := must[*client.Client](t)(client.New(srv.URL, client.Options{}))
	texts := slices.Repeat([]string{strings.Repeat("!", 300)}, 1200)
	all := must[*client.Embeddings](t)(c.Embed(t.Context(), texts, client.EmbedOptions{}))
	if len(all.Vectors) != len(texts) || requests < 2 {
		t.Errorf("%d vectors for %d texts, with %d requests", len(all.Vectors), len(texts), requests)
	}
}

func TestAliasesAndReembed(t *testing.T) {
	var reembed string
	c, _ := server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/reembed") {
				next.ServeHTTP(w, r)
				return
			}
			b, _ := io.ReadAll(r.Body)
			reembed = r.Method + " " + r.URL.Path + " " + string(b)
			w.WriteHeader(http.StatusAccepted)
			io.WriteString(w, `{"id":"t1","kind":"reembed","collection":"docs-2","alias":"live","state":"queued"}`)
		})
	})
	ctx := t.Context()
	for _, name := range []string{"docs-1", "docs-2"} {
		must[*client.Collection](t)(c.CreateCollection(ctx, name, client.Settings{}))
		if err := c.SetAlias(ctx, "live", name); err != nil {
			t.Fatal(err)
		}
	}
	if list := must[[]client.Alias](t)(c.Aliases(ctx)); !slices.Equal(list, []client.Alias{{Alias: "live", Collection: "docs-2"}}) {
		t.Errorf("Aliases = %+v", list)
	}
	task := must[*client.Task](t)(c.Reembed(ctx, "live", client.ReembedOptions{Settings: client.Settings{Language: "de"}, KeepOld: true}))
	if want := `POST /v1/collections/live/reembed {"settings":{"language":"de"},"keep_old":true}`; reembed != want || task.Alias != "live" || task.Collection != "docs-2" {
		t.Errorf("Reembed sends %s, want %s; it returns %+v", reembed, want, task)
	}
	if err := errors.Join(c.DeleteAlias(ctx, "live"), c.DropCollection(ctx, "docs-2")); err != nil {
		t.Error(err)
	}
	if err := c.DeleteAlias(ctx, "live"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("DeleteAlias of none = %v", err)
	}
	if list := must[[]client.Task](t)(c.Tasks(ctx)); len(list) != 0 {
		t.Errorf("Tasks = %+v", list)
	}
}

func TestPlainValues(t *testing.T) {
	for _, tt := range []struct {
		name string
		body any
		want string
	}{
		{"defaults", client.Query{Q: "a"}, `{"q":"a"}`},
		{"numbers", client.Query{Limit: 10, Passages: 2, Alpha: 0.5}, `{"q":"","alpha":0.5,"limit":10,"passages":2}`},
		{"zeros", client.Query{Limit: -1, Passages: -1, Alpha: -1, NoHighlight: true}, `{"q":"","alpha":0,"limit":0,"passages":0,"highlight":false}`},
		{"similar", client.Similar{Limit: 3, Passages: -1}, `{"limit":3,"passages":0}`},
		{"similar by default", client.Similar{IDs: []string{"a"}}, `{"ids":["a"]}`},
		{"settings", client.Settings{}, `{}`},
		{"part of settings", client.Settings{Index: client.IndexSettings{EfSearch: 50}}, `{"index":{"ef_search":50}}`},
		{"key", client.KeySpec{Name: "k", Scopes: []string{"all"}}, `{"name":"k","scopes":["all"]}`},
	} {
		if b, err := json.Marshal(tt.body); err != nil || string(b) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, b, err, tt.want)
		}
	}
}
