//go:build linux

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/searchd/internal/longtest"
)

// TestFullDisk fills the disk of one of three nodes: the others take writes and answer searches.
// When there is space again and the node was started again, it has everything.
func TestFullDisk(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	dir := t.TempDir()
	disk := filepath.Join(dir, "2")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk).CombinedOutput(); err != nil {
		skipUnlessRequired(t, "mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	nodes, start := startProcesses(t, dir, nodeOptions{Peers: freeAddresses(t, 3)})
	written := 0
	write := func(i int) {
		t.Helper()
		until(t, patience, func() error {
			_, err := nodes[i].do(nodeCommand{Do: "put", ID: fmt.Sprint("d", written), Text: "common"})
			return err
		})
		written++
	}
	found := func(i int) {
		t.Helper()
		until(t, patience, func() error {
			a, err := nodes[i].do(nodeCommand{Do: "find"})
			if err == nil && a.Total != written {
				t.Fatalf("node %d finds %d of %d", i, a.Total, written)
			}
			return err
		})
	}
	for k := range 30 {
		write(k % 3)
	}
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	t.Logf("the disk is full: %v", err)
	for k := range 200 {
		write(k % 2)
		found((k + 1) % 2)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	_ = nodes[2].cmd.Process.Kill()
	_ = nodes[2].cmd.Wait()
	nodes[2] = start(2)
	until(t, patience, func() error {
		a, err := nodes[2].do(nodeCommand{Do: "status"})
		for _, p := range a.Cluster.Partitions {
			if len(p.Serving) < 2 || p.Leader == "" {
				return fmt.Errorf("%+v", p)
			}
		}
		return err
	})
	write(2)
	found(2)
}
