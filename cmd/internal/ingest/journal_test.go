package ingest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func reopen(t *testing.T, j *journal, dir string) *journal {
	t.Helper()
	if j != nil {
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	}
	j, err := openJournal(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// plainEntry is that of a whole file, recordEntry that of a file of records.
func plainEntry(path string) entry {
	return entry{Root: "r", Path: path, Size: 1, Time: 1, Read: int64(time.Hour), Sum: "s", How: "h", Docs: 1}
}

func recordEntry(path string, now, left []string) entry {
	e := plainEntry(path)
	e.Docs = len(now)
	e.join(now, left)
	return e
}

func TestJournal(t *testing.T) {
	dir := t.TempDir()
	j := reopen(t, nil, dir)
	for _, e := range []entry{plainEntry("a.md"), recordEntry("b.jsonl", []string{"1", "2"}, []string{"0"}), recordEntry("c.jsonl", []string{"c.jsonl"}, nil),
		recordEntry("d.jsonl", nil, []string{"9"})} {
		if err := j.put(e); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		t.Helper()
		for path, want := range map[string][2][]string{"a.md": {{"a.md"}, {}}, "b.jsonl": {{"1", "2"}, {"0"}}, "c.jsonl": {{"c.jsonl"}, {}}, "d.jsonl": {{}, {"9"}}} {
			now, left, err := j.ids(key{"r", path})
			if err != nil || !slices.Equal(now, want[0]) || !slices.Equal(left, want[1]) {
				t.Errorf("%s: ids of %s = %v, %v, %v, want %v", when, path, now, left, err, want)
			}
		}
	}
	check("written")
	j = reopen(t, j, dir)
	check("read")
	for range 2000 { // history, which compaction takes out
		if err := j.put(plainEntry("a.md")); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.end(collectionState{Sequence: 7, Documents: 3}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, journalName+".new"), make([]byte, 1<<20), 0o600); err != nil { // of a run that was killed
		t.Fatal(err)
	}
	j = reopen(t, j, dir)
	check("compacted")
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("the folder has %v, %v, want the journal and its lock", files, err)
	}
	if j.lines != 5 || j.state.Sequence != 7 {
		t.Errorf("%d lines, state %+v, want 5 and sequence 7", j.lines, j.state)
	}
	if err := j.drop(key{"r", "a.md"}); err != nil {
		t.Fatal(err)
	}
	j = reopen(t, j, dir)
	if _, ok := j.lookup(key{"r", "a.md"}); ok {
		t.Error("a.md is there after it was dropped")
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}

// What is lost of the journal, at whatever byte, costs entries and nothing else.
func TestJournalTorn(t *testing.T) {
	dir := t.TempDir()
	j := reopen(t, nil, dir)
	for i := range 3 {
		if err := j.put(recordEntry(fmt.Sprintf("%d.jsonl", i), []string{"x", "y"}, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openJournal(dir, true); err != nil {
			t.Fatalf("cut at %d: to read only: %v", n, err)
		}
		j := reopen(t, nil, dir)
		if want := n * 3 / len(whole); len(j.entries) != want && len(j.entries) != want+1 {
			t.Fatalf("%d entries of a journal of %d bytes, want %d", len(j.entries), n, want)
		}
		if err := j.put(plainEntry("new.md")); err != nil {
			t.Fatal(err)
		}
		before := len(j.entries)
		if j = reopen(t, j, dir); len(j.entries) != before {
			t.Fatalf("cut at %d: %d entries after writing to it, want %d", n, len(j.entries), before)
		}
		if now, _, err := j.ids(key{"r", "new.md"}); err != nil || !slices.Equal(now, []string{"new.md"}) {
			t.Fatalf("cut at %d: %v, %v", n, now, err)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A journal that has another letter somewhere is read, and written to, without an end to the
// program.
func TestJournalDamaged(t *testing.T) {
	defer func(was int) { maxLineIDs = was }(maxLineIDs)
	maxLineIDs = 2
	dir := t.TempDir()
	j := reopen(t, nil, dir)
	for _, e := range []entry{recordEntry("a.jsonl", []string{"w", "x", "y"}, []string{"z"}), plainEntry("b.md")} {
		if err := j.put(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		for _, c := range []string{"-1", "9", "\n"} {
			damaged := slices.Concat(whole[:n], []byte(c), whole[n+1:])
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := openJournal(dir, true); err != nil {
				t.Fatalf("%q at %d: to read only: %v", c, n, err)
			}
			j := reopen(t, nil, dir)
			if _, err := j.keepShared(map[string]bool{"x": true, "z": true}, nil); err != nil {
				t.Fatalf("%q at %d: %v", c, n, err)
			}
			if err := j.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestJournalBegin(t *testing.T) {
	was := collectionState{Created: time.Unix(1, 0), Incarnation: "a", Sequence: 10, Documents: 5}
	now := func(created int64, incarnation string, sequence uint64, documents int) collectionState {
		return collectionState{time.Unix(created, 0), incarnation, sequence, documents}
	}
	for _, tt := range []struct {
		name  string
		now   collectionState
		trust bool
	}{
		{"as it was", was, true},
		{"others have written", now(1, "a", 12, 6), true},
		{"gone back", now(1, "a", 9, 5), false},
		{"lost documents", now(1, "a", 12, 4), false},
		{"made anew", now(2, "b", 10, 5), false},
		{"restored, and others have written", now(1, "b", 12, 6), false},
		{"a journal from before, or a server from before", now(1, "", 12, 6), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			j := reopen(t, nil, dir)
			if err := j.put(recordEntry("a.jsonl", []string{"1", "2"}, nil)); err != nil {
				t.Fatal(err)
			}
			if err := j.end(was); err != nil {
				t.Fatal(err)
			}
			j = reopen(t, j, dir)
			if err := j.begin(tt.now); err != nil {
				t.Fatal(err)
			}
			j = reopen(t, j, dir) // also for the next run
			e, _ := j.lookup(key{"r", "a.jsonl"})
			if now, _, err := j.ids(key{"r", "a.jsonl"}); err != nil || len(now) != 2 || (e.Size == 1) != tt.trust {
				t.Errorf("entry %+v, ids %v, %v, want trust %v and the ids", e, now, err, tt.trust)
			}
			if err := j.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A watch that goes on while the collection is restored must not take over the numbers of the new
// one for the old entries.
func TestJournalGoOn(t *testing.T) {
	j := reopen(t, nil, t.TempDir())
	if err := errors.Join(j.put(plainEntry("a.md")), j.end(collectionState{Incarnation: "a", Sequence: 10, Documents: 5})); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		now     collectionState
		another bool
	}{
		{collectionState{Incarnation: "a", Sequence: 11, Documents: 4}, false}, // somebody has deleted one
		{collectionState{Incarnation: "b", Sequence: 12, Documents: 6}, true},
		{collectionState{Incarnation: "b", Sequence: 12, Documents: 6}, false},
	} {
		if another, err := j.checkCollection(tt.now); err != nil || another != tt.another {
			t.Errorf("checkCollection(%+v) = %v, %v, want %v", tt.now, another, err, tt.another)
		}
	}
	if e, _ := j.lookup(key{"r", "a.md"}); e.Size != -1 {
		t.Errorf("entry %+v looks unchanged", e)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}

func TestJournalClaimed(t *testing.T) {
	j, dir := reopen(t, nil, t.TempDir()), t.TempDir()
	write(t, dir+"/c.jsonl", "there")
	for _, e := range []entry{plainEntry("a.md"), plainEntry("b.md"), recordEntry("c.jsonl", []string{"b.md", "c"}, []string{"old"}), recordEntry("gone.jsonl", []string{"a.md"}, nil)} {
		e.Root = dir
		if err := j.put(e); err != nil {
			t.Fatal(err)
		}
	}
	ids := map[string]bool{"a.md": true, "b.md": true, "c": true, "old": true}
	by, err := j.keepShared(ids, map[key]bool{{dir, "a.md"}: true, {dir, "b.md"}: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != 2 || !ids["a.md"] || !ids["old"] || !slices.Equal(by, []key{{dir, "c.jsonl"}, {dir, "gone.jsonl"}}) {
		t.Errorf("free to be deleted: %v, shared by %v, want a.md and old, and c.jsonl and gone.jsonl", ids, by)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}

// Runs that write to the same journal at the same time keep each other's lines, and see them.
func TestJournalOfTwoRuns(t *testing.T) {
	dir := t.TempDir()
	a, b := reopen(t, nil, dir), reopen(t, nil, dir)
	put := func(j *journal, e entry) {
		t.Helper()
		if err := j.put(e); err != nil {
			t.Fatal(err)
		}
	}
	flush := func(j *journal) {
		t.Helper()
		if err := j.flush(); err != nil {
			t.Fatal(err)
		}
	}
	put(a, recordEntry("a.jsonl", []string{"a1", "a2"}, nil))
	put(b, recordEntry("b.jsonl", []string{"b1"}, nil))
	flush(b)
	for range 2000 { // enough for compaction
		put(b, plainEntry("b.md"))
	}
	flush(a)
	put(a, recordEntry("c.jsonl", []string{"c1", "c2"}, []string{"c0"}))
	flush(b)
	check := func(who string, j *journal) {
		t.Helper()
		for path, want := range map[string][]string{"a.jsonl": {"a1", "a2"}, "b.jsonl": {"b1"}, "b.md": {"b.md"}, "c.jsonl": {"c1", "c2"}} {
			now, _, err := j.ids(key{"r", path})
			if err != nil || !slices.Equal(now, want) {
				t.Errorf("%s: ids of %s = %v, %v, want %v", who, path, now, err, want)
			}
		}
	}
	flush(a)
	check("a", a)
	flush(b)
	check("b", b)
	if err := b.close(); err != nil { // a has the file open: it must stay the same one
		t.Fatal(err)
	}
	put(a, recordEntry("a.jsonl", []string{"a3"}, nil))
	a = reopen(t, a, dir)
	if now, _, err := a.ids(key{"r", "a.jsonl"}); err != nil || !slices.Equal(now, []string{"a3"}) {
		t.Errorf("a.jsonl = %v, %v, want a3", now, err)
	}
	put(a, recordEntry("a.jsonl", []string{"a1", "a2"}, nil))
	check("after all", a)
	if a.lines > 10 {
		t.Errorf("%d lines: the last run to end has not written it anew", a.lines)
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
}
