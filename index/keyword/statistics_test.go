package keyword

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"
)

// spread is an index of all documents and several of a part of them.
type spread struct {
	t     testing.TB
	ctx   context.Context
	whole *Index
	parts []*Index
	docs  map[uint32]Entry
}

// newSpread opens the indexes of n parts, and calls f with them.
func newSpread(t testing.TB, n int, o Options, f func(s *spread)) {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	s := &spread{t: t, ctx: t.Context(), docs: map[uint32]Entry{}}
	for i := range n + 1 {
		x, err := Open(filepath.Join(dir, fmt.Sprint(i)), o)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if i == 0 {
			s.whole = x
		} else {
			s.parts = append(s.parts, x)
		}
	}
	f(s)
}

// apply writes entries to the whole and each to the part that place tells.
func (s *spread) apply(place func(no uint32) int, entries ...Entry) {
	s.t.Helper()
	own := make([][]Entry, len(s.parts))
	for _, e := range entries {
		own[place(e.No)] = append(own[place(e.No)], e)
		if s.docs[e.No] = e; e.Delete {
			delete(s.docs, e.No)
		}
	}
	apply(s.t, s.whole, s.whole.Seq()+1, entries...)
	for i, x := range s.parts {
		if len(own[i]) > 0 {
			apply(s.t, x, x.Seq()+1, own[i]...)
		}
	}
}

// statistics asks all parts as often as it takes, as over a wire, and returns in how many rounds.
func (s *spread) statistics(q Query) (sum *Statistics, rounds int, err error) {
	for sum = nil; sum == nil || !sum.Complete; rounds++ {
		q.Global, sum = sum, &Statistics{}
		for _, x := range s.parts {
			one, err := x.Statistics(s.ctx, q)
			if err != nil {
				return nil, 0, err
			}
			if one.Parts != 1 || one.Complete != (len(one.Open) == 0) {
				return nil, 0, fmt.Errorf("one index says %+v", one)
			}
			sum.Add(sent(s.t, one))
		}
		if *sum = sent(s.t, *sum); sum.Parts != len(s.parts) || rounds > 1 {
			return nil, 0, fmt.Errorf("%q: in round %d %+v", q.Text, rounds+1, sum)
		}
	}
	return sum, rounds, nil
}

