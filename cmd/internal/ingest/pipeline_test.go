package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/extract"
)

// memory is a sink that keeps ids in the order in which they came.
type memory struct {
	ids    []string
	refuse string // the id that it does not take
	broken bool
	full   int // with so many documents; 0: never
}

func (m *memory) put(_ context.Context, docs []document) ([]result, error) {
	if m.broken {
		return nil, errors.New("sink is broken")
	}
	if m.full > 0 && len(m.ids) >= m.full {
		return nil, errors.New("sink is full")
	}
	out := make([]result, len(docs))
	for i, d := range docs {
		if out[i].status = "created"; d.id == m.refuse {
			out[i] = result{status: failed, why: "no"}
			continue
		}
		m.ids = append(m.ids, d.id)
	}
	return out, nil
}
func (m *memory) remove(context.Context, []string) (int, error)  { return 0, nil }
func (m *memory) state(context.Context) (collectionState, error) { return collectionState{}, nil }
func (m *memory) close() error                                   { return nil }

func pipelineOf(t *testing.T, f flags, to sink) *pipeline {
	t.Helper()
	f.workers = max(f.workers, 1)
	p, err := newPipeline(f, to, io.Discard, io.Discard, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.journal.close(), p.failures.close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Standard input that says no more does not hold up the end, and what it said is put in; of a line
// that is cut off nothing.
func TestInterruptedPipe(t *testing.T) {
	for _, format := range []extract.Format{extract.Auto, extract.JSONL} {
		ctx, cancel := context.WithCancel(t.Context())
		more := readerFunc(func([]byte) (int, error) {
			cancel()
			<-t.Context().Done()
			return 0, io.EOF
		})
		stdin := io.MultiReader(strings.NewReader("{\"id\":\"1\",\"text\":\"x\"}\n{\"id\":\"2\",\"text\":\"x\"}\n{\"id\":\"3\",\"te"), more)
		m := &memory{}
		p := pipelineOf(t, flags{state: t.TempDir()}, m)
		done := make(chan error, 1)
		go func() { done <- p.once(ctx, []string{"-"}, extract.Options{Format: format, Stdin: stdin}) }()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) || !slices.Equal(m.ids, []string{"1", "2"}) {
				t.Errorf("%v: once = %v with %q put in, want %v with 1 and 2", format, err, m.ids, context.Canceled)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%v: once goes on", format)
		}
	}
}

// Any number of workers puts in the same documents in the same order as one.
func TestWorkers(t *testing.T) {
	dir := t.TempDir()
	for i := range 60 {
		if i%2 == 0 {
			write(t, fmt.Sprintf("%s/%02d.md", dir, i), "some words")
			continue
		}
		var lines strings.Builder
		for j := range 10 * i {
			fmt.Fprintf(&lines, "{\"id\":\"%d-%d\",\"text\":\"x\"}\n", i, j)
		}
		write(t, fmt.Sprintf("%s/%02d.jsonl", dir, i), lines.String())
	}
	var want []string
	for _, workers := range []int{1, 2, 8} {
		m := &memory{}
		p := pipelineOf(t, flags{workers: workers, state: t.TempDir()}, m)
		if err := p.run(t.Context(), []string{dir}, extract.Options{}); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = m.ids
		}
		if len(m.ids) != 30+9000 || !slices.Equal(m.ids, want) {
			t.Errorf("%d workers: %d ids in another order than with one", workers, len(m.ids))
		}
	}
}

