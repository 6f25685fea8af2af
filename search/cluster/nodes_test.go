package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

	security Security
}

// newThree starts three nodes.
func newThree(t *testing.T) *three {
	c := &three{t: t, dir: t.TempDir()}
	for range c.nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.peers = append(c.peers, l.Addr().String())
		defer l.Close()
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(i)
		}
	})
	return c
}

// start starts nodes side by side.
func (c *three) start(which ...int) {
	c.t.Helper()
	errs := make([]error, len(c.nodes))
	var wait sync.WaitGroup
	for _, i := range which {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
			defer cancel()
			o := Options{Cluster: "test", Node: fmt.Sprint("n", i), Listen: c.peers[i], Peers: c.peers, Partitions: 4, Security: c.security}
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

// TestThreeNodes writes and reads through any node, stops one, goes on without it, and starts it
// again.
func TestThreeNodes(t *testing.T) {
	longtest.Skip(t)
	c := newThree(t)
	c.start(0, 1, 2)
	ctx := t.Context()
	if err := c.on(1).Create(ctx, "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
		t.Fatal(err)
	}
	written := 0
	write := func(i int) error {
		out, err := c.on(i).Apply(ctx, "docs", []backend.Write{testWrite(fmt.Sprint("d", written), "white whale")})
		if err == nil && out[0].Status != backend.Created {
			err = fmt.Errorf("status %d", out[0].Status)
		}
		if err == nil {
			written++
		}
		return err
	}
	found := func(i int) error {
		out, err := c.on(i).Words(ctx, "docs", backend.Words{Text: "whale"}, 10, nil)
		if err == nil && out.Total != written {
			err = fmt.Errorf("node %d finds %d of %d", i, out.Total, written)
		}
		return err
	}
	for k := range 60 {
		if err := write(k % 3); err != nil {
			t.Fatal(err)
		}
		if err := found((k + 1) % 3); err != nil {
			t.Fatal(err)
		}
	}
	for down := range c.nodes {
		up := (down + 1) % 3
		c.stop(down)
		t.Logf("without node %d searches fail for %s", down, until(t, 10*time.Second, func() error { return found(up) }))
		t.Logf("without node %d writes fail for %s", down, until(t, 30*time.Second, func() error { return write(up) }))
		for range 20 {
			if err := write(up); err != nil {
				t.Fatal(err)
			}
			if err := found((down + 2) % 3); err != nil {
				t.Fatal(err)
			}
		}
		c.start(down)
		t.Logf("node %d answers after %s", down, until(t, 10*time.Second, func() error { return found(down) }))
		until(t, 20*time.Second, func() error {
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
	t.Logf("node 1 without its disk serves after %s", until(t, 30*time.Second, func() error {
		for _, p := range c.nodes[1].Status(ctx).Partitions {
			if slices.Contains(p.Placed, "n1") && !slices.Contains(p.Serving, "n1") {
				return fmt.Errorf("%+v", p)
			}
		}
		return found(1)
	}))
	c.stop(0)
	until(t, 30*time.Second, func() error { return errors.Join(write(1), found(1), found(2)) })
	c.stop(2)
	t.Logf("alone, a node searches for %s", until(t, 10*time.Second, func() error {
		if err := found(1); !errors.Is(err, backend.ErrUnavailable) {
			return fmt.Errorf("a search of a minority: %v", err)
		}
		return nil
	}))
	within, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	if _, err := c.on(1).Apply(within, "docs", []backend.Write{testWrite("minority", "white whale")}); err == nil {
		t.Error("a minority takes writes")
	}
	c.start(0, 2)
	until(t, 30*time.Second, func() error { return errors.Join(found(0), found(1), found(2)) })
	docs, err := c.on(2).Lookup(ctx, "docs", []string{"d0", "d59", "none"})
	if err != nil || docs[0] == nil || docs[1] == nil || docs[2] != nil {
		t.Errorf("Lookup = %v, %v", docs, err)
	}
}

// TestTakenOver stops a node for so long that the others take over its partitions, and starts it
// again.
func TestTakenOver(t *testing.T) {
	longtest.Skip(t)
	defer func(before time.Duration) { moveTime = before }(moveTime)
	moveTime = 6 * time.Second
	c := newThree(t)
	c.start(0, 1, 2)
	ctx := t.Context()
	if err := c.on(1).Create(ctx, "docs", backend.Config{Dimension: 2, Language: "en"}); err != nil {
		t.Fatal(err)
	}
	for k := range 40 {
		if _, err := c.on(k%3).Apply(ctx, "docs", []backend.Write{testWrite(fmt.Sprint("d", k), "white whale")}); err != nil {
			t.Fatal(err)
		}
	}
	c.stop(0)
	t.Logf("the partitions are taken over after %s", until(t, time.Minute, func() error {
		for _, p := range c.nodes[1].Status(ctx).Partitions {
			if !slices.Equal(p.Serving, []string{"n1", "n2"}) {
				return fmt.Errorf("%+v", p)
			}
		}
		return nil
	}))
	c.start(0)
	until(t, 20*time.Second, func() error {
		for _, s := range c.nodes[2].Status(ctx).Nodes {
			if s.State != "up" || s.Serving == 0 {
				return fmt.Errorf("%+v", s)
			}
		}
		return nil
	})
	if found, err := c.on(0).Words(ctx, "docs", backend.Words{Text: "whale"}, 1, nil); err != nil || found.Total != 40 {
		t.Errorf("a search finds %d of 40, %v", found.Total, err)
	}
}
