package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/store"
)

func TestLeases(t *testing.T) {
	now := time.Now()
	l := &leases{now: func() time.Time { return now }}
	if got := l.upTo(1, 50); got != 50 {
		t.Errorf("without followers up to %d, want 50", got)
	}
	l.keep("a", map[uint32]uint64{1: 40, 2: 9})
	l.keep("b", map[uint32]uint64{1: 30})
	for _, tt := range []struct {
		collection uint32
		want       uint64
	}{{1, 30}, {2, 0}, {3, 0}} {
		if got := l.upTo(tt.collection, 50); got != tt.want {
			t.Errorf("collection %d up to %d, want %d", tt.collection, got, tt.want)
		}
	}
	now = now.Add(leaseTime)
	l.keep("a", map[uint32]uint64{1: 45})
	now = now.Add(time.Minute)
	if got := l.upTo(1, 50); got != 45 || l.count() != 1 {
		t.Errorf("an hour after b up to %d for %d followers, want 45 for 1", got, l.count())
	}
	done := l.copy("a")
	now = now.Add(2 * leaseTime)
	if got := l.upTo(1, 50); got != 0 {
		t.Errorf("while a copy is sent up to %d, want 0", got)
	}
	done()
	now = now.Add(leaseTime + 1)
	if got := l.upTo(1, 50); got != 50 {
		t.Errorf("an hour after the copy up to %d, want 50", got)
	}
	for i := range maxLeases + 5 {
		now = now.Add(time.Second)
		l.keep(fmt.Sprint(i), nil)
	}
	if l.count() != maxLeases || l.mu.byName["0"] != nil || l.mu.byName["68"] == nil {
		t.Errorf("%d leases, want the last %d", l.count(), maxLeases)
	}
	defer l.copy("large")()
	for i := range 2 * maxLeases {
		now = now.Add(time.Second)
		l.keep(fmt.Sprint("more ", i), nil)
	}
	if l.count() != maxLeases || l.mu.byName["large"] == nil {
		t.Errorf("%d leases, want %d, and among them the one of who is sent a copy", l.count(), maxLeases)
	}
	for i := range maxLeases {
		defer l.copy(fmt.Sprint("copy ", i))()
	}
	if l.count() != maxLeases || l.mu.byName["large"] != nil {
		t.Errorf("%d leases, want %d, and not the oldest where each is sent a copy", l.count(), maxLeases)
	}
}

