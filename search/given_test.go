package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// angled is a document whose vector lies at an angle, in degrees, with a text.
func angled(id string, degrees float64, text string) search.Document {
	s, c := math.Sincos(degrees * math.Pi / 180)
	return doc(id, fmt.Sprintf(`{"text":%q,"angle":%v,"vector":[%v,%v]}`, text, degrees, 2*c, 2*s))
}

func at(degrees float64) []float32 {
	s, c := math.Sincos(degrees * math.Pi / 180)
	return []float32{float32(3 * c), float32(3 * s)}
}

var byAngle = search.Settings{Embedder: &search.EmbedderSettings{Source: "given", Dimension: 2}}

// givenCollection has documents around a quarter of a circle.
func givenCollection(t *testing.T, e *search.Engine) {
	t.Helper()
	if _, err := e.CreateCollection(t.Context(), "points", byAngle); err != nil {
		t.Fatal(err)
	}
	docs := []search.Document{
		angled("east", 0, "sunrise over the harbour"), angled("mid", 45, "noon in the hills"), angled("north", 90, "midnight sun"),
		doc("bare", `{"text":"a harbour without a vector"}`), doc("mute", `{"vector":[1,-1]}`),
	}
	for i, r := range ingest(t, e, "points", docs...) {
		if warned := r.Warning != ""; warned != (docs[i].ID == "bare") || r.Status != search.Created {
			t.Fatalf("%s: %+v", docs[i].ID, r)
		}
	}
}

func ingest(t *testing.T, e *search.Engine, collection string, docs ...search.Document) []search.ItemResult {
	t.Helper()
	results, err := e.Ingest(t.Context(), collection, docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("%s: %v", r.ID, r.Err)
		}
	}
	return results
}

// refuses is an embedder that must not be asked.
type refuses struct{ *fakeEmbedder }

func (refuses) Embed(context.Context, []string, search.EmbedOptions) (*search.Embeddings, error) {
	return nil, errors.New("the model was asked for a vector")
}

// TestGivenVectors: documents are found by the vectors that came with them, alone and beside words,
// and the model is never asked.
func TestGivenVectors(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: refuses{&fakeEmbedder{}}})
	givenCollection(t, e)
	find := func(q search.Query) *search.Response {
		t.Helper()
		r, err := e.Search(t.Context(), "points", q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		return r
	}
	r := find(search.Query{Vector: at(80)})
	if got := idsOf(r); !slices.Equal(got, []string{"north", "mid", "east"}) {
		t.Errorf("by vector: %v", got) // mute lies behind: its cosine is negative
	}
	if p := r.Hits[0].Passages; len(p) != 1 || p[0].Text != "midnight sun" || math.Abs(*p[0].Score-math.Cos(10*math.Pi/180)) > 1e-6 {
		t.Errorf("passage %+v", p)
	}
	if got := idsOf(find(search.Query{Vector: at(-40)})); got[0] != "mute" {
		t.Errorf("a document without text: %v", got)
	}
	if got := idsOf(find(search.Query{Q: "harbour", Vector: at(80)})); len(got) != 4 || !slices.Contains(got, "bare") {
		t.Errorf("by words and vector: %v", got)
	}
	if got := idsOf(find(search.Query{Vector: at(80), Filter: "angle < 60"})); !slices.Equal(got, []string{"mid", "east"}) {
		t.Errorf("with a filter: %v", got)
	}
	r = find(search.Query{Q: "harbour"})
	if got := idsOf(r); len(got) != 2 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "keyword results only") {
		t.Errorf("without a vector: %v, %v", got, r.Warnings)
	}
	for name, q := range map[string]search.Query{
		"vector: got none":                            {Q: "harbour", Mode: search.Semantic},
		"vector: got 3 numbers":                       {Vector: []float32{1, 2, 3}},
		"vector: got a vector without a direction":    {Vector: []float32{0, 0}},
		"vector: got 2 numbers, allowed: left out, a": {Vector: at(1), Q: "harbour", Mode: search.Keyword},
	} {
		if _, err := e.Search(t.Context(), "points", q); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Other documents are found by the vectors of some.
	s, err := e.Similar(t.Context(), "points", search.Similar{IDs: []string{"north"}})
	if err != nil || idsOf(s)[0] != "mid" {
		t.Errorf("similar: %v, %v", s, err)
	}
	if _, err := e.Similar(t.Context(), "points", search.Similar{Text: "north"}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("similar to a text: %v", err)
	}
	batch, err := e.SearchBatch(t.Context(), "points", []search.Query{{Vector: at(80)}, {Q: "harbour"}})
	if err != nil || batch[0].Err != nil || batch[1].Err != nil || idsOf(batch[0].Response)[0] != "north" {
		t.Errorf("batch: %+v, %v", batch, err)
	}
	x, err := e.Explain(t.Context(), "points", "mid", search.Query{Vector: at(80)})
	if err != nil || x.Rank != 2 {
		t.Errorf("explain: %+v, %v", x, err)
	}
}

// finished waits for a task to succeed.
func finished(t *testing.T, e *search.Engine, task search.Task) {
	t.Helper()
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("%+v", task)
	}
}

