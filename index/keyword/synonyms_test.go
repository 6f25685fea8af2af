package keyword

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// textsOf returns the texts of entries.
func textsOf(entries map[uint32]Entry) Texts {
	return func(_ context.Context, nos []uint32, f func(uint32, Field, []int)) error {
		for _, no := range nos {
			for _, t := range entries[no].Text {
				f(no, t, nil)
			}
		}
		return nil
	}
}

func expand(t testing.TB, x *Index, q Query) []Expansion {
	t.Helper()
	e, err := x.Expand(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newSynonyms(t testing.TB, rules ...string) *Synonyms {
	t.Helper()
	s, err := NewSynonyms("en", rules)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSynonymsEqualOracle: by random rules, words with synonyms score as terms that texts have as
// often as all alternatives together.
func TestSynonymsEqualOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	x := openTemp(t, Options{})
	twin := &oracle{bm25: BM25{K1: 1.2, B: 0.75}, docs: map[uint32]map[string][]string{}}
	twin.occurs = func(words []string, term string) (n int) {
		for alternative := range strings.SplitSeq(term, "|") {
			phrase := strings.Fields(alternative)
			for i := range words {
				if i+len(phrase) <= len(words) && slices.Equal(words[i:i+len(phrase)], phrase) {
					n++
				}
			}
		}
		return n
	}
	all := map[uint32]Entry{}
	for round := range 5 {
		var entries []Entry
		for range 200 {
			e := Entry{No: r.Uint32N(700), Delete: r.IntN(4) == 0}
			for _, name := range []string{"title", "body"}[r.IntN(2):] {
				e.Text = append(e.Text, Field{name, randomText(r, r.IntN(30))})
			}
			entries, all[e.No] = append(entries, e), e
		}
		apply(t, x, uint64(round+1), entries...)
		twin.apply(x, entries...)
		for range 10 {
			var rules []string
			read := map[string][]string{}
			for range 1 + r.IntN(6) {
				from := randomPhrases(r)
				to, rule := from, strings.Join(from, ", ")
				if r.IntN(2) == 0 {
					to = randomPhrases(r)
					rule += " => " + strings.Join(to, ",")
				} else if len(from) == 1 {
					continue
				}
				rules = append(rules, rule)
				for _, f := range from {
					read[f] = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(read[f]), to...))))
				}
			}
			twin.terms = func(words []string) (out []string) {
				for len(words) > 0 {
					n := min(3, len(words))
					for n > 1 && read[strings.Join(words[:n], " ")] == nil {
						n--
					}
					if alternatives := read[strings.Join(words[:n], " ")]; alternatives != nil {
						out = append(out, strings.Join(alternatives, "|"))
					} else {
						out = append(out, words[0])
					}
					words = words[n:]
				}
				return out
			}
			t.Logf("rules %q", rules)
			s := newSynonyms(t, rules...)
			for range 10 {
				q := Query{Synonyms: s, Texts: textsOf(all)}
				for range 1 + r.IntN(4) {
					q.Text += fmt.Sprintf("w%dx ", r.IntN(14))
				}
				switch r.IntN(3) {
				case 0:
					q.Operator = And
				case 1:
					q.Fields = []FieldWeight{{"title", 2.5}, {"body", 1}}
				}
				checkQuery(t, t.Context(), x, twin, q, 1+r.IntN(50), nil)
			}
		}
	}
}