// sent returns what arrives of statistics that are sent as JSON.
func sent(t testing.TB, s Statistics) (out Statistics) {
	t.Helper()
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differ says how what the parts find together differs from what the whole finds; nil: in nothing.
func (s *spread) differ(q Query, allow *roaring.Bitmap) error {
	one, err := s.whole.Find(s.ctx, q, 1000, allow, true)
	if err != nil {
		return err
	}
	var nos []uint32
	for no := range uint32(80) {
		nos = append(nos, no)
	}
	scores, err1 := s.whole.Score(s.ctx, q, nos)
	terms, err2 := s.whole.Explain(s.ctx, q, nos)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	expansions := expand(s.t, s.whole, q)

	if q.Global, _, err = s.statistics(q); err != nil {
		return err
	}
	all := Found{All: roaring.New()}
	sumScores, sumTerms := make([]float64, len(nos)), make([][]TermScore, len(nos))
	for i, x := range s.parts {
		found, err := x.Find(s.ctx, q, 1000, allow, true)
		partScores, err1 := x.Score(s.ctx, q, nos)
		partTerms, err2 := x.Explain(s.ctx, q, nos)
		if err := errors.Join(err, err1, err2); err != nil {
			return err
		}
		if found.Ceiling != one.Ceiling {
			return fmt.Errorf("%+v: part %d has the ceiling %v, want %v", q, i, found.Ceiling, one.Ceiling)
		}
		if got := expand(s.t, x, q); !reflect.DeepEqual(got, expansions) {
			return fmt.Errorf("%q: part %d reads %+v, want %+v", q.Text, i, got, expansions)
		}
		all.Hits = append(all.Hits, found.Hits...)
		all.Total += found.Total
		all.All.Or(found.All)
		for j := range nos {
			sumScores[j] += partScores[j]
			sumTerms[j] = append(sumTerms[j], partTerms[j]...)
		}
	}
	slices.SortFunc(all.Hits, compareHits)
	switch {
	case !slices.Equal(all.Hits, one.Hits) || all.Total != one.Total || !all.All.Equals(one.All):
		return fmt.Errorf("%+v finds %+v, want %+v\nby %+v", q, all, one, *q.Global)
	case !slices.Equal(sumScores, scores):
		return fmt.Errorf("%q: scores %v, want %v", q.Text, sumScores, scores)
	case !reflect.DeepEqual(sumTerms, terms):
		return fmt.Errorf("%q: terms %+v, want %+v", q.Text, sumTerms, terms)
	}
	return nil
}

// spreadWords are words that texts write together, apart and otherwise.
var spreadWords = strings.Fields(`ice cream icecream creams data base database wi fi wi-fi wifi node.js nodejs node js gpt4 gpt 4 x ray xray a b ab ba aba
	tele vision television telly tv set frozen water the of os.path.join path max_seq 0171 1234567 01711234567 171 12345 67 12 34 567 A.I. ai C++ git hub GitHub`)

var spreadRules = []string{"telly, television set, tv", "frozen water => ice", "data, path"}

// TestStatisticsTwin: indexes that share out documents find, score, explain and read queries as one
// of all documents does, to the last bit.
func TestStatisticsTwin(t *testing.T) {
	rules := newSynonyms(t, spreadRules...)
	seen := map[string]int{}
	text := func(rt *rapid.T, most int) string {
		var b strings.Builder
		for range rapid.IntRange(0, most).Draw(rt, "words") {
			b.WriteString(rapid.SampledFrom(spreadWords).Draw(rt, "word"))
			b.WriteString(rapid.SampledFrom([]string{" ", " ", " ", "-", ", "}).Draw(rt, "between"))
		}
		return b.String()
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "parts")
		places := rapid.SliceOfN(rapid.IntRange(0, n-1), 80, 80).Draw(rt, "places")
		newSpread(t, n, Options{}, func(s *spread) {
			for range rapid.IntRange(1, 3).Draw(rt, "writes") {
				entries := map[uint32]Entry{}
				for range rapid.IntRange(0, 12).Draw(rt, "documents") {
					e := Entry{No: rapid.Uint32Range(0, 79).Draw(rt, "no"), Delete: rapid.IntRange(0, 4).Draw(rt, "delete") == 0}
					for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"title", "body", "notes"}), rapid.ID).Draw(rt, "fields") {
						if !e.Delete {
							e.Text = append(e.Text, Field{name, text(rt, 8)})
						}
					}
					entries[e.No] = e
				}
				s.apply(func(no uint32) int { return places[no] }, slices.Collect(maps.Values(entries))...)
			}
			for range 12 {
				q := Query{Text: text(rt, 6), Texts: textsOf(s.docs), Operator: rapid.SampledFrom([]Operator{Or, And}).Draw(rt, "operator")}
				if rapid.Bool().Draw(rt, "synonyms") {
					q.Synonyms = rules
				}
				switch rapid.IntRange(0, 3).Draw(rt, "fields") {
				case 0:
					q.Fields = []FieldWeight{{"notes", 0.3}, {"title", 2.7}}
				case 1:
					q.Weight = func(name string) float64 { return 0.1 * float64(len(name)) }
				}
				if rapid.IntRange(0, 5).Draw(rt, "exact") == 0 {
					q.Exact = []string{rapid.SampledFrom(spreadWords).Draw(rt, "exact word")}
				}
				if rapid.IntRange(0, 5).Draw(rt, "no texts") == 0 {
					q.Texts = nil
				}
				var allow *roaring.Bitmap
				if rapid.IntRange(0, 3).Draw(rt, "allowed") == 0 {
					allow = roaring.BitmapOf(rapid.SliceOf(rapid.Uint32Range(0, 79)).Draw(rt, "allow")...)
				}
				if err := s.differ(q, allow); err != nil {
					rt.Fatal(err)
				}
				sum, rounds, err := s.statistics(q)
				if err != nil {
					rt.Fatal(err)
				}
				q.Operator = And - q.Operator // statistics are of either
				want, err := s.whole.Find(s.ctx, q, 0, nil, false)
				q.Global = sum
				got, err1 := s.parts[0].Find(s.ctx, q, 0, nil, false)
				if err := errors.Join(err, err1); err != nil || got.Ceiling != want.Ceiling {
					rt.Fatalf("%+v: %v, ceiling %v, want %v", q, err, got.Ceiling, want.Ceiling)
				}
				q.Global = nil
				seen[fmt.Sprint("rounds ", rounds)]++
				for _, e := range expand(t, s.whole, q) {
					kind := "rule"
					for _, a := range e.Alternatives {
						if len(a.Terms) > 1 && kind != "rule" || strings.Contains(a.Text, " ") && len(e.Alternatives) > 1 {
							kind = "phrase"
						}
					}
					seen[kind]++
				}
			}
		})
	})
	t.Logf("%v", seen)
}

