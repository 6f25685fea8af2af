package search_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/wire"
)

// copyAll copies the documents of a collection as they are now.
func copyAll(t *testing.T, from, to *search.Copies, of string) {
	t.Helper()
	for cursor, more := "", true; more; more = cursor != "" {
		list, next, err := from.List(t.Context(), "docs", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, d := range list {
			ids = append(ids, d.ID)
		}
		for len(ids) > 0 {
			b, n, err := from.Read(t.Context(), "docs", ids)
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Write(t.Context(), "docs", of, b); err != nil {
				t.Fatal(err)
			}
			ids = ids[n:]
		}
		cursor = next
	}
}

// TestCopy: a copy answers as its original, with an embedder that is not asked for any vector of a
// document, and is a collection like others when it has ended.
func TestCopy(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}})
	settings := search.Settings{Language: "en", Synonyms: []string{"tv => television"}}
	if _, _, err := e.EnsureCollection(t.Context(), "docs", settings); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"a kitten sleeps on the sofa", "oil for the car", "the automobile is red", "television and sofa", "red oil paint"} {
		ingest(t, e, "docs", doc(fmt.Sprint("d", i), fmt.Sprintf(`{"title":"number %d","text":%q}`, i, text)))
	}
	mute := &fakeEmbedder{}
	other := openWith(t, t.TempDir(), search.Options{Embedder: mute})
	if err := other.DropCollection(t.Context(), "docs"); err != nil { // that openWith made
		t.Fatal(err)
	}
	from, to := search.CopiesOf(e), search.CopiesOf(other)
	o, err := from.Original(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Begin(t.Context(), "docs", o); err != nil {
		t.Fatal(err)
	}
	copyAll(t, from, to, o.Of)
	if _, err := other.Ingest(t.Context(), "docs", []search.Document{doc("new", `{"text":"x"}`)}); !errors.Is(err, search.ErrTaskRunning) {
		t.Errorf("a write before the copy has ended: %v", err)
	}
	if _, err := other.DeleteDocuments(t.Context(), "docs", []string{"d1"}); !errors.Is(err, search.ErrTaskRunning) {
		t.Errorf("a deletion before the copy has ended: %v", err)
	}
	if _, err := other.Reembed(t.Context(), "docs", search.ReembedOptions{}); !errors.Is(err, search.ErrTaskRunning) {
		t.Errorf("a re-embedding before the copy has ended: %v", err)
	}
	if info, err := other.Collection(t.Context(), "docs"); err != nil || info.CopyOf != o.Of {
		t.Errorf("before the end: %+v, %v", info, err)
	}
	if err := to.Begin(t.Context(), "docs", o); err != nil {
		t.Errorf("going on with it: %v", err)
	}
	gone, _, err := from.Read(t.Context(), "docs", []string{"none", "d0"}) // d0 stays, and none is deleted, which is not there
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Write(t.Context(), "docs", o.Of, gone); err != nil {
		t.Fatal(err)
	}
	if err := to.End(t.Context(), "docs", o.Of); err != nil {
		t.Fatal(err)
	}
	if n := mute.calls.Load(); n > 0 {
		t.Errorf("%d texts of documents were encoded", n)
	}
	was, _ := e.Collection(t.Context(), "docs")
	is, err := other.Collection(t.Context(), "docs")
	if err != nil || is.CopyOf != "" || is.Documents != was.Documents || is.Passages != was.Passages || !is.Created.Equal(was.Created) || is.Settings.Synonyms[0] != was.Settings.Synonyms[0] {
		t.Errorf("the copy is %+v, the original %+v, %v", is, was, err)
	}
	for _, mode := range []string{"hybrid", "semantic", "keyword"} {
		for _, q := range []string{"kitten", "red automobile", "tv", "oil"} {
			var found [2]string
			for i, engine := range []*search.Engine{e, other} {
				r, err := engine.Search(t.Context(), "docs", search.Query{Q: q, Mode: search.Mode(mode)})
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range r.Hits {
					found[i] += fmt.Sprintf("%s %x ", h.ID, math.Float64bits(h.Score))
				}
			}
			if found[0] != found[1] || found[0] == "" {
				t.Errorf("%s search for %q: %s, the original has %s", mode, q, found[1], found[0])
			}
		}
	}
	ingest(t, other, "docs", doc("new", `{"text":"a kitten"}`))
	if err := to.Begin(t.Context(), "docs", o); !errors.Is(err, search.ErrCollectionExists) || !strings.Contains(err.Error(), "6 documents") {
		t.Errorf("over a collection with documents: %v", err)
	}
}

// TestCopyRefuses: what cannot be a copy, or a document of one, is refused and named.
func TestCopyRefuses(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}})
	c := search.CopiesOf(e)
	o, err := c.Original(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Begin(t.Context(), "other", o); err != nil {
		t.Fatal(err)
	}
	foreign, flat, nameless := o, o, o
	foreign.Model.SHA256, flat.Model.Dimension, nameless.Of = "another", 0, ""
	for name, tt := range map[string]struct {
		err  error
		want error
	}{
		"another checkpoint": {c.Begin(t.Context(), "third", foreign), search.ErrModelMismatch},
		"no dimension":       {c.Begin(t.Context(), "third", flat), search.ErrInvalid},
		"of nothing":         {c.Begin(t.Context(), "third", nameless), search.ErrInvalid},
		"a bad name":         {c.Begin(t.Context(), "../x", o), search.ErrInvalid},
		"end of no copy":     {c.End(t.Context(), "docs", o.Of), search.ErrInvalid},
		"end of another":     {c.End(t.Context(), "other", "x"), search.ErrInvalid},
		"write to no copy":   {c.Write(t.Context(), "docs", o.Of, nil), search.ErrInvalid},
		"write to another":   {c.Write(t.Context(), "other", "x", nil), search.ErrInvalid},
		"no form":            {c.Write(t.Context(), "other", o.Of, []byte("not this")), search.ErrInvalid},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	unit, long := make([]float32, fakeDim), make([]float32, fakeDim)
	unit[0], long[0] = 1, 2
	write := func(w backend.Write) error {
		return c.Write(t.Context(), "other", o.Of, wire.AppendCopy(nil, w))
	}
	passages := []backend.Passage{{Field: "text", Start: 0, End: 1}}
	good := backend.Write{ID: "a", Fields: []byte(`{"text":"x"}`), Hash: [32]byte{1}, Passages: passages, Vectors: [][]float32{unit}}
	if err := write(good); err != nil {
		t.Errorf("a good document: %v", err)
	}
	for name, change := range map[string]func(w *backend.Write){
		"a vector that is not of unit length": func(w *backend.Write) { w.Vectors = [][]float32{long} },
		"a short vector":                      func(w *backend.Write) { w.Vectors = [][]float32{{1}} },
		"no JSON":                             func(w *backend.Write) { w.Fields = []byte(`{"text":`) },
		"no id":                               func(w *backend.Write) { w.ID = "" },
	} {
		w := good
		if change(&w); !errors.Is(write(w), search.ErrInvalid) {
			t.Errorf("%s: %v", name, write(w))
		}
	}
}
