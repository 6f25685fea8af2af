package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// A file of which not all can be read, with more failures than are kept, is read again each time, and its documents go when it does.
func TestPartlyRead(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	step := func(name, want string) {
		t.Helper()
		_, p := ingested(t, f, to, dir)
		if got := strings.Join(slices.Sorted(maps.Keys(to)), " "); got != want || p.counts.byFormat["jsonl"].unchanged > 0 {
			t.Errorf("%s: the collection has %s, want %s; %+v", name, got, want, p.counts.byFormat["jsonl"])
		}
	}
	record := func(ids ...string) (s string) {
		for _, id := range ids {
			s += fmt.Sprintf(`{"id":%q,"text":"x"}`+"\n", id)
		}
		return s
	}
	broken := strings.Repeat("{\n", maxFailures+1)
	write(t, dir+"/other.jsonl", record("o", "p")+broken)
	write(t, dir+"/a.jsonl", record("1", "2", "3"))
	step("whole", "1 2 3 o p")
	write(t, dir+"/a.jsonl", record("1", "4")+broken)
	step("broken: what it had may be in it still", "1 2 3 4 o p")
	step("still broken", "1 2 3 4 o p")
	write(t, dir+"/a.jsonl", record("1", "5"))
	step("mended", "1 5 o p")
	write(t, dir+"/a.jsonl", record("6")+broken)
	step("broken again", "1 5 6 o p")
	for _, name := range []string{"/a.jsonl", "/other.jsonl"} {
		if err := os.Remove(dir + name); err != nil {
			t.Fatal(err)
		}
		write(t, dir+name+".txt", "stays")
	}
	if ingested(t, f, to, dir); len(to) != 2 {
		t.Errorf("gone: the collection has %v", slices.Sorted(maps.Keys(to)))
	}
}
