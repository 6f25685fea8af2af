package keyword

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCompounds: words are found that documents write together or apart.
func TestCompounds(t *testing.T) {
	for _, tc := range []struct{ language, query, text string }{
		{"en", "data base", "databases"}, {"en", "ice-cream", "icecream"}, {"en", "icecreams", "an ice cream"}, {"en", "web site", "web-site"}, {"en", "website", "web site"},
		{"en", "node.js", "nodejs"}, {"en", "nodejs", "node.js"}, {"en", "e mail", "email"}, {"en", "xray", "x ray"}, {"en", "U.K.", "UK"}, {"en", "git hub", "GitHub"},
		{"en", "gpt 4", "gpt4"}, {"en", "5kg", "5 kg"}, {"en", "top 5 kg", "5kg at the top"}, {"en", "AB 1234 C", "AB1234C"},
		{"en", "01711234567", "0171 1234567"}, {"en", "0171/1234567", "01711234567"}, {"en", "+49 171 123 4567", "+491711234567"}, {"en", "+15551234567", "+1 (555) 123-4567"},
		{"en", "DE89370400440532013000", "DE89 3704 0044 0532 0130 00"}, {"en", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000"},
		{"de", "Steuererklärung", "Steuer-Erklärung"}, {"de", "Steuer Erklärung", "die Steuererklärungen"}, {"fr", "week-end", "weekend"}, {"ru", "интернет магазин", "интернетмагазин"},
	} {
		x := openTemp(t, Options{Language: tc.language})
		e := Entry{No: 1, Text: []Field{{"text", "before " + tc.text + " behind"}}}
		apply(t, x, 1, e, Entry{No: 2, Text: []Field{{"text", "something else"}}})
		for _, operator := range []Operator{Or, And} {
			q := Query{Text: tc.query, Operator: operator, Texts: textsOf(map[uint32]Entry{1: e})}
			if got := found(t, x, q); !slices.Equal(got, []uint32{1}) {
				t.Errorf("%s: %q, %v, finds %v, want %q", tc.language, tc.query, operator, got, tc.text)
			}
		}
	}
}

// TestCompoundsNot: what is not read together or apart.
func TestCompoundsNot(t *testing.T) {
	x := openTemp(t, Options{})
	all := map[uint32]Entry{}
	for no, text := range []string{"23 icecreams", "the usa and us", "cream, without the ice", "she said", "aid for s", "東京 大学", "int rest", "rest of int"} {
		all[uint32(no)] = Entry{No: uint32(no), Text: []Field{{"text", text}}}
		apply(t, x, uint64(no+1), all[uint32(no)])
	}
	for _, tc := range []struct {
		q    Query
		want []uint32
	}{
		{Query{Text: "ice cream", Exact: []string{"ice cream"}}, []uint32{2}},
		{Query{Text: "ice, cream"}, []uint32{2}},
		{Query{Text: "ice,cream"}, []uint32{2}},
		{Query{Text: "2 3"}, nil},
		{Query{Text: "the U. S. Aid"}, []uint32{4}}, // not said
		{Query{Text: "creamice"}, nil},              // not side by side
		{Query{Text: "restint"}, nil},
		{Query{Text: "intrest"}, []uint32{6}},
		{Query{Text: "intrest", Exact: []string{"intrest"}}, nil},
		{Query{Text: "ice cream one two three four five six seven eight nine ten eleven"}, []uint32{2}}, // too many words
		{Query{Text: "ice cream" + strings.Repeat(" ", maxCompoundBytes)}, []uint32{2}},
		{Query{Text: "iceCream"}, []uint32{0, 2}}, // has both terms
		{Query{Text: "東 京"}, []uint32{5}},
		{Query{Text: strings.Repeat("icecream", 100)}, nil},
		{Query{Text: strings.Repeat("12", 50)}, nil},
	} {
		tc.q.Texts = textsOf(all)
		if got := found(t, x, tc.q); !slices.Equal(got, tc.want) {
			t.Errorf("%.50q finds %v, want %v", tc.q.Text, got, tc.want)
		}
	}
	if got := found(t, x, Query{Text: "intrest"}); got != nil {
		t.Errorf("without texts to read found %v, want none", got)
	}
}

// TestCompoundsEqualOracle: a text scores for words side by side as one that has its words together
// apart, too.
func TestCompoundsEqualOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := openTemp(t, Options{Language: "standard"})
	twin := &oracle{bm25: BM25{K1: 1.2, B: 0.75}, docs: map[uint32]map[string][]string{}}
	parts := []string{"ab", "cd", "ef", "gh"}
	var words []string
	for _, a := range parts {
		for _, b := range parts {
			words = append(words, a, a+b)
		}
	}
	have := map[string]bool{}
	twin.terms = func(query []string) (out []string) {
		for i, w := range query {
			for _, join := range []int{i - 1, i} {
				if join >= 0 && join+1 < len(query) {
					if one := query[join] + query[join+1]; have[one] {
						w += "|" + one
					}
				}
			}
			out = append(out, w)
		}
		return out
	}
	twin.occurs = func(words []string, term string) int {
		own, n := 0, 0
		for w := range strings.SplitSeq(term, "|") {
			if len(w) > 2 {
				n += max(0, count(words, w)-own)
			} else {
				own = count(words, w)
				n = own
			}
		}
		return n
	}
	for round := range 4 {
		var entries []Entry
		for range 100 {
			e := Entry{No: r.Uint32N(300), Delete: r.IntN(4) == 0}
			for _, name := range []string{"title", "body"}[r.IntN(2):] {
				var text strings.Builder
				for range r.IntN(12) {
					text.WriteString(words[min(r.IntN(len(words)), r.IntN(len(words)))] + " ")
				}
				e.Text = append(e.Text, Field{name, text.String()})
			}
			entries = append(entries, e)
		}
		apply(t, x, uint64(round+1), entries...)
		twin.apply(x, entries...)
		clear(have)
		for _, d := range twin.docs {
			for _, terms := range d {
				for _, term := range terms {
					have[term] = true
				}
			}
		}
		for range 60 {
			q := Query{Operator: []Operator{Or, And}[r.IntN(2)]}
			if r.IntN(2) == 0 {
				q.Fields = []FieldWeight{{"title", 2.5}, {"body", 1}}
			}
			for _, i := range r.Perm(len(parts))[:2+r.IntN(3)] {
				q.Text += parts[i] + " "
			}
			checkQuery(t, t.Context(), x, twin, q, 1+r.IntN(50), nil)
		}
	}
}

