package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search/embedder"
	"example.com/searchd/search/inference"
)

// fake is a server of one of the protocols. The vector of a text is its length and its number of
// spaces.
type fake struct {
	*httptest.Server
	bodies  []map[string]any
	headers []http.Header
	paths   []string
	before  func(w http.ResponseWriter) bool // answers in place of the server
}

func vectorOf(text string) []float32 {
	return []float32{float32(len(text)), float32(strings.Count(text, " ")) + 1}
}

// serve starts a fake and lets it be asked.
func serve(t *testing.T, source string) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		b, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(b, &body); err != nil {
			t.Errorf("body %s: %v", b, err)
		}
		f.bodies, f.headers, f.paths = append(f.bodies, body), append(f.headers, r.Header), append(f.paths, r.URL.Path)
		if f.before != nil && f.before(w) {
			return
		}
		list, _ := body[map[string]string{"openai": "input", "ollama": "input", "tei": "inputs", "cohere": "texts"}[source]].([]any)
		vectors := [][]float32{}
		for _, text := range list {
			vectors = append(vectors, vectorOf(text.(string)))
		}
		var answer any = vectors
		switch source {
		case "openai":
			data := []any{}
			for i := len(vectors) - 1; i >= 0; i-- { // by index, not by place
				data = append(data, map[string]any{"index": i, "embedding": vectors[i]})
			}
			answer = map[string]any{"data": data, "model": "m", "usage": map[string]int{}}
		case "ollama":
			answer = map[string]any{"embeddings": vectors}
		case "cohere":
			answer = map[string]any{"embeddings": map[string]any{"float": vectors}}
		}
		json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(f.Close)
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(embedder.HostsEnv, "elsewhere.example, "+u.Host)
	return f
}

// opened returns the embedder of a config, which notes how long it would have waited.
func opened(t *testing.T, c embedder.Config) (e *Embedder, waited *[]time.Duration) {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	waited = &[]time.Duration{}
	e.wait = func(ctx context.Context, d time.Duration) error {
		*waited = append(*waited, d)
		return ctx.Err()
	}
	return e, waited
}

// TestProtocols: what each server is sent, and that its vectors are those of the texts.
func TestProtocols(t *testing.T) {
	for source, want := range map[string]struct{ path, query, document string }{
		"openai": {"/v1/embeddings", `{"encoding_format":"float","input":["q: one"],"model":"m"}`, `{"encoding_format":"float","input":["d: a b","d: c"],"model":"m"}`},
		"ollama": {"/v1/api/embed", `{"input":["q: one"],"model":"m","truncate":true}`, `{"input":["d: a b","d: c"],"model":"m","truncate":true}`},
		"tei":    {"/v1/embed", `{"inputs":["q: one"],"normalize":true,"truncate":true}`, `{"inputs":["d: a b","d: c"],"normalize":true,"truncate":true}`},
		"cohere": {"/v1/v2/embed", `{"embedding_types":["float"],"input_type":"search_query","model":"m","texts":["q: one"],"truncate":"END"}`,
			`{"embedding_types":["float"],"input_type":"search_document","model":"m","texts":["d: a b","d: c"],"truncate":"END"}`},
	} {
		t.Run(source, func(t *testing.T) {
			f := serve(t, source)
			t.Setenv("EMBEDDER_KEY_TEST", " secret ")
			c := embedder.Config{Source: source, URL: f.URL + "/v1", Model: "m", Dimension: 2, KeyEnv: "EMBEDDER_KEY_TEST", QueryPrompt: "q: ", DocumentPrompt: "d: ", Batch: 2}
			if source == "tei" {
				c.Model = ""
			}
			e, _ := opened(t, c)
			if _, err := e.Embed(t.Context(), []string{"one"}, inference.EmbedOptions{Query: true}); err != nil {
				t.Fatal(err)
			}
			texts := []string{"a b", "c", "d e f"}
			r, err := e.Embed(t.Context(), texts, inference.EmbedOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				if got, want := fmt.Sprint(r.Vectors[i]), fmt.Sprint(vectorOf("d: "+text)); got != want {
					t.Errorf("vector of %q: %s, want %s", text, got, want)
				}
			}
			if len(f.bodies) != 3 {
				t.Fatalf("%d requests", len(f.bodies))
			}
			for i, want := range []string{want.query, want.document} {
				if got, _ := json.Marshal(f.bodies[i]); string(got) != want {
					t.Errorf("sent %s, want %s", got, want)
				}
			}
			if f.paths[0] != want.path || f.headers[0].Get("Authorization") != "Bearer secret" {
				t.Errorf("path %s, %v", f.paths[0], f.headers[0])
			}
		})
	}
}

