package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/backend/backendtest"
)

// three is a cluster of three nodes in this process.
type three struct {
	t     *testing.T
	dir   string
	peers []string
	nodes [3]*Backend

	options Options // of all nodes
}

// newThree starts three nodes.
func newThree(t *testing.T) *three {
	c := &three{t: t, dir: t.TempDir()}
	c.peers = freeAddresses(t, len(c.nodes))
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(i)
		}
	})
	return c
}

// ports are those that freeAddresses has given to tests, which run side by side.
var ports sync.Map

// freeAddresses returns addresses on which nobody listens. Their ports are below those that systems
// give to outgoing connections, so that nobody takes one while its node is stopped.
func freeAddresses(t *testing.T, n int) (list []string) {
	for len(list) < n {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		defer l.Close()
		if _, given := ports.LoadOrStore(addr, true); !given {
			list = append(list, addr)
		}
	}
	return list
}

// patience bounds how long a test waits for what takes seconds on an idle machine.
const patience = 3 * time.Minute

// start starts nodes side by side.
func (c *three) start(which ...int) {
	c.t.Helper()
	errs := make([]error, len(c.nodes))
	var wait sync.WaitGroup
	for _, i := range which {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(c.t.Context(), patience)
			defer cancel()
			o := c.options
			o.Cluster, o.Node, o.Listen, o.Peers, o.Partitions = "test", fmt.Sprint("n", i), c.peers[i], c.peers, 4
			o.Embedded.Alarm = func(text string) { c.t.Logf("%s: node %d: %s", time.Now().Format("05.000"), i, text) }
			c.nodes[i], errs[i] = Open(ctx, filepath.Join(c.dir, o.Node), o)
		})
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			c.nodes[i] = nil
			c.t.Fatalf("node %d: %v", i, err)
		}
	}
}

// stop closes a node.
func (c *three) stop(i int) {
	if c.nodes[i] == nil {
		return
	}
	if err := c.nodes[i].Close(); err != nil {
		c.t.Errorf("closing node %d: %v", i, err)
	}
	c.nodes[i] = nil
}

// current waits until all servers have all that is in the logs and the catalogue.
func (c *three) current(i int) {
	c.t.Helper()
	until(c.t, patience, func() error {
		list := c.nodes[i].js.ListStreams(c.t.Context())
		streams := 0
		for info := range list.Info() {
			streams++
			if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != len(c.nodes)-1 {
				return fmt.Errorf("stream %s: %+v", info.Config.Name, info.Cluster)
			}
			for _, r := range info.Cluster.Replicas {
				if !r.Current || r.Offline {
					return fmt.Errorf("stream %s: %+v", info.Config.Name, r)
				}
			}
		}
		if list.Err() == nil && streams == 0 {
			return errors.New("no streams")
		}
		return list.Err()
	})
}

// create makes the collection docs through a node.
func (c *three) create(i int) {
	c.t.Helper()
	settle(c.t, func() error {
		err := c.on(i).Create(c.t.Context(), "docs", backend.Config{Dimension: 2, Language: "en"})
		if errors.Is(err, backend.ErrCollectionExists) { // an earlier try, whose outcome was unknown
			return nil
		}
		return err
	})
}

func (c *three) on(i int) backendtest.Calls { return backendtest.Calls{Backend: c.nodes[i]} }

// testWrite returns a write of a document of one passage.
func testWrite(id, text string) backend.Write {
	fields, _ := json.Marshal(map[string]string{"text": text})
	return backend.Write{ID: id, Fields: fields, Hash: sha256.Sum256(fields),
		Passages: []backend.Passage{{Field: "text", Start: 0, End: min(4, len(text))}}, Vectors: [][]float32{{1, 0}}}
}

