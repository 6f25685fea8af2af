//go:build linux

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/searchd/internal/longtest"
)

// network has a namespace for each of three nodes, with a link between each two of them.
type network struct {
	t     *testing.T
	space [3]string
}

func address(i int) string { return fmt.Sprint("10.99.0.", i+1) }

// skipUnlessRequired skips a test that needs root and namespaces of Linux, and fails it with
// NAMESPACES_REQUIRE=1, as .ci/run sets where they work.
func skipUnlessRequired(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("NAMESPACES_REQUIRE") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// newNetwork makes a network, which needs root and the command ip; else the test is skipped.
func newNetwork(t *testing.T) *network {
	n := &network{t: t}
	for i := range n.space {
		n.space[i] = fmt.Sprintf("searchd-%d-%d", os.Getpid(), i)
		if out, err := exec.Command("ip", "netns", "add", n.space[i]).CombinedOutput(); err != nil {
			skipUnlessRequired(t, "ip netns add: %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.space[i]).Run() })
		n.ip("-n", n.space[i], "link", "set", "lo", "up")
		n.ip("-n", n.space[i], "addr", "add", address(i)+"/32", "dev", "lo")
	}
	n.pairs(func(i, j int) {
		n.ip("link", "add", link(j), "netns", n.space[i], "type", "veth", "peer", "name", link(i), "netns", n.space[j])
	})
	n.ends(func(i, j int) {
		n.ip("-n", n.space[i], "link", "set", link(j), "up")
		n.ip("-n", n.space[i], "route", "add", address(j)+"/32", "dev", link(j), "src", address(i))
	})
	return n
}

func link(i int) string { return fmt.Sprint("node", i) }

func (n *network) pairs(f func(i, j int)) {
	for i := range n.space {
		for j := i + 1; j < len(n.space); j++ {
			f(i, j)
		}
	}
}

// ends calls f with both ends of each link.
func (n *network) ends(f func(i, j int)) {
	n.pairs(func(i, j int) {
		f(i, j)
		f(j, i)
	})
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// cut loses all packets between two nodes: neither end notices.
func (n *network) cut(i, j int) {
	n.ip("-n", n.space[i], "neigh", "replace", address(j), "lladdr", "02:00:00:00:00:99", "dev", link(j), "nud", "permanent")
	n.ip("-n", n.space[j], "neigh", "replace", address(i), "lladdr", "02:00:00:00:00:99", "dev", link(i), "nud", "permanent")
}

// restore undoes cut.
func (n *network) restore(i, j int) {
	n.ip("-n", n.space[i], "neigh", "del", address(j), "dev", link(j))
	n.ip("-n", n.space[j], "neigh", "del", address(i), "dev", link(i))
}

// TestCutLinks cuts the link between two nodes: all of them take writes. Then it cuts all links of
// one. Whoever answers a search finds all that was acknowledged; a node without a majority refuses;
// nothing acknowledged is lost; all nodes answer again when the links are back.
func TestCutLinks(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	net := newNetwork(t)
	dir := t.TempDir()
	o := nodeOptions{Security: authority(t)}
	for i := range net.space {
		o.Peers = append(o.Peers, address(i)+":6222")
	}
	nodes := make([]*process, len(net.space))
	var starting sync.WaitGroup
	for i := range nodes {
		starting.Go(func() {
			own := o
			own.Node, own.Listen = fmt.Sprint("n", i), o.Peers[i]
			own.run = []string{"ip", "netns", "exec", net.space[i], os.Args[0]}
			nodes[i] = startProcess(t, filepath.Join(dir, strconv.Itoa(i)), own)
			t.Cleanup(func() {
				_ = nodes[i].cmd.Process.Kill()
				_ = nodes[i].cmd.Wait()
			})
		})
	}
	starting.Wait()
	until(t, patience, func() error {
		_, err := nodes[0].do(nodeCommand{Do: "create"})
		if err != nil && strings.Contains(err.Error(), "exists") {
			return nil
		}
		return err
	})
	acknowledged, tried := []string{}, 0
	put := func(i int) error {
		tried++
		id := fmt.Sprint("d", tried)
		_, err := nodes[i].do(nodeCommand{Do: "put", ID: id, Text: "common"})
		if err == nil {
			acknowledged = append(acknowledged, id)
		}
		return err
	}
	find := func(i int) error {
		a, err := nodes[i].do(nodeCommand{Do: "find"})
		if err == nil && (a.Total < len(acknowledged) || a.Total > tried) {
			t.Errorf("node %d finds %d documents, %d were acknowledged of %d that were sent", i, a.Total, len(acknowledged), tried)
		}
		return err
	}
	work := func(what string, which ...int) {
		t.Helper()
		for _, i := range which {
			written := until(t, patience, func() error { return put(i) })
			t.Logf("%s node %d writes after %s and searches after %s", what, i, written, until(t, patience, func() error { return find(i) }))
		}
	}
	for range 10 {
		work("at first", 0, 1, 2)
	}

	net.cut(0, 1)
	for i := range nodes {
		until(t, patience, func() error { return find(i) })
	}
	until(t, patience, func() error {
		a, err := nodes[0].do(nodeCommand{Do: "status"})
		if err == nil && !slices.ContainsFunc(a.Cluster.Nodes, func(s NodeStatus) bool { return s.Name == "n1" && s.State == "silent" }) {
			err = fmt.Errorf("node 0 hears node 1: %+v", a.Cluster.Nodes)
		}
		return err
	})
	for range 5 {
		work("without the link between 0 and 1,", 2, 0, 1)
	}
	net.restore(0, 1)
	work("with all links again,", 0, 1, 2)

	net.cut(0, 1)
	net.cut(0, 2)
	t.Logf("node 0, alone, refuses searches after %s", until(t, patience, func() error {
		if find(0) == nil {
			return fmt.Errorf("it answers")
		}
		return nil
	}))
	work("without node 0,", 1, 2)
	if err := put(0); err == nil {
		t.Error("a node without a majority takes a write")
	}
	if err := find(0); err == nil {
		t.Error("a node without a majority answers a search")
	}
	net.restore(0, 1)
	net.restore(0, 2)
	work("with all links again,", 0, 1, 2)
	for i, p := range nodes {
		for _, id := range acknowledged {
			until(t, patience, func() error {
				a, err := p.do(nodeCommand{Do: "get", ID: id})
				if err == nil && a.Text != "common" {
					t.Fatalf("node %d: %s was acknowledged, and is %+v", i, id, a)
				}
				return err
			})
		}
	}
}
