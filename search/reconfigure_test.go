package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

type fieldTypes = map[string]search.FieldSettings

// TestWeightsInPlace changes the weights of a collection that holds documents, and compares with
// one that was made with them.
func TestWeightsInPlace(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	docs := []search.Document{doc("a", `{"title":"milk","text":"honey and tea"}`), doc("b", `{"title":"tea","text":"milk milk and honey"}`), doc("c", `{"title":"bread","text":"butter"}`)}
	put(t, e, search.Created, docs...)
	scores := func(collection string) string {
		r, err := e.Search(t.Context(), collection, search.Query{Q: "milk", Mode: search.Keyword})
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, h := range r.Hits {
			out += fmt.Sprintf("%s %.6f\n", h.ID, h.Score)
		}
		return out
	}
	before := scores("docs")
	for i, fields := range []fieldTypes{
		{"text": {Type: "text", Weight: 20}},
		{"text": {Type: "text", Weight: 1}, "title": {Type: "text", Weight: 30}},
		{"title": {Type: "text", Weight: 0.5}},
		nil,
	} {
		info, created, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Fields: fields})
		if err != nil || created || len(info.Settings.Fields) != len(fields) {
			t.Fatalf("EnsureCollection(%+v) = %+v, %t, %v", fields, info, created, err)
		}
		fresh := fmt.Sprintf("fresh%d", i)
		if _, err := e.CreateCollection(t.Context(), fresh, search.Settings{Fields: fields}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Ingest(t.Context(), fresh, docs); err != nil {
			t.Fatal(err)
		}
		if got, want := scores("docs"), scores(fresh); got != want || fields != nil && got == before {
			t.Errorf("with %+v in place:\n%swant\n%snot\n%s", fields, got, want, before)
		}
	}
	if got := scores("docs"); got != before {
		t.Errorf("with the first weights again:\n%swant\n%s", got, before)
	}
	noProblems(t, e)
}

// TestSettingsInPlace tries settings for a collection that holds documents; each begins anew.
func TestSettingsInPlace(t *testing.T) {
	long := strings.Repeat("long ", 60)
	documents := []search.Document{
		doc("a", `{"title":"milk","text":"white","year":2020,"tags":["x","y"],"empty":null,"secret":"s"}`),
		doc("b", fmt.Sprintf(`{"text":"black","remark":%q,"meta":{"lang":"en"},"secret":"s"}`, long)),
	}
	stored := search.FieldSettings{Type: "stored"}
	began := search.Settings{Fields: fieldTypes{"secret": stored}}
	with := func(name string, f search.FieldSettings) search.Settings {
		return search.Settings{Fields: fieldTypes{"secret": stored, name: f}}
	}
	for _, tc := range []struct {
		name  string
		s     search.Settings
		wrong string // fields that the error names; empty: it is taken
	}{
		{"a filter that nobody has", with("colour", search.FieldSettings{Type: "filter"}), ""},
		{"a text that nobody has", with("note", search.FieldSettings{Type: "text"}), ""},
		{"an outer name", with("meta", search.FieldSettings{Type: "text"}), ""},
		{"an inner name", with("lang", stored), ""},
		{"stored already", search.Settings{}, "fields.secret.type"},
		{"stored otherwise", search.Settings{Fields: fieldTypes{"secret": {Type: "filter"}}}, "fields.secret.type"},
		{"a number as the filter it is", with("year", search.FieldSettings{Type: "filter"}), ""},
		{"a number as stored", with("year", stored), "fields.year.type"},
		{"a text as the text it is", with("text", search.FieldSettings{Type: "text"}), ""},
		{"a text as a filter", with("text", search.FieldSettings{Type: "filter"}), "fields.text.type"},
		{"a list, which has words, as a filter", with("tags", search.FieldSettings{Type: "filter"}), "fields.tags.type"},
		{"a list as text", with("tags", search.FieldSettings{Type: "text"}), "fields.tags.type"},
		{"nothing as text", with("empty", search.FieldSettings{Type: "text"}), ""},
		{"a long string as text", with("remark", search.FieldSettings{Type: "text"}), "fields.remark.type"},
		{"a long string, which has no value but is there, as stored", with("remark", stored), "fields.remark.type"},
		{"a nested one", with("meta.lang", stored), "fields.meta.lang.type"},
		{"words as a filter", with("meta.lang", search.FieldSettings{Type: "filter"}), "fields.meta.lang.type"},
		{"some of several", search.Settings{Fields: fieldTypes{"secret": stored, "year": stored, "meta.lang": stored, "new": stored}}, "fields.year.type fields.meta.lang.type"},
		{"language", search.Settings{Language: "de", Fields: began.Fields}, "language"},
		{"the same language", search.Settings{Language: "en", Fields: began.Fields}, ""},
		{"much", search.Settings{Passages: search.PassageSettings{MaxTokens: 20, NoTitle: true}, Index: search.IndexSettings{M: 8, EfConstruction: 50}, Fields: with("year", stored).Fields},
			"passages.max_tokens passages.no_title index.m index.ef_construction fields.year.type"},
		{"what is searched with", search.Settings{Fields: began.Fields, Index: search.IndexSettings{M: 16, EfSearch: 77}}, ""},
		{"how well", search.Settings{Fields: began.Fields, Index: search.IndexSettings{TargetRecall: 0.9}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := open(t, t.TempDir(), &fakeEmbedder{})
			if _, _, err := e.EnsureCollection(t.Context(), "docs", began); err != nil {
				t.Fatal(err)
			}
			put(t, e, search.Created, documents...)
			_, _, err := e.EnsureCollection(t.Context(), "docs", tc.s)
			var got []string
			for _, f := range fieldErrorsOf(err) {
				got = append(got, f.Field)
				if !strings.Contains(f.Allowed, "as it is") || !strings.Contains(f.Allowed, "Re-embed") {
					t.Errorf("%s does not say what may be done", f)
				}
			}
			if strings.Join(got, " ") != tc.wrong || (err == nil) != (tc.wrong == "") {
				t.Errorf("EnsureCollection = %v, want errors about %q", err, tc.wrong)
			}
			info, err := e.Collection(t.Context(), "docs")
			if want := map[bool]search.Settings{true: tc.s, false: began}[tc.wrong == ""]; err != nil || fmt.Sprintf("%+v", info.Settings) != fmt.Sprintf("%+v", want) {
				t.Errorf("settings are %+v, want %+v: %v", info.Settings, want, err)
			}
			put(t, e, search.Created, doc("c", `{"text":"green","note":"found","colour":"found"}`))
			d, err := e.Document(t.Context(), "docs", "c")
			if want := map[bool]int{true: 1}[tc.s.Fields["note"].Type == "text"]; err != nil || len(d.Passages) != 1+want {
				t.Errorf("%d passages of the new field, want %d: %v", len(d.Passages)-1, want, err)
			}
			noProblems(t, e)
		})
	}
}

