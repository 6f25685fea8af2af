package client_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/searchd/client"
)

// losing carries every request out, but no answer to those that lose picks arrives.
func losing(lose func(*http.Request) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lost := lose(r)
			if !lost {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
}

// dialer returns a client of h with few and short waits.
func dialer(t *testing.T, h http.Handler) *client.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return must[*client.Client](t)(client.New(srv.URL, client.Options{MinWait: time.Millisecond, MaxWait: 20 * time.Millisecond, Retries: 4}))
}

// calls are all requests of a client. again: it is sent again after a lost answer.
var calls = []struct {
	name  string
	again bool
	reads bool
	do    func(context.Context, *client.Client) error
}{
	{"Collections", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Collections(ctx)) }},
	{"Collection", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Collection(ctx, "c")) }},
	{"CreateCollection", false, false, func(ctx context.Context, c *client.Client) error {
		return second(c.CreateCollection(ctx, "c", client.Settings{}))
	}},
	{"EnsureCollection", true, false, func(ctx context.Context, c *client.Client) error {
		return second(c.EnsureCollection(ctx, "c", client.Settings{}))
	}},
	{"PatchCollection", false, false, func(ctx context.Context, c *client.Client) error {
		return second(c.PatchCollection(ctx, "c", client.Settings{}))
	}},
	{"DropCollection", false, false, func(ctx context.Context, c *client.Client) error { return c.DropCollection(ctx, "c") }},
	{"Document", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Document(ctx, "c", "d")) }},
	{"PutDocument", true, false, func(ctx context.Context, c *client.Client) error {
		return second(c.PutDocument(ctx, "c", "d", map[string]int{}, client.Condition{}))
	}},
	{"PutDocument at a revision", false, false, func(ctx context.Context, c *client.Client) error {
		return second(c.PutDocument(ctx, "c", "d", map[string]int{}, client.Condition{Revision: 3}))
	}},
	{"PutDocument if absent", false, false, func(ctx context.Context, c *client.Client) error {
		return second(c.PutDocument(ctx, "c", "d", map[string]int{}, client.Condition{Absent: true}))
	}},
	{"PatchDocument", false, false, func(ctx context.Context, c *client.Client) error {
		return second(c.PatchDocument(ctx, "c", "d", map[string]int{}, client.Condition{}))
	}},
	{"DeleteDocument", false, false, func(ctx context.Context, c *client.Client) error {
		return c.DeleteDocument(ctx, "c", "d", client.Condition{})
	}},
	{"DeleteDocuments", false, false, func(ctx context.Context, c *client.Client) error {
		return second(c.DeleteDocuments(ctx, "c", []string{"d"}))
	}},
	{"DeleteByFilter", false, false, func(ctx context.Context, c *client.Client) error {
		_, _, err := c.DeleteByFilter(ctx, "c", "a = 1", false)
		return err
	}},
	{"DeleteByFilter, dry run", true, true, func(ctx context.Context, c *client.Client) error {
		_, _, err := c.DeleteByFilter(ctx, "c", "a = 1", true)
		return err
	}},
	{"Export", true, true, func(ctx context.Context, c *client.Client) error {
		for _, err := range c.Export(ctx, "c") {
			return err
		}
		return nil
	}},
	{"Import", true, false, func(ctx context.Context, c *client.Client) error { return second(c.Import(ctx, "c", numbered(1), nil)) }},
	{"Search", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Search(ctx, "c", client.Query{})) }},
	{"SearchBatch", true, true, func(ctx context.Context, c *client.Client) error { return second(c.SearchBatch(ctx, "c", nil)) }},
	{"Similar", true, true, func(ctx context.Context, c *client.Client) error {
		return second(c.Similar(ctx, "c", client.Similar{}))
	}},
	{"Explain", true, true, func(ctx context.Context, c *client.Client) error {
		return second(c.Explain(ctx, "c", "d", client.Query{Q: "q"}))
	}},
	{"Embed", true, true, func(ctx context.Context, c *client.Client) error {
		return second(c.Embed(ctx, []string{"a"}, client.EmbedOptions{}))
	}},
	{"Rerank", true, true, func(ctx context.Context, c *client.Client) error {
		return second(c.Rerank(ctx, "q", nil, client.RerankOptions{}))
	}},
	{"CreateKey", false, false, func(ctx context.Context, c *client.Client) error { return second(c.CreateKey(ctx, client.KeySpec{})) }},
	{"Keys", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Keys(ctx)) }},
	{"Key", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Key(ctx, "k")) }},
	{"RevokeKey", false, false, func(ctx context.Context, c *client.Client) error { return c.RevokeKey(ctx, "k") }},
	{"Aliases", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Aliases(ctx)) }},
	{"SetAlias", true, false, func(ctx context.Context, c *client.Client) error { return c.SetAlias(ctx, "a", "c") }},
	{"DeleteAlias", false, false, func(ctx context.Context, c *client.Client) error { return c.DeleteAlias(ctx, "a") }},
	{"Reembed", false, false, func(ctx context.Context, c *client.Client) error {
		return second(c.Reembed(ctx, "c", client.ReembedOptions{}))
	}},
	{"Tasks", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Tasks(ctx)) }},
	{"Task", true, true, func(ctx context.Context, c *client.Client) error { return second(c.Task(ctx, "t")) }},
	{"CreateSnapshot", false, false, func(ctx context.Context, c *client.Client) error { return second(c.CreateSnapshot(ctx)) }},
	{"OpenSnapshot", true, true, func(ctx context.Context, c *client.Client) error { return second(c.OpenSnapshot(ctx, "s")) }},
	{"DeleteSnapshot", false, false, func(ctx context.Context, c *client.Client) error { return c.DeleteSnapshot(ctx, "s") }},
}

