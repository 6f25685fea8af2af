package analytics

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// open opens a log whose clock stands at a time that the test moves.
func open(t *testing.T, dir string, o Options, now *time.Time) *Log {
	t.Helper()
	o.Now = func() time.Time { return *now }
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func noon() time.Time { return time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC) }

// queries returns the queries of the searches of a collection.
func queries(t *testing.T, l *Log, collection string) (out []string) {
	t.Helper()
	damaged, err := l.Events(t.Context(), collection, time.Time{}, func(e Event) error {
		if e.Kind == Search {
			out = append(out, e.Query)
		}
		return nil
	})
	if err != nil || damaged > 0 {
		t.Fatalf("Events: %d damaged, %v", damaged, err)
	}
	return out
}

func TestLogSurvivesRestart(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "log"), noon()
	l := open(t, dir, Options{}, &now)
	id := l.Search(Event{Collection: "docs", Query: "pan\ncakes", Mode: "hybrid", Hits: 3, Score: 0.75}, false)
	l.Act(Event{Kind: Click, Collection: "docs", SearchID: id, Document: "a", Position: 2})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, Options{}, &now)
	l.Search(Event{Collection: "other", Query: "bread"}, false)
	l.Search(Event{Collection: "docs", Query: "bread"}, false)
	if got := fmt.Sprintf("%q", queries(t, l, "docs")); got != `["pan\ncakes" "bread"]` {
		t.Errorf("searches after a restart: %s", got)
	}
	var click Event
	l.Events(t.Context(), "docs", time.Time{}, func(e Event) error {
		if e.Kind == Click {
			click = e
		}
		return nil
	})
	if want := (Event{Time: now, Kind: Click, Collection: "docs", SearchID: id, Document: "a", Position: 2}); click != want {
		t.Errorf("click %+v, want %+v", click, want)
	}
	if s := l.Stats(); s.Written != 2 || s.Dropped != 0 || s.Bytes == 0 {
		t.Errorf("stats %+v", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(t.Context()); err != ErrClosed {
		t.Errorf("Flush of a closed log: %v", err)
	}
}

// TestLogAfterKill: what was flushed is there when the process is killed, and half a line at the
// end of a segment damages nothing else.
func TestLogAfterKill(t *testing.T) {
	if dir := os.Getenv("ANALYTICS_KILL"); dir != "" {
		l, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			l.Search(Event{Collection: "docs", Query: fmt.Sprint("query ", i)}, false)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		me, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		me.Kill()
		select {}
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLogAfterKill$")
	cmd.Env = append(os.Environ(), "ANALYTICS_KILL="+dir)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("the process was not killed: %s", out)
	}
	list, err := segments(dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("segments %q, %v", list, err)
	}
	f, err := os.OpenFile(list[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `0123abcd {"time":"20`)
	f.Close()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Search(Event{Collection: "docs", Query: "afterwards"}, false)
	n := 0
	damaged, err := l.Events(t.Context(), "docs", time.Time{}, func(Event) error { n++; return nil })
	if n != 101 || damaged != 1 || err != nil {
		t.Errorf("%d events and %d damaged lines, %v, want 101 and 1", n, damaged, err)
	}
}

func TestLogIsBounded(t *testing.T) {
	dir, now := t.TempDir(), noon()
	l := open(t, dir, Options{Days: 3, MaxBytes: 16 << 10}, &now)
	size := func() (sum int64) {
		list, err := segments(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range list {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			sum += info.Size()
		}
		return sum
	}
	for i := range 400 {
		l.Search(Event{Collection: "docs", Query: fmt.Sprintf("query %d %s", i, strings.Repeat("x", 100))}, false)
		if i%10 == 0 {
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := queries(t, l, "docs")
	if n := size(); n > 16<<10 || n < 8<<10 || l.Stats().Bytes != n {
		t.Errorf("%d bytes on disk, %d in the stats, want 8 to 16 KiB", n, l.Stats().Bytes)
	}
	if last := got[len(got)-1]; !strings.HasPrefix(last, "query 399 ") || len(got) > 200 {
		t.Errorf("%d searches are kept, the last is %.20q", len(got), last)
	}
	now = now.AddDate(0, 0, 3)
	l.Search(Event{Collection: "docs", Query: "third day"}, false)
	if n := len(queries(t, l, "docs")); n < 2 {
		t.Errorf("after three days %d searches are left", n)
	}
	now = now.AddDate(0, 0, 1)
	l.Search(Event{Collection: "docs", Query: "fourth day"}, false)
	if got := fmt.Sprint(queries(t, l, "docs")); got != "[third day fourth day]" {
		t.Errorf("after four days: %s", got)
	}
	l.Close()
	now = now.AddDate(0, 0, 9)
	open(t, dir, Options{Days: 3}, &now)
	if n := size(); n != 0 {
		t.Errorf("%d bytes after the start, all of them too old", n)
	}
}

// TestLogNeverWaits: with a writer that stands still, searches go on and events are dropped.
func TestLogNeverWaits(t *testing.T) {
	entered, release := make(chan bool), make(chan bool)
	var stall atomic.Bool
	l, err := Open(t.TempDir(), Options{Now: func() time.Time {
		if stall.CompareAndSwap(true, false) { // the writer, which looks for what is too old
			entered <- true
			<-release
		}
		return noon()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stall.Store(true)
	<-entered
	for range maxQueued + 5 {
		l.Search(Event{Collection: "docs", Query: "x"}, false)
	}
	if n := l.Stats().Dropped; n != 5 {
		t.Errorf("%d events were dropped, want 5", n)
	}
	close(release)
	if n := len(queries(t, l, "docs")); n != maxQueued {
		t.Errorf("%d searches are logged, want %d", n, maxQueued)
	}
}

func TestLogCannotWrite(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "log"), noon()
	notices := make(chan string, 10)
	l := open(t, dir, Options{Notice: func(text string) { notices <- text }}, &now)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	l.Search(Event{Collection: "docs", Query: "lost"}, false)
	if err := l.Flush(t.Context()); err == nil || strings.Contains(<-notices, "lost") || l.Stats().Dropped != 1 {
		t.Errorf("Flush: %v, stats %+v", err, l.Stats())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.Search(Event{Collection: "docs", Query: "kept"}, false)
	if got := fmt.Sprint(queries(t, l, "docs")); got != "[kept]" {
		t.Errorf("after the folder is back: %s", got)
	}
}

func TestUnfinishedSearches(t *testing.T) {
	now := noon()
	l := open(t, t.TempDir(), Options{}, &now)
	var ids []string
	for _, q := range []string{"p", "pa", "pan", "panc"} {
		ids = append(ids, l.Search(Event{Collection: "docs", Query: q, Tenant: "t"}, true))
	}
	l.Act(Event{Kind: View, Collection: "docs", SearchID: ids[2], Tenant: "t"})
	l.Act(Event{Kind: View, Collection: "docs", SearchID: ids[2], Tenant: "t"})
	l.Act(Event{Kind: Click, Collection: "docs", SearchID: ids[3], Tenant: "other", Document: "a", Position: 1})
	l.Act(Event{Kind: View, Collection: "docs", SearchID: "unknown"})
	if got := fmt.Sprint(queries(t, l, "docs")); got != "[pan]" {
		t.Errorf("logged: %s, want what was read alone", got)
	}
	for range maxHeld {
		l.Search(Event{Collection: "docs", Query: "x"}, true)
	}
	if n := len(l.mu.held); n != maxHeld {
		t.Errorf("%d searches are held, want %d", n, maxHeld)
	}
}

func TestForget(t *testing.T) {
	dir, now := t.TempDir(), noon()
	l := open(t, dir, Options{}, &now)
	for _, c := range []string{"docs", "docs", "other"} {
		l.Search(Event{Collection: c, Query: "of " + c}, false)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.AddDate(0, 0, 1)
	}
	held := l.Search(Event{Collection: "docs", Query: "held"}, true)
	if got := len(queries(t, l, "docs")); got != 2 {
		t.Fatalf("%d searches of docs", got)
	}
	if err := l.Forget(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	l.Act(Event{Kind: View, Collection: "docs", SearchID: held})
	if got := queries(t, l, "docs"); len(got) != 0 {
		t.Errorf("after Forget: %q", got)
	}
	if got := fmt.Sprint(queries(t, l, "other")); got != "[of other]" {
		t.Errorf("of another collection: %s", got)
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if b, _ := os.ReadFile(filepath.Join(dir, f.Name())); strings.Contains(string(b), "docs") {
			t.Errorf("%s has %s", f.Name(), b)
		}
	}
}

func TestPopular(t *testing.T) {
	now := noon()
	l := open(t, t.TempDir(), Options{}, &now)
	ask := func(q, tenant string, hits, times int) {
		for range times {
			l.Search(Event{Collection: "docs", Query: q, Tenant: tenant, Mode: "keyword", Hits: hits}, false)
		}
	}
	popular := func(tenant string) string {
		counts, err := l.Popular(t.Context(), "docs", tenant)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(counts)
	}
	ask("Flip  pancakes", "", 3, 4)
	ask("flip pancakes", "", 3, 1)
	ask("rare", "", 3, LeastSeen-1)
	ask("nothing", "", 0, 2*LeastSeen)
	ask("of a tenant", "a", 1, LeastSeen)
	l.Search(Event{Collection: "docs", Query: "weak", Mode: "hybrid", Hits: 9, Score: 0.4}, false)
	if got := popular(""); got != "map[flip pancakes:5]" {
		t.Errorf("popular: %s", got)
	}
	if a, b := popular("a"), popular("b"); a != "map[of a tenant:5]" || b != "map[]" {
		t.Errorf("popular of a: %s, of b: %s", a, b)
	}
	ask("rare", "", 3, 1)
	if now = now.Add(popularAge); popular("") != "map[flip pancakes:5 rare:5]" {
		t.Errorf("later: %s", popular(""))
	}
	if err := l.Forget(context.Background(), "docs"); err != nil {
		t.Fatal(err)
	}
	if got := popular(""); got != "map[]" {
		t.Errorf("after Forget: %s", got)
	}
}

func BenchmarkSearch(b *testing.B) {
	l, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	b.ReportAllocs()
	for b.Loop() {
		l.Search(Event{Collection: "docs", Query: "how to flip pancakes", Mode: "hybrid", Hits: 12, Score: 0.75}, false)
	}
	b.ReportMetric(float64(l.Stats().Dropped)/float64(b.N), "dropped/op")
}

// BenchmarkReport counts 100,000 events.
func BenchmarkReport(b *testing.B) {
	l, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for i := range 100_000 {
		l.Search(Event{Collection: "docs", Query: fmt.Sprint("how to flip pancakes ", i%5000), Mode: "hybrid", Hits: 12, Score: 0.75}, false)
		if i%1000 == 0 {
			if err := l.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		t := NewTally()
		if _, err := l.Events(b.Context(), "docs", time.Time{}, func(e Event) error { t.Add(e); return nil }); err != nil {
			b.Fatal(err)
		}
		if r := t.Report(20); r.Searches+int(l.Stats().Dropped) != 100_000 {
			b.Fatalf("%d searches", r.Searches)
		}
	}
}