// Only a file whose documents are all in is passed over by the next run.
func TestResume(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write(t, dir+"/a.md", "words of a")
	write(t, dir+"/b.jsonl", "{\"id\":\"b1\",\"text\":\"x\"}\n{\"id\":\"b2\",\"text\":\"x\"}\n")
	write(t, dir+"/c.jsonl", "{\"id\":\"c1\",\"text\":\"x\"}\nbroken\n")
	run := func(m *memory, want string, failed int) *pipeline {
		t.Helper()
		p := pipelineOf(t, flags{state: state}, m)
		if err := p.run(t.Context(), []string{dir}, extract.Options{}); err != nil && !m.broken {
			t.Fatal(err)
		}
		if got := strings.Join(m.ids, " "); got != want || p.failures.count != failed {
			t.Errorf("put %q with %d failures, want %q with %d", got, p.failures.count, want, failed)
		}
		return p
	}
	run(&memory{broken: true}, "", 1)
	run(&memory{refuse: "b2"}, "a.md b1 c1", 2)
	run(&memory{}, "b1 b2", 1)
	run(&memory{}, "", 1)
	// The same bytes with another time are not put in again; other bytes of the same size are.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(dir+"/a.md", later, later); err != nil {
		t.Fatal(err)
	}
	run(&memory{}, "", 1)
	write(t, dir+"/a.md", "words of b")
	run(&memory{}, "a.md", 1)
	// Two changes within the resolution of the clock look like one: what was changed just now is
	// compared.
	at := time.Now()
	write(t, dir+"/a.md", "words of c")
	if err := os.Chtimes(dir+"/a.md", at, at); err != nil {
		t.Fatal(err)
	}
	run(&memory{}, "a.md", 1)
	write(t, dir+"/a.md", "words of d")
	if err := os.Chtimes(dir+"/a.md", at, at); err != nil {
		t.Fatal(err)
	}
	run(&memory{}, "a.md", 1)
	p := pipelineOf(t, flags{state: state, verify: true}, &memory{})
	if err := p.run(t.Context(), []string{dir}, extract.Options{}); err != nil || p.counts.byStatus["created"] != 4 {
		t.Errorf("--verify: %v, %v", p.counts.byStatus, err)
	}
	for _, f := range []flags{{state: state, idField: "id"}, {state: state, encoding: "koi8-r"}, {state: state, html: "full"}} {
		p = pipelineOf(t, f, &memory{})
		if err := p.run(t.Context(), []string{dir}, extract.Options{}); err != nil || p.counts.byStatus["created"] != 4 {
			t.Errorf("other settings %+v: %v, %v", f, p.counts.byStatus, err)
		}
	}
}

// A file that an earlier version of the reader has read, or one of before there were versions, is
// read again once, though it has not changed.
func TestReadByEarlierVersion(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		write(t, dir+"/"+name, "words")
	}
	run := func(want string) {
		t.Helper()
		m := &memory{}
		p := pipelineOf(t, flags{state: state, collection: "docs"}, m)
		if err := errors.Join(p.run(t.Context(), []string{dir}, extract.Options{}), p.journal.flush()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(m.ids, " "); got != want || p.failures.count != 0 {
			t.Errorf("put %q with %d failures, want %q with none", got, p.failures.count, want)
		}
	}
	run("a.md b.md c.md")
	run("")
	name := filepath.Join(state, "docs", journalName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var earlier strings.Builder
	how := fmt.Sprintf(`"how":"%d `, extract.Version)
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.Contains(line, `"path":"a.md"`):
			line = strings.Replace(line, how, fmt.Sprintf(`"how":"%d `, extract.Version-1), 1)
		case strings.Contains(line, `"path":"c.md"`):
			line = strings.Replace(line, how, `"was":"`, 1)
		}
		earlier.WriteString(line)
	}
	write(t, name, earlier.String())
	run("a.md c.md")
	run("")
}

// The summary of a run that was stopped speaks of the file in which it was.
func TestStoppedSummary(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 3 * batchDocuments {
		fmt.Fprintf(&lines, "{\"id\":\"%d\",\"text\":\"x\"}\n", i)
	}
	write(t, dir+"/a.jsonl", lines.String())
	summary := func(m *memory) string {
		p := pipelineOf(t, flags{state: t.TempDir()}, m)
		err := p.once(t.Context(), []string{dir}, extract.Options{})
		var b strings.Builder
		p.counts.print(&b, p.failures, err == nil)
		return b.String()
	}
	for _, tt := range []struct {
		m                *memory
		want, not, lacks string
	}{
		{&memory{full: batchDocuments}, "256 documents from 0 files and 1 not read to the end", "nothing to read", ""},
		{&memory{broken: true}, "0 documents from 0 files in", "nothing to read", "not read to the end"},
		{&memory{}, "768 documents from 1 file in", "nothing to read", "not read to the end"},
	} {
		if got := summary(tt.m); !strings.Contains(got, tt.want) || strings.Contains(got, tt.not) || tt.lacks != "" && strings.Contains(got, tt.lacks) {
			t.Errorf("summary of %+v:\n%s", tt.m, got)
		}
	}
}