// until tries f until it succeeds, and returns how long that took.
func until(t *testing.T, most time.Duration, f func() error) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		err := f()
		if err == nil {
			return time.Since(began)
		}
		if time.Since(began) > most {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// settle tries f until it does not fail for lack of a leader, a replica or time, and returns how
// long that took.
func settle(t *testing.T, f func() error) time.Duration {
	t.Helper()
	return until(t, patience, func() error {
		err := f()
		if err != nil && !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		return err
	})
}

// TestThreeNodes writes and reads through any node, stops one, goes on without it, and starts it
// again.
func TestThreeNodes(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	c := newThree(t)
	c.start(0, 1, 2)
	ctx := t.Context()
	c.create(1)
	written := 0
	write := func(i int) time.Duration {
		tries := 0
		took := settle(t, func() error {
			tries++
			out, err := c.on(i).Apply(ctx, "docs", []backend.Write{testWrite(fmt.Sprint("d", written), "white whale")})
			if err == nil && out[0].Status != backend.Created && (tries == 1 || out[0].Status != backend.Unchanged) {
				err = fmt.Errorf("document %d, try %d: status %d", written, tries, out[0].Status)
			}
			return err
		})
		written++
		return took
	}
	found := func(i int) time.Duration {
		return settle(t, func() error {
			out, err := c.on(i).Words(ctx, "docs", backend.Words{Text: "whale"}, 10, nil)
			if err == nil && out.Total != written {
				err = fmt.Errorf("node %d finds %d of %d", i, out.Total, written)
			}
			return err
		})
	}
	for k := range 60 {
		write(k % 3)
		found((k + 1) % 3)
	}
	for down := range c.nodes {
		up := (down + 1) % 3
		c.stop(down)
		t.Logf("without node %d searches fail for %s", down, found(up))
		t.Logf("without node %d writes fail for %s", down, write(up))
		for range 20 {
			write(up)
			found((down + 2) % 3)
		}
		c.start(down)
		t.Logf("node %d answers after %s", down, found(down))
		until(t, patience, func() error {
			for _, p := range c.nodes[up].Status(ctx).Partitions {
				if len(p.Serving) != 2 || p.Leader == "" {
					return fmt.Errorf("%+v", p)
				}
			}
			return nil
		})
	}
	c.stop(1)
	if err := os.RemoveAll(filepath.Join(c.dir, "n1")); err != nil {
		t.Fatal(err)
	}
	c.start(1)
	t.Logf("node 1 without its disk serves after %s", until(t, patience, func() error {
		for _, p := range c.nodes[1].Status(ctx).Partitions {
			if slices.Contains(p.Placed, "n1") && !slices.Contains(p.Serving, "n1") {
				return fmt.Errorf("%+v", p)
			}
		}
		return nil
	}))
	found(1)
	c.current(1) // before that, a majority of the logs needs node 0
	c.stop(0)
	write(1)
	found(1)
	found(2)
	c.stop(2)
	t.Logf("alone, a node searches for %s", until(t, patience, func() error {
		_, err := c.on(1).Words(ctx, "docs", backend.Words{Text: "whale"}, 10, nil)
		if !errors.Is(err, backend.ErrUnavailable) {
			return fmt.Errorf("a search of a minority: %v", err)
		}
		return nil
	}))
	within, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	if _, err := c.on(1).Apply(within, "docs", []backend.Write{testWrite("minority", "may be taken later")}); err == nil {
		t.Error("a minority takes writes")
	}
	c.start(0, 2)
	for i := range c.nodes {
		found(i)
	}
	var docs []*backend.Document
	settle(t, func() (err error) {
		docs, err = c.on(2).Lookup(ctx, "docs", []string{"d0", "d59", "none"})
		return err
	})
	if docs[0] == nil || docs[1] == nil || docs[2] != nil {
		t.Errorf("Lookup = %v", docs)
	}
}

// TestTakenOver stops a node for so long that the others take over its partitions, and starts it
// again.
func TestTakenOver(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	c := newThree(t)
	c.options.moveTime = 6 * time.Second
	c.start(0, 1, 2)
	ctx := t.Context()
	c.create(1)
	for k := range 40 {
		settle(t, func() error {
			_, err := c.on(k%3).Apply(ctx, "docs", []backend.Write{testWrite(fmt.Sprint("d", k), "white whale")})
			return err
		})
	}
	c.stop(0)
	t.Logf("the partitions are taken over after %s", until(t, patience, func() error {
		for _, p := range c.nodes[1].Status(ctx).Partitions {
			if !slices.Equal(p.Serving, []string{"n1", "n2"}) {
				return fmt.Errorf("%+v", p)
			}
		}
		return nil
	}))
	c.start(0)
	until(t, patience, func() error {
		for _, s := range c.nodes[2].Status(ctx).Nodes {
			if s.State != "up" || s.Serving == 0 {
				return fmt.Errorf("%+v", s)
			}
		}
		return nil
	})
	settle(t, func() error {
		found, err := c.on(0).Words(ctx, "docs", backend.Words{Text: "whale"}, 1, nil)
		if err == nil && found.Total != 40 {
			t.Errorf("a search finds %d of 40", found.Total)
		}
		return err
	})
}
