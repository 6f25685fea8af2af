// Package backendtest holds a backend to what the package backend says of each of its methods.
package backendtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/search/mapping"
)

// Run tests a backend that open opens anew, empty and without the documents of an earlier one. What
// open returns is closed by Run.
func Run(t *testing.T, open func(t *testing.T) backend.Backend) {
	o := opener(open)
	t.Run("catalog", func(t *testing.T) { testCatalog(t, o.open(t)) })
	t.Run("unknown collection", func(t *testing.T) { testUnknown(t, o.library(t)) })
	t.Run("updated", func(t *testing.T) { testUpdated(t, o.library(t)) })
	t.Run("canceled", func(t *testing.T) { testCanceled(t, o.library(t)) })
	t.Run("closed", func(t *testing.T) { testClosed(t, o.library(t)) })
	t.Run("values", func(t *testing.T) { testValues(t, o.open(t)) })
	t.Run("writes", func(t *testing.T) { testWrites(t, o.open(t)) })
	t.Run("refused writes", func(t *testing.T) { testRefused(t, o.open(t)) })
	t.Run("changes", func(t *testing.T) { testChanges(t, o.library(t)) })
	t.Run("deleted", func(t *testing.T) { testDeleted(t, o.library(t)) })
	t.Run("pages", func(t *testing.T) { testPages(t, o.open(t)) })
	t.Run("concurrent", func(t *testing.T) { testConcurrent(t, o.open(t)) })
	t.Run("library", func(t *testing.T) {
		l := o.library(t) // which none of these changes
		for _, test := range []struct {
			name string
			run  func(t *testing.T, l *library)
		}{
			{"documents", testDocuments}, {"list", testList}, {"select", testSelect}, {"words", testWords}, {"word terms", testWordTerms}, {"words of none", testWordsOfNone},
			{"expand", testExpand}, {"near", testNear}, {"missing", testMissing},
			{"sets", testSets}, {"facets", testFacets}, {"firsts", testFirsts}, {"passing", testPassing}, {"numbers", testNumbers}, {"order", testOrder},
			{"nearest", testNearest}, {"cosines", testCosines}, {"vectors", testVectors}, {"names", testNames}, {"sample", testSample},
			{"texts", testTexts}, {"shown", testShown},
			{"heads", testHeads}, {"gauges", testGauges}, {"check", testCheck},
		} {
			t.Run(test.name, func(t *testing.T) { test.run(t, l) })
		}
	})
}

type opener func(t *testing.T) backend.Backend

// open returns a backend that is closed when the test ends.
func (o opener) open(t *testing.T) Calls {
	t.Helper()
	b := o(t)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return Calls{b}
}

// docs is the name of the library's collection, and dimension is what its vectors have.
const (
	docs      = "docs"
	dimension = 4
)

// config is that of the library's collection.
func config() backend.Config {
	return backend.Config{
		Dimension: dimension, Language: "en", Synonyms: []string{"car, automobile"}, FirstSequence: 1000, Payload: json.RawMessage(`{"of":"the engine"}`),
		Mapping: mapping.Mapping{"kind": {Type: mapping.Filter}, "label": {Type: mapping.Filter}, "secret": {Type: mapping.Stored}},
	}
}

// label is longer than what strings are compared by, which ends within a character.
var label = "x" + strings.Repeat("é", 600)

// texts are the documents of the library, by id.
var texts = map[string]string{
	"whale":   `{"title":"The white whale","text":"A captain hunts the white whale across the sea","year":1851,"kind":"novel","price":9.5,"tags":["sea","hunt"]}`,
	"storm":   `{"title":"Storm at sea","text":"A sailor waits for the storm to pass. The captain sleeps","year":1902,"kind":"story","tags":["sea"],"secret":"rope"}`,
	"garden":  `{"title":"A garden","text":"Roses grow in the garden near the old wall","year":1951,"kind":"essay","price":4}`,
	"wall":    `{"title":"The old wall","text":"Stones of a wall that is old","year":1951,"kind":"poem","price":4}`,
	"kitchen": `{"title":"Kitchen notes","text":"Bread rises near the oven and the oven warms the kitchen","kind":"essay","price":12.25,"draft":true}`,
	"train":   `{"title":"Night train","text":"The train crosses the old bridge at night","year":1935,"kind":"novel","published":"1935-06-01"}`,
	"bridge":  `{"title":"Bridge","text":"An automobile stops on the bridge","year":1988,"kind":"story","published":"1988-01-15T10:00:00.5Z"}`,
	"engine":  `{"title":"Engines","text":"A car needs an engine. Every car does","year":1988,"kind":"manual","price":30,"draft":false}`,
	"big":     `{"text":"Numbers beyond what a float holds","kind":"manual","serial":9007199254740993}`,
	"less":    `{"text":"Numbers still beyond what it holds","kind":"manual","serial":9007199254740992,"mixed":["later",7,true,"2001-02-03"]}`,
	"first":   `{ "text": "One of <two> long & labels` + "\u2028" + `", "label": "` + label + `a" }`, // as it stands, spaces and all
	"second":  `{"label":"` + label + `b","mixed":[-3,9]}`,
}

