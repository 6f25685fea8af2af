package shards_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/shards"
)

var errFault = fmt.Errorf("%w: a fault", backend.ErrUnavailable)

// faulty is a shard whose calls fail as fail says: before they did anything, or, with after, when all is done.
type faulty struct {
	backend.Shard
	index int
	plan  *faults
}

// faults says which of the calls that change something fail.
type faults struct {
	mu    sync.Mutex
	calls []string // "Create 1"
	fail  func(call string, n int) bool
	after bool
}

// do makes a call unless it is to fail.
func (f faulty) do(method string, do func() error) error {
	f.plan.mu.Lock()
	call := fmt.Sprintf("%s %d", method, f.index)
	n := len(f.plan.calls)
	f.plan.calls = append(f.plan.calls, call)
	fails, after := f.plan.fail != nil && f.plan.fail(call, n), f.plan.after
	f.plan.mu.Unlock()
	if fails && !after {
		return errFault
	}
	if err := do(); err != nil {
		return err
	}
	if fails {
		return errFault
	}
	return nil
}

func (f faulty) Create(ctx context.Context, name string, c backend.Config) error {
	return f.do("Create", func() error { return f.Shard.Create(ctx, name, c) })
}

func (f faulty) Update(ctx context.Context, name string, c backend.Config) error {
	return f.do("Update", func() error { return f.Shard.Update(ctx, name, c) })
}

func (f faulty) Drop(ctx context.Context, name string) error {
	return f.do("Drop", func() error { return f.Shard.Drop(ctx, name) })
}

func (f faulty) SetValues(ctx context.Context, values map[string][]byte) error {
	return f.do("SetValues", func() error { return f.Shard.SetValues(ctx, values) })
}

func (f faulty) Claim(ctx context.Context, id backend.Identity) error {
	return f.do("Claim", func() error { return f.Shard.Claim(ctx, id) })
}

func (f faulty) Apply(ctx context.Context, collection string, writes []backend.Write) (out []backend.Outcome, err error) {
	err = f.do("Apply", func() (err error) {
		out, err = f.Shard.Apply(ctx, collection, writes)
		return err
	})
	return out, err
}

// data are the folders of some shards, with what was opened of them last.
type data struct {
	dir   string
	parts []backend.Shard
	plan  *faults
	told  []string
}

