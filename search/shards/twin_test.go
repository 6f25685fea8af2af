package shards_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"searchd/index/lsi"
	"searchd/index/maxsim"
	"searchd/models"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/shards"
)

// hashEmbedder hashes words into dimensions, so that texts that share words are near.
type hashEmbedder struct{}

const hashDim = 48

func (hashEmbedder) Embed(_ context.Context, texts []string, _ search.EmbedOptions) (*search.Embeddings, error) {
	r := &search.Embeddings{Truncated: make([]bool, len(texts))}
	for _, t := range texts {
		v := make([]float32, hashDim)
		whole := fnv.New32a()
		whole.Write([]byte(t))
		v[0] = 0.1 + float32(whole.Sum32()%10_000)/100_000 // no text is without a direction, and no two are equally far from a third
		for _, w := range strings.Fields(strings.ToLower(t)) {
			h := fnv.New32a()
			h.Write([]byte(w))
			v[1+h.Sum32()%(hashDim-1)]++
		}
		r.Vectors = append(r.Vectors, v)
	}
	return r, nil
}

func (hashEmbedder) CountTokens(text string) int { return len(strings.Fields(text)) }

func (hashEmbedder) Model() search.ModelInfo {
	return search.ModelInfo{Name: "hash", SHA256: "hash", Dimension: hashDim, Pooling: "mean", MaxTokens: 16}
}

func (hashEmbedder) Calibration() models.Calibration {
	return models.Calibration{CosineFloor: 0, CosineCeiling: 1, Alpha: 0.5, Match: 0.25, Title: 0.5, Topics: 0.3}
}

const hashVocab = 1 << 10

// Tokens implements search.Matcher.
func (hashEmbedder) Tokens(text string) (ids []int32) {
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New32a()
		h.Write([]byte(w))
		ids = append(ids, int32(h.Sum32()%hashVocab))
	}
	return ids
}

// Terms implements search.Matcher.
func (hashEmbedder) Terms(string) *lsi.Terms {
	return lsi.NewTerms(hashVocab, func(id int) string { return fmt.Sprint(id) })
}

var _ search.Matcher = hashEmbedder{}

// TokenTable implements search.Matcher.
func (hashEmbedder) TokenTable() *maxsim.Table { return hashTable }

var hashTable = maxsim.NewTable(hashVocab, hashDim, func(dst []float32, id int) {
	r := rand.New(rand.NewPCG(uint64(id), 1))
	for i := range dst {
		dst[i] = float32(r.NormFloat64())
	}
})

// twins are an engine over shards and one over a single backend that are given the same.
type twins struct {
	r           *rand.Rand
	shards      int
	many, alone *search.Engine
	ids         []string // of what is there
	made        int
	refused     int // queries
}

