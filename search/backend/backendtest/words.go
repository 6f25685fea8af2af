package backendtest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"searchd/index/filter"
	"searchd/search/backend"
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

// testWords finds documents by words, and holds that all methods give the same scores.
func testWords(t *testing.T, l *library) {
	for _, tc := range []struct {
		words backend.Words
		among string // ids; empty: all
		want  string // in the order of ids
		best  string // the first, where it is told
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
			sel = l.set(t, tc.among)
		}
		var whole backend.WordsResponse
		for _, k := range []int{100, 0, 1, 2} {
			for _, all := range []bool{false, true} {
				q := tc.words
				got, err := l.RetrieveWords(t.Context(), backend.WordsRequest{Collection: docs, Words: q, Limit: k, Selection: sel, All: all})
				if err != nil {
					t.Errorf("Words(%+v, %d): %v", q, k, err)
					continue
				}
				if k == 100 && !all {
					whole = got
				}
				if len(got.Matches) != min(k, whole.Total) || !slices.Equal(got.Matches, whole.Matches[:len(got.Matches)]) || got.Total != whole.Total || got.Ceiling != whole.Ceiling || got.Partial {
					t.Errorf("Words(%+v, %d) = %+v, of all %+v", q, k, got, whole)
				}
				if all != (got.All != nil) || all && l.members(t, got.All) != tc.want {
					t.Errorf("Words(%+v, %d).All is %v, want %q", q, k, got.All, tc.want)
				}
			}
		}
		refs, scores := make([]backend.Ref, len(whole.Matches)), make([]float64, len(whole.Matches))
		for i, m := range whole.Matches {
			if refs[i], scores[i] = m.Ref, m.Score; !(m.Score > 0) || m.Score > whole.Ceiling {
				t.Errorf("Words(%+v) has a score of %v, the ceiling is %v", tc.words, m.Score, whole.Ceiling)
			}
		}
		if got := l.names(refs); inOrder(got) != tc.want || whole.Total != len(refs) || tc.best != "" && !strings.HasPrefix(got, tc.best) {
			t.Errorf("Words(%+v) = %q of %d, want %q, first %q", tc.words, got, whole.Total, tc.want, tc.best)
		}
		if !slices.IsSortedFunc(whole.Matches, func(a, b backend.Match) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref)) }) {
			t.Errorf("Words(%+v) = %v, want the best first and equal ones by ref", tc.words, whole.Matches)
		}
		got, err := l.WordScores(t.Context(), docs, tc.words, refs)
		if err != nil || !slices.Equal(got, scores) {
			t.Errorf("WordScores(%+v) = %v, %v, Words has %v", tc.words, got, err, scores)
		}
	}
}

// testWordTerms asks for the shares that words have in scores.
func testWordTerms(t *testing.T, l *library) {
	q := backend.Words{Text: "old automobile bridge hunted"}
	refs := l.of("train whale bridge second")
	scores, err := l.WordScores(t.Context(), docs, q, refs)
	must(t, err)
	terms, err := l.WordTerms(t.Context(), docs, q, refs)
	if err != nil || len(terms) != len(refs) {
		t.Fatalf("WordTerms of %d documents = %v, %v", len(refs), terms, err)
	}
	for i, want := range [][]string{{"bridge in text", "old in text"}, {"hunted in tags", "hunted in text"}, {"automobile in text", "bridge in text", "bridge in title"}, nil} {
		sum, got := 0.0, []string(nil)
		for _, s := range terms[i] {
			if sum += s.Score; s.TF < 1 || s.DF < 1 || !(s.IDF > 0) {
				t.Errorf("WordTerms of %s has %+v", l.ids[refs[i]], s)
			}
			got = append(got, s.Term+" in "+s.Field)
		}
		for j, w := range want {
			word, in, _ := strings.Cut(w, " ")
			want[j] = l.term(word) + " " + in
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) || math.Abs(sum-scores[i]) > 1e-9 {
			t.Errorf("WordTerms of %s = %q, together %v, want %q, together %v", l.ids[refs[i]], got, sum, want, scores[i])
		}
	}
	if df := terms[0][0].DF; df != 3 {
		t.Errorf("the first term is said to be in %d documents, want 3", df)
	}
}

// term returns the one term of a word.
func (l *library) term(word string) string { return l.terms.Occurrences(word, nil)[0].Term }

// testWordsOfNone asks for the words of no documents.
func testWordsOfNone(t *testing.T, l *library) {
	q := backend.Words{Text: "whale"}
	if n := length(l.WordScores(t.Context(), docs, q, nil)); n != 0 {
		t.Errorf("WordScores of none has %d", n)
	}
	if n := length(l.WordTerms(t.Context(), docs, q, nil)); n != 0 {
		t.Errorf("WordTerms of none has %d", n)
	}
	none, err := l.Words(t.Context(), docs, q, 10, l.set(t, ""))
	if err != nil || len(none.Matches) != 0 || none.Total != 0 {
		t.Errorf("Words in an empty set = %+v, %v", none, err)
	}
}

