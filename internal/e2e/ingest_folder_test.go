package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
)

// folder is a folder of files of all kinds, made for a test.
type folder struct {
	t    *testing.T
	dir  string
	good map[string]string // a word that stands in one document only -> its id
	bad  map[string]string // path -> a part of the reason for which it cannot be read
}

func (f *folder) write(name string, content []byte) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func packed(b []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(b)                                 // a Buffer does not fail
	w.Close()
	return out.Bytes()
}

// pdfPage returns a PDF of one page with that text, or of one without a text layer.
func pdfPage(text string) []byte {
	content := "q 100 0 0 100 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q"
	if text != "" {
		content = "BT /F1 12 Tf 72 700 Td (" + text + ") Tj ET"
	}
	return pdfFile("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
}

func pdfFile(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	table := "0000000000 65535 f \n"
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table, len(objects)+1, xref)
	return b.Bytes()
}

// add writes good file number i. It holds the word goodI; a file of records holds goodIr1 and
// goodIr2 in records of their own.
func (f *folder) add(i int) {
	word := fmt.Sprintf("good%d", i)
	dir := fmt.Sprintf("part%d/", i%5)
	text := fmt.Sprintf("A %s %s by the %s, and %s in it.", vocabulary[i%7], vocabulary[i%11], vocabulary[i%13], word)
	name := ""
	switch i % 7 {
	case 0:
		name = fmt.Sprintf("%sn%d.md", dir, i)
		f.write(name, []byte("# Note "+fmt.Sprint(i)+"\n\n"+text+"\n"))
	case 1:
		name = fmt.Sprintf("%sn%d.html", dir, i)
		f.write(name, []byte("<!doctype html><title>Page</title><script>no()</script><p>"+text))
	case 2:
		name = fmt.Sprintf("%sn%d.txt", dir, i)
		f.write(name, []byte(text+"\n"))
	case 3:
		name = fmt.Sprintf("%sn%d.pdf", dir, i)
		f.write(name, pdfPage(text))
	case 4:
		name = fmt.Sprintf("%sn%d.md.gz", dir, i)
		f.write(name, packed([]byte(text)))
	case 5:
		f.write(fmt.Sprintf("%sn%d.csv", dir, i), fmt.Appendf(nil, "id,text\nc%dr1,row %sr1\nc%dr2,row %sr2\n", i, word, i, word))
		f.good[word+"r1"], f.good[word+"r2"] = fmt.Sprintf("c%dr1", i), fmt.Sprintf("c%dr2", i)
		return
	case 6:
		f.write(fmt.Sprintf("%sn%d.jsonl", dir, i), fmt.Appendf(nil, "{\"id\":\"j%dr1\",\"text\":\"line %sr1\"}\n{\"id\":\"j%dr2\",\"text\":\"line %sr2\"}\n", i, word, i, word))
		f.good[word+"r1"], f.good[word+"r2"] = fmt.Sprintf("j%dr1", i), fmt.Sprintf("j%dr2", i)
		return
	}
	f.good[word] = name
}

// spoil writes bad file number i.
func (f *folder) spoil(i int) {
	kinds := []struct {
		ext, content, why string
	}{
		{".jsonl", "{\"text\":\n", "not valid JSON"},
		{".json", "[1, 2, 3]", "want a JSON object"},
		{".csv", "id,text\n1,a,b,c\n", "row has 4 fields"},
		{".txt", "MZ\x00\x01\x02", "binary data"},
		{".html", "<p>words\x00words", "not HTML"},
		{".md", "<!-- nothing else -->\n", "no text"},
		{".pdf", string(pdfPage("x")[:200]), "nor its pages are found"},
		{".pdf", string(pdfPage("")), "no text layer"},
		{".txt.gz", string(packed([]byte(strings.Repeat("abc", 1000)))[:30]), "gzip: damaged"},
		{".txt", "%PDF-1.4\n", "a PDF under the name of plain text"},
	}
	k := kinds[i%len(kinds)]
	name := fmt.Sprintf("bad/b%d%s", i, k.ext)
	f.write(name, []byte(k.content))
	f.bad[name] = k.why
}