// TestGivenVectorsStay: writing again, PATCH, an export and its import, a restart, and a rebuild
// with other settings leave vectors as they are.
func TestGivenVectorsStay(t *testing.T) {
	dir := t.TempDir()
	e := openWith(t, dir, search.Options{Embedder: refuses{&fakeEmbedder{}}})
	givenCollection(t, e)
	parts := doc("parts", `{"title":"T","text":"one two","vectors":[[1,0],{"vector":[0,1],"field":"text","start":4,"end":7}]}`)
	ingest(t, e, "points", parts)
	if r := ingest(t, e, "points", angled("mid", 45, "noon in the hills"), parts); r[0].Status != search.Unchanged || r[1].Status != search.Unchanged {
		t.Errorf("the same again: %+v", r)
	}
	if r := ingest(t, e, "points", doc("mid", `{"text":"noon in the hills","angle":45,"vector":[1,2]}`)); r[0].Status != search.Updated {
		t.Errorf("another vector: %+v", r)
	}
	ingest(t, e, "points", angled("mid", 45, "noon in the hills"))
	export := func(e *search.Engine, name string) map[string]string {
		t.Helper()
		docs, _, err := e.Documents(t.Context(), name, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, d := range docs {
			b, err := json.Marshal(struct {
				Fields  json.RawMessage
				Vector  []float32
				Vectors []search.StoredVector
			}{d.Fields, d.Vector, d.Vectors})
			if err != nil {
				t.Fatal(err)
			}
			out[d.ID] = string(b)
		}
		return out
	}
	before := export(e, "points")
	if !strings.Contains(before["parts"], `{"vector":[0,1],"field":"text","start":4,"end":7}`) || !strings.Contains(before["east"], `"Vector":[1,0]`) {
		t.Errorf("exported %s, %s", before["parts"], before["east"])
	}
	// A change of the fields alone keeps them; of a part of a text, while the text is the same.
	kept := doc("parts", `{"title":"T","text":"one two","n":1}`)
	kept.KeepVectors = true
	ingest(t, e, "points", kept)
	if now := export(e, "points")["parts"]; !strings.Contains(now, `"n":1`) || !strings.Contains(now, `"start":4,"end":7`) {
		t.Errorf("kept: %s", now)
	}
	kept = doc("parts", `{"title":"T","text":"another"}`)
	kept.KeepVectors = true
	ingest(t, e, "points", kept)
	if now := export(e, "points")["parts"]; strings.Contains(now, "start") || strings.Count(now, "vector\"") != 2 {
		t.Errorf("kept beside another text: %s", now)
	}
	ingest(t, e, "points", parts)
	again := byAngle
	again.Fields = map[string]search.FieldSettings{"angle": {Type: "stored"}}
	task, err := e.Reembed(t.Context(), "points", search.ReembedOptions{Settings: &again})
	if err != nil {
		t.Fatal(err)
	}
	finished(t, e, task)
	for id, want := range before {
		if got := export(e, "points")[id]; got != want {
			t.Errorf("rebuilt %s: %s, before %s", id, got, want)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, search.Options{Embedder: refuses{&fakeEmbedder{}}})
	if got := export(e, "points"); got["mid"] != before["mid"] {
		t.Errorf("after a restart: %s", got["mid"])
	}
	r, err := e.Search(t.Context(), "points", search.Query{Vector: at(80)})
	if err != nil || idsOf(r)[0] != "north" {
		t.Errorf("after a restart: %v, %v", r, err)
	}
}

// TestGivenVectorsSettings: what settings and re-embeddings are refused, and the way to a model.
func TestGivenVectorsSettings(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, s := range []search.EmbedderSettings{{Source: "given"}, {Source: "given", Dimension: 9000}, {Source: "elsewhere", Dimension: 2}, {Dimension: 2}} {
		if _, err := e.CreateCollection(t.Context(), "no", search.Settings{Embedder: &s}); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), "embedder.") {
			t.Errorf("%+v: %v", s, err)
		}
	}
	givenCollection(t, e)
	if _, err := e.ChangeSettings(t.Context(), "points", func(s search.Settings) (search.Settings, error) { s.Embedder = nil; return s, nil }); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("PATCH to a model: %v", err)
	}
	if _, err := e.ChangeSettings(t.Context(), "points", func(s search.Settings) (search.Settings, error) { s.Synonyms = []string{"a, b"}; return s, nil }); err != nil {
		t.Errorf("PATCH of synonyms: %v", err)
	}
	wider := search.Settings{Embedder: &search.EmbedderSettings{Source: "given", Dimension: 3}}
	for _, o := range []search.ReembedOptions{{}, {Model: "x"}, {Settings: &wider}, {Settings: &byAngle, Model: "x"}} {
		if _, err := e.Reembed(t.Context(), "points", o); !errors.Is(err, search.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if results, err := e.Ingest(t.Context(), "points", []search.Document{doc("x", `{"text":"y","vector":[1]}`)}); err != nil || results[0].Err == nil {
		t.Errorf("a vector that is too short: %+v, %v", results, err)
	}
	task, err := e.Reembed(t.Context(), "points", search.ReembedOptions{Settings: &search.Settings{}})
	if err != nil {
		t.Fatal(err)
	}
	finished(t, e, task)
	r, err := e.Search(t.Context(), "points", search.Query{Q: "harbour", Mode: search.Semantic})
	if err != nil || len(r.Hits) == 0 {
		t.Errorf("encoded by the model: %+v, %v", r, err)
	}
}
