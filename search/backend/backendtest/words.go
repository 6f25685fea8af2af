package backendtest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
)

// parse reads a filter, as the engine does.
func parse(t *testing.T, text string) filter.Expr {
	t.Helper()
	if text == "" {
		return nil
	}
	e, err := filter.Parse(text)
	must(t, err)
	return filter.WithID(e)
}

// testSelect chooses documents by filters, phrases and exclusions.
func testSelect(t *testing.T, l *library) {
	everything := strings.Join(l.sorted(), " ")
	for _, tc := range []struct {
		filter        string
		with, without []string
		fields        []string
		want          string
	}{
		{want: everything},
		{filter: "year = 1951", want: "garden wall"},
		{filter: "year > 1902 AND year <= 1951", want: "garden train wall"},
		{filter: "place WITHIN 5 km OF (51.51, -0.1) OR place WITHIN BOX ((50, 2), (48, 3))", want: "bridge train"},
		{filter: "place WITHIN POLYGON ((-16, 179), (-16, -179), (-18, -179), (-18, 179)) AND NOT year < 1980", want: "bridge"},
		{filter: "year < 1900 OR draft = true", want: "kitchen whale"},
		{filter: "kind IN ['novel', 'poem']", want: "train wall whale"},
		{filter: "NOT kind EXISTS", want: "first second"},
		{filter: "kind != 'manual' AND price EXISTS", want: "garden kitchen wall whale"},
		{filter: "tags = 'sea'", want: "storm whale"},
		{filter: "published >= '1950-01-01'", want: "bridge"},
		{filter: "published = '1935-06-01'", want: "train"},
		{filter: "serial = 9007199254740993", want: "big"},
		{filter: "serial < 9007199254740993", want: "less"},
		{filter: "label = '" + label + "b'", want: "second"},
		{filter: "mixed > 8", want: "second"},
		{filter: "id = 'wall'", want: "wall"},
		{filter: "id IN ['wall', 'nobody', 'second'] OR id = 'train'", want: "second train wall"},
		{filter: "id != 'wall' AND year = 1951", want: "garden"},
		{filter: "gone EXISTS", want: ""},
		{filter: "secret EXISTS", want: ""},
		{filter: "nothing = 1", want: ""},
		{with: []string{"white whale"}, want: "whale"},
		{with: []string{"whale white"}, want: ""},
		{with: []string{"old wall"}, want: "garden wall"},
		{with: []string{"old wall"}, fields: []string{"title"}, want: "wall"},
		{with: []string{"old wall", "near"}, want: "garden"},
		{with: []string{"captain"}, want: "storm whale"},
		{with: []string{""}, want: everything},
		{with: []string{"old"}, without: []string{"old wall"}, want: "train"},
		{filter: "year EXISTS", without: []string{"sea", "captain", "old wall"}, want: "bridge engine train"},
		{filter: "kind = 'poem'", without: []string{"wall old"}, want: "wall"},
	} {
		for _, noVectors := range []bool{false, true} {
			s := backend.SelectRequest{Collection: docs, Filter: parse(t, tc.filter), With: tc.with, Without: tc.without, Fields: tc.fields, Rank: backend.Words{Text: "old"}, NoVectors: noVectors}
			sel, err := l.Select(t.Context(), s)
			if err != nil {
				t.Errorf("Select(%+v): %v", tc, err)
				continue
			}
			if got := l.members(t, sel); got != tc.want || sel.Partial {
				t.Errorf("Select(%+v) = %q, partial %t, want %q", tc, got, sel.Partial, tc.want)
			}
		}
	}
}

