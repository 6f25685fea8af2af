package heap

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		live, scan uint64
		want       int
	}{
		{0, 0, 100},
		{200 * mb, 10 * mb, 100},
		{256 * mb, 256 * mb, 100},
		{512 * mb, 100 * mb, 50},
		{2048 * mb, 100 * mb, 12},
		{2048 * mb, 1024 * mb, 50},
		{2048 * mb, 2048 * mb, 100},
		{2048 * mb, 3000 * mb, 100},
		{1 << 40, 100 * mb, 1},
	} {
		if got := percent(c.live, c.scan); got != c.want {
			t.Errorf("%d MB in use, %d of them with pointers: %d, want %d", c.live/mb, c.scan/mb, got, c.want)
		}
	}
}

// Beside 512 MiB of vectors garbage is bounded; beside as much that holds pointers, and where an
// operator sets GOGC, it is not. In processes of their own, as what others have in use would be in
// it.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		kind, gogc string
		goal       int // of the next collection, in MiB
	}{{"vectors", "", 768}, {"pointers", "", 1024}, {"vectors", "100", 1024}, {"vectors", "20", 614}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPaced$", "-test.v")
		cmd.Env = append(os.Environ(), "HEAP_TEST="+c.kind, "GOGC="+c.gogc, "GOMEMLIMIT=")
		out, err := cmd.CombinedOutput()
		_, after, _ := strings.Cut(string(out), "goal ")
		goal := 0
		fmt.Sscan(after, &goal)
		if err != nil || goal < c.goal-30 || goal > c.goal+30 {
			t.Errorf("%s, GOGC=%s: want a goal of %d MiB: %v: %s", c.kind, c.gogc, c.goal, err, out)
		}
	}
}

// TestPaced is a process of TestPace.
func TestPaced(t *testing.T) {
	var keep any
	switch os.Getenv("HEAP_TEST") {
	case "vectors":
		keep = make([]float32, 128<<20)
	case "pointers":
		keep = make([]*int, 64<<20)
	default:
		t.Skip("for TestPace")
	}
	Pace()
	var m runtime.MemStats
	for range 10 { // the percentage is set some time after a collection
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
	}
	runtime.ReadMemStats(&m)
	t.Logf("goal %d MiB", m.NextGC>>20)
	runtime.KeepAlive(keep)
}