// The log keeps what a follower lacks, and its last changes for all that may come.
func TestLogIsKept(t *testing.T) {
	b, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { b.Close() }()
	if err := b.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	write := func(n int) {
		t.Helper()
		for n > 0 {
			k := min(n, 4000)
			writes := make([]backend.Write, k)
			for i := range writes {
				writes[i] = backend.Write{ID: fmt.Sprintf("d%d", i), Fields: []byte(`{"a":1}`)}
			}
			if _, err := b.Apply(t.Context(), "docs", writes); err != nil {
				t.Fatal(err)
			}
			n -= k
		}
	}
	save := func() {
		t.Helper()
		c, release, err := b.collection(t.Context(), "docs")
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		c.write.Lock()
		defer c.write.Unlock()
		if err := c.saveGraph(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write(keptChanges + 100)
	if _, err := b.News(t.Context(), "b", map[uint32]uint64{1: 40}, 0); err != nil {
		t.Fatal(err)
	}
	save()
	if _, err := b.News(t.Context(), "b", map[uint32]uint64{1: 40}, 0); err != nil {
		t.Errorf("what a follower lacks is gone: %v", err)
	}
	b.leases = leases{}
	save()
	if _, err := b.News(t.Context(), "c", map[uint32]uint64{1: 99}, 0); !errors.Is(err, backend.ErrPlaceLost) {
		t.Errorf("what nobody lacks: %v, want ErrPlaceLost", err)
	}
	if _, err := b.News(t.Context(), "c", map[uint32]uint64{1: 100}, 0); err != nil {
		t.Errorf("the last %d changes: %v", keptChanges, err)
	}
}

// What does not fit the collection is refused before anything is written.
func TestReplayRefuses(t *testing.T) {
	b, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { b.Close() }()
	col := store.Stand{Collection: store.Collection{ID: 4, Name: "docs", Generation: 1, Settings: []byte(`{"dimension":2,"language":"en","payload":{}}`)}}
	if _, err := b.adopt(t.Context(), col); err != nil {
		t.Fatal(err)
	}
	put := func() store.Entry {
		return store.Entry{Collection: 4, Change: store.Change{Seq: 1, No: 1, ID: "a", Op: store.OpPut, NewSlots: []uint32{0}},
			Document: &store.Document{ID: "a", No: 1, Revision: 1, Fields: []byte(`{"text":"a"}`), Passages: []store.Passage{{Field: "text", End: 1}}}, Vectors: [][]float32{{1, 0}}}
	}
	for name, spoil := range map[string]func(e *store.Entry){
		"a vector of another length": func(e *store.Entry) { e.Vectors[0] = []float32{1, 0, 0} },
		"a passage without a vector": func(e *store.Entry) { e.Vectors[0] = nil },
		"no vectors":                 func(e *store.Entry) { e.Vectors = nil },
		"a zero vector":              func(e *store.Entry) { e.Vectors[0] = []float32{0, 0} },
		"a gap":                      func(e *store.Entry) { e.Seq, e.Document.Revision = 2, 2 },
	} {
		e := put()
		spoil(&e)
		if err := b.replay(t.Context(), []store.Entry{e}); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	for name, spoil := range map[string]func(s *store.Stand){
		"another name":     func(s *store.Stand) { s.Name = "other" },
		"settings no JSON": func(s *store.Stand) { s.Settings = []byte("{") },
		"quantize":         func(s *store.Stand) { s.Settings = []byte(`{"dimension":2,"quantize":"int3","payload":{}}`) },
	} {
		s := col
		s.Generation++
		spoil(&s)
		if _, err := b.adopt(t.Context(), s); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := b.settle(t.Context(), map[string][]byte{markerKey: []byte("{}")}, false); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("a marker from outside: %v, want ErrInvalid", err)
	}
	if err := b.replay(t.Context(), []store.Entry{put()}); err != nil {
		t.Fatal(err)
	}
	sound(t, b)
}

// A document whose replacement has not arrived is found as it was, after an opening too.
func TestReplacementToCome(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	col := store.Stand{Collection: store.Collection{ID: 4, Name: "docs", Generation: 1, Settings: []byte(`{"dimension":2,"language":"en","payload":{}}`)}}
	if _, err := b.adopt(t.Context(), col); err != nil {
		t.Fatal(err)
	}
	put := func(seq uint64, slot uint32, whole bool) {
		t.Helper()
		e := store.Entry{Collection: 4, Change: store.Change{Seq: seq, No: 1, ID: "a", Op: store.OpPut, NewSlots: []uint32{slot}}}
		if slot > 0 {
			e.OldSlots = []uint32{slot - 1}
		}
		if whole {
			e.Document = &store.Document{ID: "a", No: 1, Revision: seq, Fields: []byte(`{"text":"a"}`), Passages: []store.Passage{{Slot: slot, Field: "text", End: 1}}}
			e.Vectors = [][]float32{{1, 0}}
		}
		if err := b.replay(t.Context(), []store.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	found := func(when string) {
		t.Helper()
		if m, err := b.Nearest(t.Context(), "docs", []float32{1, 0}, 1, nil); err != nil || len(m) != 1 {
			t.Errorf("%s: Nearest = %v, %v", when, m, err)
		}
		sound(t, b)
	}
	reopen := func() {
		t.Helper()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if b, err = Open(dir, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	put(1, 0, true)
	reopen()
	put(2, 1, false)
	found("before")
	reopen()
	found("after an opening")
	put(3, 2, true)
	found("when it has come")
	reopen()
	found("in the end")
	b.Close()
}

// A collection of which a value is damaged at the primary, whether that knows it or not, is damaged in a copy too. It is followed as far as the damage
// lets it be, and so are the others; a change of what is damaged asks for another copy.
func TestFollowsPastDamage(t *testing.T) {
	a, err := Open(damagedFolder(t, theRecord, true), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var backup bytes.Buffer
	if _, err := a.Copy(t.Context(), "b", &backup); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, _, err := FetchCopy(t.Context(), &backup, dir, backend.Marker{URL: "http://a", Name: "b"}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if err := InstallCopy(dir); err != nil {
		t.Fatal(err)
	}
	b, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := a.Apply(t.Context(), "good", []backend.Write{{ID: "d0", Delete: true}}); err != nil {
		t.Fatal(err)
	}
	follow := func() {
		t.Helper()
		n, err := a.News(t.Context(), "b", b.Stands(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range n.Collections {
			if _, err := b.adopt(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n.Entries {
			if err := b.replay(t.Context(), n.Entries[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		gone, err := b.Gone(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range gone {
			if err := b.Leave(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	bad, err := a.number("bad")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.store.Apply(t.Context(), bad, []store.Write{{ID: "d2", Delete: true}}); err != nil {
		t.Fatal(err)
	}
	follow()
	if at := b.Stands()[bad]; at != 4 {
		t.Errorf("the damaged one stands at %d, want 4", at)
	}
	mend := store.Entry{Collection: bad, Change: store.Change{Seq: 5, No: 2, ID: "d1", Op: store.OpDelete}}
	if err := b.replay(t.Context(), []store.Entry{mend}); !errors.Is(err, backend.ErrDamaged) {
		t.Errorf("a change of what is damaged: %v, want ErrDamaged", err)
	}
	if c, err := b.Collection(t.Context(), "good"); err != nil || c.Documents != 2 {
		t.Errorf("the other: %+v, %v", c, err)
	}
	if list, err := b.Collections(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("Collections = %+v, %v: want the damaged one, too", list, err)
	}
	if err := a.Drop(t.Context(), "bad"); err != nil {
		t.Fatal(err)
	}
	follow()
	if list, err := b.Collections(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("Collections = %+v, %v after the primary has dropped one", list, err)
	}
}
