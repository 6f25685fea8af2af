package search_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/search"
)

// moody is a fakeEmbedder whose encoding of documents can be made to fail or to hang, and counts
// them.
type moody struct {
	*fakeEmbedder
	bad   atomic.Bool
	hang  atomic.Bool
	texts atomic.Int64
}

func (m *moody) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if !o.Query {
		m.texts.Add(int64(len(texts)))
		if m.bad.Load() {
			return nil, errors.New("out of order")
		}
		if m.hang.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return m.fakeEmbedder.Embed(ctx, texts, o)
}

const story = "# A day\n\nThe kitten slept. An automobile drove past the house. It was raining, and «nobody» went out.\n\nThen came the evening."

func TestSentences(t *testing.T) {
	m := &moody{fakeEmbedder: &fakeEmbedder{}}
	e, err := search.Open(t.TempDir(), search.Options{Embedder: m})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, doc("story", `{"title":"Story","text":"`+strings.ReplaceAll(story, "\n", `\n`)+`"}`), doc("short", `{"text":"A vehicle."}`))
	ask := func(ctx context.Context, q search.Query) (*search.Response, map[string]string) {
		t.Helper()
		r, err := e.Search(ctx, "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{"story": story, "short": "A vehicle."}
		got := map[string]string{}
		for _, h := range r.Hits {
			if s := h.Passages[0].Sentence; s != nil {
				got[h.ID] = texts[h.ID][s.Start:s.End]
				for _, p := range h.Passages[1:] {
					if p.Sentence != nil {
						t.Errorf("passage %d to %d, not the best, has a sentence", p.Start, p.End)
					}
				}
			}
		}
		return r, got
	}
	for _, tc := range []struct {
		name, q, want string
		mode          search.Mode
	}{
		{"meaning", "car drove", "An automobile drove past the house.", search.Semantic},
		{"hybrid", "kitten slept", "The kitten slept.", search.Hybrid},
		{"behind other alphabets", "evening then came", "Then came the evening.", search.Semantic},
		{"no vector", "kitten", "", search.Keyword},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, got := ask(t.Context(), search.Query{Q: tc.q, Mode: tc.mode, Sentences: true, Passages: ptr(3)})
			if got["story"] != tc.want || r.Degraded {
				t.Errorf("%q: sentence %q, want %q; degraded %t", tc.q, got["story"], tc.want, r.Degraded)
			}
			if _, timed := r.TimingsMS["sentences"]; !timed {
				t.Errorf("no timing of the sentences: %v", r.TimingsMS)
			}
		})
	}
	before := m.texts.Load()
	if _, got := ask(t.Context(), search.Query{Q: "car house", Sentences: true}); got["short"] != "A vehicle." || m.texts.Load() != before {
		t.Errorf("%d sentences were encoded again; %v", m.texts.Load()-before, got)
	}
	if _, got := ask(t.Context(), search.Query{Q: "car house"}); len(got) > 0 {
		t.Errorf("sentences that nobody asked for: %v", got)
	}
	put(t, e, search.Created, doc("new", `{"text":"One thing about a car. Another thing."}`))
	m.bad.Store(true)
	r, _ := ask(t.Context(), search.Query{Q: "car thing", Sentences: true})
	if !r.Degraded || !strings.Contains(r.Reason, "sentences") || len(r.Hits) != 3 {
		t.Errorf("a failing encoder: degraded %t (%s), %d hits", r.Degraded, r.Reason, len(r.Hits))
	}
	m.bad.Store(false)
	m.hang.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if r, _ = ask(ctx, search.Query{Q: "car thing", Sentences: true}); !r.Degraded || len(r.Hits) != 3 {
		t.Errorf("a hanging encoder: degraded %t (%s), %d hits", r.Degraded, r.Reason, len(r.Hits))
	}
}