// placed returns indexes of parts, each with the documents that it is given the texts of.
func placed(t testing.TB, parts [][]string, f func(s *spread)) {
	t.Helper()
	newSpread(t, len(parts), Options{}, func(s *spread) {
		no := uint32(0)
		for i, texts := range parts {
			var entries []Entry
			for _, text := range texts {
				entries = append(entries, Entry{No: no, Text: []Field{{"text", text}}})
				no++
			}
			if len(entries) > 0 {
				s.apply(func(uint32) int { return i }, entries...)
			}
		}
		f(s)
	})
}

// TestStatisticsRounds: all is known after one round, or after two where a word may be several.
func TestStatisticsRounds(t *testing.T) {
	parts := [][]string{{"icecream", "a data base"}, {"cream and ice", "nothing else"}, {"an ice cream", "0171 1234567"}, {}}
	placed(t, parts, func(s *spread) {
		for _, tc := range []struct {
			query  string
			rounds int
			reads  string
		}{
			{"", 1, "[]"},
			{"the", 1, "[]"},
			{"ice cream", 2, "[ic: ic icecream, cream: cream icecream]"},
			{"icecream", 2, "[icecream: icecream ice cream]"},
			{"icecream data", 2, "[icecream: icecream ice cream]"},
			{"abc", 1, "[]"}, // too short
			{"database", 2, "[databas: databas data base]"},
			{"basedata", 2, "[]"}, // not side by side
			{"nowhere", 2, "[]"},
			{"01711234567", 2, "[01711234567: 01711234567 0171 1234567]"},
		} {
			q := Query{Text: tc.query, Texts: textsOf(s.docs)}
			if err := s.differ(q, nil); err != nil {
				t.Error(err)
			}
			_, rounds, err := s.statistics(q)
			var reads []string
			for _, e := range expand(t, s.whole, q) {
				texts := []string{e.Name + ":"}
				for _, a := range e.Alternatives {
					texts = append(texts, a.Text)
				}
				reads = append(reads, strings.Join(texts, " "))
			}
			if got := "[" + strings.Join(reads, ", ") + "]"; err != nil || rounds != tc.rounds || got != tc.reads {
				t.Errorf("%q takes %d rounds, %v, and reads %s, want %d, %s", tc.query, rounds, err, got, tc.rounds, tc.reads)
			}
		}
	})
}

// TestStatisticsManyWays: of a word with more ways to part it than are looked at, the same ones
// are, wherever its parts are.
func TestStatisticsManyWays(t *testing.T) {
	const word = "abcdefghijklmn"
	heads, tails := "", ""
	for i := 2; i < len(word)-1; i++ {
		heads, tails = heads+word[:i]+" . ", tails+word[i:]+" . "
	}
	for at := 1; at < len(word)-1; at++ { // the first part may be a stop word: a
		placed(t, [][]string{{heads}, {tails}, {word[:at] + " " + word[at:]}}, func(s *spread) {
			q := Query{Text: word, Texts: textsOf(s.docs)}
			if err := s.differ(q, nil); err != nil {
				t.Error(err)
			}
			if want := at <= maxSplits; want != (found(t, s.whole, q) != nil) {
				t.Errorf("%q found: %v, want %v", s.docs[2].Text, !want, want)
			}
		})
	}
}

