package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"searchd/index/lsi"
	"searchd/index/maxsim"
	"searchd/models"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/shards"
)

// way is how long each request takes to a shard and back, where nothing else takes any time.
const way = 10 * time.Millisecond

// far are shards as far away as way, in one process and its time: what is asked of them takes as many ways as must be gone one after another.
type far struct {
	mu    sync.Mutex
	asked map[string]int // requests by method
	sent  int            // bytes, there and back
}

// about are the methods by which an engine watches its shards.
var about = []string{"hello", "identity", "store_size", "read_only"}

// dial serves a node far away until the test ends.
func (f *far) dial(t *testing.T, n Node) *Shard {
	h := Handler(n, HandlerOptions{})
	return dialPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(way)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		if method := strings.TrimPrefix(r.URL.Path, prefix); !slices.Contains(about, method) {
			f.mu.Lock()
			f.asked[method]++
			f.sent += int(r.ContentLength) + answer.Body.Len()
			f.mu.Unlock()
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
	}))
}

// dialPipes serves a handler within the process and its time until the test ends.
func dialPipes(t *testing.T, h http.Handler) *Shard {
	t.Helper()
	l := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: h}
	go server.Serve(l)
	s := &Shard{url: "http://shard", done: make(chan struct{}), transport: &http.Transport{MaxIdleConnsPerHost: maxIdle, DialContext: l.dial}}
	t.Cleanup(func() {
		s.Close()
		server.Close()
	})
	return s
}

// took returns how many ways were gone one after another since began, and what was asked.
func (f *far) took(began time.Time) (rounds int, told string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, _ := json.Marshal(f.asked)
	told = fmt.Sprintf("%s, %d bytes", b, f.sent)
	f.asked, f.sent = map[string]int{}, 0
	return int(time.Since(began) / way), told
}

// pipes are connections within the process.
type pipes struct {
	to     chan net.Conn
	closed chan struct{}
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.to <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.to:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// tokenEmbedder hashes words into dimensions, and has a vector for each word.
type tokenEmbedder struct{}

const tokenDim, tokenVocab = 32, 1 << 10

func (e tokenEmbedder) Embed(_ context.Context, texts []string, _ search.EmbedOptions) (*search.Embeddings, error) {
	r := &search.Embeddings{Truncated: make([]bool, len(texts))}
	for _, text := range texts {
		v := make([]float32, tokenDim)
		v[0] = 0.1
		for _, id := range e.Tokens(text) {
			v[1+id%(tokenDim-1)]++
		}
		r.Vectors = append(r.Vectors, v)
	}
	return r, nil
}

func (tokenEmbedder) Knows(word string) bool { return word == "along" }

func (tokenEmbedder) CountTokens(text string) int { return len(strings.Fields(text)) }

func (tokenEmbedder) Model() search.ModelInfo {
	return search.ModelInfo{Name: "tokens", SHA256: "tokens", Dimension: tokenDim, Pooling: "mean", MaxTokens: 16}
}

func (tokenEmbedder) Calibration() models.Calibration {
	return models.Calibration{CosineCeiling: 1, Alpha: 0.5, Match: 0.25}
}

func (tokenEmbedder) Tokens(text string) (ids []int32) {
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New32a()
		h.Write([]byte(w))
		ids = append(ids, int32(h.Sum32()%tokenVocab))
	}
	return ids
}

func (tokenEmbedder) Terms(string) *lsi.Terms { return nil }

var _ search.Matcher = tokenEmbedder{}

func (tokenEmbedder) TokenTable() *maxsim.Table {
	return maxsim.NewTable(tokenVocab, tokenDim, func(dst []float32, id int) {
		rng := rand.New(rand.NewPCG(uint64(id), 1))
		for i := range dst {
			dst[i] = float32(rng.NormFloat64())
		}
	})
}

