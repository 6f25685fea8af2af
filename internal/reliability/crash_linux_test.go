package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/searchd/internal/interpose"
)

// child makes the test binary the process that goes through the workload.
const child = "RELIABILITY_CHILD"

func TestMain(m *testing.M) {
	if err := interpose.Main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(127)
	}
	if root := os.Getenv(child); root != "" {
		task := work
		if os.Getenv(faulty) != "" {
			task = workFaulty
		}
		if os.Getenv(migrating) != "" {
			task = func(root string, _ uint64) error { return migrate(context.Background(), root) }
		}
		if os.Getenv(reopening) != "" {
			task = func(root string, _ uint64) error { return reopen(root) }
		}
		log.SetOutput(io.Discard)
		if err := task(root, number("RELIABILITY_SEED", 1)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	log.SetOutput(io.Discard) // bleve reports what it recovers from
	os.Exit(m.Run())
}

// number returns a number of the environment.
func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// memory returns a folder in memory where the system has one: these tests make thousands of files
// and flush nothing.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "reliability")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// record runs the workload, with decide, and returns the log.
func record(t testing.TB, root string, seed uint64, decide func(n int, c interpose.Call) syscall.Errno) ([]interpose.Call, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+root, fmt.Sprint("RELIABILITY_SEED=", seed))
	cmd.Stderr = os.Stderr
	calls, err := (&interpose.Program{Cmd: cmd, Root: root, Decide: decide}).Run()
	if errors.Is(err, interpose.ErrUnsupported) && os.Getenv("INTERPOSE_REQUIRE") == "" {
		t.Skip(err)
	}
	return calls, err
}

// trace is the log of a whole workload.
func trace(t testing.TB, seed uint64) []interpose.Call {
	t.Helper()
	calls, err := record(t, memory(t), seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// A cut is a moment and what a crash then loses.
type cut struct {
	after int // calls
	loss  interpose.Loss
	seed  uint64
}

// judge makes the folders of each cut and verifies them, and returns how many it has verified.
func judge(t *testing.T, seed uint64, calls []interpose.Call, cuts []cut) {
	t.Helper()
	list := steps(seed)
	dir := memory(t)
	work := make(chan int)
	var wait sync.WaitGroup
	for range min(4, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			d, at := interpose.NewDisk(), 0
			for i := range work {
				for ; at < cuts[i].after; at++ {
					d.Apply(calls[at])
				}
				root := filepath.Join(dir, strconv.Itoa(i))
				err := os.Mkdir(root, 0o700)
				if err == nil {
					err = d.Cut(root, cuts[i].loss, rand.New(rand.NewPCG(cuts[i].seed, 1)))
				}
				if err == nil {
					after, maybe := worlds(list, string(d.Output))
					err = verify(t.Context(), root, after, maybe)
				}
				if err != nil {
					last := "nothing"
					if at > 0 {
						last = calls[at-1].String()
					}
					t.Errorf("%s after call %d of %d, %s (seed %d): %v", cuts[i].loss, at, len(calls), last, cuts[i].seed, err)
				}
				os.RemoveAll(root)
			}
		})
	}
	for i := range cuts {
		if t.Failed() {
			break
		}
		work <- i
	}
	close(work)
	wait.Wait()
}

// seedOf returns the seed of a test.
func seedOf() uint64 { return number("RELIABILITY_SEED", uint64(time.Now().UnixNano()%1_000_000)) }

// TestCrashPoints ends the workload between any two calls that change a file: in the middle of
// writes, snapshots, re-embeddings, drops, compactions and restores. What was acknowledged is there
// afterwards, nothing is there in part, and check --deep finds nothing. RELIABILITY_STATES sets the
// number of crash points; 0: all.
func TestCrashPoints(t *testing.T) {
	seed := seedOf()
	calls := trace(t, seed)
	var cuts []cut
	kinds := map[interpose.Op]int{}
	for i, c := range calls {
		kinds[c.Op]++
		if c.Op != interpose.Sync && c.Op != interpose.SyncFolder { // which change nothing here
			cuts = append(cuts, cut{after: i + 1})
		}
	}
	if n := int(number("RELIABILITY_STATES", 40)); n > 0 && n < len(cuts) {
		step, some := float64(len(cuts))/float64(n), []cut(nil)
		for i := range n {
			some = append(some, cuts[int((float64(i)+rand.Float64())*step)])
		}
		cuts = some
	}
	judge(t, seed, calls, cuts)
	t.Logf("%d crash points of %d calls on files (%v), seed %d", len(cuts), len(calls), kinds, seed)
}