func second[T any](_ T, err error) error { return err }

// plain answers every request with success and nothing of interest.
func plain(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/import"):
		io.WriteString(w, `{"line":1,"id":"n0","status":"created"}`+"\n")
	case strings.HasSuffix(path, "/export"):
	case strings.HasSuffix(path, "/documents/delete"):
		io.WriteString(w, `{"results":[{}],"matched":0,"deleted":0,"complete":true}`)
	case path == "/v1/embeddings":
		io.WriteString(w, `{"data":[{}]}`)
	case slices.Contains([]string{"/tokenize", "/decode", "/similarity", "/embed_sparse"}, path):
		io.WriteString(w, "[]")
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		io.WriteString(w, "{}")
	}
}

// Only what changes nothing by being sent twice is sent twice.
func TestLostAnswer(t *testing.T) {
	for _, tt := range calls {
		t.Run(tt.name, func(t *testing.T) {
			var tried atomic.Int32
			c := dialer(t, losing(func(*http.Request) bool { return tried.Add(1) == 1 })(http.HandlerFunc(plain)))
			err := tt.do(t.Context(), c)
			switch {
			case tt.again && (err != nil || tried.Load() != 2):
				t.Errorf("%d tries, error %v; want a second one that succeeds", tried.Load(), err)
			case !tt.again && (!errors.Is(err, client.ErrOutcomeUnknown) || tried.Load() != 1):
				t.Errorf("%d tries, error %v; want one, ErrOutcomeUnknown", tried.Load(), err)
			}
		})
		t.Run(tt.name+", all lost", func(t *testing.T) {
			c := dialer(t, losing(func(*http.Request) bool { return true })(http.HandlerFunc(plain)))
			if err := tt.do(t.Context(), c); err == nil || errors.Is(err, client.ErrOutcomeUnknown) == tt.reads {
				t.Errorf("error %v, want one; of a write ErrOutcomeUnknown", err)
			}
		})
	}
}

// TestRefusedByTheServer is about servers that want a certificate of the client, which TLS 1.3 says
// after the request was sent, or another version of TLS.
func TestRefusedByTheServer(t *testing.T) {
	for name, wants := range map[string]*tls.Config{
		"certificate, TLS 1.2": {ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12},
		"certificate, TLS 1.3": {ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13},
		"version":              {MinVersion: tls.VersionTLS13},
	} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(plain))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.TLS = wants
		srv.StartTLS()
		defer srv.Close()
		transport := srv.Client().Transport.(*http.Transport)
		if name == "version" {
			transport.TLSClientConfig.MaxVersion = tls.VersionTLS12
		}
		again := 0
		o := client.Options{HTTP: srv.Client(), MinWait: time.Millisecond, Retries: 4, Again: func(error) { again++ }}
		c := must[*client.Client](t)(client.New(srv.URL, o))
		if _, err := c.Collections(t.Context()); err == nil || again > 0 {
			t.Errorf("%s: %v after %d more attempts, want an error at once", name, err, again)
		}
		if err := c.DropCollection(t.Context(), "c"); err == nil || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("%s: a write: %v, want an error of a known outcome", name, err)
		}
	}
}