func openTwins(t *testing.T, r *rand.Rand, n int) *twins {
	d := newData(t, n)
	b := d.mustOpen(t)
	w := &twins{r: r, shards: n}
	var err error
	if w.many, err = search.Open(d.dir, search.Options{Embedder: hashEmbedder{}, Backend: b}); err != nil {
		t.Fatal(err)
	}
	if w.alone, err = search.Open(t.TempDir(), search.Options{Embedder: hashEmbedder{}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, e := range []*search.Engine{w.many, w.alone} {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// both calls f for both engines and wants the same of both, as JSON.
func both[T any](t *testing.T, w *twins, what any, f func(e *search.Engine) (T, error)) (answer T) {
	t.Helper()
	said := func(e *search.Engine) (string, T) {
		v, err := f(e)
		if err != nil {
			return err.Error(), v
		}
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text), v
	}
	got, _ := said(w.many)
	want, answer := said(w.alone)
	if got != want {
		q, _ := json.Marshal(what)
		t.Fatalf("%d shards, %s:\n%s", w.shards, q, difference(got, want))
	}
	return answer
}

// difference shows two texts from a little before they differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	part := func(lines []string) string { return strings.Join(lines[max(at-25, 0):min(at+12, len(lines))], "\n") }
	return fmt.Sprintf("from line %d on the shards say\n%s\nand the one\n%s", at, part(a), part(b))
}

// answered is a response without what depends on time.
func answered(r *search.Response, err error) (*search.Response, error) {
	if r != nil {
		r.TookMS, r.TimingsMS = 0, nil
	}
	return r, err
}

// drawnWords are drawn from: with words that are written together and apart, synonyms, names, numbers, and what is spelled alike.
var drawnWords = strings.Fields(`river bank money loan water stream boat sail harbour harbor ship lighthouse light house rain rainfall fall snow ice cream icecream
	account acount acccount apple apples orange fruit basket ball basketball foot football car automobile vehicle motor engine e-mail email v1.2.3 2024 10,000
	3.14 foo_bar Foo.Bar the of and in über straße strasse naïve naive walking walked walk quick brown fox jumps lazy dog wi-fi wifi data base database set
	network net work working key board keyboard mouse screen desk top desktop lap laptop table chair window door floor ceiling wall garden tree flower`)

func (w *twins) word() string {
	n := len(drawnWords)
	return drawnWords[min(w.r.IntN(n), w.r.IntN(n))] // the first ones more often
}

func (w *twins) text(most int) string {
	words := make([]string, 1+w.r.IntN(most))
	for i := range words {
		words[i] = w.word()
	}
	return strings.Join(words, " ")
}

// fields draws a document, with its number in all texts, so that no two vectors are equal: which of two that are is first depends on which was written last.
func (w *twins) fields(number int) json.RawMessage {
	r := w.r
	f, own := map[string]any{"number": number}, fmt.Sprintf(" x%d", number)
	if r.IntN(8) > 0 {
		f["text"] = w.text(40) + own
	}
	if r.IntN(3) > 0 {
		f["title"] = w.text(4) + own
	}
	if r.IntN(12) == 0 {
		f["note"] = w.text(6) + own // a text field that some shards do not have
	}
	if r.IntN(4) > 0 {
		f["kind"] = []string{"a", "b", "c", "long kind " + strings.Repeat("x", 300)}[r.IntN(4)]
	}
	if r.IntN(4) > 0 {
		f["price"] = []any{r.IntN(50), float64(r.IntN(500)) / 10, json.Number("9007199254740993"), -3}[min(r.IntN(4), r.IntN(4))]
	}
	if r.IntN(3) > 0 {
		f["day"] = fmt.Sprintf("2024-%02d-%02d", 1+r.IntN(12), 1+r.IntN(28))
	}
	if r.IntN(2) > 0 {
		f["tags"] = []any{w.word(), w.word(), r.IntN(3), r.IntN(2) == 0}[:1+r.IntN(4)]
	}
	raw, _ := json.Marshal(f)
	return raw
}

// put makes n documents, or changes some that are there. New ones come to the shards in turns, so that what comes earlier is before what comes later there, too.
func (w *twins) put(t *testing.T, n int, change bool) {
	var docs []search.Document
	for range n {
		if change {
			docs = append(docs, search.Document{ID: w.ids[w.r.IntN(len(w.ids))], Fields: w.fields(w.r.IntN(1 << 30))})
			continue
		}
		id := ""
		for i := 0; id == "" || shards.Place(id, w.shards) != w.made%w.shards; i++ {
			id = fmt.Sprintf("d%03d-%d", w.made, i)
		}
		docs, w.ids = append(docs, search.Document{ID: id, Fields: w.fields(w.made)}), append(w.ids, id)
		w.made++
	}
	both(t, w, docs, func(e *search.Engine) (out []string, err error) {
		results, err := e.Ingest(t.Context(), "docs", docs)
		for _, r := range results {
			out = append(out, fmt.Sprint(r.ID, r.Status, r.Passages, r.Err, r.Warning))
		}
		return out, err
	})
}

// remove deletes n documents.
func (w *twins) remove(t *testing.T, n int) {
	for range n {
		i := w.r.IntN(len(w.ids))
		id := w.ids[i]
		both(t, w, id, func(e *search.Engine) (string, error) {
			r, err := e.DeleteDocument(t.Context(), "docs", id, nil)
			return fmt.Sprint(r.Status), err
		})
		w.ids = slices.Delete(w.ids, i, i+1)
	}
}

var drawnFilters = []string{"", "kind = 'a'", "NOT kind = 'b'", "price >= 10 AND price < 30", "day >= '2024-06-01' OR tags = 'river'", "note EXISTS", "tags IN (1, 'bank', true)", "id IN ('%s', '%s', 'nowhere')", "NOT id = '%s'", "kind < 'c'"}

func (w *twins) filter() string {
	f := drawnFilters[min(w.r.IntN(len(drawnFilters)), w.r.IntN(len(drawnFilters)))]
	for strings.Contains(f, "%s") {
		f = strings.Replace(f, "%s", w.ids[w.r.IntN(len(w.ids))], 1)
	}
	return f
}

// misspelled changes a word.
func (w *twins) misspelled(word string) string {
	runes := []rune(word)
	i := w.r.IntN(len(runes))
	switch w.r.IntN(4) {
	case 0:
		return string(slices.Delete(runes, i, i+1))
	case 1:
		return string(slices.Insert(runes, i, runes[i]))
	case 2:
		runes[i] = 'q'
		return string(runes)
	default:
		return string(runes[:max(len(runes)-2, 1)])
	}
}

func (w *twins) q() string {
	r := w.r
	var parts []string
	for range r.IntN(4) {
		switch r.IntN(12) {
		case 0:
			parts = append(parts, `"`+w.word()+" "+w.word()+`"`)
		case 1:
			parts = append(parts, "-"+w.word())
		case 2:
			parts = append(parts, `-"`+w.word()+" "+w.word()+`"`)
		case 3, 4:
			parts = append(parts, w.misspelled(w.word()))
		case 5:
			parts = append(parts, w.word()+w.word()) // what nobody writes together, or somebody
		default:
			parts = append(parts, w.word())
		}
	}
	return strings.Join(parts, " ")
}

func (w *twins) facets() (out []search.Facet) {
	for _, f := range []search.Facet{{Field: "kind"}, {Field: "tags", Limit: 3}, {Field: "price", Limit: 1 + w.r.IntN(20)}, {Field: "price", Ranges: []search.FacetRange{{To: 10}, {From: 10, To: 30}, {From: 30}}}, {Field: "nowhere"}} {
		if w.r.IntN(3) == 0 && !slices.ContainsFunc(out, func(o search.Facet) bool { return o.Field == f.Field }) {
			out = append(out, f)
		}
	}
	return out
}

func (w *twins) sort() (out []search.SortKey) {
	for w.r.IntN(3) == 0 && len(out) < 3 {
		out = append(out, search.SortKey{Field: []string{"price", "kind", "day", "tags", "number", "_score", "nowhere"}[w.r.IntN(7)], Order: []string{"asc", "desc", ""}[w.r.IntN(3)]})
	}
	return out
}

func (w *twins) boosts() (out []search.Boost) {
	for _, b := range []search.Boost{{Filter: "kind = 'a'", Weight: 2}, {Field: "price", Scale: 10, Weight: 1}, {Field: "day", Origin: "2024-06-01", Scale: "30d", Weight: -0.5}} {
		if w.r.IntN(6) == 0 {
			out = append(out, b)
		}
	}
	return out
}

func (w *twins) query() search.Query {
	r := w.r
	limit, passages := r.IntN(25), r.IntN(4)
	q := search.Query{Q: w.q(), Filter: w.filter(), Limit: &limit, Passages: &passages, Explain: r.IntN(2) == 0, Facets: w.facets(), Sort: w.sort(), Boosts: w.boosts(),
		Mode: []search.Mode{search.Hybrid, search.Semantic, search.Keyword}[r.IntN(3)], Fusion: []search.Fusion{search.Relative, search.RRF}[r.IntN(2)],
		Offset: []int{0, 0, 5}[r.IntN(3)], Unfinished: r.IntN(3) == 0, Window: []int{0, 30, 100}[r.IntN(3)]}
	if r.IntN(4) == 0 {
		q.Operator = "and"
	}
	if r.IntN(6) == 0 {
		q.Fields = []search.Fields{{"title"}, {"title^3", "text"}, {"note", "text^0.5"}}[r.IntN(3)]
	}
	if r.IntN(6) == 0 {
		q.Group = []string{"kind", "price", "tags"}[r.IntN(3)]
	}
	if r.IntN(8) == 0 {
		q.Syntax = search.Plain
	}
	words := strings.ContainsFunc(strings.ReplaceAll(q.Q, " -", ""), unicode.IsLetter) // else there is no relevance to change, or to tell of
	if r.IntN(8) == 0 && q.Mode != search.Keyword {
		q.Sentences = words
	}
	if r.IntN(8) == 0 && len(q.Sort) == 0 && words {
		q.Diversity = 0.5
	}
	if len(q.Sort) > 0 || !words {
		q.Boosts = nil
	}
	q.Explain = q.Explain && words
	return q
}

// look asks both for all sorts of things.
func (w *twins) look(t *testing.T, queries int) (found int) {
	t.Helper()
	for _, e := range []*search.Engine{w.many, w.alone} { // else what they have learnt may be of different times
		if err := e.Learn(t.Context(), "docs"); err != nil {
			t.Fatal(err)
		}
	}
	for range queries {
		q := w.query()
		if r := both(t, w, q, func(e *search.Engine) (*search.Response, error) { return answered(e.Search(t.Context(), "docs", q)) }); r != nil {
			found += len(r.Hits)
		} else {
			w.refused++
		}
	}
	for range queries / 10 {
		s := search.Similar{IDs: []string{w.ids[w.r.IntN(len(w.ids))]}, Filter: w.filter(), Explain: true, Facets: w.facets(), Group: []string{"", "kind"}[w.r.IntN(2)]}
		both(t, w, s, func(e *search.Engine) (*search.Response, error) { return answered(e.Similar(t.Context(), "docs", s)) })
		id, q := w.ids[w.r.IntN(len(w.ids))], w.query()
		both(t, w, q, func(e *search.Engine) (*search.Explanation, error) {
			x, err := e.Explain(t.Context(), "docs", id, q)
			if x != nil {
				x.TookMS, x.TimingsMS = 0, nil
			}
			return x, err
		})
	}
	both(t, w, "documents", func(e *search.Engine) (out []string, err error) {
		for cursor, more := "", true; more; more = cursor != "" {
			docs, next, err := e.Documents(t.Context(), "docs", cursor, 7)
			if err != nil {
				return nil, err
			}
			for _, d := range docs {
				out = append(out, d.ID+string(d.Fields))
			}
			cursor = next
		}
		slices.Sort(out)
		return out, nil
	})
	both(t, w, "collection", func(e *search.Engine) ([]uint64, error) {
		c, err := e.Collection(t.Context(), "docs")
		return []uint64{uint64(c.Documents), uint64(c.Passages), c.Sequence}, err
	})
	w.maps(t)
	return found
}

// maps compares the maps, whose points may come in another order, and with it differ in the last digits.
func (w *twins) maps(t *testing.T) {
	points := func(e *search.Engine) map[string][]float32 {
		m, err := e.Map(t.Context(), "docs", search.MapOptions{Limit: search.MaxMapPoints})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]float32{}
		for _, p := range m.Points {
			out[fmt.Sprint(p.ID, p.Field, p.Start, p.End, p.Values)] = p.At
		}
		return out
	}
	got, want := points(w.many), points(w.alone)
	if len(got) != len(want) {
		t.Fatalf("%d points on the map of the shards, %d on the other", len(got), len(want))
	}
	for name, p := range want {
		q, ok := got[name]
		for i := range p {
			if !ok || math.Abs(math.Abs(float64(p[i]))-math.Abs(float64(q[i]))) > 1e-3 {
				t.Fatalf("%s is at %v on the map of the shards, at %v on the other", name, q, p)
			}
		}
	}
}

// twinSeed is what the twins draw from.
const twinSeed = 1

// TestTwin holds what an engine over several shards answers against one over a single backend with the same documents: scores to the last bit.
func TestTwin(t *testing.T) {
	for seed, n := range []int{3, 2, 1, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := openTwins(t, rand.New(rand.NewPCG(uint64(seed), twinSeed)), n)
			settings := search.Settings{Synonyms: []string{"car, automobile", "ship => boat, sailing boat", "wifi, wi-fi, wireless network", "ice cream => sorbet, snow"},
				Fields: map[string]search.FieldSettings{"title": {Type: "text", Weight: 2}, "kind": {Type: "filter"}, "day": {Type: "filter"}, "tags": {Type: "filter"}}}
			both(t, w, settings, func(e *search.Engine) (bool, error) {
				_, err := e.CreateCollection(t.Context(), "docs", settings)
				return true, err
			})
			rounds, queries := 4, 60
			if testing.Short() {
				rounds, queries = 2, 30
			}
			found := 0
			for round := range rounds {
				w.put(t, 30, false)
				if round > 0 {
					w.put(t, 8, true)
					w.remove(t, 5)
				}
				found += w.look(t, queries)
			}
			if found < rounds*queries || w.refused > rounds*queries/4 {
				t.Errorf("%d hits of %d queries, of which %d were refused: too little to compare", found, rounds*queries, w.refused)
			}
			other := settings
			other.Synonyms = []string{"river, stream, water"}
			both(t, w, other, func(e *search.Engine) (bool, error) {
				_, _, err := e.EnsureCollection(t.Context(), "docs", other)
				return true, err
			})
			w.look(t, queries/3)
			deletion := both(t, w, "deletion", func(e *search.Engine) (search.Deletion, error) {
				return e.DeleteByFilter(t.Context(), "docs", "kind = 'a'", false)
			})
			if reflect.ValueOf(deletion).IsZero() {
				t.Error("nothing was deleted")
			}
			w.ids = slices.DeleteFunc(w.ids, func(id string) bool {
				_, err := w.alone.Document(t.Context(), "docs", id)
				return err != nil
			})
			w.look(t, queries/3)
			if problems, err := w.many.Check(t.Context(), true); err != nil || len(problems) > 0 {
				t.Errorf("Check: %v, %v", problems, err)
			}
		})
	}
}

