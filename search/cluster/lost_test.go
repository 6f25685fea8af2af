package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/backend/backendtest"
)

// contents returns the documents of a collection with their revisions and vectors.
func contents(t *testing.T, b *Backend) (out []string) {
	t.Helper()
	settle(t, func() error {
		out = nil
		for cursor, more := "", true; more; more = cursor != "" {
			page, err := b.List(t.Context(), backend.ListRequest{Collection: "docs", Cursor: cursor, Limit: 100})
			if err != nil {
				return err
			}
			var ids []string
			for _, d := range page.Documents {
				ids = append(ids, d.ID)
			}
			err = backend.LookupPages(t.Context(), b, backend.LookupRequest{Collection: "docs", IDs: ids, Vectors: true}, func(_ []string, docs []*backend.Document) error {
				for _, d := range docs {
					out = append(out, fmt.Sprintf("%s %d %d %s %v %v", d.ID, d.Revision, d.Ref, d.Fields, d.Passages, d.Vectors))
				}
				return nil
			})
			if err != nil {
				return err
			}
			cursor = page.Next
		}
		return nil
	})
	slices.Sort(out)
	return out
}

// write writes a document, and tries again where the log is being rebuilt.
func write(t *testing.T, b *Backend, w backend.Write) (out backend.Outcome) {
	t.Helper()
	settle(t, func() error {
		list, err := backendtest.Calls{Backend: b}.Apply(t.Context(), "docs", []backend.Write{w})
		if err == nil {
			out = list[0]
		}
		return err
	})
	return out
}

