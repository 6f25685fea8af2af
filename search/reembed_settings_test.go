package search_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// germanNotes are settings that differ from those of a new collection in everything that documents
// are indexed with.
var germanNotes = search.Settings{
	Language: "de",
	Fields:   fieldTypes{"note": {Type: "text", Weight: 3}, "n": {Type: "stored"}},
	Passages: search.PassageSettings{MaxTokens: 16, NoTitle: true},
	Index:    search.IndexSettings{M: 8, EfConstruction: 50},
}

// noted is document i in a version.
func noted(i, version int) search.Document {
	return doc(fmt.Sprintf("n%03d", i), fmt.Sprintf(`{"title":"common title%d","text":"%s","note":["Häuser version%d"],"n":%d}`,
		i, strings.Repeat(fmt.Sprintf("common word%d ", i), 12), version, i))
}

// alike wants two collections to hold the same documents and to give them the same scores.
func alike(t *testing.T, e *search.Engine, a, b string) {
	t.Helper()
	got, _ := contents(t, e, a)
	want, _ := contents(t, e, b)
	if sorted(got) != sorted(want) {
		t.Fatalf("%s holds %d documents, want the %d of %s", a, len(got), len(want), b)
	}
	for _, q := range []search.Query{
		{Q: "Haus", Mode: search.Keyword}, {Q: "common word7 version0", Mode: search.Keyword}, {Q: "word9 title9", Mode: search.Semantic}, {Q: "version2", Mode: search.Keyword},
		{Filter: "title EXISTS"}, {Filter: "note EXISTS"},
	} {
		q.Limit, q.Window, q.Passages = ptr(1000), 1000, ptr(search.MaxPassages)
		answer := func(collection string) string {
			r, err := e.Search(t.Context(), collection, q)
			if err != nil {
				t.Fatal(err)
			}
			lines := []string{fmt.Sprint(r.Total)}
			for _, h := range r.Hits {
				lines = append(lines, fmt.Sprintf("%s %.5f %d", h.ID, h.Score, len(h.Passages)))
			}
			return sorted(lines)
		}
		if x, y := answer(a), answer(b); x != y {
			t.Errorf("%s %q %q: %s finds\n%.300s\nand %s\n%.300s", q.Mode, q.Q, q.Filter, a, x, b, y)
		}
	}
}

// TestReembedSettings gives a collection other settings while it is written to, and compares with
// one that was made with them.
func TestReembedSettings(t *testing.T) {
	w := &wideEmbedder{}
	e := mustOpenWide(t, t.TempDir(), w)
	versions := map[int]int{}
	var docs []search.Document
	for i := range 150 {
		docs, versions[i] = append(docs, noted(i, 0)), 0
	}
	put(t, e, search.Created, docs...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil || ended(t, e, task.ID).State != search.TaskSucceeded {
		t.Fatal(err)
	}
	if task, err = e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &germanNotes}); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		i := n % 170
		if n%7 == 3 {
			if _, err := e.DeleteDocuments(t.Context(), "docs", []string{fmt.Sprintf("n%03d", i)}); err != nil {
				t.Fatal(err)
			}
			delete(versions, i)
		} else {
			r, err := e.Ingest(t.Context(), "docs", []search.Document{noted(i, n)})
			if err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
			versions[i] = n
		}
		if now, err := e.Task(t.Context(), task.ID); err != nil {
			t.Fatal(err)
		} else if now.Ended() && n > 40 {
			if now.State != search.TaskSucceeded {
				t.Fatalf("task = %+v", now)
			}
			break
		}
	}
	info, err := e.Collection(t.Context(), "docs")
	if err != nil || fmt.Sprint(info.Settings) != fmt.Sprint(germanNotes) || info.Model.Name != wide || info.Documents != len(versions) {
		t.Errorf("the collection is %+v, want %d documents of the checkpoint before in %+v: %v", info, len(versions), germanNotes, err)
	}
	if _, err := e.CreateCollection(t.Context(), "fresh", germanNotes); err != nil {
		t.Fatal(err)
	}
	task, err = e.Reembed(t.Context(), "fresh", search.ReembedOptions{Model: wide})
	if err != nil || ended(t, e, task.ID).State != search.TaskSucceeded {
		t.Fatal(err)
	}
	docs = nil
	for i, version := range versions {
		docs = append(docs, noted(i, version))
	}
	if _, err := e.Ingest(t.Context(), "fresh", docs); err != nil {
		t.Fatal(err)
	}
	alike(t, e, "docs", "fresh")
	noProblems(t, e)
}

// TestReembedSettingsRefused asks for settings that are none, and for some that documents cannot
// have.
func TestReembedSettingsRefused(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, noted(1, 0), doc("long", `{"text":"`+strings.Repeat("a ", 870_000)+`"}`))
	_, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &search.Settings{Language: "xx"}})
	if list := fieldErrorsOf(err); len(list) != 1 || list[0].Field != "language" {
		t.Errorf("Reembed = %v, want a FieldError for language", err)
	}
	short := search.Settings{Passages: search.PassageSettings{MaxTokens: 16}} // more passages than a document may have
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &short})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskFailed || !strings.Contains(task.Error, "long") {
		t.Errorf("task = %+v, want the document that was refused", task)
	}
	if info, err := e.Collection(t.Context(), "docs"); err != nil || info.Settings.Passages.MaxTokens != 0 || info.Documents != 2 {
		t.Errorf("the collection is %+v, want it as it was: %v", info, err)
	}
	if _, _, err := e.EnsureCollection(t.Context(), "docs", short); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("in place: %v, want ErrInvalid", err)
	}
	noProblems(t, e)
}

