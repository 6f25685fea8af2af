package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"searchd/search/backend"
)

// blocking is a shard whose methods last until they are let go, or their context ends.
type blocking struct {
	Node
	letGo chan struct{}
}

func (b *blocking) Collection(ctx context.Context, _ string) (backend.Collection, error) {
	select {
	case <-b.letGo:
		return backend.Collection{}, nil
	case <-ctx.Done():
		return backend.Collection{}, ctx.Err()
	}
}

func (b *blocking) Apply(ctx context.Context, name string, _ []backend.Write) ([]backend.Outcome, error) {
	_, err := b.Collection(ctx, name)
	return nil, err
}

func (b *blocking) Identity(context.Context) (backend.Identity, error) {
	return backend.Identity{}, nil
}

func post(h http.Handler, name, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, prefix+name, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestBounds fills the handler up: what is too much is refused after a while, what comes while there is room again is answered, and who asks for the
// health of the shard is answered at once.
func TestBounds(t *testing.T) {
	for name, most := range map[string]int{"collection": maxRequests, "apply": maxBulk} {
		synctest.Test(t, func(t *testing.T) {
			node := &blocking{letGo: make(chan struct{})}
			h := Handler(node, HandlerOptions{})
			statuses := make(chan int, most+1)
			ask := func() { statuses <- post(h, name, `{"collection":"docs"}`).Code }
			for range most {
				go ask()
			}
			synctest.Wait()
			began := time.Now()
			go ask()
			if status := <-statuses; status != http.StatusServiceUnavailable || time.Since(began) != waitMost {
				t.Errorf("%s, one too many: status %d after %v, want 503 after %v", name, status, time.Since(began), waitMost)
			}
			began = time.Now()
			hurried := post(h, name, `{"collection":"docs"}`, timeoutHeader, "1000")
			if f := answerOf(t, hurried.Body.Bytes()); !slices.Contains(f.Codes, "deadline_exceeded") || time.Since(began) != time.Second {
				t.Errorf("%s, one without so much time: %+v after %v, want deadline_exceeded after 1s", name, f, time.Since(began))
			}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/livez", nil)); w.Code != http.StatusOK {
				t.Errorf("%s, livez: status %d", name, w.Code)
			}
			go ask()
			synctest.Wait()
			close(node.letGo)
			for range most + 1 {
				if status := <-statuses; status != http.StatusOK {
					t.Errorf("%s: status %d", name, status)
				}
			}
		})
	}
}

// TestDeadlines ends what nobody waits for any more.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Handler(&blocking{letGo: make(chan struct{})}, HandlerOptions{})
		began := time.Now()
		w := post(h, "collection", `{"collection":"docs"}`, timeoutHeader, "1500")
		if f := answerOf(t, w.Body.Bytes()); !slices.Contains(f.Codes, "deadline_exceeded") || time.Since(began) != 1500*time.Millisecond {
			t.Errorf("%+v after %v, want deadline_exceeded after 1.5 s", f, time.Since(began))
		}
		for _, v := range []string{"0", "-1", "x", "99999999999999999999", "1.5"} {
			if f := answerOf(t, post(h, "collection", `{}`, timeoutHeader, v).Body.Bytes()); !slices.Contains(f.Codes, "invalid") {
				t.Errorf("timeout %s: %+v, want invalid", v, f)
			}
		}
	})
}

// TestCallerGone ends the work for a caller who is gone, and what a caller's deadline leaves.
func TestCallerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &blocking{letGo: make(chan struct{})}
		ended := make(chan error, 1)
		s := dialPipes(t, Handler(notingEnd{node, ended}, HandlerOptions{}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := s.Collection(ctx, "docs"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want Canceled", err)
		}
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the shard's own: %v, want Canceled", err)
			}
		case <-time.After(testTime):
			t.Error("the shard works on")
		}
		ctx, cancel = context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		if _, err := s.Collection(ctx, "docs"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want DeadlineExceeded", err)
		}
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the shard's own: %v, want DeadlineExceeded", err)
		}
	})
}

type notingEnd struct {
	*blocking
	ended chan error
}

func (n notingEnd) Collection(ctx context.Context, name string) (backend.Collection, error) {
	c, err := n.blocking.Collection(ctx, name)
	n.ended <- err
	return c, err
}

