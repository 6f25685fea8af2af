package keyword

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

var updateWork = flag.Bool("update-work", false, "rewrite testdata/work.golden")

// TestWork compares what searches cost, whatever the machine, with testdata/work.golden: the
// postings read exactly; those scored, which depend a little on the order of the documents in the
// segments, within a tenth; kilobytes allocated within a fifth and 5. -update-work rewrites it.
func TestWork(t *testing.T) {
	x := openTemp(t, Options{Language: "standard"})
	apply(t, x, 1, zipfEntries(rand.New(rand.NewPCG(61, 62)), 10_000)...)
	tenth := roaring.New()
	for no := uint32(0); no < 10_000; no += 10 {
		tenth.Add(no)
	}
	var got strings.Builder
	for _, tc := range []struct {
		text  string
		k     int
		allow *roaring.Bitmap
		and   bool
	}{
		{"w3 w500", 10, nil, false},
		{"w3 w500", 200, nil, false},
		{"w3 w500", 10, tenth, false},
		{"w0 w1 w20", 10, nil, false},
		{"w1 w20 w300", 10, nil, true},
		{"w0 w2 w5 w9 w30 w80 w200 w600 w1100 w3000", 10, nil, false},
		{"w0 w2 w5 w9 w30 w80 w200 w600 w1100 w3000", 200, nil, false},
	} {
		q := Query{Text: tc.text}
		if tc.and {
			q.Operator = And
		}
		var total int
		search := func() (done work) {
			err := x.read(func(v *view) (err error) {
				p, err := x.newPlan(t.Context(), v, q)
				if err == nil {
					total, err = p.search(t.Context(), tc.allow, &topK{k: tc.k})
					done = p.work
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		done := search()
		name := fmt.Sprintf("%q k=%d and=%t filter=%t", tc.text, tc.k, tc.and, tc.allow != nil)
		fmt.Fprintf(&got, "%s: %d documents, %d postings read, %d scored, %.0f kB\n", name, total, done.postings, done.scored, allocated(func() { search() }))
	}
	compareWork(t, got.String())
}

// allocated returns the kilobytes that a call of f allocates once caches are warm: the least of
// several calls, as other goroutines allocate, too.
func allocated(f func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would empty pools
	f()
	least := math.Inf(1)
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, float64(after.TotalAlloc-before.TotalAlloc)/1000)
	}
	return least
}

func compareWork(t *testing.T, got string) {
	const path = "testdata/work.golden"
	if *updateWork {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	split := func(line string) (exact string, scored, size float64) {
		exact, costs, _ := strings.Cut(line, " postings read, ")
		if _, err := fmt.Sscanf(costs, "%f scored, %f kB", &scored, &size); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return exact, scored, size
	}
	gotLines, wantLines := strings.Split(strings.TrimSpace(got), "\n"), strings.Split(strings.TrimSpace(string(golden)), "\n")
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%d lines, want %d", len(gotLines), len(wantLines))
	}
	for i, line := range gotLines {
		exact, scored, size := split(line)
		wantExact, wantScored, wantSize := split(wantLines[i])
		if exact != wantExact || scored > 1.1*wantScored || size > 1.2*wantSize+5 {
			t.Errorf("search costs mismatch (-want +got)\n-%s\n+%s", wantLines[i], line)
		}
	}
}
