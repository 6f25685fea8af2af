package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/backend/backendtest"
)

// logsOn returns an error unless every log has copies on exactly these nodes, all of them current.
func logsOn(ctx context.Context, b *Backend, nodes ...string) error {
	list := b.js.ListStreams(ctx)
	streams := 0
	for info := range list.Info() {
		if streams++; info.Cluster == nil {
			return fmt.Errorf("%s has one server", info.Config.Name)
		}
		on := []string{info.Cluster.Leader}
		for _, r := range info.Cluster.Replicas {
			if on = append(on, r.Name); !r.Current || r.Offline {
				return fmt.Errorf("%s: %+v", info.Config.Name, r)
			}
		}
		if slices.Sort(on); !slices.Equal(on, nodes) {
			return fmt.Errorf("%s is on %q, want %q", info.Config.Name, on, nodes)
		}
	}
	if list.Err() == nil && streams == 0 {
		return errors.New("no streams")
	}
	return list.Err()
}

// TestGrowth makes a cluster of one node one of two and then of three, takes a node out, adds a new
// one, and takes out one that has died. No document, no revision and no copy of a log is lost.
func TestGrowth(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	c := newThree(t)
	ctx := t.Context()
	one, err := Open(ctx, filepath.Join(c.dir, "n0"), Options{Cluster: "test", Node: "another-name", Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := (backendtest.Calls{Backend: one}).Create(ctx, "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
		t.Fatal(err)
	}
	for k := range 60 {
		write(t, one, testWrite(fmt.Sprint("d", k%50), fmt.Sprint("white whale ", k)))
	}
	write(t, one, backend.Write{ID: "d49", Delete: true})
	if err := one.SetValues(ctx, map[string][]byte{"setting": []byte("kept")}); err != nil {
		t.Fatal(err)
	}
	want := contents(t, one)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}

	all := c.peers
	c.peers = all[:2]
	c.start(0, 1)
	c.peers = all
	c.start(2)
	same := func(nodes ...*Backend) {
		t.Helper()
		for _, b := range nodes {
			until(t, patience, func() error {
				for _, p := range b.Status(ctx).Partitions {
					if p.Fault != "" || !slices.Equal(sorted(p.Placed), p.Serving) {
						return fmt.Errorf("%+v", p)
					}
				}
				return b.Ready()
			})
			if got := contents(t, b); !slices.Equal(got, want) {
				t.Errorf("node %s has\n%q, want\n%q", b.name, got, want)
			}
			if v, err := b.Values(ctx, "setting"); err != nil || string(v["setting"]) != "kept" {
				t.Errorf("node %s has the values %q, %v", b.name, v, err)
			}
		}
	}
	on := func(b *Backend, nodes ...string) {
		t.Helper()
		until(t, patience, func() error { return logsOn(ctx, b, nodes...) })
	}
	n0, n1 := c.nodes[0], c.nodes[1]
	same(c.nodes[:]...)
	on(n1, "n0", "n1", "n2")
	until(t, patience, func() error {
		if exists(filepath.Join(c.dir, "n0", oldLogFolder)) || exists(filepath.Join(c.dir, "n0", catalogueFile)) {
			return errors.New("the old log is still there")
		}
		return nil
	})
	write(t, n1, testWrite("more", "white whale"))
	want = contents(t, n0)

	if err := n0.ChangeNode(ctx, "n2", RemoveNode); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("removing a node with partitions: %v, want ErrInvalid", err)
	}
	if err := n0.ChangeNode(ctx, "n2", DrainNode); err != nil {
		t.Fatal(err)
	}
	removed := func(b *Backend, node string) {
		t.Helper()
		until(t, patience, func() error {
			err := b.ChangeNode(ctx, node, RemoveNode)
			if err != nil && !errors.Is(err, backend.ErrInvalid) && !errors.Is(err, backend.ErrUnavailable) {
				t.Fatal(err)
			}
			return err
		})
		until(t, patience, func() error {
			for _, s := range b.Status(ctx).Nodes {
				if s.Name == node {
					return fmt.Errorf("%+v", s)
				}
			}
			return nil
		})
	}
	removed(n0, "n2")
	on(n1, "n0", "n1")
	same(n0, n1)
	write(t, n1, testWrite("two", "white whale"))
	want = contents(t, n0)
	until(t, patience, func() error {
		if c.nodes[2].Ready() == nil {
			return errors.New("a node that was removed is ready")
		}
		return nil
	})
	c.stop(2)
	open := func(name, addr string) (*Backend, error) {
		within, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return Open(within, filepath.Join(c.dir, name), Options{Cluster: "test", Node: name, Listen: addr, Peers: []string{c.peers[0], c.peers[1], addr}, Partitions: 4})
	}
	if b, err := open("n2", c.peers[2]); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("a node that was removed opens: %v, %v, want ErrInvalid", b, err)
	}

	n3, err := open("n3", c.peers[2])
	if err != nil {
		t.Fatal(err)
	}
	defer n3.Close()
	on(n0, "n0", "n1", "n3")
	same(n0, n1, n3)
	if err := n0.ChangeNode(ctx, "n1", RemoveNode); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("removing a node that is up: %v, want ErrInvalid", err)
	}
	c.stop(1)
	if err := os.RemoveAll(filepath.Join(c.dir, "n1")); err != nil {
		t.Fatal(err)
	}
	removed(n3, "n1")
	on(n0, "n0", "n3")
	same(n0, n3)
	write(t, n3, testWrite("last", "white whale"))
}