// TestTooLarge sends more than may be sent, with its length told and without.
func TestTooLarge(t *testing.T) {
	node := openNode(t)
	h := Handler(node, HandlerOptions{})
	large := `{"collection":"` + strings.Repeat("x", maxBody) + `"}`
	for name, body := range map[string]io.Reader{"told": strings.NewReader(large), "not told": io.MultiReader(strings.NewReader(large))} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, prefix+"collection", body))
		if f := answerOf(t, w.Body.Bytes()); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(f.Message, fmt.Sprint(maxBody)) {
			t.Errorf("%s: status %d, %+v, want 413 that names the bound", name, w.Code, f)
		}
	}
	r := httptest.NewRequest(http.MethodPost, prefix+"collection", unread{t})
	r.ContentLength = maxBody + 1
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("told before it comes: status %d, want 413", w.Code)
	}
	s := dial(t, node)
	if _, err := s.Lookup(t.Context(), "docs", []string{large}); !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprint(maxBody)) {
		t.Errorf("from a client: %.200v, want ErrInvalid that names the bound", err)
	}
	if err := s.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	fields, _ := json.Marshal(map[string]string{"x": large})
	if out, err := s.Apply(t.Context(), "docs", []backend.Write{{ID: "a", Fields: fields}}); err != nil || out[0].Status != backend.Created {
		t.Errorf("a large document: %v, %v", out, err)
	}
}

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// TestMargin leaves a shard less time than its caller has, so that it says itself that this was too short.
func TestMargin(t *testing.T) {
	left := make(chan string, 1)
	inner := Handler(openNode(t), HandlerOptions{Key: "secret"})
	s := dialHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case left <- r.Header.Get(timeoutHeader):
		default:
		}
		inner.ServeHTTP(w, r)
	}))
	<-left // of Dial
	for wait, most := range map[time.Duration]int{testTime: 19_950, testTime / 40: 475} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		if _, err := s.Collections(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		if ms, err := strconv.Atoi(<-left); err != nil || ms < 1 || ms > most {
			t.Errorf("of %v a shard has %d ms, %v, want up to %d", wait, ms, err, most)
		}
	}
}

// hostile are requests that no client sends.
func hostile() map[string]string {
	deep := strings.Repeat(`[`, 100_000)
	bits := `"OjAAAP//AAA="` // a header of 65,536 containers
	return map[string]string{
		"collection":      `{"collection":"docs"} {}`,
		"collections":     ``,
		"lookup":          `{"collection":"docs","ids":"x"}`,
		"fetch":           `{"collection":"docs","refs":"AAAA"}`,
		"list":            `{"collection":"docs","limit":0}`,
		"values":          `{}`,
		"set_values":      `{"keys":["eA=="],"values":[]}`,
		"nearest":         `{"collection":"docs","query":"AACAPw==","k":5}`,
		"cosines":         `{"collection":"docs","query":"AACAPw==","refs":"AQAAAAAAAAA="}`,
		"vectors":         `{"collection":"docs","passages":"AQAAAAAAAAD//////////w==","more":1}`,
		"names":           `{"collection":"docs","passages":"AAAAAAEAAAAAAAAAAAAAAA=="}`,
		"sample":          `{"collection":"docs","n":1000000000000}`,
		"select":          `{"collection":"docs","filter":[{"is":"and","count":1000000}]}`,
		"words":           `{"collection":"docs","words":{"text":"eA=="},"k":-1}`,
		"analyze":         deep,
		"near":            `{"collection":"docs","word":"eA==","edits":99}`,
		"facets":          `{"collection":"docs","facets":[{"field":"eA==","limit":9223372036854775807}],"set":{"documents":` + bits + `}}`,
		"order":           `{"collection":"docs","k":5,"set":{"documents":` + bits + `}}`,
		"numbers":         `{"collection":"docs","field":"eA==","refs":"/////////38="}`,
		"changed":         `{"collection":"docs","after":[0],"limit":0}`,
		"hold":            `{"collection":"docs","after":[],"holder":"x"}`,
		"apply":           `{"collection":"docs","writes":[{"id":"eA==","fields":"e30=","hash":"AA==","passages":[],"vectors":["AAA="]}]}`,
		"create":          `{"collection":"x","config":{"dimension":-5}}`,
		"index_stats":     `{"collection":5}`,
		"release":         `null null`,
		"word_scores":     `{"collection":"docs","words":{"fields":[{"name":"eA==","weight":1e999}]}}`,
		"passing":         `{"collection":"docs","filter":[{"is":"compare","op":"=","values":[{"kind":4}]}],"refs":null}`,
		"word_terms":      `{"collection":"docs","refs":"` + strings.Repeat("=", 8) + `"}`,
		"damaged_vectors": `{"a":1}`,
		"opened":          `{"collection":"docs","words":{"text":5}}`,
		"legs":            `{"collection":"docs","vector":"AACAPw==","documents":-1,"passages":1099511627776}`,
		"texts":           `{"collection":"docs","passages":"AAAAAAEAAAAAAAAAAAAAAA=="}`,
		"shown":           `{"collection":"docs","refs":"AQAAAAAAAAA=","vector":"AACAPw=="}`,
	}
}