// TestStatisticsLongQuery: of very many terms the same ones count, and statistics stay small.
func TestStatisticsLongQuery(t *testing.T) {
	var parts [][]string
	var query strings.Builder
	for i := range 3 {
		var texts []string
		for d := range 20 {
			var b strings.Builder
			for w := range 100 {
				fmt.Fprintf(&b, "w%dx ", (w*w*(d+1)+i*97)%700)
			}
			texts = append(texts, b.String())
		}
		parts = append(parts, texts)
	}
	for w := range 1000 {
		fmt.Fprintf(&query, "w%dx ", w)
	}
	placed(t, parts, func(s *spread) {
		for _, operator := range []Operator{Or, And} {
			if err := s.differ(Query{Text: query.String(), Operator: operator, Texts: textsOf(s.docs)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		sum, _, err := s.statistics(Query{Text: query.String()})
		if err != nil || len(sum.Terms) != maxQueryTerms {
			t.Errorf("%d terms, %v, want %d", len(sum.Terms), err, maxQueryTerms)
		}
	})
}

// TestStatisticsDoNotFit: what is no statistics of the query gives an error.
func TestStatisticsDoNotFit(t *testing.T) {
	placed(t, [][]string{{"ice cream", "data"}}, func(s *spread) {
		x := s.parts[0]
		q := Query{Text: "ice cream", Texts: textsOf(s.docs)}
		good, _, err := s.statistics(q)
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(q *Query, g *Statistics){
			"not complete":      func(_ *Query, g *Statistics) { g.Complete = false },
			"zero":              func(_ *Query, g *Statistics) { *g = Statistics{} },
			"no terms":          func(_ *Query, g *Statistics) { g.Terms = nil },
			"another text":      func(q *Query, _ *Statistics) { q.Text = "data" },
			"more synonyms":     func(q *Query, _ *Statistics) { q.Synonyms = newSynonyms(t, "ice, frozen") },
			"a field more":      func(q *Query, _ *Statistics) { q.Fields = []FieldWeight{{"text", 1}, {"title", 1}} },
			"too few documents": func(_ *Query, g *Statistics) { g.Documents = 0 },
		} {
			bad, changed := sent(t, *good), q
			change(&changed, &bad)
			changed.Global = &bad
			_, err1 := x.Find(t.Context(), changed, 10, nil, false)
			_, err2 := x.Score(t.Context(), changed, []uint32{0})
			_, err3 := x.Explain(t.Context(), changed, []uint32{0})
			for _, err := range []error{err1, err2, err3} {
				if !errors.Is(err, ErrStatistics) || !errors.Is(err, ErrQuery) {
					t.Errorf("%s: %v, want %v", name, err, ErrStatistics)
				}
			}
		}
		q.Global = good
		if hits, total, err := x.Search(t.Context(), q, 10, nil); err != nil || total != 1 || len(hits) != 1 {
			t.Errorf("with what fits found %v, %d, %v", hits, total, err)
		}
		q.Global = &Statistics{}
		if _, err := x.Expand(t.Context(), q); !errors.Is(err, ErrStatistics) {
			t.Errorf("Expand: %v, want %v", err, ErrStatistics)
		}
		for _, q := range []Query{{Text: "ice", Fields: []FieldWeight{{"text", -1}}}, {Text: "ice", Weight: func(string) float64 { return 0 }}} {
			if _, err := x.Statistics(t.Context(), q); !errors.Is(err, ErrQuery) {
				t.Errorf("Statistics of %+v: %v, want %v", q, err, ErrQuery)
			}
		}
	})
}

// TestStatisticsOfBefore: what is written while statistics are asked for, and after, makes no error
// and no score above the ceiling.
func TestStatisticsOfBefore(t *testing.T) {
	for _, text := range []string{"ice cream database", "max_seq_length"} { // a name that no document had is left out of the ceiling
		placed(t, [][]string{{"cream", "base"}, {"ice", "an icecream", "max seq length" + strings.Repeat(" filling", 2000)}}, func(s *spread) {
			q := Query{Text: text, Texts: textsOf(s.docs)}
			write := func(no uint32, text string) {
				s.apply(func(no uint32) int { return int(no % 2) }, Entry{No: no, Text: []Field{{"text", text}}}, Entry{No: no + 1, Text: []Field{{"title", text}}})
			}
			for round := range uint32(2) {
				sum := &Statistics{}
				for i, x := range s.parts {
					one, err := x.Statistics(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					sum.Add(one)
					write(10+4*round+2*uint32(i), "data base icecream database ice cream")
				}
				q.Global = sum
			}
			write(20, strings.Repeat(text+" ", 200))
			for _, x := range s.parts {
				found, err := x.Find(t.Context(), q, 10, nil, false)
				if err != nil || found.Total == 0 || found.Hits[0].Score > found.Ceiling {
					t.Errorf("%q: found %+v, %v", text, found, err)
				}
			}
		})
	}
}