// newData makes n shards.
func newData(t *testing.T, n int) *data {
	d := &data{dir: t.TempDir(), plan: &faults{}}
	for i := range n {
		b, err := embedded.Open(filepath.Join(d.dir, fmt.Sprint(i)), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		d.parts = append(d.parts, faulty{b, i, d.plan})
	}
	return d
}

// open makes a backend of the shards, which are not opened anew: what a process keeps of them is gone with it, as after an end in the middle.
func (d *data) open(t *testing.T) (*shards.Backend, error) {
	d.told = nil
	tell := func(text string) {
		d.plan.mu.Lock()
		defer d.plan.mu.Unlock()
		d.told = append(d.told, text)
	}
	return shards.Open(t.Context(), d.parts, shards.Options{Notice: tell, Alarm: func(text string) { tell("ALARM " + text) }})
}

func (d *data) mustOpen(t *testing.T) *shards.Backend {
	t.Helper()
	b, err := d.open(t)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var config = backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage(`{}`)}

// number makes a write of a document with a number.
func number(id string, n int) backend.Write {
	fields := fmt.Sprintf(`{"n":%d}`, n)
	return backend.Write{ID: id, Fields: json.RawMessage(fields), Hash: [32]byte{byte(n), byte(n >> 8), 1}}
}

// apply writes and wants no error.
func apply(t *testing.T, b backend.Backend, writes ...backend.Write) []backend.Outcome {
	t.Helper()
	out, err := b.Apply(t.Context(), "docs", writes)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// contents returns what a collection holds, by id.
func contents(t *testing.T, b backend.Backend, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for cursor, more := "", true; more; more = cursor != "" {
		docs, next, err := b.List(t.Context(), name, cursor, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(docs) > 3 || next != "" && len(docs) != 3 {
			t.Fatalf("a page of %d documents, asked for 3, next %q", len(docs), next)
		}
		for _, d := range docs {
			if _, twice := out[d.ID]; twice {
				t.Fatalf("%q is listed twice", d.ID)
			}
			out[d.ID] = string(d.Fields)
		}
		cursor = next
	}
	return out
}

// ids returns n ids of each of some shards, those of the first one first.
func ids(n, shardCount int) (out []string) {
	for s := range shardCount {
		for i, left := 0, n; left > 0; i++ {
			if id := fmt.Sprintf("d%d", i); shards.Place(id, shardCount) == s {
				out, left = append(out, id), left-1
			}
		}
	}
	return out
}

func TestApply(t *testing.T) {
	d := newData(t, 3)
	b := d.mustOpen(t)
	later := config
	later.FirstSequence = 1000
	if err := b.Create(t.Context(), "docs", later); err != nil {
		t.Fatal(err)
	}
	var writes []backend.Write
	for i, id := range ids(4, 3) {
		writes = append(writes, number(id, i))
	}
	last := writes[11]
	last.Delete = true
	zero := uint64(0)
	conflict := writes[5]
	conflict.IfRevision = &zero
	again := number(writes[0].ID, 77)
	writes = append(writes, last, conflict, again, backend.Write{ID: "nowhere", Delete: true})
	var got []string
	for _, o := range apply(t, b, writes...) {
		got = append(got, fmt.Sprint(o.Status))
	}
	want := strings.Repeat(fmt.Sprint(backend.Created)+" ", 12) + fmt.Sprint(backend.Deleted, backend.Conflict, backend.Updated, backend.Missing)
	if strings.Join(got, " ") != want {
		t.Errorf("outcomes %v, want %v", got, want)
	}
	found := contents(t, b, "docs")
	if len(found) != 11 || found[writes[0].ID] != `{"n":77}` {
		t.Errorf("contents %v", found)
	}
	for i, p := range d.parts {
		for id := range contents(t, p, "docs") {
			if shards.Place(id, 3) != i {
				t.Errorf("%q is on shard %d", id, i)
			}
		}
	}
	c, err := b.Collection(t.Context(), "docs")
	if err != nil || c.Documents != 11 || c.Sequence != 1014 {
		t.Errorf("%d documents after change %d, %v, want 11 after 1014", c.Documents, c.Sequence, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Apply(t.Context(), "docs", writes); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("Apply after Close: %v", err)
	}
}

// What an Apply that failed has not done, the same call does: whichever shard fails, and whether before or after it committed.
func TestApplyFails(t *testing.T) {
	for _, after := range []bool{false, true} {
		for shard := range 3 {
			d := newData(t, 3)
			b := d.mustOpen(t)
			if err := b.Create(t.Context(), "docs", config); err != nil {
				t.Fatal(err)
			}
			var writes []backend.Write
			for i, id := range ids(2, 3) {
				writes = append(writes, number(id, i))
			}
			d.plan.after, d.plan.fail = after, func(call string, _ int) bool { return call == fmt.Sprintf("Apply %d", shard) }
			_, err := b.Apply(t.Context(), "docs", writes)
			if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), fmt.Sprintf("shard %d: ", shard+1)) {
				t.Errorf("Apply with shard %d failing: %v", shard, err)
			}
			want := 4
			if after {
				want = 6
			}
			if n := len(contents(t, b, "docs")); n != want {
				t.Errorf("%d documents after shard %d failed, want %d", n, shard, want)
			}
			d.plan.fail = nil
			apply(t, b, writes...)
			if n := len(contents(t, b, "docs")); n != 6 {
				t.Errorf("%d documents after the call was made again, want 6", n)
			}
		}
	}
}

// A search never sees fewer documents than a shard that does not answer has.
func TestUnavailable(t *testing.T) {
	d := newData(t, 2)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	apply(t, b, number("a", 1), number("b", 2))
	d.parts[1].(faulty).Shard.Close()
	if _, err := b.Select(t.Context(), "docs", backend.Subset{}); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("Select without a shard: %v", err)
	}
	at := slices.IndexFunc([]string{"a", "b"}, func(id string) bool { return shards.Place(id, 2) == 0 })
	if docs, err := b.Lookup(t.Context(), "docs", []string{[]string{"a", "b"}[at]}); err != nil || docs[0] == nil {
		t.Errorf("Lookup on the other: %v, %v", docs, err)
	}
}

// hung is a shard that says nothing until its time is up, and then what search/remote says.
type hung struct{ backend.Shard }

func (h hung) Select(ctx context.Context, _ string, _ backend.Subset) (backend.Selection, error) {
	<-ctx.Done()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return nil, fmt.Errorf("%w: shard 2: no answer in time: %w", backend.ErrUnavailable, context.DeadlineExceeded)
}

// Where the time of a call is up because of a shard, the error names it; where the caller went away, nobody is to blame.
func TestHungShard(t *testing.T) {
	d := newData(t, 2)
	d.parts[1] = hung{d.parts[1]}
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Select(short, "docs", backend.Subset{}); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "shard 2") {
		t.Errorf("Select with a shard that hangs: %v, want ErrUnavailable that names it", err)
	}
	gone, leave := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, leave)
	if _, err := b.Select(gone, "docs", backend.Subset{}); !errors.Is(err, context.Canceled) || errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("Select of a caller who has gone: %v, want context.Canceled", err)
	}
}
