package keyword

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/index/filter"
)

// TestManyValueFields filters by fields of which there are more than a segment of bleve takes, and
// by one that all documents have.
func TestManyValueFields(t *testing.T) {
	const docs, own = batchEntries, 66 // 66,000 names in one batch
	x := openTemp(t, Options{})
	entries := make([]Entry, docs)
	for no := range entries {
		values := map[string]any{"all": no % 2}
		for k := range own {
			values[fmt.Sprintf("key %d", no*own+k)] = true
		}
		entries[no] = Entry{No: uint32(no), Values: values}
	}
	apply(t, x, 1, entries...)
	ctx := context.Background()
	for _, k := range []int{0, 1, 463, 464, 465, 30_000, docs*own - 1} {
		field := fmt.Sprintf("key %d", k)
		got, err := x.Filter(ctx, filter.Compare{Field: field, Op: filter.Equal, Value: filter.Value{Kind: filter.Bool, Num: 1}})
		if err != nil || !slices.Equal(got.ToArray(), []uint32{uint32(k / own)}) {
			t.Errorf("%s: documents %v, %v, want %d", field, got, err, k/own)
		}
	}
	got, err := x.Filter(ctx, filter.Exists{Field: "all"})
	if err != nil || got.GetCardinality() != docs {
		t.Errorf("all: %d documents, %v, want %d", got.GetCardinality(), err, docs)
	}
}

// TestValueFieldNames keeps fields apart whose names are long, or begin alike, or look like what is
// put in front of terms.
func TestValueFieldNames(t *testing.T) {
	long := strings.Repeat("long", 100)
	sum := string(valueKey(long)[1:])
	names := []string{"", "n", "nn", "\x00", "\x01n", "n\x01n", "e", "ne", long[:maxValueName], long[:maxValueName+1], long, long + "er", sum}
	x := openTemp(t, Options{})
	entries := make([]Entry, len(names))
	for no, name := range names {
		entries[no] = Entry{No: uint32(no), Values: map[string]any{name: []any{name, float64(no), true}}}
	}
	apply(t, x, 1, entries...)
	ctx := context.Background()
	for no, name := range names {
		for _, e := range []filter.Expr{
			filter.Exists{Field: name},
			filter.Compare{Field: name, Op: filter.Less, Value: filter.Value{Kind: filter.Number, Num: 100}},
			filter.Compare{Field: name, Op: filter.GreaterOrEqual, Value: filter.Value{Kind: filter.String}},
		} {
			if got, err := x.Filter(ctx, e); err != nil || !slices.Equal(got.ToArray(), []uint32{uint32(no)}) {
				t.Errorf("%q: %v finds %v, %v, want %d", name, e, got, err, no)
			}
		}
		got, err := x.Facets(ctx, []Facet{{Field: name, Limit: 5}}, nil)
		if err != nil || got[0].Distinct != 3 || got[0].Missing != len(names)-1 {
			t.Errorf("%q: facet %+v, %v, want 3 values of 1 document", name, got, err)
		}
	}
}