// randomPhrases returns one to three phrases of one to three words of randomText.
func randomPhrases(r *rand.Rand) (out []string) {
	for range 1 + r.IntN(3) {
		var words []string
		for range 1 + r.IntN(3)*r.IntN(2) {
			words = append(words, fmt.Sprintf("w%dx", r.IntN(14)))
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// TestSynonyms: which documents synonyms find.
func TestSynonyms(t *testing.T) {
	texts := []string{
		0: "Kubernetes runs containers", 1: "k8s in production", 2: "televisions on sale", 3: "the telly is broken", 4: "New York City marathon",
		5: "a city in New Mexico, not York", 6: "nyc subway", 7: "parallel programs in C++", 8: "cplusplus compilers", 9: "os.path.join of Python", 10: "joining paths of an os",
		11: "the vitamin C", 12: "café au lait", 13: "Bank of America", 14: "東京都の天気", 15: "tokyo weather",
	}
	all := map[uint32]Entry{}
	var entries []Entry
	for no, text := range texts {
		e := Entry{No: uint32(no), Text: []Field{{"body", text}}}
		entries, all[e.No] = append(entries, e), e
	}
	x := openTemp(t, Options{})
	apply(t, x, 1, entries...)
	s := newSynonyms(t, "k8s, Kubernetes", "TV, telly => television", "nyc, New York City", "C++, cplusplus", `os.path.join, path\, joining => os.path.join`, "coffee house, café", "BofA, Bank of America", "tokyo, 東京都", "the, of", "it, thing => gadget", "the, Mexico York")
	for _, tc := range []struct {
		q    Query
		want []uint32
	}{
		{Query{Text: "k8s"}, []uint32{0, 1}},
		{Query{Text: "Kubernetes!"}, []uint32{0, 1}},
		{Query{Text: "kubernetes/k8s containers", Operator: And}, []uint32{0}},
		{Query{Text: "TVs"}, []uint32{2}},
		{Query{Text: "telly"}, []uint32{2}},
		{Query{Text: "television"}, []uint32{2}},
		{Query{Text: "nyc"}, []uint32{4, 6}},
		{Query{Text: "new york city"}, []uint32{4, 6}},
		{Query{Text: "york"}, []uint32{4, 5}},
		{Query{Text: "NYC marathon", Operator: And}, []uint32{4}},
		{Query{Text: "new york city subway", Operator: And}, []uint32{6}},
		{Query{Text: "nyc", Exact: []string{"nyc"}}, []uint32{6}},
		{Query{Text: "nyc k8s", Exact: []string{"nyc"}}, []uint32{0, 1, 6}},
		{Query{Text: "c++"}, []uint32{7, 8}},
		{Query{Text: "cplusplus programs", Operator: And}, []uint32{7}},
		{Query{Text: "vitamin c"}, []uint32{7, 11}}, // C is a word of C++
		{Query{Text: "path joining"}, []uint32{9}},
		{Query{Text: "cafe"}, []uint32{12}},
		{Query{Text: "Coffee Houses"}, []uint32{12}},
		{Query{Text: "bofa"}, []uint32{13}},
		{Query{Text: "bank of america"}, []uint32{13}},
		{Query{Text: "tokyo"}, []uint32{14, 15}},
		{Query{Text: "東京都の"}, []uint32{14, 15}},
		{Query{Text: "it"}, nil},
		{Query{Text: "thing"}, nil},
		{Query{Text: "mexico york"}, []uint32{4, 5}}, // nothing is left of what it would be read as
	} {
		tc.q.Synonyms, tc.q.Texts = s, textsOf(all)
		if got := found(t, x, tc.q); !slices.Equal(got, tc.want) {
			t.Errorf("Search(%q, exact %q, %v) = %v, want %v", tc.q.Text, tc.q.Exact, tc.q.Operator, got, tc.want)
		}
	}
}

// TestPhraseBounds: of very many documents with all pairs of words of a phrase some are read, once;
// the others count as having it.
func TestPhraseBounds(t *testing.T) {
	const docs = maxPhraseDocs + 500
	all := map[uint32]Entry{}
	var entries []Entry
	for no := range uint32(docs) {
		e := Entry{No: no, Text: []Field{{"body", "York City is not new: New York " + strings.Repeat("word ", int(no)%7)}}}
		if no%5 == 0 {
			e.Text[0].Text = "New York City, " + e.Text[0].Text
		}
		entries, all[no] = append(entries, e), e
	}
	x := openTemp(t, Options{})
	apply(t, x, 1, entries...)
	var read atomic.Int64
	q := Query{Text: "nyc", Synonyms: newSynonyms(t, "nyc, new york city"), Texts: func(ctx context.Context, nos []uint32, f func(uint32, Field, []int)) error {
		read.Add(int64(len(nos)))
		return textsOf(all)(ctx, nos, f)
	}}
	search := func() (total int) {
		hits, total, err := x.Search(t.Context(), q, docs, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]bool{}
		for _, h := range hits {
			seen[h.No] = true
		}
		for no := range uint32(docs) {
			if no%5 == 0 && !seen[no] {
				t.Fatalf("document %d has the phrase and is not found", no)
			}
		}
		return total
	}
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.scorch.ForceMerge(t.Context(), nil); err != nil { // a merge later would have texts read again
		t.Fatal(err)
	}
	first, before := search(), read.Load()
	if before < maxPhraseDocs || before > maxPhraseDocs+8 {
		t.Errorf("%d texts read, want about %d", before, maxPhraseDocs)
	}
	if first >= docs*2/5 || first <= docs/5 {
		t.Errorf("%d documents found, of %d with the phrase", first, docs/5)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if again := search(); again != first {
				t.Errorf("%d documents found, then %d", first, again)
			}
		})
	}
	wg.Wait()
	if n := read.Load(); n != before {
		t.Errorf("%d texts read again", n-before)
	}
	all[1] = Entry{No: 1, Text: []Field{{"body", "York City is not new: New York " + strings.Repeat("word ", 1000)}}} // longer than the share of one document
	one := false
	for seq := uint64(2); seq < 12 && !one; seq++ { // segments that are merged meanwhile are read again
		before = read.Load()
		apply(t, x, seq, all[1])
		search()
		one = read.Load() == before+1
		for now := int64(-1); now != read.Load(); {
			now = read.Load()
			search()
		}
	}
	if !one {
		t.Errorf("%d texts read after a change of one", read.Load()-before)
	}
	if scores, err := x.Score(t.Context(), q, []uint32{1}); err != nil || scores[0] != 0 {
		t.Errorf("a document that was not read: score %v, %v", scores, err)
	}
}

// TestSynonymsOfLongQueries: what goes beyond the bounds is searched for as it stands.
func TestSynonymsOfLongQueries(t *testing.T) {
	var rules, words []string
	for i := range 40 {
		rules = append(rules, fmt.Sprintf("r%dx, a%dx b%dx", i, i, i))
		words = append(words, fmt.Sprintf("r%dx", i))
	}
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", "r39x"}}}, Entry{No: 2, Text: []Field{{"body", "a0x b0x"}}}, Entry{No: 3, Text: []Field{{"body", "a39x b39x"}}})
	q := Query{Text: strings.Join(words, " "), Synonyms: newSynonyms(t, rules...), Texts: textsOf(map[uint32]Entry{})}
	if n := len(expand(t, x, q)); n != maxPhraseAlternatives {
		t.Errorf("%d expansions, want %d", n, maxPhraseAlternatives)
	}
	q.Texts = nil
	if got := found(t, x, q); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("found %v, want [1 2]", got)
	}
	q.Text = strings.Repeat("r0x a0x b0x ", 20) + "r1x" // one term of the query counts once
	if n := len(expand(t, x, q)); n != 41 {
		t.Errorf("%d expansions, want 41", n)
	}
}

