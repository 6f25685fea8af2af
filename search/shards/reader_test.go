package shards_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/search/shards"
)

// slow is a shard that takes its time to answer what collections it has, so that others change between what several of them say.
type slow struct{ backend.Shard }

func (s slow) Collection(ctx context.Context, name string) (backend.Collection, error) {
	wait := time.Duration(time.Now().UnixNano()%3) * time.Millisecond
	time.Sleep(wait)
	defer time.Sleep(2*time.Millisecond - wait)
	return s.Shard.Collection(ctx, name)
}

func (s slow) Collections(ctx context.Context) ([]backend.Collection, error) {
	wait := time.Duration(time.Now().UnixNano()%3) * time.Millisecond
	time.Sleep(wait)
	defer time.Sleep(2*time.Millisecond - wait)
	return s.Shard.Collections(ctx)
}

// reader opens the shards to read them.
func (d *data) reader(t *testing.T) *shards.Backend {
	t.Helper()
	list := make([]backend.Shard, len(d.parts))
	for i, p := range d.parts {
		list[i] = slow{p}
	}
	return must(shards.Open(t.Context(), list, shards.Options{Reader: true}))
}

// A reader takes the shards as they are: it waits for who claims them, and refuses what are not all of them in their order.
func TestReaderOpens(t *testing.T) {
	d := newData(t, 3)
	open := func(list []backend.Shard) error {
		_, err := shards.Open(t.Context(), list, shards.Options{Reader: true})
		return err
	}
	if err := open(d.parts); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "no server has claimed the shards yet") {
		t.Errorf("new shards: %v", err)
	}
	for at := 1; at < 3; at++ { // claims of the first opening
		d.plan.calls = nil
		d.plan.fail = func(_ string, n int) bool { return n >= at }
		if _, err := d.open(t); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		if err := open(d.parts); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("shards that are being claimed: %v", err)
		}
	}
	d.plan.fail = nil
	d.mustOpen(t)
	if err := open(d.parts); err != nil {
		t.Error(err)
	}
	for name, list := range map[string][]backend.Shard{"in another order": {d.parts[1], d.parts[0], d.parts[2]}, "not all": d.parts[:2], "with a new one": {d.parts[0], d.parts[1], newData(t, 1).parts[0]}} {
		if err := open(list); !errors.Is(err, backend.ErrPlacement) {
			t.Errorf("shards %s: %v", name, err)
		}
	}
}

// following is a standby of a shard.
type following struct{ backend.Shard }

func (f following) Identity(ctx context.Context) (backend.Identity, error) {
	id, err := f.Shard.Identity(ctx)
	id.Follows = "http://a"
	return id, err
}

// A reader that says so takes standbys, each in the place of its shard; others do not.
func TestReaderOfStandbys(t *testing.T) {
	d := newData(t, 3)
	d.mustOpen(t)
	open := func(list []backend.Shard, o shards.Options) error {
		_, err := shards.Open(t.Context(), list, o)
		return err
	}
	list := []backend.Shard{d.parts[0], following{d.parts[1]}, following{d.parts[2]}}
	if err := open(list, shards.Options{Reader: true, Standbys: true}); err != nil {
		t.Error(err)
	}
	for name, o := range map[string]shards.Options{"a reader": {Reader: true}, "who writes": {Standbys: true}} {
		if err := open(list, o); !errors.Is(err, backend.ErrReplica) {
			t.Errorf("standbys for %s: %v, want ErrReplica", name, err)
		}
	}
	list[1], list[2] = list[2], list[1]
	if err := open(list, shards.Options{Reader: true, Standbys: true}); !errors.Is(err, backend.ErrPlacement) {
		t.Errorf("standbys in another order: %v, want ErrPlacement", err)
	}
}