// testExpand reads words as their synonyms.
func testExpand(t *testing.T, l *library) {
	const text = "an old car there"
	got, err := l.Expand(t.Context(), docs, backend.Words{Text: text})
	if err != nil || len(got) != 1 || text[got[0].Start:got[0].End] != "car" {
		t.Fatalf("Expand(%q) = %+v, %v, want car", text, got, err)
	}
	var read []string
	for _, a := range got[0].Alternatives {
		for _, token := range a.Terms {
			read = append(read, token.Term)
		}
	}
	if want := []string{l.term("car"), l.term("automobile")}; !slices.Equal(slices.Sorted(slices.Values(read)), slices.Sorted(slices.Values(want))) {
		t.Errorf("car is read as %q, want %q", read, want)
	}
	for _, q := range []backend.Words{{Text: text, Exact: []string{"car"}}, {Text: "an old train"}, {}} {
		if got, err := l.Expand(t.Context(), docs, q); err != nil || len(got) != 0 {
			t.Errorf("Expand(%+v) = %+v, %v, want none", q, got, err)
		}
	}
}

// testNear looks for words that are spelled alike, and for those that begin alike.
func testNear(t *testing.T, l *library) {
	for _, tc := range []struct {
		word      string
		edits     int // 0: Beginning
		among     string
		want      string // a word; empty: none
		documents string
	}{
		{word: "kitchan", edits: 1, want: "kitchen", documents: "kitchen"},
		{word: "captian", edits: 2, want: "captain", documents: "storm whale"},
		{word: "captian", edits: 2, among: "storm train", want: "captain", documents: "storm"},
		{word: "captian", edits: 2, among: "train"},
		{word: "kitchan", edits: 1, among: "storm"},
		{word: "whale", edits: 2},
		{word: "whale", edits: 2, among: "storm"},
		{word: "car", edits: 2},
		{word: "zzzzzz", edits: 2},
		{word: "white whale", edits: 2},
		{word: "kitch", want: "kitchen", documents: "kitchen"},
		{word: "capt", want: "captain", documents: "storm whale"},
		{word: "capt", among: "storm", want: "captain", documents: "storm"},
		{word: "wall"},
		{word: "zzz"},
	} {
		var sel *backend.Selection
		if tc.among != "" {
			sel = l.set(t, tc.among)
		}
		call := func() (backend.SuggestResponse, error) { return l.Near(t.Context(), docs, tc.word, tc.edits, sel) }
		if tc.edits == 0 {
			call = func() (backend.SuggestResponse, error) { return l.Beginning(t.Context(), docs, tc.word, sel) }
		}
		got, err := call()
		if err != nil || (tc.want == "") != (len(got.Terms) == 0) {
			t.Errorf("%+v: %+v, %v", tc, got, err)
			continue
		}
		if tc.want == "" {
			continue
		}
		first := got.Terms[0]
		if first.Term != l.term(tc.want) || inOrder(l.names(first.Refs)) != tc.documents || first.Documents != len(first.Refs) || got.Correct {
			t.Errorf("%+v: %+v, of %s", tc, got, l.names(first.Refs))
		}
		if again, err := call(); err != nil || !slices.Equal(again.Terms[0].Refs, first.Refs) {
			t.Errorf("%+v: other documents when asked again: %+v, %v", tc, again, err)
		}
	}
	if got, err := l.Near(t.Context(), docs, "automobile", 2, nil); err != nil || !got.Correct || len(got.Terms) > 0 {
		t.Errorf("Near of a word that has synonyms = %+v, %v, want that it stands", got, err)
	}
}

// testMissing asks which fields no document has.
func testMissing(t *testing.T, l *library) {
	asked := backend.FieldNames{Values: []string{"year", "nothing", "gone", "label", "secret"}, Texts: []string{"title", "nothing", "text", "tags", "secret", "kind"}}
	want := backend.FieldNames{Values: []string{"nothing", "gone", "secret"}, Texts: []string{"nothing", "secret", "kind"}}
	got, partial, err := l.Missing(t.Context(), docs, asked)
	if err != nil || partial || !slices.Equal(got.Values, want.Values) || !slices.Equal(got.Texts, want.Texts) {
		t.Errorf("Missing(%q) = %q, %t, %v, want %q", asked, got, partial, err, want)
	}
	if got, partial, err = l.Missing(t.Context(), docs, backend.FieldNames{}); err != nil || partial || len(got.Values)+len(got.Texts) > 0 {
		t.Errorf("Missing of no names = %q, %t, %v", got, partial, err)
	}
}
