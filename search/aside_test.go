package search_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// putAside ingests documents with fields that nobody declared beside those of usual names.
func putAside(t *testing.T, e *search.Engine) {
	t.Helper()
	put(t, e, search.Created,
		doc("row", `{"name":"Ada","email":"ada@example.org","notes":"owes me a ladder","since":"2024-05-01"}`),
		doc("kitchen", `{"title":"Kitchen","text":"New tiles and a sink.","aliases":["new kitchen","kitchen remodel"],"meta":{"room":"upstairs"}}`),
		doc("daily", `{"title":"5 March 2024","text":"Rain.","path":"Daily/2024-03-05.md","modified":"2023-11-22T10:00:00Z"}`),
		doc("file", `{"title":"Signs","text":"On signs.","path":"notes/tests/ampersand-and-emoji.md"}`),
		doc("under", `{"title":"Photo","text":"A beach.","path":"img/IMG_20240801_sunset.v2.txt"}`))
}

// TestUndeclaredStrings are found by words beside a field of a usual name, and the hit says where.
func TestUndeclaredStrings(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	putAside(t, e)
	for _, tc := range []struct {
		q      string
		fields search.Fields
		want   string
		marked string // the fields in which the first hit has marks, and the first mark of each
	}{
		{"ladder", nil, "row", "notes: owes me a <mark>ladder</mark>"},
		{"ladders", search.Fields{"notes"}, "row", "notes: owes me a <mark>ladder</mark>"},
		{"ladder", search.Fields{"name", "email"}, "", ""},
		{"ada", nil, "row", "email: <mark>ada</mark>@example.org, name: <mark>Ada</mark>"},
		{"remodel", nil, "kitchen", "aliases: new kitchen\nkitchen <mark>remodel</mark>"},
		{"upstairs", search.Fields{"meta.room^3"}, "kitchen", "meta.room: <mark>upstairs</mark>"},
		{"daily", nil, "daily", "path: <mark>Daily</mark>/2024-03-05.md"},
		{"2024-03-05", nil, "daily", "path: Daily/<mark>2024</mark>-<mark>03</mark>-<mark>05</mark>.md, title: 5 March <mark>2024</mark>"},
		{`"2024-03-05"`, nil, "daily", "path: Daily/<mark>2024</mark>-<mark>03</mark>-<mark>05</mark>.md, title: 5 March <mark>2024</mark>"},
		{"ampersand", nil, "file", "path: notes/tests/<mark>ampersand</mark>-and-emoji.md"},
		{"emoji", nil, "file", "path: notes/tests/ampersand-and-<mark>emoji</mark>.md"},
		{"sunset", nil, "under", "path: img/IMG_20240801_<mark>sunset</mark>.v2.txt"},
		{"20240801", nil, "under", "path: img/IMG_<mark>20240801</mark>_sunset.v2.txt"},
		{"2023", nil, "", ""}, // of a date alone
		{"2024-05", nil, "daily", "path: Daily/<mark>2024</mark>-03-<mark>05</mark>.md, title: 5 March <mark>2024</mark>"},
		{`"kitchen remodel"`, nil, "kitchen", "aliases: new <mark>kitchen</mark>\n<mark>kitchen</mark> <mark>remodel</mark>, title: <mark>Kitchen</mark>"},
		{`"kitchen remodel"`, search.Fields{"aliases"}, "kitchen", "aliases: new <mark>kitchen</mark>\n<mark>kitchen</mark> <mark>remodel</mark>, title: <mark>Kitchen</mark>"},
		{`"kitchen remodel"`, search.Fields{"title", "text"}, "", ""},
		{`"remodel ladder"`, nil, "", ""},
		{"new -remodel", nil, "", ""},
		{`rain signs -"and emoji"`, nil, "daily", "text: <mark>Rain</mark>."},
	} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: tc.q, Mode: search.Keyword, Fields: tc.fields, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		ids, marked := "", []string(nil)
		for _, h := range r.Hits {
			ids += h.ID
		}
		if len(r.Hits) > 0 {
			h := r.Hits[0]
			for _, f := range slices.Sorted(maps.Keys(h.Highlights)) {
				marked = append(marked, f+": "+h.Highlights[f][0])
			}
			sum := 0.0
			for _, term := range h.Explain.Keyword.Terms {
				if sum += term.Score; h.Highlights[term.Field] == nil {
					t.Errorf("%s: %q counts in the field %q, of which the hit shows nothing", tc.q, term.Term, term.Field)
				}
			}
			if !near(sum, h.Score) {
				t.Errorf("%s: terms make %v, the score is %v", tc.q, sum, h.Score)
			}
		}
		if got := strings.Join(marked, ", "); ids != tc.want || got != tc.marked || r.Warnings != nil {
			t.Errorf("%s in %v finds %q, warns %q, marks\n%s\nwant %q,\n%s", tc.q, tc.fields, ids, r.Warnings, got, tc.want, tc.marked)
		}
	}
	noProblems(t, e)
}

