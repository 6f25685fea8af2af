package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/extract"
)

// shelf is a sink that keeps the text of each document.
type shelf map[string]string

func (s shelf) put(_ context.Context, docs []document) ([]result, error) {
	out := make([]result, len(docs))
	for i, d := range docs {
		var fields struct{ Text string }
		if err := json.Unmarshal(d.fields, &fields); err != nil {
			return nil, err
		}
		switch text, ok := s[d.id]; {
		case !ok:
			out[i].status = "created"
		case text == fields.Text:
			out[i].status = "unchanged"
		default:
			out[i].status = "updated"
		}
		s[d.id] = fields.Text
	}
	return out, nil
}

func (s shelf) remove(_ context.Context, ids []string) (n int, err error) {
	for _, id := range ids {
		if _, ok := s[id]; ok {
			n++
		}
		delete(s, id)
	}
	return n, nil
}

func (s shelf) state(context.Context) (collectionState, error) {
	return collectionState{Documents: len(s)}, nil
}
func (s shelf) close() error { return nil }

func (s shelf) String() string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s)) {
		out = append(out, id+"="+s[id])
	}
	return strings.Join(out, " ")
}

// ingested runs once over dir and returns the warnings and failures, with dir written as DIR.
func ingested(t *testing.T, f flags, to sink, dir string) (told []string, p *pipeline) {
	t.Helper()
	p = pipelineOf(t, f, to)
	r, w := io.Pipe()
	lines := make(chan []string)
	go func() {
		b, _ := io.ReadAll(r)
		lines <- strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), dir, "DIR")), "\n")
	}()
	p.failures.stderr = w
	err := p.once(t.Context(), []string{dir}, extract.Options{})
	w.Close()
	if told = <-lines; told[0] == "" {
		told = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return told, p
}

// TestRepeats expects a warning for a file with repeated ids, also if it is unchanged and in a dry
// run, but not if the documents are equal.
func TestRepeats(t *testing.T) {
	dir, f := t.TempDir(), flags{state: t.TempDir()}
	write(t, dir+"/a.csv", "id,text\n1,rent\n2,water\n1,gas\n3,tax\n3,tax\n")
	write(t, dir+"/b.jsonl", "{\"id\":\"4\",\"text\":\"a\"}\n{\"id\":\"4\",\"text\":\"b\"}\n{\"id\":\"4\",\"text\":\"c\"}\n{\"id\":\"5\",\"text\":\"a\"}\n{\"id\":\"5\",\"text\":\"b\"}\n")
	write(t, dir+"/c.csv", "id,text\n6,one\n7,two\n")
	want := []string{
		`DIR/a.csv: warning: its document "1" takes the place of one before it of the same id; choose another id with --id-field`,
		`DIR/b.jsonl: warning: 3 of its documents take the place of others before them of the same ids ("4", "5"); choose another id with --id-field`,
	}
	to := shelf{}
	for _, run := range []string{"first", "unchanged"} {
		if got, _ := ingested(t, f, to, dir); !slices.Equal(got, want) {
			t.Errorf("%s run: told %q, want %q", run, got, want)
		}
	}
	if got, want := to.String(), "1=gas 2=water 3=tax 4=c 5=b 6=one 7=two"; got != want {
		t.Errorf("the collection has %s, want %s", got, want)
	}
	write(t, dir+"/a.csv", "id,text\n1,rents\n2,waters\n")
	if got, _ := ingested(t, f, to, dir); !slices.Equal(got, want[1:]) {
		t.Errorf("mended: told %q, want %q", got, want[1:])
	}
}

// Equal rows without an id are a document of each file that has them, and go with it.
func TestEqualRows(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, dir+"/a.csv", "name,text\nx,rent\nx,rent\n")
	write(t, dir+"/b.csv", "name,text\nx,rent\n")
	write(t, dir+"/c.jsonl", "{\"name\":\"x\",\"text\":\"rent\"}\n")
	for _, want := range []int{3, 2} {
		if told, _ := ingested(t, f, to, dir); len(told) > 0 || len(to) != want {
			t.Errorf("told %q, %d documents, want none and %d", told, len(to), want)
		}
		if err := os.Remove(dir + "/b.csv"); want == 3 && err != nil {
			t.Fatal(err)
		}
	}
}

