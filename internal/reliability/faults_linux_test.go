package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/searchd/internal/interpose"
	"example.com/searchd/search"
	"example.com/searchd/search/backend"
)

// faulty makes the child go on after steps that fail.
const faulty = "RELIABILITY_FAULTY"

// tells reports whether an error says what the disk did, or follows from a step that has failed.
func tells(err error) bool {
	for _, k := range []error{backend.ErrNoSpace, backend.ErrReadOnly, backend.ErrCollectionNotFound, search.ErrSnapshotNotFound} {
		if errors.Is(err, k) {
			return true
		}
	}
	for _, k := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EROFS} {
		if strings.Contains(err.Error(), k.Error()) { // of tasks the text alone is left
			return true
		}
	}
	return errors.Is(err, errMissing)
}

// workFaulty goes through the steps, says which fail, and reads after each of these. It ends where
// no engine is open any more. Last it says how much processor time it takes while nothing is asked
// of it.
func workFaulty(root string, seed uint64) error {
	s := &session{root: root}
	ctx := context.Background()
	made := map[string]bool{}
	for i, step := range steps(seed) {
		fmt.Println("begin", i)
		err := step.do(ctx, s)
		if step.name == "drop" { // whether it failed or not
			delete(made, "other")
		}
		if err == nil {
			fmt.Println("done", i)
			if name, ok := strings.CutPrefix(step.name, "create "); ok {
				made[name] = true
			}
			continue
		}
		fmt.Printf("failed %d %s: %q\n", i, step.name, err)
		if !tells(err) {
			fmt.Println("strange", i)
		}
		if s.engine == nil || s.engine.Ready() != nil {
			return nil
		}
		for name := range made {
			if _, err := s.documents(ctx, name); err != nil {
				fmt.Printf("unreadable after %d: %s: %q\n", i, name, err)
			}
			if _, err := s.engine.Search(ctx, name, search.Query{Q: "common"}); err != nil {
				fmt.Printf("unsearchable after %d: %s: %q\n", i, name, err)
			}
		}
	}
	before := processorTime()
	time.Sleep(200 * time.Millisecond)
	fmt.Println("idle", (processorTime() - before).Milliseconds())
	return nil
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// possible returns, by collection and id, the fields that a document may have after the steps:
// those of the last write that was acknowledged, or of a later one that failed. Empty fields stand
// for no document. certain are the collections that must exist.
func possible(list []step, output string) (docs map[string]map[string][]string, certain map[string]bool) {
	outcome := map[int]string{}
	for line := range strings.Lines(output) {
		var word string
		var i int
		if n, _ := fmt.Sscanf(line, "%s %d", &word, &i); n == 2 && (word == "begin" || word == "done" || word == "failed") {
			outcome[i] = word
		}
	}
	docs, certain = map[string]map[string][]string{}, map[string]bool{}
	for i, s := range list {
		if outcome[i] == "" {
			continue
		}
		before := &world{docs: map[string]map[string]string{"docs": {}, "other": {}}}
		s.change(before)
		for _, name := range []string{"docs", "other"} {
			after, exists := before.docs[name]
			created, dropped := s.name == "create "+name, !exists
			sure := outcome[i] == "done"
			switch {
			case created && sure:
				certain[name] = true
				docs[name] = map[string][]string{}
			case created:
				docs[name] = map[string][]string{}
			case dropped:
				certain[name] = false
				if sure {
					delete(docs, name)
				}
			}
			if docs[name] == nil {
				continue
			}
			full := &world{docs: map[string]map[string]string{"docs": everyID(), "other": everyID()}}
			s.change(full)
			for id := range everyID() {
				value, written := after[id]
				if !written && full.docs[name][id] != "" {
					continue // the step does not touch it
				}
				if now := docs[name][id]; sure || len(now) == 0 {
					docs[name][id] = []string{value}
					if !sure {
						docs[name][id] = []string{"", value}
					}
				} else {
					docs[name][id] = append(now, value)
				}
			}
		}
	}
	return docs, certain
}

// everyID returns a document for each id of the workload.
func everyID() map[string]string {
	all := map[string]string{}
	for i := range 40 {
		all[fmt.Sprintf("d%02d", i)] = "{}"
	}
	return all
}

// verifyFaulty opens the folder without faults and compares it with what is possible.
func verifyFaulty(ctx context.Context, root string, list []step, output string) (err error) {
	s := &session{root: root}
	docs, certain := possible(list, output)
	if err := s.open(s.data()); err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	defer func() { err = errors.Join(err, s.engine.Close()) }()
	if err := s.tasksEnd(ctx); err != nil && !strings.Contains(err.Error(), "failed") {
		return err
	}
	found, err := s.contents(ctx)
	if err != nil {
		return err
	}
	for name, must := range certain {
		if _, ok := found[name]; must && !ok {
			return fmt.Errorf("collection %s is lost", name)
		}
	}
	for name, have := range found {
		for id := range everyID() {
			may := docs[name][id]
			if len(may) == 0 {
				may = []string{""}
			}
			if !slices.Contains(may, have[id]) {
				return fmt.Errorf("%s %s is %q, possible: %q", name, id, have[id], may)
			}
		}
	}
	if problems, err := s.engine.Check(ctx, true); err != nil || len(problems) > 0 {
		return fmt.Errorf("check --deep: %v, %w", problems, err)
	}
	return nil
}

// A diskFault is an error of the disk from the n-th call of a kind on.
type diskFault struct {
	op    interpose.Op
	n     int
	err   syscall.Errno
	calls int // that fail
}

func (f diskFault) String() string {
	return fmt.Sprintf("%s: %v of %d calls from the %dth on", f.op, f.err, f.calls, f.n)
}

// suffer runs the workload with a fault and verifies what it leaves.
func suffer(t *testing.T, seed uint64, f diskFault) {
	t.Helper()
	root := memory(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+root, faulty+"=1", fmt.Sprint("RELIABILITY_SEED=", seed))
	var said, failed bytes.Buffer
	cmd.Stderr = &failed
	seen := 0
	p := &interpose.Program{Cmd: cmd, Root: root, Reads: f.op == interpose.Read, Decide: func(_ int, c interpose.Call) syscall.Errno {
		if c.Op != f.op || strings.HasSuffix(c.Path, ".lock") {
			return 0
		}
		if seen++; seen > f.n && seen <= f.n+f.calls {
			return f.err
		}
		return 0
	}}
	calls, err := p.Run()
	for _, c := range calls {
		if c.Op == interpose.Output {
			said.Write(c.Data)
		}
	}
	if err != nil {
		t.Errorf("%s (seed %d): %v\n%s%s", f, seed, err, said.String(), failed.String())
		return
	}
	for line := range strings.Lines(said.String()) {
		var idle int
		if strings.HasPrefix(line, "un") || strings.HasPrefix(line, "strange") {
			t.Errorf("%s (seed %d): %s in\n%s", f, seed, line, said.String())
			break
		}
		if n, _ := fmt.Sscanf(line, "idle %d", &idle); n == 1 && idle > 100 {
			t.Errorf("%s (seed %d): %d ms of processor time in 200 ms without work", f, seed, idle)
		}
	}
	if err := verifyFaulty(t.Context(), root, steps(seed), said.String()); err != nil {
		t.Errorf("%s (seed %d): %v\n%s", f, seed, err, said.String())
	}
	d := interpose.NewDisk()
	for _, c := range calls {
		d.Apply(c)
	}
	cut := memory(t)
	err = d.Cut(cut, interpose.LoseAll, nil)
	if err == nil {
		err = verifyFaulty(t.Context(), cut, steps(seed), said.String())
	}
	if err != nil {
		t.Errorf("%s, then a power cut (seed %d): %v\n%s", f, seed, err, said.String())
	}
}

// TestFailingDisk lets calls of each kind fail, once or from then on, with EIO, ENOSPC and EROFS.
// Reads and searches go on, nothing that was acknowledged is lost, and the next opening finds store
// and indexes in agreement. RELIABILITY_FAULTS sets the number of faults.
func TestFailingDisk(t *testing.T) {
	seed := seedOf()
	calls := trace(t, seed)
	total := map[interpose.Op]int{interpose.Read: 400}
	for _, c := range calls {
		total[c.Op]++
	}
	r := rand.New(rand.NewPCG(seed, 3))
	kinds := []interpose.Op{interpose.Write, interpose.Sync, interpose.Create, interpose.Truncate, interpose.Rename, interpose.SyncFolder, interpose.Remove, interpose.Mkdir, interpose.Read}
	errs := []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EROFS}
	counts := map[interpose.Op]int{}
	n := int(number("RELIABILITY_FAULTS", 24))
	for i := range n {
		f := diskFault{op: kinds[i%len(kinds)], err: errs[i/len(kinds)%3], calls: []int{1, 1 << 30, 5}[i/(3*len(kinds))%3]}
		if i%2 == 0 && f.op != interpose.Write { // most calls are these
			f.op = kinds[r.IntN(2)]
		}
		if f.op == interpose.Read {
			f.err = syscall.EIO
		}
		f.n = r.IntN(total[f.op])
		counts[f.op]++
		suffer(t, seed, f)
		if t.Failed() {
			break
		}
	}
	t.Logf("%d faults, by the call that failed: %v, seed %d", n, counts, seed)
}