// TestCompoundsCountOnce: a word with a hyphen, which is indexed without it, too, scores as its
// parts do.
func TestCompoundsCountOnce(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"text", "wi-fi here"}}}, Entry{No: 2, Text: []Field{{"text", "wi fi here"}}}, Entry{No: 3, Text: []Field{{"text", "nothing"}}})
	for _, text := range []string{"wi fi", "wi-fi"} {
		hits, _, err := x.Search(t.Context(), Query{Text: text}, 10, nil)
		if err != nil || len(hits) != 2 || hits[0].Score != hits[1].Score {
			t.Errorf("%s finds %v, %v, want two with one score", text, hits, err)
		}
	}
	for _, text := range []string{"wi fi", "wifi here", "h ere"} {
		found, err := x.Find(t.Context(), Query{Text: text}, 1, nil, false)
		if err != nil || len(found.Hits) > 0 && found.Hits[0].Score > found.Ceiling {
			t.Errorf("%s: %v is above the ceiling, %v", text, found, err)
		}
	}
}

// TestCompoundsSample: of very many documents that seem to have both parts of a word in sequence
// some are read; the others have it if half of those do.
func TestCompoundsSample(t *testing.T) {
	const docs, twoStrings = maxPhraseDocs + 500, "and ice cream"
	for _, tc := range []struct{ every, least, most int }{{1, docs, docs}, {10, 1, docs/10 - 1}} {
		all := map[uint32]Entry{}
		var entries []Entry
		for no := range uint32(docs) {
			e := Entry{No: no, Text: []Field{{"text", twoStrings}}}
			if int(no)%tc.every == 0 {
				e.Text[0].Text = "an ice cream"
			}
			entries, all[no] = append(entries, e), e
		}
		texts := func(ctx context.Context, nos []uint32, f func(uint32, Field, []int)) error {
			return textsOf(all)(ctx, nos, func(no uint32, text Field, starts []int) {
				if text.Text == twoStrings {
					starts = []int{len("and ice ")}
				}
				f(no, text, starts)
			})
		}
		x := openTemp(t, Options{})
		apply(t, x, 1, entries...)
		_, total, err := x.Search(t.Context(), Query{Text: "icecream", Texts: texts}, 1, nil)
		if err != nil || total < tc.least || total > tc.most {
			t.Errorf("of every %d with it found %d, %v, want %d to %d", tc.every, total, err, tc.least, tc.most)
		}
	}
}

// TestCompoundsSampleOfField: what is read of one field says nothing of another one.
func TestCompoundsSampleOfField(t *testing.T) {
	const docs = maxPhraseDocs
	all := map[uint32]Entry{}
	var entries []Entry
	for no := range uint32(3 * docs) {
		e := Entry{No: no, Text: []Field{{"body", "cream and ice"}}}
		if no%3 == 0 {
			e.Text[0] = Field{"title", "an ice cream"}
		}
		entries, all[no] = append(entries, e), e
	}
	x := openTemp(t, Options{})
	apply(t, x, 1, entries...)
	_, total, err := x.Search(t.Context(), Query{Text: "icecream", Texts: textsOf(all)}, 1, nil)
	if err != nil || total != docs {
		t.Errorf("found %d, %v, want all %d titles", total, err, docs)
	}
}

