package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallDisk mounts a disk of some MiB and returns its folder. Only root may do so.
func smallDisk(t *testing.T, mib int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		if os.Getenv("RELIABILITY_REQUIRE") != "" && os.Getuid() == 0 {
			t.Fatalf("mounting a small disk: %v", err)
		}
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		for range 50 {
			if syscall.Unmount(dir, 0) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return dir
}

// batch returns an import of n documents with little text, which is quick to encode, and many
// numbers.
func batch(from, n int) string {
	var b strings.Builder
	numbers := strings.TrimSuffix(strings.Repeat("0.12345678,", 400), ",")
	for i := range n {
		fmt.Fprintf(&b, `{"id":"d%05d","text":"number%d","numbers":[%s]}`+"\n", from+i, from+i, numbers)
	}
	return b.String()
}

// acknowledged adds to a set the ids that the answer to an import acknowledges.
func acknowledged(answer string, into map[string]bool) {
	for line := range strings.Lines(answer) {
		if _, rest, ok := strings.Cut(line, `"id":"`); ok && (strings.Contains(line, `"created"`) || strings.Contains(line, `"updated"`)) {
			id, _, _ := strings.Cut(rest, `"`)
			into[id] = true
		}
	}
}

// TestFullDisk fills a disk of 16 MiB by imports, and goes on: searches, deletions, a snapshot, a
// backup and a compaction beside it. Then it makes room and writes.
func TestFullDisk(t *testing.T) {
	alone(t)
	disk := smallDisk(t, 16)
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 6<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, disk)
	s.start()
	s.want("PUT", docs, "{}", 201)
	acked := map[string]bool{}
	full := false
	for from := 0; !full; from += 100 {
		if from > 50_000 {
			t.Fatal("the disk is never full")
		}
		status, answer := s.do("POST", docs+"/documents/import", batch(from, 100), "Content-Type", "application/x-ndjson")
		acknowledged(answer, acked)
		full = status == 507 || strings.Contains(answer, "no_space")
		if !full && status != 200 {
			t.Fatalf("import: %d %.500s", status, answer)
		}
	}
	s.want("GET", docs+"/search?q=number7", "", 200)
	s.want("GET", "/livez", "", 200)
	s.want("POST", "/v1/snapshots", "", 202, 507)
	for time.Sleep(300 * time.Millisecond); ; time.Sleep(100 * time.Millisecond) { // until the snapshot has failed
		if _, tasks := s.do("GET", "/v1/tasks", ""); !strings.Contains(tasks, `"running"`) && !strings.Contains(tasks, `"queued"`) {
			break
		}
	}
	if parts, _ := filepath.Glob(filepath.Join(s.data, "snapshots", "*")); len(parts) > 0 {
		t.Errorf("the snapshot that failed has left %s", parts)
	}
	found := s.ids()
	for id := range acked {
		if !found[id] {
			t.Fatalf("%s was acknowledged and is not there", id)
		}
	}
	s.stop(syscall.SIGTERM)
	size := func() int64 {
		fi, err := os.Stat(filepath.Join(s.data, "searchd.db"))
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	before := size()
	for _, args := range [][]string{{"backup", filepath.Join(disk, "copy.backup"), "--data", s.data}, {"compact", "--data", s.data}} {
		out, err := exec.Command(searchd(t), args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(out), "no space left") {
			t.Errorf("%s on a full disk: %v\n%s", args[0], err, out)
		}
	}
	if size() != before {
		t.Error("a compaction that failed has changed the store")
	}
	if left, _ := filepath.Glob(filepath.Join(disk, "copy.backup*")); len(left) > 0 {
		t.Errorf("a backup that failed has left %s", left)
	}
	s.start()
	deleted, tried := 0, 0
	for id := range acked { // a deletion needs pages too, and has them where the store has free ones
		if tried++; tried > 50 {
			break
		}
		if status, answer := s.do("DELETE", docs+"/documents/"+id, ""); status == 204 || status == 200 {
			deleted++
		} else if status != 507 {
			t.Fatalf("deleting from a full disk: %d %.300s", status, answer)
		}
		delete(acked, id)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.want("PUT", docs+"/documents/after", `{"text":"there is room again"}`, 201)
	found = s.ids()
	for id := range acked {
		if !found[id] {
			t.Fatalf("%s was acknowledged and is not there", id)
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) { // the keyword index catches up
		hits := s.want("GET", docs+"/search?q=room&mode=keyword", "", 200)
		if strings.Contains(hits, `"after"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("what was written afterwards is not found: %.500s", hits)
		}
	}
	t.Logf("full after %d documents of 4.5 kB on 10 MiB, of %d deletions then %d carried out", len(found), tried-1, deleted)
	s.checked()
}
