package keyword

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const killChild = "SEARCHD_KEYWORD_KILL_CHILD"

// TestKilledWriter kills a process that writes, five times over, and opens what it left: an index
// that is exactly at its Seq, from which writing goes on. Change n adds document n, and every tenth
// deletes the one before.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv(killChild); dir != "" {
		writeUntilKilled(t, dir)
	}
	if testing.Short() {
		t.Skip("takes two seconds")
	}
	dir := filepath.Join(t.TempDir(), "index")
	seq := uint64(0)
	for round := range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), killChild+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		started, applied := make(chan struct{}), make(chan uint64)
		go func() { // the last line is the last change that Apply acknowledged
			last := uint64(0)
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if last == 0 {
					close(started)
				}
				last, _ = strconv.ParseUint(lines.Text(), 10, 64)
			}
			applied <- last
		}()
		select {
		case <-started:
		case <-time.After(20 * time.Second):
			t.Fatal("the child writes nothing")
		}
		time.Sleep(time.Duration(100+40*round) * time.Millisecond)
		_ = cmd.Process.Kill()
		last := <-applied
		_ = cmd.Wait()

		x, err := Open(dir, Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if x.Seq() < seq || x.Seq() > last+1 {
			t.Errorf("round %d: Seq = %d, want from %d (the round before) to %d (the last begun)", round, x.Seq(), seq, last+1)
		}
		seq = x.Seq()
		want := seq - seq/10
		n, err := x.Count()
		if err != nil || n != want {
			t.Errorf("round %d: Count = %d, %v at Seq %d, want %d", round, n, err, seq, want)
		}
		if _, total, err := x.Search(context.Background(), Query{Text: "common"}, 1, nil); err != nil || uint64(total) != want {
			t.Errorf("round %d: Search = %d, %v at Seq %d, want %d", round, total, err, seq, want)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if seq == 0 {
		t.Error("no round wrote anything")
	}
}

func writeUntilKilled(t *testing.T, dir string) {
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := x.Seq() + 1; ; n++ {
		entries := []Entry{{No: uint32(n), Text: []Field{{"body", fmt.Sprintf("common word%d", n)}}}}
		if n%10 == 0 {
			entries = append(entries, Entry{No: uint32(n - 1), Delete: true})
		}
		apply(t, x, n, entries...)
		fmt.Println(n)
	}
}