// library is a collection of documents, most of them with a passage or two.
type library struct {
	Calls
	refs    map[string]backend.Ref
	ids     map[backend.Ref]string
	vectors map[string][][]float32 // of each passage
	terms   *keyword.Analysis
}

// library opens a backend with the library. Documents that were replaced and deleted are behind it.
func (o opener) library(t *testing.T) *library {
	t.Helper()
	l := &library{Calls: o.open(t), refs: map[string]backend.Ref{}, ids: map[backend.Ref]string{}, vectors: map[string][][]float32{}}
	must(t, l.Create(t.Context(), docs, config()))
	var err error
	if l.terms, err = keyword.NewAnalysis("en"); err != nil {
		t.Fatal(err)
	}
	var writes []backend.Write
	r := rand.New(rand.NewPCG(3, 4))
	ids := l.sorted()
	for i, id := range ids {
		before := document(id+" before", `{"text":"gone words","year":1,"gone":1}`, 1, r)
		if before.ID = id; i%3 == 0 {
			before.ID = "gone " + id
		}
		writes = append(writes, before)
	}
	l.apply(t, writes...)
	writes = writes[:0]
	for i, id := range ids {
		w := document(id, texts[id], 1+i%2, r)
		if id == "second" { // without text
			w.Passages, w.Vectors = nil, nil
		}
		l.vectors[id] = w.Vectors
		if writes = append(writes, w); i%3 == 0 {
			writes = append(writes, backend.Write{ID: "gone " + id, Delete: true})
		}
	}
	l.apply(t, writes...)
	found, err := l.Lookup(t.Context(), docs, ids)
	must(t, err)
	for i, id := range ids {
		if found[i] == nil {
			t.Fatalf("Lookup(%q) finds nothing after it was written", id)
		}
		l.refs[id], l.ids[found[i].Ref] = found[i].Ref, id
	}
	if len(l.ids) != len(texts) {
		t.Fatalf("%d documents have %d refs", len(texts), len(l.ids))
	}
	return l
}

// sorted returns the ids of the library in order.
func (l *library) sorted() (ids []string) {
	for id := range texts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// document returns a write of a document with passages of text.
func document(id, fields string, passages int, r *rand.Rand) backend.Write {
	w := backend.Write{ID: id, Fields: json.RawMessage(fields), Hash: sha256.Sum256([]byte(fields))}
	for i := range passages {
		w.Passages = append(w.Passages, backend.Passage{Field: "text", Start: 4 * i, End: 4*i + 4})
		w.Vectors = append(w.Vectors, unit(r))
	}
	return w
}

// unit draws a vector of unit length.
func unit(r *rand.Rand) []float32 {
	v, sum := make([]float32, dimension), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// apply writes, and wants each write to change something.
func (l *library) apply(t *testing.T, writes ...backend.Write) []backend.Outcome {
	t.Helper()
	outcomes, err := l.Apply(t.Context(), docs, writes)
	if err != nil || len(outcomes) != len(writes) {
		t.Fatalf("Apply of %d writes = %+v, %v", len(writes), outcomes, err)
	}
	for i, o := range outcomes {
		if o.Status != backend.Created && o.Status != backend.Updated && o.Status != backend.Deleted {
			t.Fatalf("Apply: the status of %q is %d", writes[i].ID, o.Status)
		}
	}
	return outcomes
}

// of returns the refs of documents, given by their ids with spaces between.
func (l *library) of(ids string) (refs []backend.Ref) {
	for _, id := range strings.Fields(ids) {
		ref, ok := l.refs[id]
		if !ok {
			panic("no document of the library has the id " + id)
		}
		refs = append(refs, ref)
	}
	return refs
}

// names returns the ids of refs with spaces between, in their order.
func (l *library) names(refs []backend.Ref) string {
	ids := make([]string, len(refs))
	for i, ref := range refs {
		if ids[i] = l.ids[ref]; ids[i] == "" {
			ids[i] = fmt.Sprintf("Ref(%d)", ref)
		}
	}
	return strings.Join(ids, " ")
}

// set returns the set of documents, given by their ids.
func (l *library) set(t *testing.T, ids string) *backend.Selection {
	t.Helper()
	return backend.Select(l.of(ids))
}

// all returns the set of all documents.
func (l *library) all(t *testing.T) *backend.Selection {
	return l.set(t, strings.Join(l.sorted(), " "))
}

// members returns the ids of a set, in their order, and holds that its methods agree.
func (l *library) members(t *testing.T, set *backend.Selection) string {
	t.Helper()
	var refs []backend.Ref
	for _, id := range l.sorted() {
		if set.Contains(l.refs[id]) {
			refs = append(refs, l.refs[id])
		}
	}
	out := l.names(refs)
	slices.Sort(refs)
	if got := set.Refs(0, len(texts)+1); !slices.Equal(got, refs) || set.Len() != len(refs) {
		t.Errorf("a set of %d documents that contains %v has Refs = %v", set.Len(), refs, got)
	}
	return out
}

// inOrder puts ids with spaces between in order.
func inOrder(ids string) string {
	list := strings.Fields(ids)
	slices.Sort(list)
	return strings.Join(list, " ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
