package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary runs itself with this variable set to a data folder, as the process to be killed.
const childVariable = "SEARCHD_STORE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		err := child(dir)
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
	flag.Parse()
	if !flagGiven("rapid.checks") {
		flag.Set("rapid.checks", "30")
	}
	os.Exit(m.Run())
}

// flagGiven reports whether the command line sets a flag.
func flagGiven(name string) (given bool) {
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// child compacts, or writes batches from several goroutines, each on its own ids, until it is
// killed. Before each call it tells stdout "begin", goroutine and the batch as pairs of id and
// revision, 0 for a deletion; after it "done" and goroutine.
func child(dir string) error {
	ctx := context.Background()
	for compact := os.Getenv(childVariable+"_COMPACT") != ""; compact; fmt.Println("begin 0") {
		if _, _, err := Compact(ctx, dir, Options{PageSize: 4096}); err != nil {
			return err
		}
	}
	s, err := Open(dir, Options{PageSize: 4096})
	if err != nil {
		return err
	}
	col, err := s.Collection("docs")
	if errors.Is(err, ErrNoCollection) {
		col, err = s.CreateCollection(ctx, "docs", []byte(`{}`), 0)
	}
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	failed := make(chan error, 4)
	for g := range 3 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(g)))
			for {
				var ws []Write
				said := fmt.Sprint("begin ", g)
				for range 1 + rng.IntN(8) {
					id, rev := fmt.Sprintf("%d-%d", g, rng.IntN(40)), 1+rng.IntN(1_000_000)
					w := write(id, rev, rng.IntN(4), 32)
					if rng.IntN(4) == 0 {
						w, rev = Write{ID: id, Delete: true}, 0
					}
					w.Keep = &Keep{Most: 3, At: time.Now()}
					ws = append(ws, w)
					said += fmt.Sprint(" ", id, " ", rev)
				}
				mu.Lock()
				fmt.Fprintln(os.Stdout, said)
				mu.Unlock()
				if _, seq, err := s.Apply(ctx, col.ID, ws); err != nil {
					failed <- err
					return
				} else if g == 0 && rng.IntN(8) == 0 {
					if err := s.TrimChanges(ctx, col.ID, seq/2); err != nil {
						failed <- err
						return
					}
				}
				mu.Lock()
				_, err := fmt.Fprintln(os.Stdout, "done", g)
				mu.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	return <-failed
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// acknowledged is what a child said before it was killed.
type acknowledged struct {
	rev      [3]map[string]int // by goroutine: last acknowledged revision of each id; 0 or none: deleted
	inFlight [3]map[string]int // by goroutine: the batch that was begun and not acknowledged, or nil
	past     map[string]bool   // ids of which something was replaced or deleted
	batches  int
}

func (a *acknowledged) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // a line without its end was never said
		}
		words := strings.Fields(line)
		g, _ := strconv.Atoi(words[1])
		if words[0] == "begin" {
			a.inFlight[g] = map[string]int{}
			for i := 2; i < len(words); i += 2 {
				a.inFlight[g][words[i]], _ = strconv.Atoi(words[i+1])
			}
			continue
		}
		a.commit(g)
		a.batches++
	}
}

// commit moves the batch in flight to the acknowledged state.
func (a *acknowledged) commit(g int) {
	for id := range a.inFlight[g] {
		if a.rev[g][id] != 0 {
			a.past[id] = true
		}
	}
	maps.Copy(a.rev[g], a.inFlight[g])
	maps.DeleteFunc(a.rev[g], func(_ string, rev int) bool { return rev == 0 })
	a.inFlight[g] = nil
}

// TestKill kills the process with -9 at random moments, also while it makes the store and while it
// compacts, and wants exactly the acknowledged writes back. A batch in flight may be there or not,
// but whole, and Check finds no loose ends. SEARCHD_STORE_KILLS sets the number of kills.
func TestKill(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	ack := &acknowledged{rev: [3]map[string]int{{}, {}, {}}, past: map[string]bool{}}
	inFlight, survived := 0, 0
	for round := range rounds(t, "SEARCHD_STORE_KILLS", 8) {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childVariable+"="+dir)
		if round%2 == 1 {
			cmd.Env = append(cmd.Env, childVariable+"_COMPACT=1")
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		wait := time.Duration(rand.IntN(250)) * time.Millisecond
		if round == 0 {
			wait = time.Duration(rand.IntN(20)) * time.Millisecond // while the store is being made
		}
		kill := sync.OnceFunc(func() { time.AfterFunc(wait, func() { cmd.Process.Kill() }) })
		if round == 0 || round%4 == 1 { // from the start on: it may be opening the store. Otherwise from the first write on, for which a busy machine takes long
			kill()
		}
		ack.read(readerFunc(func(p []byte) (int, error) {
			n, err := out.Read(p)
			kill()
			return n, err
		}))
		_ = cmd.Wait()
		if stderr.Len() > 0 {
			t.Fatalf("round %d: %s", round, stderr.String())
		}
		for _, batch := range ack.inFlight {
			if batch != nil {
				inFlight++
			}
		}
		survived += verifyAcknowledged(t, dir, ack)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d batches acknowledged, all there; %d in flight when killed, of which %d were committed", ack.batches, inFlight, survived)
	if inFlight == 0 {
		t.Error("no kill hit a write in flight")
	}
}

// verifyAcknowledged opens the store as the next process would, compares, and returns how many
// batches in flight it has.
func verifyAcknowledged(t *testing.T, dir string, ack *acknowledged) (committed int) {
	t.Helper()
	s, err := Open(dir, Options{PageSize: 4096})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer s.Close()
	if problems, err := s.Check(context.Background(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
	found := [3]map[string]int{{}, {}, {}}
	col, err := s.Collection("docs")
	if err == nil {
		err = s.Documents(context.Background(), col.ID, 0, func(d Document) error {
			var g, i, rev int
			if _, err := fmt.Sscanf(d.ID+" "+string(bytes.Trim(d.Hash[:], "\x00")), "%d-%d "+d.ID+"/%d", &g, &i, &rev); err != nil {
				return fmt.Errorf("document %q has hash %q: %w", d.ID, d.Hash, err)
			}
			if want := write(d.ID, rev, 0, 0).Fields; string(d.Fields) != string(want) {
				return fmt.Errorf("document %q has fields %s, want %s", d.ID, d.Fields, want)
			}
			found[g][d.ID] = rev
			return nil
		})
	}
	if err != nil && !errors.Is(err, ErrNoCollection) {
		t.Fatal(err)
	}
	for g := range found {
		if maps.Equal(found[g], ack.rev[g]) {
			ack.inFlight[g] = nil
			continue
		}
		if ack.inFlight[g] != nil {
			committed++
			ack.commit(g)
		}
		if !maps.Equal(found[g], ack.rev[g]) {
			t.Errorf("goroutine %d: found %v\nwant %v, with or without the batch in flight", g, found[g], ack.rev[g])
		}
	}
	for id := range ack.past { // the versions are in the same transactions
		must(t, s.View(t.Context(), col.ID, func(tx *Tx) error {
			list, err := tx.Versions(id)
			_, gone := tx.Head(id)
			if err == nil && (len(list) == 0 || len(list) > 3 || errors.Is(gone, ErrNotFound) && !list[0].Deleted) {
				t.Errorf("document %s, %v, has the versions %+v", id, gone, list)
			}
			return err
		}))
	}
	return committed
}
