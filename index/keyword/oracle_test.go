package keyword

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/keyword/analysis"
)

func openTemp(t testing.TB, o Options) *Index {
	t.Helper()
	x, err := Open(filepath.Join(t.TempDir(), "index"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func apply(t testing.TB, x *Index, seq uint64, entries ...Entry) {
	t.Helper()
	if err := x.Apply(context.Background(), entries, seq); err != nil {
		t.Fatal(err)
	}
}

// oracle is the slow twin of Search: the formula of the package comment over texts kept in memory.
type oracle struct {
	bm25 BM25
	docs map[uint32]map[string][]string // number -> field -> terms

	// With synonyms: the terms of a query, and how often a text has one.
	terms  func(words []string) []string
	occurs func(words []string, term string) int
}

func (o *oracle) apply(x *Index, entries ...Entry) {
	for _, e := range entries {
		delete(o.docs, e.No)
		if e.Delete {
			continue
		}
		fields := map[string][]string{}
		for _, f := range e.Text {
			for _, tok := range x.Analyze(f.Text) {
				fields[f.Name] = append(fields[f.Name], tok.Term)
			}
		}
		o.docs[e.No] = fields
	}
}

func (o *oracle) search(x *Index, q Query, allow *roaring.Bitmap) []Hit {
	fields := q.Fields
	if fields == nil {
		names := map[string]bool{}
		for _, d := range o.docs {
			for name := range d {
				names[name] = true
			}
		}
		for name := range names {
			fields = append(fields, FieldWeight{name, 1})
		}
	}
	var terms []string
	for _, tok := range x.Analyze(q.Text) {
		terms = append(terms, tok.Term)
	}
	occurs := count
	if o.terms != nil {
		terms, occurs = o.terms(terms), o.occurs
	}
	tf := func(d map[string][]string, term string) (n float64) {
		for _, f := range fields {
			n += f.Weight * float64(occurs(d[f.Name], term))
		}
		return n
	}
	length := func(d map[string][]string) (n float64) {
		for _, f := range fields {
			n += f.Weight * float64(len(d[f.Name]))
		}
		return n
	}
	total := 0.0
	df := map[string]float64{}
	for _, d := range o.docs {
		total += length(d)
		for _, term := range terms {
			if tf(d, term) > 0 {
				df[term] += 1 / float64(count(terms, term)) // once for each document
			}
		}
	}
	n := float64(len(o.docs))
	var hits []Hit
	for no, d := range o.docs {
		score, matched := 0.0, 0
		for _, term := range terms {
			f := tf(d, term)
			if f == 0 {
				continue
			}
			matched++
			idf := math.Log(1 + (n-df[term]+0.5)/(df[term]+0.5))
			score += idf * f * (o.bm25.K1 + 1) / (f + o.bm25.K1*(1-o.bm25.B+o.bm25.B*length(d)/(total/n)))
		}
		if matched == 0 || q.Operator == And && matched < len(terms) || allow != nil && !allow.Contains(no) {
			continue
		}
		hits = append(hits, Hit{no, score})
	}
	slices.SortFunc(hits, compareHits)
	return hits
}

func count(terms []string, term string) (n int) {
	for _, t := range terms {
		if t == term {
			n++
		}
	}
	return n
}

// sameHits compares hits but for rounding, which may swap neighbours of equal score.
func sameHits(got, want []Hit) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, want %d", len(got), len(want))
	}
	scores := map[uint32]float64{}
	for _, h := range want {
		scores[h.No] = h.Score
	}
	for i, h := range got {
		if math.Abs(h.Score-want[i].Score) > 1e-9 {
			return fmt.Errorf("hit %d is %+v, want %+v", i, h, want[i])
		}
		if s, ok := scores[h.No]; ok && math.Abs(h.Score-s) > 1e-9 {
			return fmt.Errorf("document %d has score %v, want %v", h.No, h.Score, s)
		}
	}
	return nil
}

// randomText draws words by Zipf's law, so that some are in nearly every document and some in one.
func randomText(r *rand.Rand, words int) string {
	z := rand.NewZipf(r, 1.3, 1, 400)
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "w%dx ", z.Uint64())
	}
	return b.String()
}

// TestSearchEqualsOracle applies random insertions, updates and deletions in several batches, with
// reopening, and compares ranking, total, Score and Explain with the oracle after each.
func TestSearchEqualsOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	o := Options{BM25: BM25{K1: 1.4, B: 0.6}}
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { x.Close() }()
	twin := &oracle{bm25: o.BM25, docs: map[uint32]map[string][]string{}}
	ctx := context.Background()
	for round := range 8 {
		var entries []Entry
		for range 40 + r.IntN(400) {
			e := Entry{No: r.Uint32N(1500), Delete: r.IntN(4) == 0}
			for _, name := range []string{"title", "body", "note"}[r.IntN(2):] {
				if r.IntN(5) > 0 {
					e.Text = append(e.Text, Field{name, randomText(r, r.IntN(30))})
				}
			}
			entries = append(entries, e)
		}
		apply(t, x, uint64(round+1), entries...)
		twin.apply(x, entries...)
		if n, err := x.Count(); err != nil || n != uint64(len(twin.docs)) {
			t.Fatalf("Count = %d, %v, want %d", n, err, len(twin.docs))
		}
		if round%3 == 2 {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if x, err = Open(dir, o); err != nil {
				t.Fatal(err)
			}
			if x.Seq() != uint64(round+1) {
				t.Fatalf("Seq after reopening = %d, want %d", x.Seq(), round+1)
			}
		}
		for range 15 {
			q := Query{Text: randomText(r, 1+r.IntN(6))}
			switch r.IntN(3) {
			case 0:
				q.Operator = And
			case 1:
				q.Fields = []FieldWeight{{"title", 2.5}, {"body", 1}}
			}
			var allow *roaring.Bitmap
			if r.IntN(2) == 0 {
				allow = roaring.New()
				for range 700 {
					allow.Add(r.Uint32N(1500))
				}
			}
			checkQuery(t, ctx, x, twin, q, 1+r.IntN(50), allow)
		}
	}
}