// TestPowerCut cuts the power at random moments of the workload: of what was not flushed nothing,
// names alone, or any part is there. RELIABILITY_STATES sets the number of cuts.
func TestPowerCut(t *testing.T) {
	seed := seedOf()
	calls := trace(t, seed)
	r := rand.New(rand.NewPCG(seed, 2))
	cuts := make([]cut, number("RELIABILITY_STATES", 40))
	for i := range cuts {
		cuts[i] = cut{1 + i*len(calls)/len(cuts), interpose.Losses()[i%3], r.Uint64()}
		if i%3 == 1 {
			cuts[i].loss = interpose.LoseSome
		}
	}
	judge(t, seed, calls, cuts)
	t.Logf("%d power cuts in %d calls on files, seed %d", len(cuts), len(calls), seed)
}

// TestKilledAtCall kills the process itself instead of replaying its log, at some of the calls.
func TestKilledAtCall(t *testing.T) {
	seed := seedOf()
	total := len(trace(t, seed))
	n := int(number("RELIABILITY_KILLS", 5))
	for i := range n {
		at := (i*2 + 1) * total / (2 * n)
		var root string
		var calls []interpose.Call
		err := error(nil)
		for err == nil { // not all runs have the same number of calls; one may end before the call
			root = memory(t)
			calls, err = record(t, root, seed, func(n int, _ interpose.Call) syscall.Errno {
				if n == at {
					return interpose.Kill
				}
				return 0
			})
			if err == nil {
				at = len(calls) * (2*i + 1) / (2 * n)
			}
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("killed at call %d: %v", at, err)
		}
		d := interpose.NewDisk()
		for _, c := range calls {
			d.Apply(c)
		}
		after, maybe := worlds(steps(seed), string(d.Output))
		if err := verify(t.Context(), root, after, maybe); err != nil {
			t.Errorf("killed at call %d: %v", at, err)
		}
	}
	t.Logf("%d kills, seed %d", n, seed)
}

// reopening makes the child open and close the folders instead of going through the workload.
const reopening = "RELIABILITY_REOPEN"

// reopen opens the data folder, waits for what was interrupted, and closes it.
func reopen(root string) error {
	s := &session{root: root}
	if err := s.open(s.data()); err != nil {
		return err
	}
	return errors.Join(s.tasksEnd(context.Background()), s.engine.Close())
}

// TestCutAgain cuts the power a second time, while the folder that the first cut has left is
// opened, recovered and closed. RELIABILITY_STATES sets the number of first cuts; each is followed
// by six.
func TestCutAgain(t *testing.T) {
	seed := seedOf()
	calls, list := trace(t, seed), steps(seed)
	r := rand.New(rand.NewPCG(seed, 5))
	n, second, recovery := int(number("RELIABILITY_STATES", 5)), 0, 0
	d, at := interpose.NewDisk(), 0
	for i := range n {
		for ; at < (i+1)*len(calls)/(n+1); at++ {
			d.Apply(calls[at])
		}
		after, maybe := worlds(list, string(d.Output))
		left, root := memory(t), memory(t)
		lossSeed := r.Uint64()
		for _, to := range []string{left, root} { // twice the same
			if err := d.Cut(to, interpose.LoseSome, rand.New(rand.NewPCG(lossSeed, 0))); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), child+"="+root, reopening+"=1")
		cmd.Stderr = os.Stderr
		log, err := (&interpose.Program{Cmd: cmd, Root: root}).Run()
		if err != nil {
			t.Fatalf("opening after a cut at call %d (seed %d): %v", at, seed, err)
		}
		recovery += len(log)
		again, err := interpose.DiskOf(left)
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for j := range 6 {
			for ; done < (j+1)*len(log)/7; done++ {
				again.Apply(log[done])
			}
			to := memory(t)
			loss := append(interpose.Losses(), interpose.LoseNothing)[j%4]
			err := again.Cut(to, loss, r)
			if err == nil {
				err = verify(t.Context(), to, after, maybe)
			}
			if err != nil {
				t.Errorf("cut at call %d, then %s after call %d of %d of the recovery (seed %d): %v", at, loss, done, len(log), seed, err)
			}
			second++
			os.RemoveAll(to)
		}
		os.RemoveAll(left)
		os.RemoveAll(root)
	}
	t.Logf("%d power cuts, each followed by others in its recovery, %d together, of %d calls on files, seed %d", n, second, recovery, seed)
}
