package shards

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"searchd/search/backend"
)

// A document is looked for where Place says: these may never change.
func TestPlaceGolden(t *testing.T) {
	for _, tt := range []struct {
		id   string
		want [4]int // of 2, 3, 16 and 256 shards
	}{
		{"", [4]int{0, 2, 6, 38}}, {"a", [4]int{1, 2, 11, 91}}, {"b", [4]int{0, 1, 0, 208}}, {"doc-1", [4]int{0, 2, 14, 94}},
		{"doc-2", [4]int{1, 0, 5, 21}}, {"https://example.org/a?b=c", [4]int{0, 1, 8, 104}}, {"Ü\x00日本", [4]int{0, 0, 12, 140}}, {"\xff", [4]int{1, 1, 7, 215}},
	} {
		if got := [4]int{Place(tt.id, 2), Place(tt.id, 3), Place(tt.id, 16), Place(tt.id, 256)}; got != tt.want {
			t.Errorf("Place(%q) of 2, 3, 16, 256 = %#v, want %v", tt.id, got, tt.want)
		}
	}
}

func TestPlaceSpreads(t *testing.T) {
	const n = 30_000
	for _, format := range []string{"%d", "doc-%06d", "%x", "https://example.org/pages/%d.html", "00000000-0000-4000-8000-%012d"} {
		for _, shards := range []int{2, 3, 7, 16} {
			counts := make([]int, shards)
			for i := range n {
				counts[Place(fmt.Sprintf(format, i), shards)]++
			}
			want := float64(n) / float64(shards)
			for i, c := range counts {
				if math.Abs(float64(c)-want) > 5*math.Sqrt(want) {
					t.Errorf("%s: shard %d of %d has %d of %d documents", format, i, shards, c, n)
				}
			}
		}
	}
}

func TestRefs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom([]int{0, 1, 2, backend.MaxShards - 1})
		p, q := &part{index: place.Draw(t, "p")}, &part{index: place.Draw(t, "q")}
		own := rapid.SampledFrom([]backend.Ref{0, 1, 2, 1<<56 - 1, backend.Ref(rapid.Uint64Range(0, 1<<56-1).Draw(t, "own"))}) // equal ones often
		a, b := own.Draw(t, "a"), own.Draw(t, "b")
		if shard, back := placeRef(p.ref(a)); shard != p.index || back != a {
			t.Fatalf("placeRef(ref(%d)) = %d, %d", a, shard, back)
		}
		if a < b && p.ref(a) >= q.ref(b) {
			t.Fatalf("%d is before %d, and its ref is not", a, b)
		}
		if (p.ref(a) >= q.ref(b)) != (a >= p.from(q.ref(b))) {
			t.Fatalf("from(%d) is %d, and %d is on the other side of it", q.ref(b), p.from(q.ref(b)), a)
		}
	})
}

func TestPassageNames(t *testing.T) {
	seen := map[uint64]bool{}
	for index := range 3 {
		p := &part{index: index}
		if p.passageName(0) != 0 {
			t.Error("a passage that is gone has a name")
		}
		for _, own := range []uint64{1, 2, 1<<32 | 1, 1<<56 - 1, 1 << 56, math.MaxUint64} {
			name := p.passageName(own)
			if name == 0 || seen[name] {
				t.Errorf("shard %d, passage %d: the name %d is another's, or none", index, own, name)
			}
			seen[name] = true
		}
	}
}

func TestShares(t *testing.T) {
	for _, tt := range []struct {
		n    int
		have []int
		want []int
	}{
		{10, []int{5, 3, 2}, []int{5, 3, 2}}, {100, []int{5, 3, 2}, []int{5, 3, 2}}, {5, []int{10, 0, 10}, []int{3, 0, 2}}, {0, []int{1, 2}, []int{0, 0}}, {-1, []int{1, 2}, []int{0, 0}}, {3, []int{0, 0}, []int{0, 0}},
		{4, []int{1, 1, 1_000_000}, []int{0, 0, 4}},
	} {
		if got := shares(tt.n, tt.have); !slices.Equal(got, tt.want) {
			t.Errorf("shares(%d, %v) = %v, want %v", tt.n, tt.have, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n, have := rapid.IntRange(0, 10_000).Draw(t, "n"), rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 8).Draw(t, "have")
		total, sum := 0, 0
		for _, h := range have {
			total += h
		}
		for i, s := range shares(n, have) {
			if sum += s; s > have[i] || math.Abs(float64(s)*float64(total)-float64(min(n, total))*float64(have[i])) > float64(total) {
				t.Fatalf("a share of %d of %d where there are %d of %d", s, n, have[i], total)
			}
		}
		if sum != min(n, total) {
			t.Fatalf("shares of %d together, want %d", sum, min(n, total))
		}
	})
}
