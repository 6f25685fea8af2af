package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search/backend"
)

// hosted returns the names of the replicas that nodes have, each as often as there are nodes with
// it.
func hosted(t *testing.T, nodes ...*Backend) (names []string) {
	t.Helper()
	for _, b := range nodes {
		list, err := b.local.Collections(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			names = append(names, c.Name)
		}
	}
	return names
}

// TestDrain moves the partitions of a node away and back, and to a node that is added: the replicas
// that are not needed any more are removed, and nothing is lost or becomes unavailable.
func TestDrain(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	c := newThree(t)
	c.start(0, 1, 2)
	c.create(1)
	for k := range 60 {
		write(t, c.nodes[k%3], testWrite(fmt.Sprint("d", k), "white whale"))
	}
	want := contents(t, c.nodes[0])
	ctx := t.Context()
	moved := func(nodes ...*Backend) { // each partition has two replicas, on the nodes that should
		t.Helper()
		until(t, patience, func() error {
			if names := hosted(t, nodes...); len(names) != 8 {
				return fmt.Errorf("replicas %q", names)
			}
			for _, p := range nodes[len(nodes)-1].Status(ctx).Partitions {
				if !slices.Equal(sorted(p.Placed), p.Serving) {
					return fmt.Errorf("%+v", p)
				}
			}
			return nil
		})
		for _, b := range nodes {
			if got := contents(t, b); !slices.Equal(got, want) {
				t.Errorf("node %s has %d documents, want %d", b.name, len(got), len(want))
			}
		}
	}
	if err := c.nodes[1].Drain(ctx, "n0", false); err != nil {
		t.Fatal(err)
	}
	until(t, patience, func() error {
		if names := hosted(t, c.nodes[0]); len(names) > 0 {
			return fmt.Errorf("a drained node has %q", names)
		}
		return nil
	})
	moved(c.nodes[:]...)
	for _, s := range c.nodes[2].Status(ctx).Nodes {
		if (s.Name == "n0") != (s.State == "drained") {
			t.Errorf("node %+v", s)
		}
	}
	for _, node := range []string{"n1", "none"} {
		if err := c.nodes[2].Drain(ctx, node, false); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("draining %s: %v, want ErrInvalid", node, err)
		}
	}
	if err := c.nodes[2].Drain(ctx, "n0", true); err != nil {
		t.Fatal(err)
	}
	own := 0 // the id of the collection decides: one in 81 has none for the node
	for p := range 4 {
		if slices.Contains(c.nodes[0].placedAmong(c.nodes[0].collectionID(), p, "n0", "n1", "n2"), "n0") {
			own++
		}
	}
	until(t, patience, func() error {
		if names := hosted(t, c.nodes[0]); len(names) != own {
			return fmt.Errorf("the node has %q again, want %d partitions", names, own)
		}
		return nil
	})
	moved(c.nodes[:]...)

	peers := append(slices.Clone(c.peers), freeAddresses(t, 1)...)
	var fourth *Backend
	for k := 0; fourth == nil; k++ { // a name by which it gets a partition
		name := fmt.Sprint("more", k)
		for p := range 4 {
			if slices.Contains(c.nodes[0].placedAmong(c.nodes[0].collectionID(), p, "n0", "n1", "n2", name), name) {
				within, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				b, err := Open(within, filepath.Join(c.dir, name), Options{Cluster: "test", Node: name, Listen: peers[3], Peers: peers, Partitions: 4})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				fourth = b
				break
			}
		}
	}
	until(t, patience, func() error {
		if len(hosted(t, fourth)) == 0 {
			return errors.New("the new node has no partition")
		}
		return nil
	})
	moved(c.nodes[0], c.nodes[1], c.nodes[2], fourth)
}
