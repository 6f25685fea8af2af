package shards_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"searchd/search/backend"
	"searchd/search/shards"
)

// identities returns what each shard is.
func (d *data) identities(t *testing.T) (out []backend.Identity) {
	t.Helper()
	for _, p := range d.parts {
		id, err := p.Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	return out
}

// A first claim that ends at any step is gone on with, also when that ends at any step; and so is any later one.
func TestClaimInterrupted(t *testing.T) {
	for _, later := range []bool{false, true} {
		for at := range 36 {
			d := newData(t, 3)
			if later {
				d.mustOpen(t)
			}
			for _, n := range []int{at / 6, at % 6} { // calls that succeed
				from := len(d.plan.calls)
				d.plan.fail = func(_ string, n2 int) bool { return n2 >= from+n }
				_, err := d.open(t)
				if made := len(d.plan.calls) - from; (err == nil) != (made <= n) || err != nil && !errors.Is(err, errFault) {
					t.Fatalf("%d of %d claims: %v", n, made, err)
				}
			}
			d.plan.fail = nil
			d.mustOpen(t)
			ids := d.identities(t)
			for i, id := range ids {
				want := ids[0]
				if want.Index = i; id != want || id.Epoch < 2 || id.Of != 3 || id.Cluster == "" {
					t.Errorf("claim %d: shard %d is %+v, the first %+v", at, i, id, ids[0])
				}
			}
			epoch := ids[0].Epoch
			d.mustOpen(t)
			if id := d.identities(t)[2]; id.Epoch <= epoch {
				t.Errorf("after another opening: %+v, before it had epoch %d", id, epoch)
			}
		}
	}
}

func TestPlacement(t *testing.T) {
	d := newData(t, 3)
	d.mustOpen(t)
	other, spare := newData(t, 3), newData(t, 3)
	other.mustOpen(t)
	used := newData(t, 2)
	if err := used.parts[1].Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	cluster, foreign := d.identities(t)[0].Cluster, other.identities(t)[0].Cluster
	p, q := d.parts, other.parts
	for _, tt := range []struct {
		name  string
		parts []backend.Shard
		want  []string
	}{
		{"wrong order", []backend.Shard{p[1], p[0], p[2]}, []string{"one is shard 2; two is shard 1; three is shard 3; the right order is two, one, three"}},
		{"too few", p[:2], []string{"of cluster " + cluster + ", which has 3 shards, 2 were given: one is shard 1; two is shard 2"}},
		{"twice", []backend.Shard{p[0], p[1], p[1]}, []string{"three is shard 2"}},
		{"another cluster's", []backend.Shard{p[0], p[1], q[2]}, []string{"is shard 3 of 3 of cluster "}},
		{"an empty one in the place of one", []backend.Shard{p[0], p[1], spare.parts[2]}, []string{"three is new, shard 3 is wanted"}},
		{"one too many", []backend.Shard{p[0], p[1], p[2], spare.parts[2]}, []string{"which has 3 shards, 4 were given", "four is new"}},
		{"with collections of its own", used.parts, []string{"two is of no cluster and has 1 collections already, such as \"docs\""}},
		{"none", nil, []string{"0 shards, allowed are 1 to 256"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := fmt.Sprint(d.identities(t), other.identities(t), spare.identities(t), used.identities(t))
			_, err := shards.Open(t.Context(), tt.parts, shards.Options{Names: []string{"one", "two", "three", "four"}[:len(tt.parts)]})
			if !errors.Is(err, backend.ErrPlacement) {
				t.Fatalf("Open: %v", err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error is %q, want %q in it", err, w)
				}
			}
			if after := fmt.Sprint(d.identities(t), other.identities(t), spare.identities(t), used.identities(t)); after != before {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
	if cluster == foreign {
		t.Error("two clusters have the same name")
	}
	if _, err := shards.Open(t.Context(), p, shards.Options{Names: []string{"one"}}); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("Open with one name for three shards: %v", err)
	}
	d.mustOpen(t)
}

// A data folder becomes a cluster of one with what it holds.
func TestClusterOfOne(t *testing.T) {
	d := newData(t, 1)
	if err := d.parts[0].Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	apply(t, d.parts[0], number("a", 1), number("b", 2), number("c", 3), number("d", 4))
	b := d.mustOpen(t)
	if n := len(contents(t, b, "docs")); n != 4 {
		t.Errorf("%d documents, want 4", n)
	}
	if !clean(t, &data{parts: []backend.Shard{d.parts[0], d.parts[0], d.parts[0]}}, b, "docs") {
		t.Error("not there")
	}
	own, whole := must(d.parts[0].Collection(t.Context(), "docs")), must(b.Collection(t.Context(), "docs"))
	if fmt.Sprint(own) != fmt.Sprint(whole) {
		t.Errorf("the only shard says %+v, all %+v", own, whole)
	}
}

// Of the change log each change is read once, whatever the limit.
func TestChanged(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	begin, err := b.Position(t.Context(), "docs")
	if err != nil || len(begin) != 3 {
		t.Fatal(begin, err)
	}
	release, err := b.Hold(t.Context(), "docs", begin)
	if err != nil {
		t.Fatal(err)
	}
	want := ids(4, 3)
	for i, id := range want {
		apply(t, b, number(id, i))
	}
	end := must(b.Position(t.Context(), "docs"))
	if n := begin.Until(end); n != 12 {
		t.Errorf("%d changes, want 12", n)
	}
	for limit := 1; limit < 14; limit++ {
		var got []string
		for at := begin; ; {
			ids, next, err := b.Changed(t.Context(), "docs", at, limit)
			if err != nil || len(ids) > limit {
				t.Fatal(ids, err)
			}
			if len(ids) == 0 {
				if !slices.Equal(next, at) || !slices.Equal(next, end) {
					t.Errorf("at %v the next is %v, the end %v", at, next, end)
				}
				break
			}
			got, at = append(got, ids...), next
		}
		slices.Sort(got)
		if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(got, sorted) {
			t.Errorf("limit %d: changed are %v, want %v", limit, got, sorted)
		}
	}
	release()
	for _, at := range []backend.Position{nil, {1}, {1, 2, 3, 4}} {
		if _, _, err := b.Changed(t.Context(), "docs", at, 1); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("Changed after %v: %v", at, err)
		}
		if _, err := b.Hold(t.Context(), "docs", at); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("Hold after %v: %v", at, err)
		}
	}
}

// TestMove: shards that have moved are claimed by nobody who does not say so, also where that was interrupted at any of them, until it is taken back.
func TestMove(t *testing.T) {
	for broken := range 4 { // the part at which moving ends; 3: none
		d := newData(t, 3)
		first := d.mustOpen(t)
		list := slices.Clone(d.parts)
		steps := 1 << 10
		if broken < 3 {
			list[broken] = &counted{Shard: list[broken], left: &steps}
		}
		last, err := shards.Open(t.Context(), list, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		steps = 0
		if err := first.Move(t.Context(), "there"); !errors.Is(err, backend.ErrClaimed) {
			t.Errorf("by who has not claimed them: %v, want ErrClaimed", err)
		}
		if err := last.Move(t.Context(), "there"); (err == nil) != (broken == 3) {
			t.Errorf("broken at %d: %v", broken, err)
		}
		_, err = shards.Open(t.Context(), d.parts, shards.Options{})
		if broken == 0 { // nothing has happened
			if err != nil {
				t.Errorf("not moved: %v", err)
			}
			continue
		}
		if !errors.Is(err, backend.ErrMoved) || !strings.Contains(err.Error(), "there") {
			t.Errorf("broken at %d: opened with %v, want ErrMoved and where to", broken, err)
		}
		if state := last.States(t.Context(), false)[0]; broken == 3 && !errors.Is(state.Err, backend.ErrMoved) {
			t.Errorf("states: %v, want ErrMoved", state.Err)
		}
		if _, err := shards.Open(t.Context(), d.parts, shards.Options{Reader: true}); err != nil {
			t.Errorf("a reader: %v", err)
		}
		again, err := shards.Open(t.Context(), d.parts, shards.Options{Moved: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range d.parts {
			if id, err := p.Identity(t.Context()); err != nil || id.Moved != "there" {
				t.Errorf("shard %d, claimed by who moves them: %+v, %v", i, id, err)
			}
		}
		if err := again.Move(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		d.mustOpen(t)
	}
}

// counted is a shard whose claims fail when none is left.
type counted struct {
	backend.Shard
	left *int
}

func (c *counted) Claim(ctx context.Context, id backend.Identity) error {
	if *c.left--; *c.left < 0 {
		return errFault
	}
	return c.Shard.Claim(ctx, id)
}