// TestNamesOfFiles are found by their parts in every language.
func TestNamesOfFiles(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, language := range []string{"en", "de", "standard", "cjk"} {
		if _, err := e.CreateCollection(t.Context(), language, search.Settings{Language: language}); err != nil {
			t.Fatal(err)
		}
		docs := []search.Document{
			doc("daily", `{"title":"5 March","text":"rain","path":"Daily/2024-03-05.md"}`), doc("under", `{"title":"6 March","text":"rain","path":"Daily/2024_03_06.md"}`),
			doc("file", `{"title":"Signs","text":"signs","path":"tests/ampersand-and-emoji.md"}`), doc("photo", `{"title":"Beach","text":"sand","path":"img/IMG_20240801_sunset.v2.txt"}`),
		}
		if _, err := e.Ingest(t.Context(), language, docs); err != nil {
			t.Fatal(err)
		}
		for q, want := range map[string]string{
			"2024-03-05": "daily", "2024_03_06": "under", `"2024 03 06"`: "under", "daily": "daily under", "ampersand": "file", "emoji": "file", `"ampersand and emoji"`: "file",
			"emoji.md": "file", "sunset": "photo", "20240801": "photo", "txt": "photo",
		} {
			and := search.Query{Q: q, Mode: search.Keyword, Operator: "and"}
			r, err := e.Search(t.Context(), language, and)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, h := range r.Hits {
				ids = append(ids, h.ID)
			}
			if got := strings.Join(ids, " "); got != want {
				t.Errorf("%s: %s finds %q, want %q", language, q, got, want)
			}
		}
	}
}

// TestUndeclaredStringsHaveNoPassages: neither are they encoded, nor does a document of them alone
// have a passage.
func TestUndeclaredStringsHaveNoPassages(t *testing.T) {
	f := &fakeEmbedder{}
	e := open(t, t.TempDir(), f)
	putAside(t, e)
	if f.calls.Load() != 5 {
		t.Errorf("%d texts encoded, want one of each document", f.calls.Load())
	}
	for id, want := range map[string]string{"row": "name", "kitchen": "text", "daily": "text"} {
		d, err := e.Document(t.Context(), "docs", id)
		if err != nil || len(d.Passages) != 1 || d.Passages[0].Field != want {
			t.Errorf("%s has the passages %+v, want one of %s: %v", id, d.Passages, want, err)
		}
	}
	results, err := e.Ingest(t.Context(), "docs", []search.Document{doc("tags", `{"tags":["a","b"],"n":1}`)})
	if err != nil || results[0].Status != search.Created || results[0].Passages != 0 || f.calls.Load() != 5 {
		t.Errorf("a document without a text: %+v, %v", results, err)
	}
}

// TestUndeclaredStringsWeigh as a declared text of the same weight does, and where a document has
// no field of a usual name, as text.
func TestUndeclaredStringsWeigh(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	n := 0
	scores := func(fields fieldTypes, q search.Fields, docs ...search.Document) string {
		t.Helper()
		n++
		name := fmt.Sprint("c", n)
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{Fields: fields}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Ingest(t.Context(), name, docs); err != nil {
			t.Fatal(err)
		}
		r, err := e.Search(t.Context(), name, search.Query{Q: "piano violin", Mode: search.Keyword, Fields: q})
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, h := range r.Hits {
			out += fmt.Sprintf("%s %.9f ", h.ID, h.Score)
		}
		return out
	}
	text := search.FieldSettings{Type: mapping.Text}
	light := search.FieldSettings{Type: mapping.Text, Weight: mapping.AsideWeight}
	docs := []search.Document{
		doc("a", `{"title":"zebra","text":"guitar","notes":"piano piano and a violin"}`),
		doc("b", `{"title":"zebra","text":"piano and a violin, and a piano","notes":"drum"}`),
		doc("c", `{"title":"zebra","text":"drum"}`),
	}
	if got, want := scores(nil, nil, docs...), scores(fieldTypes{"notes": light}, nil, docs...); got != want || !strings.HasPrefix(got, "b ") {
		t.Errorf("scores are %s, want those of a declared text of weight %v, %s, and b first", got, mapping.AsideWeight, want)
	}
	if got, want := scores(nil, search.Fields{"notes^4", "title"}, docs...), scores(fieldTypes{"notes": text}, search.Fields{"notes^2", "title"}, docs...); got != want {
		t.Errorf("with weights in the query %s, want %s", got, want)
	}
	all := []search.Document{
		doc("a", `{"notes":"piano piano piano","more":"drum"}`), doc("b", `{"notes":"violin","more":"drum and piano"}`), doc("c", `{"more":"flute"}`),
	}
	both := fieldTypes{"notes": text, "more": text}
	if got, want := scores(nil, nil, all...), scores(both, nil, all...); got != want {
		t.Errorf("documents without a usual name score %s, want %s as declared texts do", got, want)
	}
	// Where both kinds have the name, each counts as its own kind does.
	mixed := append(slices.Clone(all), doc("x", `{"text":"oboe","notes":"flute"}`))
	declared := append(slices.Clone(all), doc("x", `{"text":"oboe","light":"flute"}`))
	if got, want := scores(nil, nil, mixed...), scores(fieldTypes{"notes": text, "more": text, "light": light}, nil, declared...); got != want {
		t.Errorf("mixed documents score %s, want %s", got, want)
	}
}
