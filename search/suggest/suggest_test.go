package suggest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/searchd/internal/edits"
)

func all(_ context.Context, list []Completion) ([]bool, error) {
	return slices.Repeat([]bool{true}, len(list)), nil
}

// built returns the index of documents.
func built(docs ...Document) *Index {
	b := newBuilder(func(w string) bool { return w == "the" || w == "with" || w == "and" })
	for i, d := range docs {
		d.ID, d.Revision = fmt.Sprint(i), 1
		b.add(d)
	}
	return b.index()
}

func texts(t *testing.T, x *Index, typed string, limit int) []string {
	t.Helper()
	list, err := x.Complete(t.Context(), typed, limit, all)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, c := range list {
		out = append(out, c.Text)
	}
	return out
}

func TestComplete(t *testing.T) {
	docs := []Document{{Title: "Café Society"}, {Title: "The Society of the Spectacle"}, {Title: "Caravan"}, {Title: "Carol"}, {Title: "Société générale"}}
	for range 4 {
		docs = append(docs, Document{Texts: []string{"We met at the carousel horse, once."}})
	}
	x := built(docs...)
	for _, tt := range []struct {
		typed string
		want  []string
	}{
		{"car", []string{"Carol", "Caravan", "carousel horse"}}, // as heavy as one another: the shorter first
		{"CAFE soc", []string{"Café Society"}},
		{"society", []string{"Café Society", "The Society of the Spectacle"}},
		{"societe", []string{"Société générale"}}, // which is no misspelled society
		{"sociate", []string{"Société générale"}},
		{"spectacle soc", []string{"The Society of the Spectacle"}},
		{"soceity of spectcle", []string{"The Society of the Spectacle"}},
		{"carosel", []string{"carousel horse"}},
		{"car ", []string{}},  // a finished word
		{"carol", []string{}}, // typed already
		{"xarol", []string{}}, // the first letter stays
		{"caro sel", []string{}},
		{"", []string{}},
		{"?!", []string{}},
	} {
		if got := texts(t, x, tt.typed, 8); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.typed, got, tt.want)
		}
	}
	if got := texts(t, x, "car", 2); len(got) != 2 {
		t.Errorf("limit 2: %q", got)
	}
	list, err := x.Complete(t.Context(), "car", 8, func(_ context.Context, list []Completion) (keep []bool, err error) {
		for _, c := range list {
			keep = append(keep, c.Kind == Phrase)
		}
		return keep, nil
	})
	if err != nil || len(list) != 1 || list[0].Text != "carousel horse" || len(list[0].Sources) != maxSources {
		t.Errorf("visible phrases: %+v, %v", list, err)
	}
}

// TestPhrases: a phrase is in three documents, does not go over punctuation, neither begins nor
// ends with a word of most documents, and is not a part of a longer one that is always there.
func TestPhrases(t *testing.T) {
	var docs []Document
	for i := range 30 {
		text := fmt.Sprintf("Word%d is here with them.", i)
		if i%5 == 0 {
			text += " The new york times, paper with ink. We like paper boats with them."
		}
		docs = append(docs, Document{Texts: []string{text}})
	}
	x := built(docs...)
	var got []string
	for _, e := range x.entries {
		got = append(got, e.Text)
	}
	slices.Sort(got)
	if want := []string{"like paper boats", "new york times", "paper with ink"}; !slices.Equal(got, want) {
		t.Errorf("phrases %q, want %q", got, want)
	}
}

