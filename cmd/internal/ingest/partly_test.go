package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/extract"
)

// A file of which not all can be read, with more failures than are kept, is read again each time,
// and its documents go when it does.
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

// dying is a shelf that takes so many batches.
type dying struct {
	shelf
	batches int
}

func (d *dying) put(ctx context.Context, docs []document) ([]result, error) {
	if d.batches--; d.batches < 0 {
		return nil, errors.New("dead")
	}
	return d.shelf.put(ctx, docs)
}

// What was put in of a file before the run came to its end in the middle of it is known to the next
// one.
func TestKilledInTheMiddle(t *testing.T) {
	const n = 5 * batchDocuments
	records := func(prefix string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"id":"%s%d","text":"x"}`+"\n", prefix, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name   string
		before func(dir string)
	}{
		{"a new file", func(string) {}},
		{"one that was read before", func(dir string) { write(t, dir+"/a.jsonl", `{"id":"before","text":"x"}`) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
			write(t, dir+"/b.txt", "stays")
			tt.before(dir)
			ingested(t, f, to, dir)
			write(t, dir+"/a.jsonl", records("a"))
			p := pipelineOf(t, f, &dying{to, 3})
			if err := p.once(t.Context(), []string{dir}, extract.Options{}); err == nil {
				t.Fatal("the run ended well")
			}
			// A killed run does not close its journal, and one that begins now may not write it
			// anew.
			if len(to) < 3*batchDocuments {
				t.Fatalf("%d documents are in", len(to))
			}
			again, stay := t.TempDir(), shelf(maps.Clone(to))
			if err := os.CopyFS(again, os.DirFS(f.state)); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(dir + "/a.jsonl"); err != nil {
				t.Fatal(err)
			}
			if ingested(t, f, to, dir); len(to) != 1 {
				t.Errorf("gone: %d documents are left, want one", len(to))
			}
			write(t, dir+"/a.jsonl", records("a"))
			_, p = ingested(t, flags{state: again, deleteMissing: true}, stay, dir)
			if len(stay) != n+1 || p.counts.byStatus["created"] != 2*batchDocuments {
				t.Errorf("again: %d documents, %v, want %d with %d created", len(stay), p.counts.byStatus, n+1, 2*batchDocuments)
			}
			_, p = ingested(t, flags{state: again, deleteMissing: true}, stay, dir)
			if p.counts.byFormat["jsonl"].unchanged != 1 {
				t.Errorf("a third time: %+v, want it unchanged", p.counts.byFormat["jsonl"])
			}
		})
	}
}

// unanswered is a shelf that takes so many batches, and does not say so of the last.
type unanswered struct{ dying }

func (u *unanswered) put(ctx context.Context, docs []document) ([]result, error) {
	results, err := u.dying.put(ctx, docs)
	if err == nil && u.batches == 0 {
		return nil, errors.New("cut off")
	}
	return results, err
}

// What was put in of files by a run that ended before it knew is known to the next one, and what
// was refused is not.
func TestKilledBeforeTheAnswer(t *testing.T) {
	const n = 3 * batchDocuments
	for batches := range 3 {
		dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
		write(t, dir+"/stays.txt", "stays")
		write(t, dir+"/n.txt", "a note")
		ingested(t, f, to, dir)
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"id":"%d","text":"x"}`+"\n", i)
		}
		write(t, dir+"/c.jsonl", b.String())
		write(t, dir+"/a.csv", "id,text\na1,one\na2,two\n")
		write(t, dir+"/b.txt", "another note")
		write(t, dir+"/n.txt", "a note that changed")
		p := pipelineOf(t, f, &unanswered{dying{to, batches + 1}})
		if err := p.once(t.Context(), []string{dir}, extract.Options{}); err == nil {
			t.Fatal("the run ended well")
		}
		if want := 2 + batches*batchDocuments; len(to) < want {
			t.Fatalf("%d documents are in, want %d", len(to), want)
		}
		for _, name := range []string{"/a.csv", "/b.txt", "/c.jsonl", "/n.txt"} {
			if err := os.Remove(dir + name); err != nil {
				t.Fatal(err)
			}
		}
		if ingested(t, f, to, dir); len(to) != 1 {
			t.Errorf("cut off in batch %d: %d documents are left, want one", batches+1, len(to))
		}
	}
}