// fieldErrorsOf returns the field errors that err is or holds.
func fieldErrorsOf(err error) (list []*search.FieldError) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			list = append(list, fieldErrorsOf(one)...)
		}
		return list
	}
	var f *search.FieldError
	if errors.As(err, &f) {
		list = append(list, f)
	}
	return list
}

// TestSettingsWhileWriting gives a field a type while documents with it come in: they are all of
// the old type, or all of the new.
func TestSettingsWhileWriting(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	taken := 0
	for round := range 20 { // noProblems compares what is indexed with what the types make of the documents
		name := fmt.Sprintf("round%d", round)
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		ingest := func(ctx context.Context, id, fields string) {
			if r, err := e.Ingest(ctx, name, []search.Document{doc(id, fields)}); err != nil || r[0].Err != nil {
				t.Errorf("Ingest = %+v, %v", r, err)
			}
		}
		ingest(t.Context(), "first", `{"text":"milk"}`)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { ingest(t.Context(), fmt.Sprint(i), `{"text":"milk","extra":["zebra"]}`) })
		}
		_, _, err := e.EnsureCollection(t.Context(), name, search.Settings{Fields: fieldTypes{"extra": {Type: "text"}}})
		wg.Wait()
		want := 4
		switch {
		case err == nil:
			taken++
		case errors.Is(err, search.ErrInvalid):
			want = 0
		default:
			t.Fatal(err)
		}
		r, err := e.Search(t.Context(), name, search.Query{Q: "zebra", Mode: search.Keyword})
		if err != nil || r.Total.Value != 4 {
			t.Errorf("%d documents are found by the field, want 4: %v", r.Total.Value, err)
		}
		for i := range 4 {
			d, err := e.Document(t.Context(), name, fmt.Sprint(i))
			if err != nil || len(d.Passages) != 1+want/4 {
				t.Errorf("document %d has the passages %+v, want %d: %v", i, d.Passages, 1+want/4, err)
			}
		}
	}
	t.Logf("taken in %d rounds of 20", taken)
	noProblems(t, e)
}

// TestTypesOfWhatIsRefusedNow changes a type in a collection with a document that came when other
// limits held.
func TestTypesOfWhatIsRefusedNow(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, fakeDim)
	v[0] = 1
	many := strings.TrimSuffix(strings.Repeat(`{"x":1},`, 1500), ",")
	fields := fmt.Sprintf(`{"kind":"a","list":[%s],"text":"words"}`, many)
	outcomes, err := b.Apply(t.Context(), backend.ApplyRequest{Collection: "docs", Writes: []backend.Write{{ID: "old", Fields: json.RawMessage(fields), Hash: [32]byte{1},
		Passages: []backend.Passage{{Field: "text", End: 5}}, Vectors: [][]float32{v}}}})
	if err != nil || outcomes[0].Status != backend.Created {
		t.Fatal(outcomes, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, &fakeEmbedder{})
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Fields: fieldTypes{"kind": {Type: "filter"}}}); err == nil || !strings.Contains(err.Error(), "fields.kind.type") {
		t.Errorf("a type that changes the document: %v, want fields.kind.type", err)
	}
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Fields: fieldTypes{"other": {Type: "filter"}, "list.x": {Type: "filter"}}}); err != nil {
		t.Errorf("types that change no document: %v", err)
	}
}

// TestChangesOfSettingsMeet changes settings from several sides at once: each change is made of
// what the others have left.
func TestChangesOfSettingsMeet(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"title":"milk","text":"honey"}`))
	const changes = 8
	var all sync.WaitGroup
	for i := range changes {
		all.Go(func() {
			_, err := e.ChangeSettings(t.Context(), "docs", func(s search.Settings) (search.Settings, error) {
				s.Fields = maps.Clone(s.Fields)
				if s.Fields == nil {
					s.Fields = fieldTypes{}
				}
				s.Fields[fmt.Sprintf("f%d", i)] = search.FieldSettings{Type: "text", Weight: float64(i + 1)}
				return s, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	info, err := e.Collection(t.Context(), "docs")
	if err != nil || len(info.Settings.Fields) != changes {
		t.Errorf("%d fields are left of %d: %+v, %v", len(info.Settings.Fields), changes, info.Settings.Fields, err)
	}
	refused := errors.New("refused")
	if _, err := e.ChangeSettings(t.Context(), "docs", func(s search.Settings) (search.Settings, error) { return s, refused }); err != refused {
		t.Errorf("ChangeSettings = %v, want what the function returned", err)
	}
	if _, err := e.ChangeSettings(t.Context(), "none", nil); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("of no collection: %v", err)
	}
}