// farEngine opens an engine over three shards that are far away, with documents of one passage and of several.
func farEngine(t *testing.T, reader bool) (*search.Engine, *far) {
	f := &far{asked: map[string]int{}}
	var nodes []Node
	for range 3 {
		nodes = append(nodes, openNode(t))
	}
	open := func(reader bool) *search.Engine {
		var list []backend.Shard
		for _, n := range nodes {
			list = append(list, f.dial(t, n))
		}
		b, err := shards.Open(t.Context(), list, shards.Options{Reader: reader})
		if err != nil {
			t.Fatal(err)
		}
		e, err := search.Open("", search.Options{Embedder: tokenEmbedder{}, Backend: b})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	e := open(false)
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Synonyms: []string{"river, stream"}}); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields("river bank money loan water boat sail harbour ship lighthouse rain snow account apple orange fruit basket foot engine walking network keyboard")
	r := rand.New(rand.NewPCG(1, 2))
	var docs []search.Document
	for i := range 200 {
		var text bytes.Buffer
		for range 5 + r.IntN(60) {
			text.WriteString(words[r.IntN(len(words))] + " ")
		}
		fields, _ := json.Marshal(map[string]any{"title": fmt.Sprintf("%s x%d", words[r.IntN(len(words))], i), "text": text.String(), "n": i, "kind": words[i%3]})
		docs = append(docs, search.Document{ID: fmt.Sprint("d", i), Fields: fields})
	}
	if _, err := e.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	if reader {
		e = open(true)
	}
	return e, f
}

// rounds are searches, and how many ways to the shards and back they go one after another.
var rounds = []struct {
	name string
	q    search.Query
	most int
}{
	{"keyword", search.Query{Mode: search.Keyword}, 3},
	{"semantic", search.Query{Mode: search.Semantic}, 3},
	{"hybrid", search.Query{}, 4},
	{"filter, keyword", search.Query{Mode: search.Keyword, Filter: "n < 150"}, 3},
	{"filter, semantic", search.Query{Mode: search.Semantic, Filter: "n < 150"}, 4},
	{"filter", search.Query{Filter: "n < 150"}, 4},
	{"facets", search.Query{Facets: []search.Facet{{Field: "kind"}}}, 5},
	{"sort", search.Query{Sort: []search.SortKey{{Field: "n"}}}, 5},
	{"explain", search.Query{Explain: true}, 4},
	{"group", search.Query{Group: "kind"}, 5},
}

// typed are texts of searches, and how many ways more they take.
var typed = []struct {
	text string
	more int
}{
	{"river boat", 0},
	{"snow rain harbour", 0},
	{"river boat", 0},
	{"walking x7", 0},
	{"boat between wi-fi", 0}, // a word that is left out, and one that is two
	{"along the river", 1},    // a word that no document has may be two
	{"riverr orange", 4},      // and one that is misspelled is looked for
	{"apple keyboard", 0},
}

// TestRounds holds how many ways a search goes one after another, whatever is known from those before it.
func TestRounds(t *testing.T) {
	for _, reader := range []bool{false, true} {
		t.Run(fmt.Sprintf("reader=%t", reader), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, f := farEngine(t, reader)
				for i, text := range typed {
					for _, tt := range rounds {
						if i%2 == 0 {
							time.Sleep(2 * time.Second) // what is kept for a moment is not there any more
						}
						f.took(time.Now())
						tt.q.Q = text.text
						began := time.Now()
						r, err := e.Search(t.Context(), "docs", tt.q)
						if err != nil {
							t.Fatal(err)
						}
						n, told := f.took(began)
						t.Logf("%s %q: %d rounds: %s", tt.name, text.text, n, told)
						if n > tt.most+text.more || n < 2 || len(r.Hits) == 0 {
							t.Errorf("%s %q: %d rounds, want 2 to %d: %s; %d hits", tt.name, text.text, n, tt.most+text.more, told, len(r.Hits))
						}
					}
				}
			})
		})
	}
}
