package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
)

// fakeReranker gives a text the number that stands behind "grade" in it, and remembers the pairs.
type fakeReranker struct {
	pairs [][2]string
	fail  error
	wait  bool
}

func (f *fakeReranker) Score(ctx context.Context, pairs [][2]string) (*encoder.Scores, error) {
	f.pairs = append(f.pairs, pairs...)
	if f.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := &encoder.Scores{Logits: make([]float32, len(pairs)), Truncated: make([]bool, len(pairs)), Tokenization: time.Millisecond}
	for i, p := range pairs {
		if _, after, ok := strings.Cut(p[1], "grade "); ok {
			fmt.Sscan(after, &s.Logits[i])
		}
		s.Tokens += len(p[1])
		s.Truncated[i] = len(p[1]) > 1000
	}
	return s, f.fail
}

func (f *fakeReranker) Relevance(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }
func (f *fakeReranker) Model() search.RerankerInfo  { return search.RerankerInfo{Name: "grades"} }

func openReranked(t *testing.T, r search.Reranker) *search.Engine {
	t.Helper()
	e, err := search.Open(t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Reranker: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Passages: search.PassageSettings{MaxTokens: 16}}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created,
		doc("a", `{"title":"First","text":"pancake pancake pancake grade 1"}`),
		doc("b", `{"title":"Second","text":"pancake pancake, well, grade 3"}`),
		doc("c", `{"text":"pancake once, in a long text about other things, grade -2"}`),
		doc("d", `{"text":"# Ships\n\nShips carry goods over the sea, grade 9, and sail with the wind.\n\n# Breakfast\n\nA pancake needs flour and milk, grade 2."}`))
	return e
}

func TestRerank(t *testing.T) {
	for _, q := range []search.Query{{Q: "pancake"}, {Q: "pancake", Mode: search.Keyword, Highlight: ptr(false)}, {Q: "pancake", Mode: search.Semantic}} {
		t.Run(string(q.Mode), func(t *testing.T) {
			r := &fakeReranker{}
			e := openReranked(t, r)
			before := strings.Fields(find(t, e, q))
			q.Rerank, q.Explain = true, true
			res, err := e.Search(t.Context(), "docs", q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, h := range res.Hits {
				got = append(got, h.ID)
				x := h.Explain.Rerank
				if x == nil || before[x.RankBefore-1] != h.ID || h.Score != x.Relevance || x.Relevance != r.Relevance(float32(x.Logit)) {
					t.Errorf("hit %d: %+v", i, x)
				}
			}
			if strings.Join(got, " ") != "b d a c" || res.TimingsMS["rerank"] < 0 || res.Degraded {
				t.Errorf("order %v, want b d a c: d has its best passage on pancakes, not on ships", got)
			}
			for _, p := range r.pairs {
				if p[0] != "pancake" || strings.Contains(p[1], "Ships carry") || strings.Contains(p[1], "grade 3") && !strings.HasPrefix(p[1], "Second\n") {
					t.Errorf("pair %q: want the query with the title and the best passage", p)
				}
			}
			if _, ok := res.TimingsMS["rerank"]; !ok {
				t.Error("no timing")
			}
		})
	}
}

// recordingEmbedder remembers what it encoded.
type recordingEmbedder struct {
	fakeEmbedder
	texts []string
}

func (r *recordingEmbedder) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	r.texts = append(r.texts, texts...)
	return r.fakeEmbedder.Embed(ctx, texts, o)
}

// TestRerankTitles: the cross-encoder reads a passage as it was encoded, behind no more of its
// title than that.
func TestRerankTitles(t *testing.T) {
	title := strings.TrimSpace(strings.Repeat("title ", 20))
	for name, tt := range map[string]struct {
		settings search.PassageSettings
		fields   string
		want     string
	}{
		"a short title":           {search.PassageSettings{MaxTokens: 18}, `{"title":"First","text":"a pancake"}`, "First\na pancake"},
		"a long title":            {search.PassageSettings{MaxTokens: 18}, `{"title":"` + title + `","text":"a pancake"}`, "title title title title title\na pancake"},
		"a text that begins so":   {search.PassageSettings{MaxTokens: 18}, `{"title":"` + title + `","text":"` + title[:29] + ` pancake"}`, title[:29] + " pancake"},
		"passages without titles": {search.PassageSettings{MaxTokens: 18, NoTitle: true}, `{"title":"First","text":"a pancake"}`, "a pancake"},
		"a title alone":           {search.PassageSettings{MaxTokens: 18}, `{"title":"a pancake"}`, "a pancake"},
	} {
		embedder, reranker := &recordingEmbedder{}, &fakeReranker{}
		e, err := search.Open(t.TempDir(), search.Options{Embedder: embedder, Reranker: reranker})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Passages: tt.settings}); err != nil {
			t.Fatal(err)
		}
		put(t, e, search.Created, doc("a", tt.fields))
		encoded := slices.Clone(embedder.texts)
		find(t, e, search.Query{Q: "pancake", Rerank: true})
		if len(reranker.pairs) != 1 || reranker.pairs[0][1] != tt.want || !slices.Contains(encoded, tt.want) {
			t.Errorf("%s: pairs %q, encoded %q, want %q", name, reranker.pairs, encoded, tt.want)
		}
	}
}