// So it is where the file has changed until the next run, and that one puts in other documents of
// it.
func TestChangedBeforeTheAnswer(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, dir+"/stays.txt", "stays")
	ingested(t, f, to, dir)
	for _, ids := range []string{"1 2", "3", "4"} { // three runs that are cut off
		var b strings.Builder
		for id := range strings.FieldsSeq(ids) {
			fmt.Fprintf(&b, `{"id":%q,"text":"x"}`+"\n", id)
		}
		write(t, dir+"/a.jsonl", b.String())
		p := pipelineOf(t, f, &unanswered{dying{to, 1}})
		if err := p.once(t.Context(), []string{dir}, extract.Options{}); err == nil {
			t.Fatal("the run ended well")
		}
	}
	write(t, dir+"/a.jsonl", `{"id":"2","text":"x"}`)
	if ingested(t, f, to, dir); to.String() != "2=x stays.txt=stays" {
		t.Errorf("the collection has %s", to)
	}
}

// A document that was refused is nobody's: one of the same id from elsewhere stays when the file
// goes.
func TestRefusedIsNotOurs(t *testing.T) {
	dir, f := t.TempDir(), flags{state: t.TempDir()}
	write(t, dir+"/a.jsonl", `{"id":"2","text":"x"}`)
	write(t, dir+"/b.jsonl", `{"id":"3","text":"x"}`+"\n"+`{"id":"2","text":"x"}`)
	for range 2 {
		if err := pipelineOf(t, f, &memory{refuse: "2"}).once(t.Context(), []string{dir}, extract.Options{}); err != nil {
			t.Fatal(err)
		}
		j, err := openJournal(f.state, true)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]string{"a.jsonl": nil, "b.jsonl": {"3"}} {
			if now, left, err := j.ids(key{dir, name}); err != nil || !slices.Equal(now, want) || len(left) > 0 {
				t.Errorf("%s: the journal knows %v, %v, %v, want %v", name, now, left, err, want)
			}
		}
	}
}

// With --on-error stop, what is committed behind the document that failed is known.
func TestStoppedKnows(t *testing.T) {
	dir, f := t.TempDir(), flags{state: t.TempDir(), onError: "stop"}
	write(t, dir+"/a.jsonl", `{"id":"1","text":"x"}`+"\n"+`{"id":"2","text":"x"}`+"\n"+`{"id":"3","text":"x"}`+"\n")
	m := &memory{refuse: "2"}
	p := pipelineOf(t, f, m)
	if err := p.once(t.Context(), []string{dir}, extract.Options{}); !errors.Is(err, errStop) {
		t.Fatalf("once = %v", err)
	}
	if now, _, err := p.journal.ids(key{dir, "a.jsonl"}); err != nil || !slices.Equal(now, []string{"1", "3"}) {
		t.Errorf("the journal knows %v, %v, want 1 and 3", now, err)
	}
}