func checkQuery(t *testing.T, ctx context.Context, x *Index, twin *oracle, q Query, k int, allow *roaring.Bitmap) {
	t.Helper()
	want := twin.search(x, q, allow)
	got, total, err := x.Search(ctx, q, k, allow)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameHits(got, want[:min(k, len(want))]); err != nil || total != len(want) {
		t.Fatalf("Search(%+v, %d) total %d, want %d: %v", q, k, total, len(want), err)
	}
	var nos []uint32
	for _, h := range got {
		nos = append(nos, h.No)
	}
	nos = append(nos, 1_000_000)
	for no := range uint32(100) { // found or not, allowed or not
		nos = append(nos, no*15)
	}
	all := map[uint32]float64{}
	for _, h := range twin.search(x, q, nil) {
		all[h.No] = h.Score
	}
	scores, err := x.Score(ctx, q, nos)
	if err != nil {
		t.Fatal(err)
	}
	together, err := x.Explain(ctx, q, append([]uint32{1 << 31}, nos...))
	if err != nil || together[0] != nil {
		t.Fatalf("Explain(%+v) = %v, %v of a document that is none", q, together[0], err)
	}
	for i, h := range got {
		if scores[i] != h.Score { // to the last bit
			t.Fatalf("Score(%+v, %d) = %v, Search says %v", q, h.No, scores[i], h.Score)
		}
		alone, err := x.Explain(ctx, q, []uint32{h.No})
		if !reflect.DeepEqual(alone[0], together[i+1]) {
			t.Fatalf("Explain(%+v, %d) = %+v, together with others %+v", q, h.No, alone[0], together[i+1])
		}
		sum := 0.0
		for _, s := range alone[0] {
			sum += s.Score
		}
		if err != nil || math.Abs(sum-h.Score) > 1e-9 {
			t.Fatalf("Explain(%+v, %d) adds up to %v, %v, want %v", q, h.No, sum, err, h.Score)
		}
	}
	for i, no := range nos {
		if math.Abs(scores[i]-all[no]) > 1e-9 {
			t.Fatalf("Score(%+v, %d) = %v, want %v", q, no, scores[i], all[no])
		}
	}
}

// TestFieldsEqualJoinedText: title and body with weight 1 score as one field with both texts.
func TestFieldsEqualJoinedText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	two, one := openTemp(t, Options{}), openTemp(t, Options{})
	var a, b []Entry
	for no := range uint32(300) {
		title, body := randomText(r, r.IntN(8)), randomText(r, r.IntN(40))
		a = append(a, Entry{No: no, Text: []Field{{"title", title}, {"body", body}}})
		b = append(b, Entry{No: no, Text: []Field{{"all", title + " " + body}}})
	}
	apply(t, two, 1, a...)
	apply(t, one, 1, b...)
	for range 30 {
		q := Query{Text: randomText(r, 4)}
		got, _, err1 := two.Search(context.Background(), q, 20, nil)
		want, _, err2 := one.Search(context.Background(), q, 20, nil)
		if err1 != nil || err2 != nil || !slices.Equal(got, want) {
			t.Fatalf("Search(%q) mismatch (-one field +two)\n-%v %v\n+%v %v", q.Text, want, err2, got, err1)
		}
	}
}

// TestBatchingChangesNothing: one Apply, many, and one worker's order give the same ranking.
func TestBatchingChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	whole, singly := openTemp(t, Options{}), openTemp(t, Options{})
	var entries []Entry
	for no := range uint32(150) {
		entries = append(entries, Entry{No: no, Text: []Field{{"body", randomText(r, 20)}}})
	}
	apply(t, whole, 1, entries...)
	for i, e := range entries {
		apply(t, singly, uint64(i+1), e)
	}
	for range 20 {
		q := Query{Text: randomText(r, 3)}
		a, n, err1 := whole.Search(context.Background(), q, 200, nil)
		b, m, err2 := singly.Search(context.Background(), q, 200, nil)
		if err1 != nil || err2 != nil || n != m || !slices.Equal(a, b) {
			t.Fatalf("Search(%q) mismatch (-whole +singly)\n-%v %v\n+%v %v", q.Text, a, err1, b, err2)
		}
	}
}

// unopened returns an index that can only analyse texts.
func unopened(t testing.TB, language string) *Index {
	t.Helper()
	a, err := analysis.New(language)
	if err != nil {
		t.Fatal(err)
	}
	return &Index{analyzer: a, caches: NewCaches()}
}

// Analyze returns the tokens of a text.
func (x *Index) Analyze(text string) []Token { return (&Analysis{x.analyzer}).Occurrences(text, nil) }