// TestCompleteTwin compares what is found with a comparison of every title by the definition.
func TestCompleteTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abcé")
	word := func() string {
		w := make([]rune, 1+r.IntN(10))
		for i := range w {
			w[i] = letters[r.IntN(len(letters))]
		}
		return string(w)
	}
	var docs []Document
	for range 300 {
		docs = append(docs, Document{Title: strings.Join([]string{word(), word(), word()}[:1+r.IntN(3)], " ")})
	}
	x := built(docs...)
	matches := func(typed, title []string, edited bool) bool {
		for i, w := range typed {
			last := i == len(typed)-1
			if !slices.ContainsFunc(title, func(v string) bool {
				k := 0
				if from, to := x.span(w, last); edited && from == to {
					k = mayHave(len(w))
				}
				if k == 0 {
					return v == w || last && strings.HasPrefix(v, w)
				}
				if v[0] != w[0] {
					return false
				}
				for n := range len(v) + 1 {
					if (n == len(v) || last) && edits.Between(w, v[:n]) <= k {
						return true
					}
				}
				return false
			}) {
				return false
			}
		}
		return true
	}
	for range 200 {
		typed := word()
		if r.IntN(2) == 0 {
			typed += " " + word()
		}
		own := Words(typed)
		var got, want []string
		for _, tier := range [][]string{texts(t, x, typed, 1000)} {
			got = append(got, tier...)
		}
		for _, e := range x.entries {
			if e.key != strings.Join(own, " ") && (matches(own, Words(e.Text), false) || matches(own, Words(e.Text), true)) {
				want = append(want, e.Text)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q\nwant %q", typed, got, want)
		}
	}
}

// TestCache: a change makes an index anew in the background, not more often than rest allows, while
// the old one answers; an error of the first is answered.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache()
		defer c.Close()
		var builds atomic.Int32
		r := Reader{Read: func(_ context.Context, add func(Document)) error {
			n := builds.Add(1)
			time.Sleep(time.Second)
			add(Document{Title: fmt.Sprint("Title ", n)})
			return nil
		}}
		index := func(version uint64) *Index {
			r.Version = version
			x, err := c.Index(t.Context(), "docs", r)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		if x := index(1); x != nil || builds.Load() != 1 {
			t.Fatalf("while it is built: %v after %d", x, builds.Load())
		}
		time.Sleep(2 * time.Second)
		if x := index(1); x.Len() != 1 || builds.Load() != 1 {
			t.Fatalf("%v after %d builds", x, builds.Load())
		}
		for range 10 { // changes
			index(2)
			synctest.Wait()
		}
		if builds.Load() != 1 {
			t.Errorf("%d builds at once after another", builds.Load())
		}
		time.Sleep(restFactor * time.Second)
		old := index(2)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		if x := index(2); builds.Load() != 2 || old == nil || x.entries[0].Text != "Title 2" {
			t.Errorf("%d builds, then %q, after %v", builds.Load(), x.entries[0].Text, old)
		}
		if x, err := c.Index(t.Context(), "other", Reader{Read: func(context.Context, func(Document)) error { return context.DeadlineExceeded }}); x != nil || err != context.DeadlineExceeded {
			t.Errorf("an error: %v, %v", x, err)
		}
		for i := range 2 * maxIndexes {
			c.Index(t.Context(), fmt.Sprint(i), r)
		}
		if n := len(c.mu.indexes); n != maxIndexes {
			t.Errorf("%d indexes are kept, want %d", n, maxIndexes)
		}
	})
}

// BenchmarkComplete completes texts of all lengths among 100,000 titles and reports the 99th
// percentile.
func BenchmarkComplete(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 30_000)
	for i := range words {
		w := make([]byte, 3+r.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwygpbvk"[min(r.IntN(22), r.IntN(22))]
		}
		words[i] = string(w)
	}
	build := newBuilder(func(w string) bool { return w == "the" || w == "with" || w == "and" })
	pick := func() string { return words[min(r.IntN(len(words)), r.IntN(len(words)), r.IntN(len(words)))] }
	for i := range 100_000 {
		build.add(Document{Source: Source{fmt.Sprint(i), 1}, Title: strings.Join([]string{pick(), pick(), pick(), pick()}[:2+r.IntN(3)], " ")})
	}
	x := build.index()
	var took []time.Duration
	for b.Loop() {
		title := x.entries[r.IntN(x.Len())].Text
		typed := []byte(title[:1+r.IntN(len(title))])
		if r.IntN(2) == 0 && len(typed) > 3 { // a typo
			typed[1+r.IntN(len(typed)-1)] = 'e'
		}
		began := time.Now()
		if _, err := x.Complete(b.Context(), string(typed), 8, all); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
}