// TestNoTrust: a server that the client cannot speak to is not asked again, and has carried nothing
// out.
func TestNoTrust(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	for _, base := range []string{strings.Replace(plain.URL, "http:", "https:", 1), srv.URL} {
		dialed := 0
		transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialed++
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}}
		c := must[*client.Client](t)(client.New(base, client.Options{HTTP: &http.Client{Transport: transport}, MinWait: time.Millisecond, Retries: 4}))
		if err := c.DropCollection(t.Context(), "c"); err == nil || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("a write: %v, want an error of a known outcome", err)
		}
		if _, err := c.Collections(t.Context()); err == nil || dialed != 2 {
			t.Errorf("two requests: %v after %d connections, want one for each", err, dialed)
		}
	}
}

// What was not carried out is sent again, whatever it is.
func TestNotCarriedOut(t *testing.T) {
	for _, tt := range calls {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(plain))
			defer srv.Close()
			var tried atomic.Int32
			transport := roundTripper(func(r *http.Request) (*http.Response, error) {
				switch tried.Add(1) {
				case 1:
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
				case 2:
					return answer(503, `{"code":"overloaded"}`, "0"), nil
				case 3:
					return answer(429, "", "0"), nil
				}
				return http.DefaultTransport.RoundTrip(r)
			})
			c, _ := client.New(srv.URL, client.Options{MinWait: time.Millisecond, HTTP: &http.Client{Transport: transport}})
			if err := tt.do(t.Context(), c); err != nil || tried.Load() != 4 {
				t.Errorf("%d tries, error %v; want 4 that succeed at last", tried.Load(), err)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body, retryAfter string) *http.Response {
	h := http.Header{}
	if retryAfter != "" {
		h.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// Some answers do not say whether the server did what was asked.
func TestAnswersThatDoNotTell(t *testing.T) {
	for _, tt := range []struct {
		name         string
		status       int
		body, after  string
		tries        int32 // of a conditional PUT
		unknown      bool
		triesToWrite int32 // of a PUT without a condition
	}{
		{"the server's time was up", 503, `{"code":"deadline_exceeded"}`, "0", 1, true, 5},
		{"canceled", 503, `{"code":"canceled"}`, "0", 1, true, 5},
		{"a proxy's 503", 503, "<html>", "", 1, true, 5},
		{"a proxy's 503 that asks to wait", 503, "<html>", "0", 5, false, 5},
		{"damaged", 503, `{"code":"collection_damaged"}`, "", 1, false, 1},
		{"a commit that failed", 503, `{"code":"outcome_unknown"}`, "", 1, true, 1},
		{"read-only", 503, `{"code":"read_only"}`, "", 5, false, 5},
		{"bad gateway", 502, "<html>", "", 1, true, 1},
		{"gateway timeout", 504, "", "", 1, true, 1},
		{"conflict", 412, `{"code":"revision_conflict"}`, "", 1, false, 1},
		{"internal", 500, `{"code":"internal"}`, "", 1, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tried atomic.Int32
			c := dialer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tried.Add(1)
				if tt.after != "" {
					w.Header().Set("Retry-After", tt.after)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}))
			_, err := c.PutDocument(t.Context(), "c", "d", struct{}{}, client.Condition{Revision: 1})
			var e *client.Error
			if tried.Load() != tt.tries || errors.Is(err, client.ErrOutcomeUnknown) != tt.unknown || !errors.As(err, &e) {
				t.Errorf("with a condition: %d tries, %v; want %d, outcome unknown %v", tried.Load(), err, tt.tries, tt.unknown)
			}
			tried.Store(0)
			_, err = c.PutDocument(t.Context(), "c", "d", struct{}{}, client.Condition{})
			if tried.Load() != tt.triesToWrite || errors.Is(err, client.ErrOutcomeUnknown) != tt.unknown {
				t.Errorf("without: %d tries, %v; want %d", tried.Load(), err, tt.triesToWrite)
			}
			if _, err = c.Search(t.Context(), "c", client.Query{}); errors.Is(err, client.ErrOutcomeUnknown) {
				t.Errorf("a search: %v, want nothing about outcomes", err)
			}
		})
	}
}

// A lost answer is not forgotten when the next one is a refusal.
func TestLostThenRefused(t *testing.T) {
	var tried atomic.Int32
	c := dialer(t, losing(func(*http.Request) bool { return tried.Add(1) == 1 })(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(429)
	})))
	_, err := c.PutDocument(t.Context(), "c", "d", struct{}{}, client.Condition{})
	if !errors.Is(err, client.ErrOutcomeUnknown) || !errors.Is(err, client.ErrBusy) {
		t.Errorf("error %v, want ErrOutcomeUnknown and ErrBusy", err)
	}
}