// Pages within the window are cut from one order.
func TestRerankPages(t *testing.T) {
	e := openReranked(t, &fakeReranker{})
	var got []string
	for offset := range 4 {
		got = append(got, find(t, e, search.Query{Q: "pancake", Rerank: true, Offset: offset, Limit: ptr(1)}))
	}
	if strings.Join(got, " ") != "b d a c" {
		t.Errorf("pages of one: %v", got)
	}
	first := strings.Fields(find(t, e, search.Query{Q: "pancake"}))[0]
	if got := find(t, e, search.Query{Q: "pancake", Rerank: true, RerankWindow: 1, Limit: ptr(1)}); got != first {
		t.Errorf("window 1: %q, want %q as before", got, first)
	}
}

func TestRerankDegrades(t *testing.T) {
	r := &fakeReranker{fail: errors.New("broken")}
	e := openReranked(t, r)
	plain := find(t, e, search.Query{Q: "pancake"})
	for name, change := range map[string]func(){"failure": func() {}, "not a number": func() { r.fail = nil }, "slow": func() { r.wait = true }} {
		change()
		if name == "not a number" {
			put(t, e, search.Updated, doc("c", `{"text":"pancake once, in a long text about other things, grade NaN"}`))
			plain = find(t, e, search.Query{Q: "pancake"})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		res, err := e.Search(ctx, "docs", search.Query{Q: "pancake", Rerank: true, Explain: true})
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, h := range res.Hits {
			got = append(got, h.ID)
			if h.Explain.Rerank != nil {
				t.Errorf("%s: explained as re-ranked", name)
			}
		}
		if strings.Join(got, " ") != plain || !res.Degraded || !strings.Contains(res.Reason, "re-ranking") {
			t.Errorf("%s: %v, degraded %t (%s), want %s", name, got, res.Degraded, res.Reason, plain)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	r.wait = true
	if _, err := e.Search(ctx, "docs", search.Query{Q: "pancake", Rerank: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("a query that was given up: %v", err)
	}
}

// TestDegradedTwice: an answer without two things says so of both.
func TestDegradedTwice(t *testing.T) {
	broken := errors.New("broken")
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{fail: broken}, Reranker: &fakeReranker{fail: broken}})
	put(t, e, search.Created, doc("a", `{"text":"pancake"}`))
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "pancake", Rerank: true})
	if want := "the query could not be encoded: keyword results only; re-ranking failed: hits are ordered without it"; err != nil || r.Reason != want || len(r.Hits) != 1 {
		t.Errorf("%+v, %v, want %q", r, err, want)
	}
}

func TestRerankRefuses(t *testing.T) {
	plain, able := open(t, t.TempDir(), &fakeEmbedder{}), openReranked(t, &fakeReranker{})
	for _, tt := range []struct {
		e     *search.Engine
		q     search.Query
		field string
	}{
		{plain, search.Query{Q: "x", Rerank: true}, "rerank"},
		{able, search.Query{Q: "x", Rerank: true, RerankWindow: -1}, "rerank_window"},
		{able, search.Query{Q: "x", Rerank: true, RerankWindow: search.MaxRerankWindow + 1}, "rerank_window"},
		{able, search.Query{Q: "x", Rerank: true, RerankWindow: 5}, "limit"},
		{able, search.Query{Q: "x", Rerank: true, Offset: 25}, "limit"},
	} {
		_, err := tt.e.Search(t.Context(), "docs", tt.q)
		var fe *search.FieldError
		if !errors.As(err, &fe) || fe.Field != tt.field {
			t.Errorf("%+v: %v, want a FieldError of %s", tt.q, err, tt.field)
		}
	}
	if _, err := plain.Inference().Rerank(t.Context(), "q", []string{"t"}); !errors.Is(err, search.ErrUnsupported) {
		t.Errorf("Rerank without a re-ranker: %v", err)
	}
}

// TestCrossEncoder ranks with a checkpoint, in parts.
func TestCrossEncoder(t *testing.T) {
	c, err := models.Open("../encoder/testdata/cross-xlmr", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := search.NewReranker(c)
	if err != nil {
		t.Fatal(err)
	}
	e := openReranked(t, r)
	texts := make([]string, 300)
	for i := range texts {
		texts[i] = []string{"Berlin has a population of 3.5 million registered inhabitants.", "New York City is famous for its museums.", strings.Repeat("museum ", 100)}[i%3]
	}
	got, err := e.Inference().Rerank(t.Context(), "how many people live in berlin", texts)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(got.Logits[0])-0.492879) > 2e-5 || got.Logits[297] != got.Logits[0] || got.Truncated[0] || !got.Truncated[2] || len(got.Truncated) != 300 || !got.Truncated[299] {
		t.Errorf("logits %v, truncated %v", got.Logits[:3], got.Truncated[:3])
	}
	tokens := 0
	for _, text := range texts {
		tokens += len(c.Tokenizer().EncodePair("how many people live in berlin", text, c.MaxSeqLength()).IDs)
	}
	if want := 1 / (1 + math.Exp(-float64(got.Logits[1]))); math.Abs(got.Relevance[1]-want) > 1e-9 || got.Tokens != tokens || !(got.Tokenization > 0) {
		t.Errorf("relevance %v, want the sigmoid %v; %d tokens in %v, want %d", got.Relevance[1], want, got.Tokens, got.Tokenization, tokens)
	}
	if res, err := e.Search(t.Context(), "docs", search.Query{Q: "pancake", Rerank: true, Explain: true}); err != nil || len(res.Hits) != 4 || res.Degraded {
		t.Errorf("Search: %+v, %v", res, err)
	}
	dense, err := models.Open("../encoder/testdata/bert-mean", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := search.NewReranker(dense); err == nil {
		t.Error("an encoder without a head is taken for a re-ranker")
	}
}