// TestOverlap expects a warning for two files with the same ids, and always finds the content of a
// file that exists.
func TestOverlap(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	warning := func(file, what, other string) string {
		return fmt.Sprintf("DIR/%s: warning: %s from DIR/%s; choose another id with --id-field, or another --collection", file, what, other)
	}
	two := `2 of its documents take the place of those of the same ids ("1", "2")`
	step := func(name, want string, told ...string) {
		t.Helper()
		got, _ := ingested(t, f, to, dir)
		slices.Sort(got)
		if to.String() != want || !slices.Equal(got, told) {
			t.Errorf("%s: the collection has %s, want %s\ntold %q\nwant %q", name, to, want, got, told)
		}
	}
	write(t, dir+"/bills.csv", "id,text\n1,rent\n2,water\n3,gas\n")
	write(t, dir+"/books.csv", "id,text\n1,Emma\n2,Ulysses\n")
	step("in one run", "1=Emma 2=Ulysses 3=gas", warning("books.csv", two, "bills.csv"))
	step("again", "1=Emma 2=Ulysses 3=gas")
	write(t, dir+"/boats.json", `[{"id":"2","text":"Argo"}]`)
	step("with an earlier run", "1=Emma 2=Argo 3=gas",
		warning("boats.json", `its document "2" takes the place of that of the same id`, "bills.csv"),
		warning("boats.json", `its document "2" takes the place of that of the same id`, "books.csv"))
	write(t, dir+"/boats.json", `[{"id":"4","text":"Argo"}]`)
	step("given up", "1=Emma 2=Ulysses 3=gas 4=Argo")
	if err := os.Remove(dir + "/books.csv"); err != nil {
		t.Fatal(err)
	}
	step("gone", "1=rent 2=water 3=gas 4=Argo")
	write(t, dir+"/books.csv", "id,text\n2,Ulysses\n")
	f.deleteMissing = false
	step("back", "1=rent 2=Ulysses 3=gas 4=Argo", warning("books.csv", `its document "2" takes the place of that of the same id`, "bills.csv"))
	if err := os.Rename(dir+"/books.csv", dir+"/literature.csv"); err != nil {
		t.Fatal(err)
	}
	step("by another name", "1=rent 2=Ulysses 3=gas 4=Argo", warning("literature.csv", `its document "2" takes the place of that of the same id`, "bills.csv"))
	if err := os.Remove(dir + "/literature.csv"); err != nil {
		t.Fatal(err)
	}
	f.deleteMissing = true
	step("gone", "1=rent 2=water 3=gas 4=Argo")
}

// Files are known below the folder that they were in before it was moved; what is deleted where
// they are now is deleted all the same, and comes back with the folder.
func TestMovedFolder(t *testing.T) {
	top, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, top+"/old/a.txt", "one")
	write(t, top+"/old/b.csv", "id,text\nb1,two\n")
	write(t, top+"/old/c.txt", "three")
	ingested(t, f, to, top+"/old")
	if err := os.Symlink("old", top+"/link"); err == nil {
		if told, _ := ingested(t, f, to, top+"/link"); len(told) > 0 {
			t.Errorf("by a link: told %q", told)
		}
	}
	if err := os.Rename(top+"/old", top+"/new"); err != nil {
		t.Fatal(err)
	}
	if told, _ := ingested(t, f, to, top+"/new"); len(told) > 0 {
		t.Errorf("moved: told %q", told)
	}
	for _, name := range []string{"/new/a.txt", "/new/b.csv"} {
		if err := os.Rename(top+name, top+"/gone"+filepath.Ext(name)); err != nil {
			t.Fatal(err)
		}
	}
	if ingested(t, f, to, top+"/new"); to.String() != "c.txt=three" {
		t.Errorf("gone where they are now: the collection has %s", to)
	}
	for ext, name := range map[string]string{".txt": "/old/a.txt", ".csv": "/old/b.csv"} {
		write(t, top+"/old/d.txt", "four")
		if err := os.Rename(top+"/gone"+ext, top+name); err != nil {
			t.Fatal(err)
		}
	}
	if ingested(t, f, to, top+"/old"); to.String() != "a.txt=one b1=two c.txt=three d.txt=four" {
		t.Errorf("back: the collection has %s", to)
	}
}

// A file that is known below two folders has nothing in common with itself.
func TestOverlapOfOne(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, dir+"/sub/bills.csv", "id,text\n1,rent\n")
	write(t, dir+"/a.md", "words")
	for _, path := range []string{dir, dir + "/sub", dir} {
		if told, _ := ingested(t, f, to, path); len(told) > 0 || to.String() != "1=rent a.md=words" {
			t.Errorf("told %q, the collection has %s", told, to)
		}
	}
	if err := os.Remove(dir + "/sub/bills.csv"); err != nil {
		t.Fatal(err)
	}
	if ingested(t, f, to, dir); to.String() != "a.md=words" {
		t.Errorf("the collection has %s, want a.md=words", to)
	}
}