// Files of the same name below two roots do not push each other out unnoticed.
func TestRivals(t *testing.T) {
	dir, state, to := t.TempDir(), t.TempDir(), shelf{}
	write(t, dir+"/a/README.md", "words of a")
	write(t, dir+"/b/README.md", "words of b")
	pass := func(paths ...string) *pipeline {
		t.Helper()
		p := pipelineOf(t, flags{state: state, workers: 4}, to)
		if err := p.run(t.Context(), paths, extract.Options{}); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for range 3 {
		if p := pass(dir+"/a", dir+"/b"); p.failures.count != 1 {
			t.Errorf("both at once: %d failures, want 1", p.failures.count)
		}
		write(t, dir+"/b/README.md", "other words of b")
	}
	if p := pass(dir + "/b"); p.failures.warnings != 1 {
		t.Errorf("one after the other: %d warnings, want 1", p.failures.warnings)
	}
}

// Mailboxes of the same name below two roots are no rivals, nor are a mailbox and a note: their
// messages have ids of their own.
func TestMailboxesOfOneName(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	letter := func(id string) string {
		return "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nSubject: s\nMessage-ID: <" + id + ">\n\nwords\n"
	}
	for _, name := range []string{"Inbox", "in.mbox"} {
		write(t, dir+"/a/"+name, letter("a-"+name))
		write(t, dir+"/b/"+name, letter("b-"+name))
	}
	write(t, dir+"/c/Inbox", "a note")
	old := time.Now().Add(-time.Hour)
	for _, file := range []string{"a/Inbox", "b/Inbox", "c/Inbox", "a/in.mbox", "b/in.mbox"} {
		if err := os.Chtimes(dir+"/"+file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{5, 0} {
		m := &memory{}
		p := pipelineOf(t, flags{state: state, workers: 4}, m)
		if err := p.run(t.Context(), []string{dir + "/a", dir + "/b", dir + "/c"}, extract.Options{}); err != nil {
			t.Fatal(err)
		}
		if p.failures.count != 0 || len(m.ids) != want {
			t.Errorf("%d failures and %d documents, want none and %d", p.failures.count, len(m.ids), want)
		}
	}
}

// A server that will never be understood is not asked again, and nobody is told that it is.
func TestNoTrustedServer(t *testing.T) {
	ts := httptest.NewServer(http.NotFoundHandler())
	defer ts.Close()
	var notices []string
	_, err := openServer(t.Context(), flags{server: strings.Replace(ts.URL, "http:", "https:", 1), collection: "docs"}, languageChoice{}, func(s string) { notices = append(notices, s) })
	if err == nil || len(notices) != 0 {
		t.Errorf("openServer = %v, notices: %q", err, notices)
	}
}

// A server that is busy or away is asked again, and one is told.
func TestBusyServer(t *testing.T) {
	var calls atomic.Int32
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := calls.Add(1); {
		case n%3 == 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		case n%3 == 2:
			panic(http.ErrAbortHandler) // the connection breaks
		case strings.HasSuffix(r.URL.Path, "/import"):
			dec := json.NewDecoder(r.Body)
			for line := 1; ; line++ {
				var d struct{ ID string }
				if dec.Decode(&d) != nil {
					return
				}
				fmt.Fprintf(w, "{\"line\":%d,\"id\":%q,\"status\":\"created\"}\n", line, d.ID)
			}
		default:
			fmt.Fprintln(w, `{"name":"docs"}`)
		}
	}))
	defer ts.Close()
	dir := t.TempDir()
	write(t, dir+"/a.md", "words")
	var notices []string
	to, err := openServer(t.Context(), flags{server: ts.URL, collection: "docs"}, languageChoice{named: autoLanguage}, func(s string) { notices = append(notices, s) })
	if err != nil {
		t.Fatal(err)
	}
	p := pipelineOf(t, flags{state: t.TempDir()}, to)
	if err := p.once(t.Context(), []string{dir}, extract.Options{}); err != nil || p.counts.byStatus["created"] != 1 {
		t.Errorf("%v, %v", p.counts.byStatus, err)
	}
	if len(notices) == 0 || !strings.Contains(notices[0], "busy") {
		t.Errorf("notices: %q", notices)
	}
}
