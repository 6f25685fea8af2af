package keyword

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/keyword/analysis"
)

func Example() {
	dir, err := os.MkdirTemp("", "keyword")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	x, err := Open(dir, Options{})
	if err != nil {
		panic(err)
	}
	defer x.Close()
	err = x.Apply(ctx, []Entry{
		{No: 1, Text: []Field{{"title", "Flipping pancakes"}}, Values: map[string]any{"year": 2024}},
		{No: 2, Text: []Field{{"title", "A pancake recipe"}}, Values: map[string]any{"year": 1999}},
	}, 1)
	if err != nil {
		panic(err)
	}
	e, err := filter.Parse("year >= 2020")
	if err != nil {
		panic(err)
	}
	recent, err := x.Filter(ctx, e)
	if err != nil {
		panic(err)
	}
	hits, total, err := x.Search(ctx, Query{Text: "pancake"}, 10, recent)
	fmt.Println(total, hits[0].No, err)
	// Output: 1 1 <nil>
}

// TestSearchDuringApply reads while documents move between two states. Every search sees one state
// whole.
func TestSearchDuringApply(t *testing.T) {
	x := openTemp(t, Options{})
	ctx := context.Background()
	const docs = 50
	state := func(word string) []Entry {
		var entries []Entry
		for no := range uint32(docs) {
			entries = append(entries, Entry{No: no, Text: []Field{{"body", word + " always"}}, Values: map[string]any{"word": word}})
		}
		return entries
	}
	apply(t, x, 1, state("red")...)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, all, err1 := x.Search(ctx, Query{Text: "always"}, 10, nil)
				_, red, err2 := x.Search(ctx, Query{Text: "red"}, 10, nil)
				bm, err3 := x.Filter(ctx, filter.Exists{Field: "word"})
				scores, err4 := x.Score(ctx, Query{Text: "always"}, []uint32{0, docs - 1})
				if err := errors.Join(err1, err2, err3, err4); err != nil {
					t.Error(err)
					return
				}
				if all != docs || red != 0 && red != docs || bm.GetCardinality() != docs || scores[0] != scores[1] {
					t.Errorf("always %d, red %d, exists %d, scores %v", all, red, bm.GetCardinality(), scores)
					return
				}
			}
		})
	}
	for i := range 30 {
		apply(t, x, uint64(i+2), state([]string{"blue", "red"}[i%2])...)
	}
	close(done)
	wg.Wait()
	if size, err := x.Size(); err != nil || size == 0 {
		t.Errorf("Size = %d, %v", size, err)
	}
}

func TestCloseDuringSearches(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", "word"}}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				_, total, err := x.Search(context.Background(), Query{Text: "word"}, 1, nil)
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil || total != 1 {
					t.Errorf("Search = %d, %v", total, err)
					return
				}
			}
		})
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestApply(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { x.Close() }()
	ctx := context.Background()
	// More than one batch, the first document's last state counts, whichever batch it is in.
	var entries []Entry
	for i := range uint32(2*batchEntries + 500) {
		entries = append(entries, Entry{No: i % 2000, Text: []Field{{"body", fmt.Sprintf("turn%d", i/2000)}, {"body", "twice"}}})
	}
	entries = append(entries, Entry{No: 7, Delete: true}, Entry{No: 99_999, Delete: true})
	apply(t, x, 10, entries...)
	for text, want := range map[string]int{"turn0": 1500, "turn1": 499, "twice": 1999} {
		if _, total, err := x.Search(ctx, Query{Text: text}, 0, nil); total != want || err != nil {
			t.Errorf("Search(%s) total = %d, %v, want %d", text, total, err, want)
		}
	}
	if err := x.Apply(ctx, nil, 9); err == nil || x.Seq() != 10 {
		t.Errorf("Apply of an older sequence = %v, Seq = %d, want an error and 10", err, x.Seq())
	}
	apply(t, x, 10, Entry{No: 1, Delete: true}) // again, as after an error
	apply(t, x, 12)                             // nothing to index, but further
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if n, err := x.Count(); x.Seq() != 12 || n != 1998 || err != nil {
		t.Errorf("after reopening: Seq = %d, Count = %d, %v, want 12, 1998", x.Seq(), n, err)
	}
}

