package ingest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/extract"
)

// A file of nothing but white space is no failure, and one that was emptied is like one that is
// gone.
func TestEmpty(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir()}, shelf{}
	step := func(name, want string, empty int) {
		t.Helper()
		told, p := ingested(t, f, to, dir)
		if got := strings.Join(slices.Sorted(maps.Keys(to)), " "); got != want || len(told) > 0 || p.counts.empty != empty {
			t.Errorf("%s: the collection has %s, want %s; told %q, %d empty, want %d", name, got, want, told, p.counts.empty, empty)
		}
		var summary strings.Builder
		p.counts.print(&summary, p.failures, true)
		if got := strings.Contains(summary.String(), " empty\n"); got != (empty > 0) {
			t.Errorf("%s: summary\n%s", name, &summary)
		}
	}
	write(t, dir+"/a.md", "words of a")
	write(t, dir+"/b.csv", "id,text\n1,x\n2,y\n")
	write(t, dir+"/new.md", "")
	step("new", "1 2 a.md", 1)
	step("unchanged", "1 2 a.md", 1)
	write(t, dir+"/a.md", "\n")
	step("emptied", "1 2 a.md", 2)
	f.deleteMissing = true
	step("--delete-missing", "1 2", 2)
	write(t, dir+"/b.csv", "")
	step("emptied records", "", 3)
	write(t, dir+"/a.md", "words again")
	step("filled", "a.md", 2)

	// As a watch does it.
	f.deleteMissing = false
	_, p := ingested(t, f, to, dir)
	p.watching = true
	write(t, dir+"/a.md", "")
	in, err := p.journal.scopes([]string{dir}, dir)
	if err == nil {
		err = p.run(t.Context(), []string{dir}, extract.Options{Root: dir})
	}
	if err == nil {
		err = p.missing(t.Context(), in, true, true)
	}
	if err != nil || len(to) > 0 || p.failures.count > 0 {
		t.Errorf("watched: %v, the collection has %s, %d failures", err, to, p.failures.count)
	}
}