// TestSplitWord: a word is parted into known parts alone.
func TestSplitWord(t *testing.T) {
	for _, tc := range []struct{ word, known, want string }{
		{"icecream", "ice cream icecr eam", "ice cream, icecr eam"},
		{"tshirt", "t shirt tshir", "t shirt"},
		{"icecreambar", "ice cream bar", ""},
		{"the", "t he", ""},
		{"gpt4", "gpt 4", "gpt 4"}, {"v1x2", "v 1x2 v1 x2", "v 1x2, v1 x2"}, {"iphone15pro", "iphone 15 pro", "iphone 15 pro"}, {"a1b2c3", "a 1 b 2 c 3", ""}, {"e-mail", "e mail", ""},
		{"0301234567", "030 1234 567 03 0123 4567", "03 0123 4567, 030 1234 567"}, {"15551234567", "1 555 123 4567 1555", "1555 123 4567, 1 555 123 4567"},
		{"galaxys24", "galaxy s24 galaxys 24", "galaxys 24, galaxy s24"}, {"macbookpro16", "macbook pro 16 macbookpro", "macbookpro 16, macbook pro 16"},
		{"sw1a1aa", "sw1a 1aa", "sw1a 1aa"}, {"0043158858", "0043 1 58858 00431 588 58", "00431 58858, 0043 1 58858, 00431 588 58, 0043 1 588 58"},
		{"123456", "123 456", ""},
		{"4111111122223333", "4111 1111 2222 3333", "4111 1111 2222 3333"},
		{"größer", "grö ßer", "grö ßer"},
	} {
		known := func(part string) bool { return slices.Contains(strings.Fields(tc.known), part) }
		var got []string
		for _, way := range splitWord(tc.word, maxPhraseAlternatives, known) {
			got = append(got, strings.Join(way, " "))
		}
		if s := strings.Join(slices.Compact(got), ", "); s != tc.want {
			t.Errorf("%s is %q, want %q", tc.word, s, tc.want)
		}
	}
	if n := len(splitWord("1212121212121212", 5, func(string) bool { return true })); n != 5 {
		t.Errorf("%d ways, want no more than 5", n)
	}
}

// TestCompoundsApartSayLess: a word read as its parts scores as by a rule, for guessedShare of the
// idf.
func TestCompoundsApartSayLess(t *testing.T) {
	x := openTemp(t, Options{})
	all := map[uint32]Entry{1: {No: 1, Text: []Field{{"text", "an ice cream"}}}, 2: {No: 2, Text: []Field{{"text", "nothing"}}}}
	apply(t, x, 1, all[1], all[2])
	rules, err := NewSynonyms("", []string{"icecream => ice cream"})
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Text: "icecream", Texts: textsOf(all)}
	guessed, _, err := x.Search(t.Context(), q, 1, nil)
	q.Synonyms = rules
	ruled, _, e := x.Search(t.Context(), q, 1, nil)
	if err != nil || e != nil || len(guessed) != 1 || len(ruled) != 1 || math.Abs(guessed[0].Score-guessedShare*ruled[0].Score) > 1e-12 {
		t.Errorf("read apart %v, %v, by a rule %v, %v", guessed, err, ruled, e)
	}
}

// TestCompoundsKeepScores: a text that has a word scores the same whether others have it in two
// words or not; these are found behind it.
func TestCompoundsKeepScores(t *testing.T) {
	for _, word := range []string{"database", "16gb"} {
		var scores [2]float64
		for i, other := range []string{"a data base, 16 gb", "a plain text, so so"} {
			x := openTemp(t, Options{BM25: BM25{B: NoLength}})
			all := map[uint32]Entry{1: {No: 1, Text: []Field{{"text", "database 16gb"}}}, 2: {No: 2, Text: []Field{{"text", other}}}, 3: {No: 3, Text: []Field{{"text", "else"}}}}
			apply(t, x, 1, all[1], all[2], all[3])
			hits, total, err := x.Search(t.Context(), Query{Text: word, Texts: textsOf(all)}, 5, nil)
			if err != nil || total != 2-i || hits[0].No != 1 {
				t.Fatalf("%s beside %q finds %v, %v", word, other, hits, err)
			}
			scores[i] = hits[0].Score
		}
		if scores[0] != scores[1] {
			t.Errorf("%s: scores %v", word, scores)
		}
	}
}