func TestBatchLen(t *testing.T) {
	text := func(n int) Entry { return Entry{Text: []Field{{"body", strings.Repeat("x", n)}}} }
	tests := []struct {
		name    string
		entries []Entry
		want    int
	}{
		{"none", nil, 0},
		{"all", make([]Entry, 10), 10},
		{"too many", make([]Entry, batchEntries+1), batchEntries},
		{"too large together", []Entry{text(batchBytes / 2), text(batchBytes / 4), text(batchBytes / 2)}, 2},
		{"too large alone", []Entry{text(2 * batchBytes), text(1)}, 1},
		{"values count", []Entry{text(1), {Values: map[string]any{"a": strings.Repeat("x", batchBytes)}}}, 1},
		{"values of a list count", []Entry{text(1), {Values: map[string]any{"a": []any{1, strings.Repeat("x", batchBytes)}}}}, 1},
	}
	for _, tt := range tests {
		if got := batchLen(tt.entries); got != tt.want {
			t.Errorf("%s: batchLen = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// endsAfter is a context that ends after it has been asked n times.
type endsAfter struct {
	context.Context
	n atomic.Int64
}

func (c *endsAfter) Err() error {
	if c.n.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestApplyStopsBetweenBatches: what an Apply that was cut short leaves opens at the Seq before it.
func TestApplyStopsBetweenBatches(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, x, 5, Entry{No: 99_999, Text: []Field{{"body", "first"}}})
	var entries []Entry
	for no := range uint32(3 * batchEntries) {
		entries = append(entries, Entry{No: no, Text: []Field{{"body", "more"}}})
	}
	ctx := &endsAfter{Context: context.Background()}
	ctx.n.Store(2 * batchEntries)
	if err := x.Apply(ctx, entries, 6); !errors.Is(err, context.Canceled) || x.Seq() != 5 {
		t.Fatalf("Apply = %v, Seq = %d, want context.Canceled and 5", err, x.Seq())
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n, err := x.Count(); x.Seq() != 5 || n < batchEntries || n > 2*batchEntries+1 || err != nil {
		t.Errorf("after reopening: Seq = %d, Count = %d, %v, want 5 and some of the entries", x.Seq(), n, err)
	}
	apply(t, x, 6, entries...)
	if n, err := x.Count(); n != 3*batchEntries+1 || err != nil {
		t.Errorf("Count = %d, %v, want %d", n, err, 3*batchEntries+1)
	}
}

// TestLargeText indexes a text that is analysed in many pieces and takes a batch of its own.
func TestLargeText(t *testing.T) {
	x := openTemp(t, Options{})
	var b strings.Builder
	for i := 0; b.Len() < batchBytes/4; i++ {
		fmt.Fprintf(&b, "word%d ", i%5000)
	}
	long := strings.Repeat("q", 3*(1<<16))
	apply(t, x, 1,
		Entry{No: 1, Text: []Field{{"body", b.String()}}},
		Entry{No: 2, Text: []Field{{"body", long + " end"}}},
		Entry{No: 3, Text: []Field{{"body", strings.Repeat("ü", (1<<16)) + " end"}}})
	if _, total, err := x.Search(context.Background(), Query{Text: "word4999"}, 1, nil); total != 1 || err != nil {
		t.Errorf("Search = %d, %v, want 1", total, err)
	}
	if _, total, err := x.Search(context.Background(), Query{Text: "end"}, 1, nil); total != 2 || err != nil {
		t.Errorf("Search(end) = %d, %v, want 2", total, err)
	}
	if _, total, err := x.Search(context.Background(), Query{Text: strings.Repeat("q", analysis.MaxTerm)}, 1, nil); total != 1 || err != nil {
		t.Errorf("Search of a cut term = %d, %v, want 1", total, err)
	}
	for _, tok := range x.Analyze(long) {
		if len(tok.Term) > analysis.MaxTerm {
			t.Errorf("term of %d bytes, want at most %d", len(tok.Term), analysis.MaxTerm)
		}
	}
}

func TestQueryLimits(t *testing.T) {
	x := openTemp(t, Options{})
	ctx := context.Background()
	var common, rare strings.Builder
	for i := range 100 {
		fmt.Fprintf(&common, "common%d ", i)
	}
	for i := range 60 {
		fmt.Fprintf(&rare, "rare%d ", i)
	}
	apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", common.String() + rare.String()}}}, Entry{No: 2, Text: []Field{{"body", common.String()}}})
	terms, err := x.Explain(ctx, Query{Text: common.String() + rare.String()}, []uint32{1})
	if err != nil || len(terms[0]) != MaxTerms {
		t.Fatalf("Explain has %d terms, %v, want %d", len(terms[0]), err, MaxTerms)
	}
	for i, s := range terms[0][4:] {
		if s.Term != fmt.Sprintf("rare%d", i) {
			t.Errorf("term %d is %s: the rarest should be kept, in order", i+4, s.Term)
		}
	}
	huge := strings.Repeat("x1 y2 ", 1<<20)
	if _, total, err := x.Search(ctx, Query{Text: huge}, 1, nil); total != 0 || err != nil {
		t.Errorf("Search of a huge query = %d, %v", total, err)
	}
	tests := []struct {
		name string
		q    Query
		k    int
		want string
	}{
		{"negative k", Query{Text: "a"}, -1, "k is -1"},
		{"large k", Query{Text: "a"}, MaxHits + 1, "k is 100001"},
		{"negative weight", Query{Text: "a", Fields: []FieldWeight{{"body", -2}}}, 1, `weight of field "body" is -2`},
		{"weight NaN", Query{Text: "a", Fields: []FieldWeight{{"body", math.NaN()}}}, 1, "is NaN"},
		{"field twice", Query{Text: "a", Fields: []FieldWeight{{"body", 1}, {"body", 2}}}, 1, `"body" is named twice`},
		{"many fields", Query{Text: "a", Fields: make([]FieldWeight, maxFields+1)}, 1, "65 fields"},
		{"operator", Query{Text: "a", Operator: 9}, 1, "operator is 9"},
	}
	for _, tt := range tests {
		if _, _, err := x.Search(ctx, tt.q, tt.k, nil); !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Search = %v, want ErrQuery with %q", tt.name, err, tt.want)
		}
	}
	for _, text := range []string{"", "  ", "*", "/.*/", "?", "~ + \\ ^", "\xff\xfe", "\x00", "the"} {
		if hits, total, err := x.Search(ctx, Query{Text: text}, 5, nil); total != 0 || len(hits) != 0 || err != nil {
			t.Errorf("Search(%q) = %v, %d, %v, want nothing", text, hits, total, err)
		}
	}
	if _, total, err := x.Search(ctx, Query{Text: "common1 missing", Operator: And}, 5, roaring.New()); total != 0 || err != nil {
		t.Errorf("And with a missing term = %d, %v, want 0", total, err)
	}
	if hits, total, err := x.Search(ctx, Query{Text: "common1", Fields: []FieldWeight{{"nofield", 1}}}, 5, nil); total != 0 || len(hits) != 0 || err != nil {
		t.Errorf("Search of a missing field = %v, %d, %v, want nothing", hits, total, err)
	}
}

func TestOptionsZeroValue(t *testing.T) {
	got, err := Options{}.withDefaults()
	got.Caches = nil
	if want := (Options{Language: "en", BM25: BM25{1.2, 0.75}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("withDefaults = %+v, %v, want %+v", got, err, want)
	}
	if got, err := (Options{BM25: BM25{B: NoLength}}).withDefaults(); err != nil || got.BM25.B != 0 {
		t.Errorf("B of NoLength is %v, %v, want 0", got.BM25.B, err)
	}
}

// TestWritingWaitsForMerging: where there are as many files as may be, what is written waits for
// the merging, and comes to its end.
func TestWritingWaitsForMerging(t *testing.T) {
	defer func(most int) { maxFiles = most }(maxFiles)
	maxFiles = 2
	x := openTemp(t, Options{Language: "en"})
	for i := range uint32(200) {
		apply(t, x, uint64(i+1), Entry{No: i, Text: []Field{{Name: "text", Text: "one of many"}}})
	}
	if err := x.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := x.Count(); err != nil || n != 200 {
		t.Errorf("%d documents, %v", n, err)
	}
	if waited, ok := x.scorch.StatsMap()["TotPersisterSlowMergerPause"].(uint64); !ok || waited == 0 {
		t.Error("nothing waited")
	}
}