// hostile writes what is made to hurt.
func (f *folder) hostile() {
	f.write("bombs/tree.pdf", pdfFile("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 5 /Kids [2 0 R 2 0 R] >>"))
	f.bad["bombs/tree.pdf"] = "all 5 pages are empty or damaged"
	f.write("bombs/table.pdf", bytes.Replace(pdfPage("goodtable"), []byte("xref\n0 6"), []byte("xref\n4000000000 6"), 1))
	f.good["goodtable"] = "bombs/table.pdf"
	form := "/X Do /X Do /X Do /X Do /X Do /X Do"
	f.write("bombs/form.pdf", pdfFile("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [3 0 R] >>", "<< /Type /Page /Parent 2 0 R /Resources << /XObject << /X 4 0 R >> >> /Contents 4 0 R >>",
		fmt.Sprintf("<< /Subtype /Form /Resources << /XObject << /X 4 0 R >> >> /Length %d >>\nstream\n%s\nendstream", len(form), form)))
	f.bad["bombs/form.pdf"] = "than the limit" // of time, or of memory on a fast machine
	f.write("bombs/zeros.txt.gz", packed(make([]byte, 32<<20)))
	f.bad["bombs/zeros.txt.gz"] = "limit of 100 to 1"
	f.write("bombs/deep.html", []byte(strings.Repeat("<div><b>", 200_000)+"gooddeep"))
	f.good["gooddeep"] = "bombs/deep.html"
	f.write("bombs/line.jsonl", []byte("{\"text\":\""+strings.Repeat("x", 5<<20)+"\"}\n{\"id\":\"after\",\"text\":\"goodafter\"}\n"))
	f.bad["bombs/line.jsonl"] = "longer than the limit"
	f.good["goodafter"] = "after"
	huge, err := os.Create(filepath.Join(f.dir, "bombs/huge.txt"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer huge.Close()
	if err := huge.Truncate(1 << 36); err != nil {
		f.t.Fatal(err)
	}
	f.bad["bombs/huge.txt"] = "larger than the limit"
	// Links are not followed: they are skipped, not bad.
	outside := f.t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("outside secret"), 0o644); err != nil {
		f.t.Fatal(err)
	}
	for name, to := range map[string]string{"loop": f.dir, "bombs/self.txt": "self.txt", "out": outside} {
		if err := os.Symlink(to, filepath.Join(f.dir, name)); err != nil {
			f.t.Skipf("no symbolic links here: %v", err)
		}
	}
}

func makeFolder(t *testing.T, n int) *folder {
	f := &folder{t: t, dir: filepath.Join(t.TempDir(), "files"), good: map[string]string{}, bad: map[string]string{}}
	for i := range n {
		if i%20 == 19 {
			f.spoil(i / 20)
		} else {
			f.add(i)
		}
	}
	f.hostile()
	// As old as what one finds: the time of a file that was changed just now is not trusted.
	old := time.Now().Add(-time.Hour)
	err := filepath.Walk(f.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// errorsIn returns the lines of an errors.jsonl, reasons by path.
func errorsIn(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		var e struct {
			Path, Reason string
			Warning      bool
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v: %s", path, err, line)
		}
		if !e.Warning {
			out[e.Path] = e.Reason
		}
	}
	return out
}

// finds fails the test unless a search for each word answers with the document that holds it.
func finds(t *testing.T, e *search.Engine, good map[string]string) {
	t.Helper()
	missing := 0
	for word, id := range good {
		res, err := e.Search(t.Context(), "docs", search.Query{Q: word, Mode: search.Keyword})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Hits) != 1 || res.Hits[0].ID != id {
			if missing++; missing <= 5 {
				t.Errorf("%q: %d hits, want %s", word, len(res.Hits), id)
			}
		}
	}
	if missing > 5 {
		t.Errorf("%d of %d documents are not found", missing, len(good))
	}
}

// runMeasured is run that tells what is known of the program when it has ended.
func runMeasured(t *testing.T, name string, args ...string) (code int, stderr string, state *os.ProcessState) {
	t.Helper()
	cmd := command(t, name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), errs.String(), cmd.ProcessState
}

// TestIngestFolder puts a folder of files of all kinds in, good, broken and hostile ones: killed in
// the middle, again, and once more with nothing left to do. E2E_FULL=1 does it with 5,000 files.
func TestIngestFolder(t *testing.T) {
	n := 300
	if os.Getenv("E2E_FULL") != "" {
		n = 5000
	}
	f := makeFolder(t, n)
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--data", data, "--pdf-time", "2s", f.dir}

	killed := command(t, "ingest", args...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	// In the middle: when the journal knows some files.
	journal := filepath.Join(data, "ingest", "docs", "journal.jsonl")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(journal); err == nil && bytes.Count(b, []byte("\n")) > 20 {
			break
		}
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := killed.Wait(); err == nil {
		t.Error("the kill came after the end")
	}

	began := time.Now()
	code, stderr, state := runMeasured(t, "ingest", args...)
	peak := peakMemory(state)
	t.Logf("after the kill, %v, at most %d MB:\n%s", time.Since(began).Round(time.Millisecond), peak>>20, stderr)
	if peak > 768<<20 {
		t.Errorf("it took %d MB", peak>>20)
	}
	if code != 1 {
		t.Errorf("exit code %d, want 1 for the bad files", code)
	}
	check := func(errorsFile string) {
		t.Helper()
		got := errorsIn(t, errorsFile)
		for name, why := range f.bad {
			if reason := got[filepath.Join(f.dir, name)]; !strings.Contains(reason, why) {
				t.Errorf("%s: reason %q, want %q", name, reason, why)
			}
		}
		if len(got) != len(f.bad) {
			t.Errorf("%d bad files are named, want %d: %v", len(got), len(f.bad), slices.Collect(maps.Keys(got)))
		}
	}
	check(filepath.Join(data, "ingest", "docs", "errors.jsonl"))

	// Nothing has changed: nothing is read, and what is bad is named again.
	again := filepath.Join(t.TempDir(), "again.jsonl")
	code, stderr, state = runMeasured(t, "ingest", append([]string{"--errors", again}, args...)...)
	if d := state.UserTime() + state.SystemTime(); code != 1 || d > 2*time.Second || !strings.Contains(stderr, fmt.Sprintf("%d unchanged", len(f.good))) {
		t.Errorf("a second run: exit code %d after %v of processor time\n%s", code, d, stderr)
	}
	check(again)

	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	finds(t, e, f.good)
	if res, err := e.Search(t.Context(), "docs", search.Query{Q: "secret", Mode: search.Keyword}); err != nil || len(res.Hits) > 0 {
		t.Errorf("a link out of the folder was followed: %v", err)
	}
}

// TestIngestMissing deletes what is gone, and nothing else.
func TestIngestMissing(t *testing.T) {
	dir := t.TempDir()
	f := &folder{t: t, dir: filepath.Join(dir, "a"), good: map[string]string{}, bad: map[string]string{}}
	f.write("one.md", []byte("goodone"))
	f.write("two.md", []byte("goodtwo"))
	f.write("sub/three.md", []byte("goodthree"))
	f.write("r.jsonl", []byte("{\"id\":\"r1\",\"text\":\"goodr1\"}\n{\"id\":\"r2\",\"text\":\"goodr2\"}\n{\"id\":\"both\",\"text\":\"goodboth\"}\n"))
	f.write("s.jsonl", []byte("{\"id\":\"both\",\"text\":\"goodboth\"}\n"))
	other := &folder{t: t, dir: filepath.Join(dir, "b")}
	other.write("other.md", []byte("goodother"))
	data := filepath.Join(dir, "data")
	mustRun(t, "ingest", "--data", data, f.dir)
	mustRun(t, "ingest", "--data", data, other.dir)
	if code, _, stderr := run(t, "{\"id\":\"piped\",\"text\":\"goodpiped\"}", "ingest", "--data", data, "-"); code != 0 {
		t.Fatal(stderr)
	}
	for _, name := range []string{"a/two.md", "a/sub", "b/other.md"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	f.write("r.jsonl", []byte("{\"id\":\"r1\",\"text\":\"goodr1\"}\n"))
	stdout, _ := mustRun(t, "ingest", "--data", data, "--dry-run", "--delete-missing", f.dir)
	if want := "would delete r2\nwould delete sub/three.md\nwould delete two.md\n"; stdout != want {
		t.Errorf("--dry-run: %q, want %q", stdout, want)
	}
	if _, stderr := mustRun(t, "ingest", "--data", data, f.dir); strings.Contains(stderr, "deleted") {
		t.Errorf("deleted without being asked: %s", stderr)
	}
	if _, stderr := mustRun(t, "ingest", "--data", data, "--delete-missing", f.dir); !strings.Contains(stderr, "3 deleted") {
		t.Errorf("--delete-missing: %s", stderr)
	}
	// An emptied folder is not believed.
	for _, name := range []string{"one.md", "r.jsonl", "s.jsonl"} {
		if err := os.Rename(filepath.Join(f.dir, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := run(t, "", "ingest", "--data", data, "--delete-missing", f.dir); code != 1 || !strings.Contains(stderr, "an unmounted disk") {
		t.Errorf("an empty folder: exit code %d\n%s", code, stderr)
	}
	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	finds(t, e, map[string]string{"goodone": "one.md", "goodr1": "r1", "goodboth": "both", "goodother": "other.md", "goodpiped": "piped"})
	if c, err := e.Collection(t.Context(), "docs"); err != nil || c.Documents != 5 {
		t.Errorf("%d documents, %v, want 5", c.Documents, err)
	}
}

// A journal must not hide that the collection is no longer what it was.
func TestIngestCollectionMadeAnew(t *testing.T) {
	f := &folder{t: t, dir: filepath.Join(t.TempDir(), "a")}
	f.write("one.md", []byte("goodone"))
	f.write("two.md", []byte("goodtwo"))
	e, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	args := []string{"--server", serve(t, e), "--state", t.TempDir(), f.dir}
	mustRun(t, "ingest", args...)
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"one.md"}); err != nil {
		t.Fatal(err)
	}
	if _, stderr := mustRun(t, "ingest", args...); !strings.Contains(stderr, "1 created") {
		t.Errorf("a document deleted by another hand: %s", stderr)
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if _, stderr := mustRun(t, "ingest", args...); !strings.Contains(stderr, "2 created") {
		t.Errorf("a collection made anew: %s", stderr)
	}
	finds(t, e, map[string]string{"goodone": "one.md", "goodtwo": "two.md"})
}

func TestIngestOnError(t *testing.T) {
	f := &folder{t: t, dir: filepath.Join(t.TempDir(), "a")}
	f.write("a.md", []byte("gooda"))
	f.write("b.jsonl", []byte("{bad\n"))
	f.write("c.md", []byte("goodc"))
	data := filepath.Join(t.TempDir(), "data")
	code, _, stderr := run(t, "", "ingest", "--data", data, "--on-error", "stop", f.dir)
	if code != 1 || !strings.Contains(stderr, "stopped at the first failure") || !strings.Contains(stderr, "1 created") {
		t.Errorf("--on-error stop: exit code %d\n%s", code, stderr)
	}
	if code, _, stderr = run(t, "", "ingest", "--data", data, "--on-error", "panic", f.dir); code != 2 || !strings.Contains(stderr, "skip, stop") {
		t.Errorf("--on-error panic: exit code %d\n%s", code, stderr)
	}
}

// TestIngestWatch follows a folder by the system's events, and by looking.
func TestIngestWatch(t *testing.T) {
	for name, poll := range map[string]string{"notified": "0s", "polled": "500ms"} {
		t.Run(name, func(t *testing.T) {
			f := &folder{t: t, dir: filepath.Join(t.TempDir(), "a")}
			f.write("stays.md", []byte("goodstays"))
			f.write("changes.md", []byte("goodbefore"))
			f.write("sub/moves.md", []byte("goodmoves"))
			f.write("goes.md", []byte("goodgoes"))
			e, err := search.Open(t.TempDir(), search.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			cmd := command(t, "ingest", "--server", serve(t, e), "--state", t.TempDir(), "--watch", "--poll", poll, f.dir)
			told, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(told)
			for line := ""; !strings.Contains(line, "watching; "); {
				if line, err = said.ReadString('\n'); err != nil {
					t.Fatalf("it ended before it watched: %v", err)
				}
				if strings.Contains(line, "looking at all files") {
					t.Error(line)
				}
			}
			later := make(chan []byte, 1)
			go func() {
				b, _ := io.ReadAll(said)
				later <- b
			}()
			// until waits for word to be found in the document id, or, with an empty id, nowhere.
			until := func(word, id string) {
				t.Helper()
				began := time.Now()
				for {
					res, err := e.Search(t.Context(), "docs", search.Query{Q: word, Mode: search.Keyword})
					if err == nil && (id == "" && len(res.Hits) == 0 || len(res.Hits) == 1 && res.Hits[0].ID == id) {
						t.Logf("%s: after %v", word, time.Since(began).Round(time.Millisecond))
						return
					}
					if time.Since(began) > time.Minute {
						cmd.Process.Kill()
						t.Fatalf("%s: never in %q: %v\n%s", word, id, err, <-later)
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
			until("goodgoes", "goes.md")
			until("goodmoves", "sub/moves.md")

			f.write("changes.md", []byte("goodlater"))
			until("goodlater", "changes.md")
			until("goodbefore", "")
			if err := os.Rename(filepath.Join(f.dir, "sub/moves.md"), filepath.Join(f.dir, "sub/moved.md")); err != nil {
				t.Fatal(err)
			}
			until("goodmoves", "sub/moved.md")
			if err := os.Remove(filepath.Join(f.dir, "goes.md")); err != nil {
				t.Fatal(err)
			}
			until("goodgoes", "")
			f.write("new/deep/er.md", []byte("gooddeeper"))
			until("gooddeeper", "new/deep/er.md")
			if err := os.Rename(filepath.Join(f.dir, "new"), filepath.Join(f.dir, "newer")); err != nil {
				t.Fatal(err)
			}
			until("gooddeeper", "newer/deep/er.md")
			f.write("newer/deep/er.md", []byte("goodagain"))
			until("goodagain", "newer/deep/er.md")
			if err := os.RemoveAll(filepath.Join(f.dir, "newer")); err != nil {
				t.Fatal(err)
			}
			until("goodagain", "")
			until("goodstays", "stays.md")
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			text := <-later // before Wait closes the pipe
			if err := cmd.Wait(); err != nil {
				t.Errorf("interrupted: %v\n%s", err, text)
			}
		})
	}
}
