// Package backendtest is the conformance suite of backends: it tests what package backend documents
// for each method.
package backendtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
)

// Run tests the backends that open returns. Each must be empty and independent of earlier ones; Run
// closes them.
func Run(t *testing.T, open func(t *testing.T) backend.Backend) {
	start := func(t *testing.T) Calls {
		b := open(t)
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return Calls{b}
	}
	for name, test := range map[string]func(*testing.T, Calls){
		"catalog": testCatalog, "values": testValues, "writes": testWrites, "refused writes": testRefused,
		"pages": testPages,
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
	for name, test := range map[string]func(*testing.T, *library){
		"unknown collection": testUnknown, "updated": testUpdated, "canceled": testCanceled, "closed": testClosed,
		"changes": testChanges, "deleted": testDeleted,
	} {
		t.Run(name, func(t *testing.T) { test(t, newLibrary(t, start(t))) })
	}
	t.Run("library", func(t *testing.T) {
		l := newLibrary(t, start(t)) // none of these tests changes it
		for name, test := range map[string]func(*testing.T, *library){
			"documents": testDocuments, "list": testList, "select": testSelect, "words": testWords, "word terms": testWordTerms,
			"expand": testExpand, "near": testNear, "missing": testMissing, "sets": testSets, "facets": testFacets,
			"firsts": testFirsts, "passing": testPassing, "numbers": testNumbers, "points": testPoints, "order": testOrder, "nearest": testNearest,
			"cosines": testCosines, "vectors": testVectors, "names": testNames, "sample": testSample, "texts": testTexts,
			"combined": testCombined, "gauges": testGauges,
		} {
			t.Run(name, func(t *testing.T) { test(t, l) })
		}
	})
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
	"train":   `{"title":"Night train","text":"The train crosses the old bridge at night","year":1935,"kind":"novel","published":"1935-06-01","place":{"lat":48.86,"lon":2.35}}`,
	"bridge":  `{"title":"Bridge","text":"An automobile stops on the bridge","year":1988,"kind":"story","published":"1988-01-15T10:00:00.5Z","place":[{"lat":51.5,"lng":-0.12},{"lat":-17,"lng":179.9}]}`,
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
	last    uint64 // sequence number of the last change
}

// newLibrary fills a backend with the library, after documents that are replaced or deleted again.
func newLibrary(t *testing.T, b Calls) *library {
	t.Helper()
	l := &library{Calls: b, refs: map[string]backend.Ref{}, ids: map[backend.Ref]string{}, vectors: map[string][][]float32{}}
	must(t, l.Create(t.Context(), docs, config()))
	var err error
	l.terms, err = keyword.NewAnalysis("en")
	must(t, err)
	var before, writes []backend.Write
	r := rand.New(rand.NewPCG(3, 4))
	ids := l.sorted()
	for i, id := range ids {
		old := document(id, `{"text":"gone words","year":1,"gone":1}`, 1, r)
		w := document(id, texts[id], 1+i%2, r)
		if id == "second" { // without text
			w.Passages, w.Vectors = nil, nil
		}
		l.vectors[id] = w.Vectors
		if writes = append(writes, w); i%3 == 0 {
			old.ID = "gone " + id
			writes = append(writes, backend.Write{ID: old.ID, Delete: true})
		}
		before = append(before, old)
	}
	l.apply(t, before...)
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
	c, err := l.Collection(t.Context(), docs)
	must(t, err)
	l.last = c.Sequence
	return l
}

// sorted returns the ids of the library in order.
func (l *library) sorted() []string { return slices.Sorted(maps.Keys(texts)) }

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

// apply writes documents and requires that each write changes something.
func (l *library) apply(t *testing.T, writes ...backend.Write) {
	t.Helper()
	outcomes, err := l.Apply(t.Context(), docs, writes)
	if err != nil || len(outcomes) != len(writes) {
		t.Fatalf("Apply of %d writes = %+v, %v", len(writes), outcomes, err)
	}
	for i, o := range outcomes {
		if !changes(o.Status) {
			t.Fatalf("Apply: the status of %q is %d", writes[i].ID, o.Status)
		}
	}
}

// changes reports whether a write with this status changed the collection.
func changes(s backend.Status) bool {
	return s == backend.Created || s == backend.Updated || s == backend.Deleted
}

// fetch makes a Fetch of the library's collection.
func (l *library) fetch(t *testing.T, r backend.FetchRequest) backend.FetchResponse {
	t.Helper()
	r.Collection = docs
	out, err := l.Fetch(t.Context(), r)
	must(t, err)
	return out
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
func (l *library) set(ids string) *backend.Selection { return backend.Select(l.of(ids)) }

// all returns the set of all documents.
func (l *library) all() *backend.Selection { return l.set(strings.Join(l.sorted(), " ")) }

// members returns the ids of a set, sorted, and checks that its methods agree.
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

// inOrder sorts ids with spaces between.
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
