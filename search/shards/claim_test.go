package shards_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"searchd/search/backend"
	"searchd/search/shards"
)

// folder is a shard that holds nothing but what it is.
type folder struct {
	backend.Shard
	id    backend.Identity
	steps *int // that may still be made; the opening ends at the next
	was   []backend.Identity
	knows int // of how many complete openings its claims can tell
}

func (f *folder) Identity(context.Context) (backend.Identity, error) { return f.id, nil }

func (f *folder) Claim(_ context.Context, id backend.Identity) error {
	if *f.steps--; *f.steps < 0 {
		return errFault
	}
	if f.id.Cluster != "" && f.id.Epoch >= id.Epoch {
		return backend.ErrClaimed
	}
	f.id, f.was = id, append(f.was, id)
	return nil
}

func (f *folder) Collections(context.Context) ([]backend.Collection, error) { return nil, nil }
func (f *folder) Values(string) (map[string][]byte, error)                  { return nil, nil }

// TestOldShards opens clusters, ends openings anywhere, puts standbys and backups in the place of shards, and gives back what was there before. Whatever is in
// its place is always taken. What was there before is refused from when all shards were claimed without it on, by name.
func TestOldShards(t *testing.T) {
	rapid.Check(t, oldShards)
}

func oldShards(t *rapid.T) {
	n := rapid.IntRange(1, 4).Draw(t, "shards")
	steps := 0
	now := make([]*folder, n)
	for i := range now {
		now[i] = &folder{steps: &steps}
	}
	open := func(parts []*folder, left int) error {
		time.Sleep(4 * time.Millisecond) // so that epochs, which are times, differ
		steps = left
		list := make([]backend.Shard, len(parts))
		for i, p := range parts {
			list[i] = p
		}
		_, err := shards.Open(t.Context(), list, shards.Options{})
		return err
	}
	if err := open(now, 100); err != nil {
		t.Fatal(err)
	}
	complete := 1 // openings
	knows := func() (most int) {
		for _, f := range now {
			most = max(most, f.knows)
		}
		return most
	}
	for _, f := range now {
		f.knows = complete
	}
	type replaced struct {
		at     int
		folder *folder
		before int // complete openings
	}
	var old []replaced
	// comesBack names what was replaced in the place of what is there, and tells whether it had to be refused.
	comesBack := func(back replaced) bool {
		here := now[back.at]
		now[back.at] = &folder{}
		told := knows()
		if now[back.at] = here; told <= back.before { // nothing was written without it, or all others are copies of before that
			return false
		}
		named := slices.Clone(now)
		named[back.at] = back.folder
		before := fmt.Sprint(back.folder.id)
		err := open(named, 100)
		if !errors.Is(err, backend.ErrPlacement) || !strings.Contains(err.Error(), fmt.Sprintf("shard %d is an older shard %d", back.at+1, back.at+1)) {
			t.Fatalf("%+v instead of %+v: %v, want ErrPlacement", back.folder.id, now[back.at].id, err)
		}
		if after := fmt.Sprint(back.folder.id); after != before {
			t.Fatalf("it was claimed: before %s, after %s", before, after)
		}
		return true
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		switch rapid.IntRange(0, 3).Draw(t, "step") {
		case 0: // an opening ends before it is complete
			left := rapid.IntRange(0, 2*n-1).Draw(t, "left")
			if err := open(now, left); !errors.Is(err, errFault) {
				t.Fatalf("an opening that ends: %v", err)
			}
			most := knows()
			for _, f := range now[:min(left, n)] {
				f.knows = most
			}
		case 1:
			if err := open(now, 100); err != nil {
				t.Fatalf("what is in its place: %v", err)
			}
			complete++
			for _, f := range now {
				f.knows = complete
			}
		case 2: // a copy, of now or of before, takes the place of a shard
			i := rapid.IntRange(0, n-1).Draw(t, "shard")
			id, knows := now[i].id, now[i].knows
			if k := rapid.IntRange(0, 3).Draw(t, "behind"); k > 0 && k < len(now[i].was) {
				id, knows = now[i].was[len(now[i].was)-1-k], 0
			}
			id.Unclaimed = true
			if !now[i].id.Unclaimed {
				old = append(old, replaced{i, now[i], complete})
			}
			now[i] = &folder{id: id, steps: &steps, knows: knows}
		case 3:
			if len(old) > 0 {
				comesBack(old[rapid.IntRange(0, len(old)-1).Draw(t, "old")])
			}
		}
	}
	i := rapid.IntRange(0, n-1).Draw(t, "last")
	last := replaced{i, now[i], complete}
	now[i] = &folder{id: now[i].id, steps: &steps, knows: now[i].knows}
	now[i].id.Unclaimed = true
	if err := open(now, 100); err != nil {
		t.Fatalf("a copy of a shard in its place: %v", err)
	}
	complete++
	for _, f := range now {
		f.knows = complete
	}
	if !last.folder.id.Unclaimed && n > 1 && !comesBack(last) {
		t.Fatal("what a complete opening was without is not refused")
	}
}