// TestFailures: what is sent again and after how long, and what errors say.
func TestFailures(t *testing.T) {
	f := serve(t, "ollama")
	t.Setenv("EMBEDDER_KEY", "sk-very-secret")
	e, waited := opened(t, embedder.Config{Source: "ollama", URL: f.URL, Model: "m", Dimension: 2, KeyEnv: "EMBEDDER_KEY"})
	answers := func(list ...func(w http.ResponseWriter)) {
		f.bodies, *waited = nil, nil
		f.before = func(w http.ResponseWriter) bool {
			if n := len(f.bodies); n <= len(list) {
				list[n-1](w)
				return true
			}
			return false
		}
	}
	status := func(code int, after string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(code)
			io.WriteString(w, "key sk-very-secret is bad")
		}
	}
	body := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { io.WriteString(w, text) }
	}
	busy := status(503, "")
	for _, tt := range []struct {
		name     string
		answers  []func(http.ResponseWriter)
		requests int
		want     string // of the error; empty: none
	}{
		{"busy twice", []func(http.ResponseWriter){busy, status(429, "7")}, 3, ""},
		{"always busy", []func(http.ResponseWriter){busy, busy, busy, busy, busy}, 5, "503 Service Unavailable"},
		{"refused", []func(http.ResponseWriter){status(401, "")}, 1, "401 Unauthorized"},
		{"sent elsewhere", []func(http.ResponseWriter){func(w http.ResponseWriter) { w.Header().Set("Location", f.URL+"/other"); w.WriteHeader(307) }}, 1, "307"},
		{"another dimension", []func(http.ResponseWriter){body(`{"embeddings":[[1,2,3]]}`)}, 1, "vectors of 3 components, and embedder.dimension is 2"},
		{"too few", []func(http.ResponseWriter){body(`{"embeddings":[]}`)}, 1, "0 vectors for 1 texts"},
		{"no JSON", []func(http.ResponseWriter){body(`<html>`)}, 1, "not one of this protocol"},
		{"too long", []func(http.ResponseWriter){body(strings.Repeat(" ", maxOther+1000))}, 1, "an answer of more than"},
	} {
		answers(tt.answers...)
		_, err := e.Embed(t.Context(), []string{"x"}, inference.EmbedOptions{})
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), tt.want)) || len(f.bodies) != tt.requests {
			t.Errorf("%s: %v after %d requests", tt.name, err, len(f.bodies))
		}
		if err != nil && strings.Contains(err.Error(), "sk-very") {
			t.Errorf("%s: the key is in %v", tt.name, err)
		}
		if tt.name == "busy twice" && ((*waited)[0] < firstPause/2 || (*waited)[0] > firstPause || (*waited)[1] != 7*time.Second) {
			t.Errorf("waited %v", *waited)
		}
	}
	t.Setenv("EMBEDDER_KEY", "")
	if _, err := e.Embed(t.Context(), []string{"x"}, inference.EmbedOptions{}); err == nil || !strings.Contains(err.Error(), "environment variable EMBEDDER_KEY") {
		t.Errorf("without the key: %v", err)
	}
}

// TestHosts: nobody is asked whom the operator has not listed, whatever an address looks like.
func TestHosts(t *testing.T) {
	f := serve(t, "openai")
	for _, tt := range []struct {
		url     string
		allowed bool
	}{
		{"", true}, {"https://api.openai.com/v1", true}, {f.URL, true},
		{"http://api.openai.com/v1", false}, {"https://api.openai.com.evil.example/v1", false}, {"https://api.openai.com:8443/", false},
		{"http://127.0.0.1:1/", false}, {"http://169.254.169.254/latest", false}, {"file:///etc/passwd", false}, {"https://user:pw@api.openai.com/v1", false}, {"https://api.openai.com/v1?x=1", false}, {"://", false},
	} {
		c := embedder.Config{Source: "openai", URL: tt.url, Model: "m", Dimension: 2}
		if err := c.Faults().Err(); (err == nil) != tt.allowed {
			t.Errorf("%q: %v", tt.url, err)
		}
	}
	for _, name := range []string{"PATH", "AWS_SECRET_ACCESS_KEY", "EMBEDDER_KEYS=", "embedder_key"} {
		c := embedder.Config{Source: "openai", Model: "m", Dimension: 2, KeyEnv: name}
		if c.Faults().Err() == nil {
			t.Errorf("the key may be in %s", name)
		}
	}
	// A listed name that leads to a link-local address is not followed.
	t.Setenv(embedder.HostsEnv, "169.254.169.254")
	e, _ := opened(t, embedder.Config{Source: "openai", URL: "http://169.254.169.254/v1", Model: "m", Dimension: 2})
	if _, err := e.Embed(t.Context(), []string{"x"}, inference.EmbedOptions{}); err == nil || !strings.Contains(err.Error(), "link-local") {
		t.Errorf("a link-local address: %v", err)
	}
}