// TestTwinFarForm: a form that the first documents with a term lack is looked for in later ones, wherever these are.
func TestTwinFarForm(t *testing.T) {
	w := openTwins(t, rand.New(rand.NewPCG(1, twinSeed)), 3)
	both(t, w, "collection", func(e *search.Engine) (bool, error) {
		_, err := e.CreateCollection(t.Context(), "docs", search.Settings{})
		return true, err
	})
	docs := make([]search.Document, backend.MaxNearRefs)
	for i := range docs {
		docs[i] = search.Document{ID: fmt.Sprint(i), Fields: json.RawMessage(fmt.Sprintf(`{"text":"a letter x%d"}`, i))}
	}
	docs[len(docs)-1].Fields = json.RawMessage(`{"text":"letters"}`)
	both(t, w, docs, func(e *search.Engine) (int, error) {
		results, err := e.Ingest(t.Context(), "docs", docs)
		return len(results), err
	})
	r := both(t, w, "lettters", func(e *search.Engine) (*search.Response, error) {
		return answered(e.Search(t.Context(), "docs", search.Query{Q: "lettters", Mode: search.Keyword, Limit: new(int)}))
	})
	if r.Query == nil || r.Query.Text != "letters" || r.Total.Value != len(docs) {
		t.Errorf("read as %+v, of %d documents", r.Query, r.Total.Value)
	}
}