// TestReembedSettingsResumed ends the program while a collection gets other settings: the next one
// goes on with them.
func TestReembedSettingsResumed(t *testing.T) {
	dir := t.TempDir()
	w := &wideEmbedder{gate: make(chan struct{})}
	e := mustOpenWide(t, dir, w)
	var docs []search.Document
	for i := range 150 {
		docs = append(docs, noted(i, 0))
	}
	put(t, e, search.Created, docs...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide, Settings: &germanNotes, KeepOld: true})
	if err != nil {
		t.Fatal(err)
	}
	w.gate <- struct{}{}
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{EfSearch: 99}}); !errors.Is(err, search.ErrTaskRunning) {
		t.Errorf("other settings meanwhile: %v, want ErrTaskRunning", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err = openWide(dir, &wideEmbedder{}, nil); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("task = %+v", task)
	}
	for name, want := range map[string]search.Settings{"docs": germanNotes, "docs-old": {}} {
		if info, err := e.Collection(t.Context(), name); err != nil || fmt.Sprint(info.Settings) != fmt.Sprint(want) || info.Documents != 150 {
			t.Errorf("%s is %+v, want %+v: %v", name, info, want, err)
		}
	}
	if got := first(t, e, "docs", "Haus"); got == "" {
		t.Error("the new settings find nothing")
	}
	noProblems(t, e)
}

// TestQuerySettingsWhileReembedding changes synonyms and weights while a collection gets another
// checkpoint, over a restart and back to what they were: they act at once, and the new generation
// has the last of them.
func TestQuerySettingsWhileReembedding(t *testing.T) {
	for _, tc := range []struct {
		name      string
		restart   bool
		last      float64 // weight
		succeeded bool
	}{
		{"to its end", false, 7, true}, {"over a restart", true, 7, true}, {"over a restart and back", true, 2, true}, {"given up", false, 7, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			w := &wideEmbedder{gate: make(chan struct{})}
			e := mustOpenWide(t, dir, w)
			with := func(weight float64, synonyms ...string) search.Settings {
				return search.Settings{Fields: fieldTypes{"text": {Type: "text", Weight: weight}}, Synonyms: synonyms}
			}
			set := func(s search.Settings) error {
				_, _, err := e.EnsureCollection(t.Context(), "docs", s)
				return err
			}
			if err := set(with(2)); err != nil {
				t.Fatal(err)
			}
			put(t, e, search.Created, numbered(150)...)
			task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide, KeepOld: true})
			if err != nil {
				t.Fatal(err)
			}
			w.gate <- struct{}{} // the next generation is there, and the second batch waits
			if err := set(with(5, "telly => word77")); err != nil {
				t.Fatal(err)
			}
			if got := find(t, e, search.Query{Q: "telly", Mode: search.Keyword}); got != "n077" {
				t.Errorf("meanwhile the synonym finds %q", got)
			}
			for name, s := range map[string]search.Settings{
				"another type": {Fields: fieldTypes{"text": {Type: "text"}, "new": {Type: "filter"}}}, "a field less": {}, "a width": {Fields: with(5).Fields, Index: search.IndexSettings{EfSearch: 99}},
			} {
				if err := set(s); !errors.Is(err, search.ErrTaskRunning) {
					t.Errorf("%s meanwhile: %v, want ErrTaskRunning", name, err)
				}
			}
			if tc.restart {
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				if e, err = openWide(dir, w, nil); err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				w.gate <- struct{}{}
			}
			last := with(tc.last)
			if tc.last == 7 {
				last.Synonyms = []string{"telly => word78"}
			}
			if err := set(last); err != nil {
				t.Fatal(err)
			}
			if tc.succeeded {
				close(w.gate)
			} else if _, err := e.CancelTask(t.Context(), task.ID); err != nil {
				t.Fatal(err)
			}
			if task = ended(t, e, task.ID); (task.State == search.TaskSucceeded) != tc.succeeded {
				t.Fatalf("task = %+v", task)
			}
			names := []string{"docs", "docs-old"}
			if !tc.succeeded {
				names = names[:1]
			}
			for _, name := range names {
				if info, err := e.Collection(t.Context(), name); err != nil || fmt.Sprint(info.Settings) != fmt.Sprint(last) {
					t.Errorf("%s has the settings %+v, want %+v: %v", name, info.Settings, last, err)
				}
				want := map[bool]string{true: "n078"}[tc.last == 7]
				r, err := e.Search(t.Context(), name, search.Query{Q: "telly", Mode: search.Keyword})
				if err != nil || len(r.Hits) != len(want)/4 || want != "" && r.Hits[0].ID != want {
					t.Errorf("the synonym finds %+v in %s, want %q: %v", r.Hits, name, want, err)
				}
			}
			if err := set(search.Settings{Fields: with(7).Fields, Index: search.IndexSettings{EfSearch: 99}}); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			noProblems(t, e)
		})
	}
}

// TestQuerySettingsWhileReembeddingWithSettings: those of the task take the place of all, so a
// change meanwhile would be lost.
func TestQuerySettingsWhileReembeddingWithSettings(t *testing.T) {
	w := &wideEmbedder{gate: make(chan struct{})}
	e := mustOpenWide(t, t.TempDir(), w)
	put(t, e, search.Created, numbered(150)...)
	if _, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide, Settings: &search.Settings{Language: "de"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Synonyms: []string{"a => b"}}); !errors.Is(err, search.ErrTaskRunning) {
		t.Errorf("synonyms meanwhile: %v, want ErrTaskRunning", err)
	}
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Fields: fieldTypes{}}); err != nil {
		t.Errorf("what it has: %v", err)
	}
}