// A run that ends between deleting and reading again leaves that to the next.
func TestOverlapInterrupted(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, dir+"/bills.csv", "id,text\n1,rent\n")
	write(t, dir+"/books.csv", "id,text\n1,Emma\n2,Ulysses\n")
	ingested(t, f, to, dir)
	if err := os.Remove(dir + "/books.csv"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := pipelineOf(t, f, interrupting{to, cancel})
	if err := p.once(ctx, []string{dir}, extract.Options{}); err == nil || to.String() != "1=Emma" {
		t.Fatalf("%v, the collection has %s, want an error and 1=Emma", err, to)
	}
	if err := p.journal.close(); err != nil {
		t.Fatal(err)
	}
	if ingested(t, f, to, dir); to.String() != "1=rent" {
		t.Errorf("the collection has %s, want 1=rent", to)
	}
}

// interrupting is a sink that ends the run when it is told to delete.
type interrupting struct {
	shelf
	cancel func()
}

func (s interrupting) remove(ctx context.Context, ids []string) (int, error) {
	s.cancel()
	return s.shelf.remove(ctx, ids)
}

// What two files have in common is told in one line, in errors.jsonl too.
func TestOverlapMany(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "{\"id\":\"%03d\",\"text\":\"x\"}\n", i)
	}
	write(t, dir+"/a.jsonl", lines.String())
	write(t, dir+"/b.jsonl", lines.String())
	told, p := ingested(t, flags{state: state}, shelf{}, dir)
	what := `1000 of its documents take the place of those of the same ids ("000", "001", "002" and 997 more) from DIR/a.jsonl`
	if len(told) != 1 || !strings.Contains(told[0], what) || p.failures.count != 0 {
		t.Errorf("told %q, %d failures, want one line with %s and none", told, p.failures.count, what)
	}
	b, err := os.ReadFile(filepath.Join(state, errorsName))
	if err != nil || !strings.Contains(string(b), `b.jsonl","reason":"1000 of its`) || !strings.Contains(string(b), `"warning":true`) {
		t.Errorf("%s: %s, %v", errorsName, b, err)
	}
}

// While files are watched, one that goes away gives back what it had overwritten.
func TestOverlapWatched(t *testing.T) {
	dir, to := t.TempDir(), shelf{}
	write(t, dir+"/bills.csv", "id,text\n1,rent\n")
	write(t, dir+"/books.csv", "id,text\n1,Emma\n2,Ulysses\n")
	_, p := ingested(t, flags{state: t.TempDir()}, to, dir)
	if err := os.Remove(dir + "/books.csv"); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(dir+"/bills.csv", later, later); err != nil { // met, and not changed
		t.Fatal(err)
	}
	p.watching = true
	in, err := p.journal.scopes([]string{dir}, dir)
	if err == nil {
		err = p.run(t.Context(), []string{dir}, extract.Options{Root: dir})
	}
	if err == nil {
		err = p.missing(t.Context(), in, true, true)
	}
	if err != nil || to.String() != "1=rent" {
		t.Errorf("%v, the collection has %s, want 1=rent", err, to)
	}
}

// Mailboxes and other records in files of one name below two folders are followed, although a whole
// file of that name would be refused.
func TestRecordsOfOneName(t *testing.T) {
	top, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	letter := func(id string) string {
		return "From - Mon Jan  5 10:00:00 2026\nSubject: S\nMessage-ID: <" + id + ">\n\n" + id + "\n\n"
	}
	write(t, top+"/a/Inbox", letter("a1"))
	write(t, top+"/b/Inbox", letter("b1")+letter("b2"))
	write(t, top+"/b/note.txt", "note")
	step := func(name, want string) {
		t.Helper()
		p := pipelineOf(t, f, to)
		if err := p.once(t.Context(), []string{top + "/a", top + "/b"}, extract.Options{}); err != nil || to.String() != want {
			t.Errorf("%s: the collection has %s, %v, want %s", name, to, err, want)
		}
	}
	step("new", "a1=a1 b1=b1 b2=b2 note.txt=note")
	write(t, top+"/b/Inbox", letter("b2"))
	step("one deleted", "a1=a1 b2=b2 note.txt=note")
	if err := os.Remove(top + "/b/Inbox"); err != nil {
		t.Fatal(err)
	}
	step("all gone", "a1=a1 note.txt=note")
}

// A file that another run has found gone, and that is back as it was, is put in again by a run that
// goes on, as a watch does.
func TestDeletedByAnotherRun(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, dir+"/a.txt", "one")
	write(t, dir+"/b.txt", "two")
	_, p := ingested(t, f, to, dir)
	if err := os.Remove(dir + "/a.txt"); err != nil {
		t.Fatal(err)
	}
	if ingested(t, f, to, dir); to.String() != "b.txt=two" {
		t.Fatalf("another run: the collection has %s", to)
	}
	write(t, dir+"/a.txt", "one")
	watched, err := p.watchedPaths([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.follow(t.Context(), everything(watched), watched, extract.Options{}); err != nil || to.String() != "a.txt=one b.txt=two" {
		t.Errorf("back: the collection has %s, %v", to, err)
	}
}