// An answer that breaks off after its header is lost too.
func TestAnswerCutOff(t *testing.T) {
	var tried atomic.Int32
	c := dialer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tried.Add(1) == 1 {
			io.WriteString(w, `{"id":"k1","key`)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		plain(w, r)
	}))
	if _, err := c.CreateKey(t.Context(), client.KeySpec{}); !errors.Is(err, client.ErrOutcomeUnknown) || tried.Load() != 1 {
		t.Errorf("CreateKey: %d tries, %v; want one, ErrOutcomeUnknown", tried.Load(), err)
	}
	tried.Store(0)
	if _, err := c.Search(t.Context(), "c", client.Query{}); err != nil || tried.Load() != 2 {
		t.Errorf("Search: %d tries, %v; want 2", tried.Load(), err)
	}
}

// A context that ends while a write is under way leaves its outcome open; one that had ended before
// does not.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := dialer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	if err := c.DropCollection(ctx, "c"); !errors.Is(err, context.Canceled) || !errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("under way: %v, want context.Canceled and ErrOutcomeUnknown", err)
	}
	if err := c.DropCollection(ctx, "c"); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("before: %v, want context.Canceled alone", err)
	}
}

// One writer counts to 40 through a proxy that loses every seventh answer to a write.
func TestCounter(t *testing.T) {
	var n atomic.Int32
	c, _ := server(t, losing(func(r *http.Request) bool { return r.Method == http.MethodPut && n.Add(1)%7 == 0 }))
	ctx := t.Context()
	must[*client.Collection](t)(c.EnsureCollection(ctx, "docs", client.Settings{}))
	must[*client.Result](t)(c.PutDocument(ctx, "docs", "counter", map[string]int{"n": 0}, client.Condition{}))
	read := func() (int, uint64) {
		doc := must[*client.StoredDocument](t)(c.Document(ctx, "docs", "counter"))
		var v struct{ N int }
		if err := json.Unmarshal(doc.Fields, &v); err != nil {
			t.Fatal(err)
		}
		return v.N, doc.Revision
	}
	unknown := 0
	for range 40 {
		at, revision := read()
		_, err := c.PutDocument(ctx, "docs", "counter", map[string]int{"n": at + 1}, client.Condition{Revision: revision})
		if errors.Is(err, client.ErrOutcomeUnknown) {
			unknown++
			if now, _ := read(); now == at+1 {
				continue // it was carried out
			}
		}
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
	}
	if at, _ := read(); at != 40 || unknown == 0 {
		t.Errorf("counted to %d, want 40; %d outcomes were unknown, want some", at, unknown)
	}
}

// An import whose answers are lost tells what it did, not what it finds the second time.
func TestImportOfLostAnswers(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]int{}
	c, engine := server(t, losing(func(r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/import") {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		keys[key]++
		return keys[key] == 1 && len(keys)%2 == 0
	}))
	ingests := atomic.Int32{}
	engine.Hook = func(_ context.Context, method string) error {
		if method == "Ingest" {
			ingests.Add(1)
		}
		return nil
	}
	must[*client.Collection](t)(c.EnsureCollection(t.Context(), "docs", client.Settings{}))
	sum, err := c.Import(t.Context(), "docs", numbered(40), nil)
	if err != nil || sum.Created != 40 || sum.Unchanged != 0 || ingests.Load() != 4 {
		t.Errorf("Import = %+v, %v with %d ingests; want 40 created with 4", sum, err, ingests.Load())
	}
	if want := 4; len(keys) != want || keys[""] != 0 {
		t.Errorf("keys %v, want %d different ones", keys, want)
	}
	twice := 0
	for _, n := range keys {
		twice += n - 1
	}
	if twice != 2 {
		t.Errorf("%d requests sent again with the key of the first, want 2: %v", twice, keys)
	}
}

// While the first request is still under way, the same key is refused, and the client comes again.
func TestImportUnderWay(t *testing.T) {
	var tried atomic.Int32
	c := dialer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tried.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(409)
			fmt.Fprint(w, `{"code":"idempotency_key_in_use"}`)
			return
		}
		plain(w, r)
	}))
	if sum, err := c.Import(t.Context(), "docs", numbered(1), nil); err != nil || sum.Created != 1 || tried.Load() != 3 {
		t.Errorf("Import = %+v, %v after %d tries, want one created at the third", sum, err, tried.Load())
	}
}