// A reader changes nothing, whatever it is asked, and reads on when somebody else claims the shards.
func TestReaderOnlyReads(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	apply(t, b, number("a", 1), number("b", 2))
	if err := d.parts[1].Create(t.Context(), "left", config); err != nil { // what an opening that writes removes
		t.Fatal(err)
	}
	was, claims := d.identities(t), len(d.plan.calls)
	r := d.reader(t)
	if !r.Reader() || b.Reader() {
		t.Error("it is not told who reads")
	}
	_, applied := r.Apply(t.Context(), "docs", []backend.Write{number("c", 3)})
	_, hold := r.Hold(t.Context(), "docs", backend.Position{0, 0, 0})
	for what, err := range map[string]error{
		"Create": r.Create(t.Context(), "more", config), "Update": r.Update(t.Context(), "docs", config), "Drop": r.Drop(t.Context(), "docs"),
		"Apply": applied, "Hold": hold, "SetValues": r.SetValues(t.Context(), map[string][]byte{"a": nil}),
	} {
		if !errors.Is(err, backend.ErrReader) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now := d.identities(t); !reflect.DeepEqual(was, now) || len(d.plan.calls) > claims {
		t.Errorf("the shards were %v and are %v, calls %v", was, now, d.plan.calls[claims:])
	}
	b = d.mustOpen(t)
	apply(t, b, number("c", 3))
	if n := len(contents(t, r, "docs")); n != 3 {
		t.Errorf("%d documents, want 3", n)
	}
	for _, s := range r.States(t.Context(), true) {
		if s.Err != nil {
			t.Errorf("%s: %v", s.Name, s.Err)
		}
	}
}

// What somebody else makes and drops, shard by shard, is there whole or not at all while a reader looks; its version is another one then.
func TestReaderSeesWhole(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	r := d.reader(t)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	look := func(what string, ask func() error) {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := ask(); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	for range 3 {
		look("Collection", func() error {
			_, err := r.Collection(t.Context(), "docs")
			if errors.Is(err, backend.ErrCollectionNotFound) {
				return nil
			}
			return err
		})
	}
	look("Collections", func() error {
		list, err := r.Collections(t.Context())
		if len(list) > 0 && list[0].Damaged != "" {
			return errors.New(list[0].Damaged)
		}
		return err
	})
	versions := map[string]bool{}
	rounds := 60
	for range rounds {
		if err := b.Create(t.Context(), "docs", config); err != nil {
			t.Fatal(err)
		}
		versions[must(r.Version(t.Context()))] = true
		for i, id := range ids(1, 3) {
			apply(t, b, number(id, i))
		}
		if err := b.Drop(t.Context(), "docs"); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wait.Wait()
	if len(versions) != rounds {
		t.Errorf("%d versions of %d changes", len(versions), rounds)
	}
}

// What a reader keeps of a search is not used for one that began after a write of somebody else: both say the same after each write, to the last bit.
func TestReaderCountsWrites(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	r := d.reader(t)
	q := backend.Words{Text: "common rare"}
	for i := range 30 {
		text := "common"
		if i%3 == 0 {
			text = "common rare words"
		}
		apply(t, b, backend.Write{ID: fmt.Sprintf("d%d", i), Fields: []byte(fmt.Sprintf(`{"text":%q}`, text)), Hash: [32]byte{byte(i), 1}})
		if _, err := r.Collection(t.Context(), "docs"); err != nil { // as every search begins
			t.Fatal(err)
		}
		want, got := must(b.Words(t.Context(), "docs", q, 100, nil)), must(r.Words(t.Context(), "docs", q, 100, nil))
		if len(want.Matches) != i+1 || !reflect.DeepEqual(got.Matches, want.Matches) || got.Ceiling != want.Ceiling {
			t.Fatalf("after %d writes a reader finds %v, who writes %v", i+1, got.Matches, want.Matches)
		}
	}

	// Nor is what it keeps of a moment when some shards had other settings than others.
	for i, id := range ids(3, 3) {
		apply(t, b, backend.Write{ID: id, Fields: []byte(`{"text":"scarce"}`), Hash: [32]byte{byte(i), 2}})
	}
	d.plan.fail = func(call string, _ int) bool {
		if call == "Update 0" { // the others have them
			must(r.Collection(t.Context(), "docs"))
			must(r.Words(t.Context(), "docs", q, 100, nil))
		}
		return false
	}
	next := config
	next.Synonyms, next.Payload = []string{"rare, scarce"}, []byte(`{"synonyms":true}`)
	if err := b.Update(t.Context(), "docs", next); err != nil {
		t.Fatal(err)
	}
	must(r.Collection(t.Context(), "docs"))
	want, got := must(b.Words(t.Context(), "docs", q, 100, nil)), must(r.Words(t.Context(), "docs", q, 100, nil))
	if !reflect.DeepEqual(got.Matches, want.Matches) {
		t.Errorf("with synonyms a reader finds %v, who writes %v", got.Matches, want.Matches)
	}
}