// TestParseSynonymRule reads rules.
func TestParseSynonymRule(t *testing.T) {
	for text, want := range map[string]SynonymRule{
		"a,b":                    {[]string{"a", "b"}, []string{"a", "b"}},
		"  a  b , c\t=>d,  e f ": {[]string{"a b", "c"}, []string{"d", "e f"}},
		"a=>b":                   {[]string{"a"}, []string{"b"}},
		`a\,b, c\=>d\\`:          {[]string{"a,b", `c=>d\`}, []string{"a,b", `c=>d\`}},
		`a, é\é`:                 {[]string{"a", "éé"}, []string{"a", "éé"}},
		"=, >":                   {[]string{"=", ">"}, []string{"=", ">"}},
	} {
		if got, err := ParseSynonymRule(text); err != nil || !slices.Equal(got.From, want.From) || !slices.Equal(got.To, want.To) {
			t.Errorf("ParseSynonymRule(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

// FuzzSynonyms: no rule makes a query fail.
func FuzzSynonyms(f *testing.F) {
	x := openTemp(f, Options{})
	apply(f, x, 1, Entry{No: 1, Text: []Field{{"body", "k8s, New York City and C++"}}})
	for _, s := range [][2]string{{"k8s, kubernetes", "K8S"}, {"nyc => New York City", "nyc"}, {`c\, d, C++`, "c++ c, d"}, {"東京都, os.path.join", "os.path.join 東京都の"}, {"the, of", "the"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, rule, text string) {
		s, err := NewSynonyms("en", []string{rule})
		if err != nil {
			return
		}
		q := Query{Text: text, Synonyms: s, Texts: textsOf(map[uint32]Entry{1: {No: 1, Text: []Field{{"body", "k8s, New York City and C++"}}}})}
		hits, _, err := x.Search(t.Context(), q, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := x.Score(t.Context(), q, []uint32{1})
		if err != nil || len(hits) > 0 && scores[0] != hits[0].Score {
			t.Fatalf("%q, %q: %v, Score %v, %v", rule, text, hits, scores, err)
		}
		for _, e := range expand(t, x, q) {
			if e.Start < 0 || e.End > len(text) || e.Start >= e.End {
				t.Fatalf("%q, %q: %+v", rule, text, e)
			}
		}
	})
}