// testWords finds documents by words and checks that all methods return the same scores.
func testWords(t *testing.T, l *library) {
	for _, tc := range []struct {
		words backend.Words
		among string // ids; empty: all
		want  string // in the order of ids
		best  string // the first; empty: any
	}{
		{words: backend.Words{Text: "whale"}, want: "whale", best: "whale"},
		{words: backend.Words{Text: "old wall"}, want: "garden train wall", best: "wall"},
		{words: backend.Words{Text: "old wall", And: true}, want: "garden wall", best: "wall"},
		{words: backend.Words{Text: "Sailors, captains!"}, want: "storm whale", best: "storm"},
		{words: backend.Words{Text: "old wall"}, among: "garden train", want: "garden train", best: "garden"},
		{words: backend.Words{Text: "old wall", Fields: []backend.FieldWeight{{Name: "title", Weight: 1}}}, want: "wall"},
		{words: backend.Words{Text: "bridge", Fields: []backend.FieldWeight{{Name: "title", Weight: 1}, {Name: "text", Weight: 50}}}, want: "bridge train"},
		{words: backend.Words{Text: "sea"}, want: "storm whale"},
		{words: backend.Words{Text: "car"}, want: "bridge engine"},
		{words: backend.Words{Text: "automobile"}, want: "bridge engine"},
		{words: backend.Words{Text: "car", Exact: []string{"car"}}, want: "engine"},
		{words: backend.Words{Text: "label numbers", And: true}, want: ""},
		{words: backend.Words{Text: "gone"}, want: ""},
		{words: backend.Words{Text: "rope"}, want: ""},
		{words: backend.Words{Text: "novel"}, want: ""},
		{words: backend.Words{Text: ""}, want: ""},
		{words: backend.Words{Text: "the"}, want: "bridge garden kitchen storm train wall whale"},
	} {
		var sel *backend.Selection
		if tc.among != "" {
			sel = l.set(tc.among)
		}
		var whole backend.WordsResponse
		for _, k := range []int{100, 0, 1, 2} {
			for _, all := range []bool{false, true} {
				q := tc.words
				got, err := l.RetrieveWords(t.Context(), backend.WordsRequest{Collection: docs, Words: q, Limit: k, Selection: sel, All: all})
				if err != nil {
					t.Errorf("RetrieveWords(%+v, %d): %v", q, k, err)
					continue
				}
				if k == 100 && !all {
					whole = got
				}
				if len(got.Matches) != min(k, whole.Total) || !slices.Equal(got.Matches, whole.Matches[:len(got.Matches)]) || got.Total != whole.Total || got.Ceiling != whole.Ceiling || got.Partial {
					t.Errorf("RetrieveWords(%+v, %d) = %+v, of all %+v", q, k, got, whole)
				}
				if all != (got.All != nil) || all && l.members(t, got.All) != tc.want {
					t.Errorf("RetrieveWords(%+v, %d).All is %v, want %q", q, k, got.All, tc.want)
				}
			}
		}
		refs, scores := make([]backend.Ref, len(whole.Matches)), make([]float64, len(whole.Matches))
		for i, m := range whole.Matches {
			if refs[i], scores[i] = m.Ref, m.Score; !(m.Score > 0) || m.Score > whole.Ceiling {
				t.Errorf("RetrieveWords(%+v) has a score of %v, the ceiling is %v", tc.words, m.Score, whole.Ceiling)
			}
		}
		if got := l.names(refs); inOrder(got) != tc.want || whole.Total != len(refs) || tc.best != "" && !strings.HasPrefix(got, tc.best) {
			t.Errorf("RetrieveWords(%+v) = %q of %d, want %q, first %q", tc.words, got, whole.Total, tc.want, tc.best)
		}
		if !slices.IsSortedFunc(whole.Matches, func(a, b backend.Match) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref)) }) {
			t.Errorf("RetrieveWords(%+v) = %v, want the best first and equal ones by ref", tc.words, whole.Matches)
		}
		if got := l.fetch(t, backend.FetchRequest{Refs: refs, Words: &tc.words, Scores: true}).Scores; !slices.Equal(got, scores) {
			t.Errorf("Fetch(%+v) has the scores %v, RetrieveWords %v", tc.words, got, scores)
		}
	}
	none, err := l.Words(t.Context(), docs, backend.Words{Text: "whale"}, 10, l.set(""))
	if err != nil || len(none.Matches) != 0 || none.Total != 0 {
		t.Errorf("RetrieveWords in an empty set = %+v, %v", none, err)
	}
}

// testWordTerms asks for the shares of terms in scores.
func testWordTerms(t *testing.T, l *library) {
	r := backend.FetchRequest{Words: &backend.Words{Text: "old automobile bridge hunted"}, Scores: true, Terms: backend.AllTerms}
	if none := l.fetch(t, r); len(none.Scores)+len(none.Terms) != 0 {
		t.Errorf("scores of no documents: %+v", none)
	}
	r.Refs = l.of("train whale bridge second")
	found := l.fetch(t, r)
	for i, want := range [][]string{{"bridge in text", "old in text"}, {"hunted in tags", "hunted in text"}, {"automobile in text", "bridge in text", "bridge in title"}, nil} {
		sum, got := 0.0, []string(nil)
		for _, s := range found.Terms[i] {
			if sum += s.Score; s.TF < 1 || s.DF < 1 || !(s.IDF > 0) {
				t.Errorf("the terms of %s have %+v", l.ids[r.Refs[i]], s)
			}
			got = append(got, s.Term+" in "+s.Field)
		}
		for j, w := range want {
			word, in, _ := strings.Cut(w, " ")
			want[j] = l.term(word) + " " + in
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) || math.Abs(sum-found.Scores[i]) > 1e-9 {
			t.Errorf("the terms of %s are %q, together %v, want %q, together %v", l.ids[r.Refs[i]], got, sum, want, found.Scores[i])
		}
	}
	if df := found.Terms[0][0].DF; df != 3 {
		t.Errorf("the first term is in %d documents, want 3", df)
	}
}