// TestHostile sends each of them: it is refused, and nothing panics.
func TestHostile(t *testing.T) {
	node := openNode(t)
	fill(t, node)
	h := Handler(node, HandlerOptions{})
	for name, body := range hostile() {
		w := post(h, name, body)
		f := answerOf(t, w.Body.Bytes())
		byShard := name == "create" || name == "words" // which says so in its own words
		if w.Code == http.StatusOK || f.Message == "" || strings.Contains(f.Message, "panic") || !byShard && !slices.Contains(f.Codes, "invalid") {
			t.Errorf("%s: status %d, %+v, want invalid", name, w.Code, f)
		}
	}
	for name, want := range map[string]int{"none": http.StatusNotFound, "": http.StatusNotFound} {
		if w := post(h, name, "{}"); w.Code != want || !slices.Contains(answerOf(t, w.Body.Bytes()).Codes, "shard") {
			t.Errorf("method %q: status %d, %s", name, w.Code, w.Body)
		}
	}
	w := post(Handler(panicking{node}, HandlerOptions{}), "collections", "{}")
	if f := answerOf(t, w.Body.Bytes()); w.Code != http.StatusInternalServerError || !strings.Contains(f.Message, "nobody expects") {
		t.Errorf("a panic: status %d, %+v", w.Code, f)
	}
}

type panicking struct{ Node }

func (panicking) Collections(context.Context) ([]backend.Collection, error) {
	panic("nobody expects it")
}

// FuzzHandler sends anything: nothing panics, and every answer is one that a client can read.
func FuzzHandler(f *testing.F) {
	node := openNode(f)
	fill(f, node)
	h := Handler(node, HandlerOptions{}).(*handler)
	for name, body := range hostile() {
		f.Add(name, "", "", []byte(body))
	}
	f.Add("collection", `1 2 3 "c"`, "5", []byte(`{"collection":"docs"}`))
	recorded := &recorder{}
	s := &Shard{url: "http://shard", transport: newTransport(nil)}
	s.transport.RegisterProtocol("http", recorded)
	query := unit(rand.New(rand.NewPCG(3, 4)))
	docs := node.Documents(must(node.Select(f.Context(), "docs", backend.Subset{})))
	sel := newSelection(docs, func() ([]byte, error) { return encodeBitmap(docs) })
	sel.vectors = true
	s.Nearest(f.Context(), "docs", query, 3, sel)
	s.Words(f.Context(), "docs", backend.Words{Text: "car", All: true}, 3, sel)
	s.Order(f.Context(), "docs", []backend.SortKey{{Field: "size"}}, sel, 3, backend.Scorer{})
	s.Facets(f.Context(), "docs", []backend.Facet{{Field: "kind", Limit: 3}}, sel)
	s.Apply(f.Context(), "docs", library()[:2])
	s.Select(f.Context(), "docs", backend.Subset{With: []string{"alpha beta"}})
	s.Legs(f.Context(), "docs", backend.Legs{Words: &backend.Words{Text: "car"}, Vector: query, Documents: 3, Passages: 4}, sel)
	s.Shown(f.Context(), "docs", []backend.Ref{1, 2}, backend.Show{Vector: query, Words: &backend.Words{Text: "car"}})
	s.Texts(f.Context(), "docs", []backend.PassageRef{{Ref: 1}, {Ref: 2, Ordinal: 1}})
	if len(recorded.sent) != 9 {
		f.Fatalf("%d requests of a client were recorded", len(recorded.sent))
	}
	for _, q := range recorded.sent {
		f.Add(q.name, "", "1000", q.body)
	}
	f.Fuzz(func(t *testing.T, name, place, timeout string, body []byte) {
		switch name {
		case methodClaim.name, methodDrop.name, methodCreate.name, methodUpdate.name: // the others would have nothing to do
			return
		}
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.URL.Path = prefix + name
		r.Header.Set(placeHeader, place)
		r.Header.Set(timeoutHeader, timeout)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			if f := answerOf(t, w.Body.Bytes()); f.Message == "" || strings.Contains(f.Message, "panic") {
				t.Errorf("%s: status %d, %s", name, w.Code, w.Body)
			}
		} else if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %.200q", name, w.Body)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// recorder keeps what a client sends, and answers nothing.
type recorder struct{ sent []request }

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	r.sent = append(r.sent, request{name: strings.TrimPrefix(q.URL.Path, prefix), body: body})
	return nil, errors.Join(err, errors.ErrUnsupported)
}