// A file of many ids is known by all of them; one of more than are kept loses nothing.
func TestManyIDs(t *testing.T) {
	defer func(line, all int) { maxLineIDs, maxIDs = line, all }(maxLineIDs, maxIDs)
	maxLineIDs, maxIDs = 3, 20
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, dir+"/stays.txt", "stays")
	step := func(name string, from, upTo, want int, warnings int) {
		t.Helper()
		if from >= 0 {
			var b strings.Builder
			for i := from; i < upTo; i++ {
				fmt.Fprintf(&b, `{"id":"%d","text":"x"}`+"\n", i)
			}
			write(t, dir+"/a.jsonl", b.String())
		}
		told, p := ingested(t, f, to, dir)
		if len(to) != want+1 || len(told) != warnings {
			t.Errorf("%s: %d documents, %q, want %d and %d warnings", name, len(to), told, want+1, warnings)
		}
		if from < 0 && p.counts.byFormat["jsonl"].unchanged == 0 {
			t.Errorf("%s: it was read again", name)
		}
		state := t.TempDir() // a copy, that no run has open
		if err := os.CopyFS(state, os.DirFS(f.state)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // also when it has been written anew
			j := reopen(t, nil, state)
			if now, left, err := j.ids(key{dir, "a.jsonl"}); err != nil || want <= maxIDs && len(now) != want || len(left) > 0 {
				t.Errorf("%s: the journal has %v and %v, %v", name, now, left, err)
			}
			j.lines += 10000
			if err := j.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	step("in many lines", 0, 11, 11, 0)
	step("unchanged", -1, 0, 11, 0)
	step("some others", 2, 14, 12, 0)
	step("in one line", 2, 4, 2, 0)
	step("again in many", 2, 20, 18, 0)
	step("too many", 2, 30, 28, 1)
	step("fewer again", 2, 5, 28, 0) // which were its own is not known
}

// Parts of one run and lines of another stand as they come.
func TestPartsOfTwoRuns(t *testing.T) {
	defer func(line int) { maxLineIDs = line }(maxLineIDs)
	maxLineIDs = 2
	dir := t.TempDir()
	a, b := reopen(t, nil, dir), reopen(t, nil, dir)
	k := key{"r", "a.jsonl"}
	check := func(when string, j *journal, size int64, want ...string) {
		t.Helper()
		if err := j.flush(); err != nil {
			t.Fatal(err)
		}
		now, left, err := j.ids(k)
		if e, _ := j.lookup(k); err != nil || !slices.Equal(now, want) || len(left) > 0 || e.Size != size {
			t.Errorf("%s: %v and %v, size %d, %v, want %v and size %d", when, now, left, e.Size, err, want, size)
		}
	}
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	do(a.part(k, "h", []string{"3", "1"}), b.put(plainEntry("b.md")), b.flush(), a.flush())
	check("one part", a, -1, "1", "3")
	check("one part", b, -1, "1", "3")
	do(a.part(k, "h", []string{"2"}), b.put(plainEntry("c.md")), b.flush())
	check("two parts", a, -1, "1", "2", "3")
	do(a.put(recordEntry("a.jsonl", []string{"1", "2", "3", "4", "5"}, nil)), b.put(plainEntry("b.md")), b.flush(), a.flush())
	check("whole", a, 1, "1", "2", "3", "4", "5")
	check("whole", b, 1, "1", "2", "3", "4", "5")
	do(b.part(k, "h", []string{"6"}), a.put(plainEntry("d.md")), a.flush())
	check("read again", b, -1, "1", "2", "3", "4", "5", "6")
	check("read again", a, -1, "1", "2", "3", "4", "5", "6")
	do(a.close(), b.close())
}

// A file in whose place there is a folder is gone, and its documents are.
func TestFolderInPlaceOfFile(t *testing.T) {
	for _, name := range []string{"a.md", "a.jsonl"} {
		dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
		write(t, dir+"/stays.txt", "stays")
		write(t, dir+"/"+name, `{"id":"1","text":"x"}`)
		ingested(t, f, to, dir)
		if err := os.Remove(dir + "/" + name); err != nil {
			t.Fatal(err)
		}
		write(t, dir+"/"+name+"/b.md", "words of b")
		ingested(t, f, to, dir)
		if got, want := strings.Join(slices.Sorted(maps.Keys(to)), " "), name+"/b.md stays.txt"; got != want {
			t.Errorf("the collection has %s, want %s", got, want)
		}
	}
}

// TestStopOnStandardInput stops at a record in the middle of standard input, of which more has been
// read than waits between the steps of a run.
func TestStopOnStandardInput(t *testing.T) {
	m := &memory{}
	p := pipelineOf(t, flags{state: t.TempDir(), onError: "stop"}, m)
	in := "{\"id\":\"a\",\"text\":\"x\"}\nno JSON\n" + strings.Repeat("{\"text\":\"y\"}\n", 1000)
	ended := make(chan error, 1)
	go func() {
		ended <- p.once(t.Context(), []string{"-"}, extract.Options{Format: extract.JSONL, Stdin: strings.NewReader(in)})
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, errStop) || !slices.Equal(m.ids, []string{"a"}) {
			t.Errorf("once = %v with the documents %q, want errStop after the first", err, m.ids)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// TestStopBeforeStandardInput stops at a file while standard input, which comes behind it, is being
// read and waits for its turn.
func TestStopBeforeStandardInput(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/0.jsonl", "no JSON\n")
	paths := []string{dir + "/0.jsonl"}
	for i := range 3 { // with standard input as many as wait for one worker
		write(t, fmt.Sprintf("%s/%d.txt", dir, i+1), "text")
		paths = append(paths, fmt.Sprintf("%s/%d.txt", dir, i+1))
	}
	reads := make(chan struct{})
	in := io.MultiReader(readerFunc(func([]byte) (int, error) { close(reads); return 0, io.EOF }), strings.NewReader(strings.Repeat("{\"text\":\"y\"}\n", 1000)))
	said := writerFunc(func(b []byte) (int, error) {
		<-reads
		time.Sleep(100 * time.Millisecond) // until it waits
		return len(b), nil
	})
	p, err := newPipeline(flags{state: t.TempDir(), onError: "stop", workers: 1}, &memory{}, io.Discard, said, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- p.once(t.Context(), append(paths, "-"), extract.Options{Format: extract.JSONL, Stdin: in})
	}()
	select {
	case err := <-ended:
		if err := errors.Join(p.journal.close(), p.failures.close()); err != nil {
			t.Error(err)
		}
		if !errors.Is(err, errStop) {
			t.Errorf("once = %v, want errStop", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