// term returns the one term of a word.
func (l *library) term(word string) string { return l.terms.Occurrences(word, nil)[0].Term }

// testExpand expands words to their synonyms.
func testExpand(t *testing.T, l *library) {
	expand := func(q backend.Words) []backend.Expansion {
		t.Helper()
		out, err := l.Suggest(t.Context(), backend.SuggestRequest{Collection: docs, Expand: &q})
		must(t, err)
		return out.Expansions
	}
	const text = "an old car there"
	got := expand(backend.Words{Text: text})
	if len(got) != 1 || text[got[0].Start:got[0].End] != "car" {
		t.Fatalf("expansions of %q = %+v, want car", text, got)
	}
	var terms []string
	for _, a := range got[0].Alternatives {
		for _, token := range a.Terms {
			terms = append(terms, token.Term)
		}
	}
	slices.Sort(terms)
	if want := slices.Sorted(slices.Values([]string{l.term("car"), l.term("automobile")})); !slices.Equal(terms, want) {
		t.Errorf("car is expanded to %q, want %q", terms, want)
	}
	for _, q := range []backend.Words{{Text: text, Exact: []string{"car"}}, {Text: "an old train"}, {}} {
		if got := expand(q); len(got) != 0 {
			t.Errorf("expansions of %+v = %+v, want none", q, got)
		}
	}
}

// testNear asks for words with a similar spelling, and for those with the same beginning.
func testNear(t *testing.T, l *library) {
	suggest := func(word string, edits int, sel *backend.Selection) backend.SuggestResponse {
		t.Helper()
		out, err := l.Suggest(t.Context(), backend.SuggestRequest{Collection: docs, Word: word, Edits: edits, Beginning: edits == 0, Selection: sel})
		must(t, err)
		return out
	}
	for _, tc := range []struct {
		word      string
		edits     int // 0: words with the same beginning
		among     string
		want      string // a word; empty: none
		documents string
	}{
		{"kitchan", 1, "", "kitchen", "kitchen"},
		{"captian", 2, "", "captain", "storm whale"},
		{"captian", 2, "storm train", "captain", "storm"},
		{"captian", 2, "train", "", ""},
		{"kitchan", 1, "storm", "", ""},
		{"whale", 2, "", "", ""},
		{"whale", 2, "storm", "", ""},
		{"car", 2, "", "", ""},
		{"zzzzzz", 2, "", "", ""},
		{"white whale", 2, "", "", ""},
		{"kitch", 0, "", "kitchen", "kitchen"},
		{"capt", 0, "", "captain", "storm whale"},
		{"capt", 0, "storm", "captain", "storm"},
		{"wall", 0, "", "", ""},
		{"zzz", 0, "", "", ""},
	} {
		var sel *backend.Selection
		if tc.among != "" {
			sel = l.set(tc.among)
		}
		got := suggest(tc.word, tc.edits, sel)
		if (tc.want == "") != (len(got.Terms) == 0) {
			t.Errorf("%+v: %+v", tc, got)
		}
		if tc.want == "" || len(got.Terms) == 0 {
			continue
		}
		first := got.Terms[0]
		if first.Term != l.term(tc.want) || inOrder(l.names(first.Refs)) != tc.documents || first.Documents != len(first.Refs) || got.Correct {
			t.Errorf("%+v: %+v, of %s", tc, got, l.names(first.Refs))
		}
		if again := suggest(tc.word, tc.edits, sel); !slices.Equal(again.Terms[0].Refs, first.Refs) {
			t.Errorf("%+v: a second call returns other documents: %+v", tc, again)
		}
	}
	if got := suggest("automobile", 2, nil); !got.Correct || len(got.Terms) > 0 {
		t.Errorf("suggestions for a word with synonyms = %+v, want that it is correct", got)
	}
}

// testMissing asks which fields no document has.
func testMissing(t *testing.T, l *library) {
	for _, tc := range []struct{ asked, want backend.FieldNames }{
		{
			backend.FieldNames{Values: []string{"year", "nothing", "gone", "label", "secret"}, Texts: []string{"title", "nothing", "text", "tags", "secret", "kind"}},
			backend.FieldNames{Values: []string{"nothing", "gone", "secret"}, Texts: []string{"nothing", "secret", "kind"}},
		}, {},
	} {
		got, err := l.Aggregate(t.Context(), backend.AggregateRequest{Collection: docs, Fields: tc.asked})
		if err != nil || got.Partial || !slices.Equal(got.Missing.Values, tc.want.Values) || !slices.Equal(got.Missing.Texts, tc.want.Texts) {
			t.Errorf("the missing of %q are %+v, %v, want %q", tc.asked, got, err, tc.want)
		}
	}
}