// TestStandbyIsNoShard: what follows a shard is refused by name before anything is claimed.
func TestStandbyIsNoShard(t *testing.T) {
	steps := 100
	a, b := &folder{steps: &steps}, &folder{steps: &steps}
	list := []backend.Shard{a, b}
	if _, err := shards.Open(t.Context(), list, shards.Options{}); err != nil {
		t.Fatal(err)
	}
	b.id.Follows = "http://b"
	before := a.id
	_, err := shards.Open(t.Context(), list, shards.Options{Names: []string{"http://a", "http://c"}})
	if !errors.Is(err, backend.ErrReplica) || !strings.Contains(err.Error(), "http://c is a standby of http://b") {
		t.Errorf("Open: %v, want ErrReplica", err)
	}
	if a.id != before {
		t.Errorf("the first was claimed: %+v, before %+v", a.id, before)
	}
	if _, err := shards.Open(t.Context(), list, shards.Options{Reader: true}); !errors.Is(err, backend.ErrReplica) {
		t.Errorf("a reader's Open: %v, want ErrReplica", err)
	}
}

// expecting notes what it is to be.
type expecting struct {
	*folder
	seen backend.Identity
}

func (e *expecting) Expect(id backend.Identity) { e.seen = id }

// TestReaderOfOldShards: a reader takes no older shard, waits until a folder that was put in the place of one is claimed, and has each part keep to what it saw.
func TestReaderOfOldShards(t *testing.T) {
	steps := 100
	a, b := &folder{steps: &steps}, &expecting{folder: &folder{steps: &steps}}
	list := []backend.Shard{a, b}
	open := func(reader bool) error {
		_, err := shards.Open(t.Context(), list, shards.Options{Reader: reader})
		return err
	}
	if err := open(false); err != nil {
		t.Fatal(err)
	}
	old := b.id
	if err := errors.Join(open(false), open(true)); err != nil || b.seen != b.id {
		t.Fatalf("%v; what is expected is %+v, want %+v", err, b.seen, b.id)
	}
	now := b.id
	b.id, b.seen = old, backend.Identity{}
	if err := open(true); !errors.Is(err, backend.ErrPlacement) || b.seen != (backend.Identity{}) {
		t.Errorf("with an older shard: %v, expected %+v", err, b.seen)
	}
	b.id = now
	b.id.Unclaimed = true
	if err := open(true); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("with one that was put in its place: %v", err)
	}
	if err := errors.Join(open(false), open(true)); err != nil {
		t.Errorf("after that was claimed: %v", err)
	}
}

// overtaken answers at first as it was before somebody claimed it.
type overtaken struct {
	*folder
	before []backend.Identity
}

func (o *overtaken) Identity(ctx context.Context) (backend.Identity, error) {
	if len(o.before) > 0 {
		id := o.before[0]
		o.before = o.before[1:]
		return id, nil
	}
	return o.folder.Identity(ctx)
}

// TestClaimedMeanwhile: a shard that was asked before another opening claimed all is not taken for an older one.
func TestClaimedMeanwhile(t *testing.T) {
	steps := 100
	a, b := &folder{steps: &steps}, &folder{steps: &steps}
	for range 2 {
		if _, err := shards.Open(t.Context(), []backend.Shard{a, b}, shards.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	early := b.id
	early.Epoch = a.id.Complete - 1
	late := &overtaken{b, []backend.Identity{early}}
	if _, err := shards.Open(t.Context(), []backend.Shard{a, late}, shards.Options{}); err != nil {
		t.Errorf("Open: %v", err)
	}
	late.before = []backend.Identity{early, early}
	if _, err := shards.Open(t.Context(), []backend.Shard{a, late}, shards.Options{}); !errors.Is(err, backend.ErrPlacement) {
		t.Errorf("Open with one that stays so: %v, want ErrPlacement", err)
	}
}