// streams returns the names of the streams of logs.
func streams(t *testing.T, b *Backend) (names []string) {
	t.Helper()
	list := b.js.StreamNames(t.Context())
	for name := range list.Name() {
		if strings.HasPrefix(name, b.bucket+"-") {
			names = append(names, name)
		}
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return names
}

// TestLostLog loses the log of a partition in several ways, while its node serves or is closed: all
// documents stay, with their revisions, and the log is rebuilt and takes writes.
func TestLostLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		closed bool   // the node, when the log is lost
		keep   uint64 // messages that another stream begins with; 0: there is none
	}{
		{"deleted", false, 0}, {"shortened", false, 7}, {"deleted while closed", true, 0}, {"shortened while closed", true, 7},
	} {
		t.Run(c.what, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			open := func() *Backend {
				b, err := Open(ctx, dir, Options{Cluster: "test", Partitions: 1, missingWait: 50 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			b := open()
			defer func() { b.Close() }()
			if err := (backendtest.Calls{Backend: b}).Create(ctx, "docs", backend.Config{Dimension: 2, Language: "en", FirstSequence: 1000}); err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				write(t, b, testWrite(fmt.Sprint("d", i), "white whale"))
			}
			for i := range 5 {
				write(t, b, testWrite(fmt.Sprint("d", i), "grey whale"))
				write(t, b, backend.Write{ID: fmt.Sprint("d", 10+i), Delete: true})
			}
			want := contents(t, b)
			revision := write(t, b, testWrite("d1", "grey whale")).Revision
			id := b.catalogue.mu.collections["docs"].ID
			lose := func() {
				name := b.streamName(id, 0, 0)
				if err := b.js.DeleteStream(ctx, name); err != nil {
					t.Fatal(err)
				}
				if c.keep > 0 {
					if _, err := b.js.CreateStream(ctx, b.logConfig(id, 0, 0, 1000+c.keep)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if c.closed {
				// The node that loses the log does not follow it any more.
				b.replica(id, 0).end()
			}
			lose()
			if c.closed {
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				b = open()
			}
			out := write(t, b, backend.Write{ID: "new", Fields: []byte(`{"text":"new whale"}`)})
			if out.Status != backend.Created || out.Revision <= revision {
				t.Errorf("a new document: %+v, want a later revision than %d", out, revision)
			}
			w := testWrite("d2", "green whale")
			wrong := revision - 1
			if w.IfRevision = &wrong; write(t, b, w).Status != backend.Conflict {
				t.Error("a write with another revision is accepted")
			}
			if out := write(t, b, backend.Write{ID: "new", Delete: true}); out.Status != backend.Deleted {
				t.Errorf("deleting the new document: %+v", out)
			}
			if got := contents(t, b); !slices.Equal(got, want) {
				t.Errorf("after the log was rebuilt: %q, want %q", got, want)
			}
			w = testWrite("d1", "green whale")
			if w.IfRevision = &revision; write(t, b, w).Status != backend.Updated {
				t.Error("a write with the revision of before is not accepted")
			}
			if names := streams(t, b); !slices.Equal(names, []string{b.streamName(id, 0, 1)}) {
				t.Errorf("streams %q, want the next generation alone", names)
			}
			want = contents(t, b)
			if err := b.Close(); err != nil { // a replica that begins anew reads the same from the rebuilt log
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "replicas")); err != nil {
				t.Fatal(err)
			}
			b = open()
			if got := contents(t, b); !slices.Equal(got, want) {
				t.Errorf("from the rebuilt log: %q, want %q", got, want)
			}
			if err := b.Drop(ctx, "docs"); err != nil {
				t.Fatal(err)
			}
			if names := streams(t, b); len(names) > 0 {
				t.Errorf("streams %q are left of a collection that was dropped", names)
			}
		})
	}
}

// TestDivergedLog puts a log in the place of another that has gone on without the last writes, as
// an old backup does that is written to. Which writes are right nobody can tell, so the replica
// does not serve, and no write is acknowledged.
func TestDivergedLog(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	open := func() *Backend {
		b, err := Open(ctx, dir, Options{Cluster: "test", Partitions: 1})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	if err := (backendtest.Calls{Backend: b}).Create(ctx, "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
		t.Fatal(err)
	}
	write(t, b, testWrite("a", "white whale"))
	id := b.collectionID()
	b.replica(id, 0).end()
	if err := b.js.DeleteStream(ctx, b.streamName(id, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.js.CreateStream(ctx, b.logConfig(id, 0, 0, 500)); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open()
	defer b.Close()
	until(t, patience, func() error {
		if _, _, serving, fault := b.replica(id, 0).state(); serving || !errors.Is(fault, errDiverged) {
			return fmt.Errorf("serving: %t, fault: %v", serving, fault)
		}
		return nil
	})
	if _, err := (backendtest.Calls{Backend: b}).Apply(ctx, "docs", []backend.Write{testWrite("b", "white whale")}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a write: %v, want ErrUnavailable", err)
	}
}

// TestDeletedStreams deletes all logs of three nodes while others write and search: nothing that
// was acknowledged is lost, and searches miss nothing.
func TestDeletedStreams(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	c := newThree(t)
	c.start(0, 1, 2)
	c.create(0)
	var mu sync.Mutex
	acknowledged := 0
	ctx := t.Context()
	var done atomic.Bool
	defer done.Store(true)
	var users sync.WaitGroup
	for u := range 3 {
		users.Go(func() {
			for k := 0; !done.Load(); k++ {
				if _, err := c.on(u).Apply(ctx, "docs", []backend.Write{testWrite(fmt.Sprintf("u%d-%d", u, k), "white whale")}); err == nil {
					mu.Lock()
					acknowledged++
					mu.Unlock()
				}
			}
		})
		users.Go(func() {
			for !done.Load() {
				mu.Lock()
				least := acknowledged
				mu.Unlock()
				found, err := c.on(u).Words(ctx, "docs", backend.Words{Text: "whale"}, 1, nil)
				if err == nil && found.Total < least {
					t.Errorf("a search finds %d documents, %d were acknowledged before", found.Total, least)
				}
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return acknowledged
	}
	more := func(n int) {
		least := count() + n
		until(t, patience, func() error {
			if now := count(); now < least {
				return fmt.Errorf("%d of %d writes", now, least)
			}
			return nil
		})
	}
	more(100)
	old := streams(t, c.nodes[1])
	for _, name := range old {
		if err := c.nodes[1].js.DeleteStream(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	until(t, patience, func() error {
		for _, p := range c.nodes[2].Status(ctx).Partitions {
			if p.Fault != "" || p.Leader == "" || slices.Contains(old, c.nodes[2].streamName(c.nodes[2].collectionID(), p.Partition, c.nodes[2].log(c.nodes[2].collectionID(), p.Partition).Generation)) {
				return fmt.Errorf("%+v", p)
			}
		}
		return nil
	})
	more(100)
	done.Store(true)
	users.Wait()
	c.same(count())
}

// collectionID returns the id of the collection of a test.
func (n *Backend) collectionID() string {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	return n.catalogue.mu.collections["docs"].ID
}

// same waits until each node serves what it should, and compares the replicas of all nodes.
func (c *three) same(least int) {
	t := c.t
	t.Helper()
	for _, b := range c.nodes {
		until(t, patience, func() error {
			for _, p := range b.Status(t.Context()).Partitions {
				if !slices.Equal(sorted(p.Placed), p.Serving) || p.Fault != "" {
					return fmt.Errorf("%+v", p)
				}
			}
			return nil
		})
	}
	want := contents(t, c.nodes[0])
	if len(want) < least {
		t.Fatalf("%d documents, %d were acknowledged", len(want), least)
	}
	digests := map[string]uint64{}
	for i, b := range c.nodes {
		if got := contents(t, b); !slices.Equal(got, want) {
			for k := range max(len(got), len(want)) {
				if k >= len(got) || k >= len(want) || got[k] != want[k] {
					t.Errorf("node %d has %d documents, node 0 has %d; the first that differs: %q, %q", i, len(got), len(want), got[min(k, len(got)-1)], want[min(k, len(want)-1)])
					break
				}
			}
		}
		for p := range 4 {
			r := b.replica(b.collectionID(), p)
			if r == nil {
				continue
			}
			sum, err := r.digest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if before, ok := digests[r.local]; ok && before != sum {
				t.Errorf("the replicas of %s differ", r.local)
			}
			digests[r.local] = sum
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
