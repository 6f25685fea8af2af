package heap

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
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
		if got := percent(c.live, c.scan, least); got != c.want {
			t.Errorf("%d MB in use, %d of them with pointers: %d, want %d", c.live/mb, c.scan/mb, got, c.want)
		}
	}
}

// A heap of vectors grows by the least garbage alone, one of pointers by itself. In processes of their own, as others' garbage would be in it.
func TestWatch(t *testing.T) {
	switch os.Getenv("HEAP_TEST") {
	case "vectors":
		keep := make([]float32, 32<<20)
		t.Logf("peak %d", peak(10*time.Second))
		runtime.KeepAlive(keep)
	case "pointers":
		keep := make([]*int, 16<<20)
		t.Logf("peak %d", peak(100*time.Millisecond))
		runtime.KeepAlive(keep)
	default:
		for kind, many := range map[string]bool{"vectors": false, "pointers": true} {
			c := exec.Command(os.Args[0], "-test.run=^TestWatch$", "-test.v")
			c.Env = append(os.Environ(), "HEAP_TEST="+kind, "GOGC=", "GOMEMLIMIT=")
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := strings.Contains(string(out), "peak 2"); got != many || !strings.Contains(string(out), "peak") {
				t.Errorf("%s: %s", kind, out)
			}
		}
	}
}

// peak makes garbage beside what is in use, and returns the largest heap in units of 128 MiB. Before that it waits until garbage is bounded.
func peak(wait time.Duration) uint64 {
	watch(16 << 20)
	runtime.GC()
	var most uint64
	var m runtime.MemStats
	for start := time.Now(); time.Since(start) < wait; time.Sleep(time.Millisecond) {
		if runtime.ReadMemStats(&m); m.NextGC < 192<<20 {
			break
		}
	}
	for range 600 {
		sink = make([]byte, 1<<20)
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	sink = nil
	return (most + 32<<20) / (128 << 20)
}

var sink []byte

// What an operator sets holds.
func TestPaceLeavesGOGC(t *testing.T) {
	t.Setenv("GOGC", "70")
	old := debug.SetGCPercent(70)
	defer debug.SetGCPercent(old)
	Pace()
	for range 3 {
		runtime.GC()
	}
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("%d percent, want 70", got)
	}
}
