package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/search"
)

// wideEmbedder is another checkpoint: its vectors have twice the dimensions, and it can be held up.
type wideEmbedder struct {
	fakeEmbedder
	texts atomic.Int64  // encoded that were not queries
	gate  chan struct{} // not nil: each call for documents takes one
	delay time.Duration
}

const wide = "some/wide"

func (w *wideEmbedder) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if !o.Query {
		w.texts.Add(int64(len(texts)))
		time.Sleep(w.delay)
		if w.gate != nil {
			select {
			case <-w.gate:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	r, err := new(fakeEmbedder).Embed(ctx, texts, o)
	if err != nil {
		return nil, err
	}
	for i, v := range r.Vectors {
		r.Vectors[i] = append(make([]float32, fakeDim), v...)
	}
	return r, nil
}

func (w *wideEmbedder) Model() search.ModelInfo {
	m := w.fakeEmbedder.Model()
	m.Name, m.Dimension = wide, 2*fakeDim
	if w.sha256 == "" {
		m.SHA256 = "wide"
	}
	return m
}

// openWide is open for an engine that can load w by the name wide.
func openWide(dir string, w *wideEmbedder, notice func(string)) (*search.Engine, error) {
	return search.Open(dir, search.Options{Embedder: &fakeEmbedder{}, Notice: notice, Load: func(source, _, _ string) (search.Embedder, error) {
		if source != wide {
			return nil, fmt.Errorf("no checkpoint %q", source)
		}
		return w, nil
	}})
}

func mustOpenWide(t *testing.T, dir string, w *wideEmbedder) *search.Engine {
	t.Helper()
	e, err := openWide(dir, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	return e
}

// ended waits for a task.
func ended(t *testing.T, e *search.Engine, id string) search.Task {
	t.Helper()
	for {
		task, err := e.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if task.Ended() {
			return task
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// contents are the documents of a collection: id and fields, in one string.
func contents(t *testing.T, e *search.Engine, name string) (out []string, least uint64) {
	t.Helper()
	for cursor, first := "", true; first || cursor != ""; first = false {
		docs, next, err := e.Documents(t.Context(), name, cursor, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			out = append(out, d.ID+" "+string(d.Fields))
			if least == 0 || d.Revision < least {
				least = d.Revision
			}
		}
		cursor = next
	}
	return out, least
}

func noProblems(t *testing.T, e *search.Engine) {
	t.Helper()
	if problems, err := e.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
}

func TestReembed(t *testing.T) {
	dir := t.TempDir()
	w := &wideEmbedder{gate: make(chan struct{})}
	e := mustOpenWide(t, dir, w)
	put(t, e, search.Created, numbered(300)...)
	_, before := contents(t, e, "docs")
	info, _ := e.Collection(t.Context(), "docs")
	top := info.Sequence
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide, KeepOld: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide}); !errors.Is(err, search.ErrTaskRunning) {
		t.Errorf("a second one meanwhile: %v, want ErrTaskRunning", err)
	}
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{EfSearch: 99}}); !errors.Is(err, search.ErrTaskRunning) {
		t.Errorf("other settings meanwhile: %v, want ErrTaskRunning", err)
	}
	w.gate <- struct{}{} // the first batch is through: the second waits
	// What is written now must be in the new generation, whether it was copied already or is still
	// to come.
	put(t, e, search.Updated, doc("n000", `{"text":"common changed early"}`), doc("n299", `{"text":"common changed late"}`))
	put(t, e, search.Created, doc("new", `{"text":"common fresh"}`))
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"n001", "n298"}); err != nil {
		t.Fatal(err)
	}
	if got := find(t, e, search.Query{Q: "fresh"}); !strings.HasPrefix(got, "new") {
		t.Errorf("meanwhile a search finds %q, want new", got)
	}
	if c, err := e.Collection(t.Context(), "docs"); err != nil || c.Model.Dimension != fakeDim {
		t.Errorf("meanwhile the collection has %d dimensions, want those of before: %v", c.Model.Dimension, err)
	}
	if list, err := e.Collections(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("meanwhile there are %d collections, want 1: %v", len(list), err)
	}
	want, _ := contents(t, e, "docs")
	close(w.gate)
	task = ended(t, e, task.ID)
	if task.State != search.TaskSucceeded || task.Done < 299 || task.Done > task.Total {
		t.Fatalf("task = %+v", task)
	}
	var result struct {
		Kept      string
		Documents int
	}
	if err := json.Unmarshal(task.Result, &result); err != nil || result.Kept != "docs-old" || result.Documents != 299 {
		t.Errorf("result = %s, want 299 documents and docs-old", task.Result)
	}
	for range 2 { // as it is, and opened again
		got, least := contents(t, e, "docs")
		if sorted(got) != sorted(want) {
			t.Errorf("after it there are %d documents, want the same %d", len(got), len(want))
		}
		if least <= top+5 || before > top {
			t.Errorf("the smallest revision is %d, want more than any before, at most %d", least, top+5)
		}
		if c, err := e.Collection(t.Context(), "docs"); err != nil || c.Model.Name != wide || c.Name != "docs" {
			t.Errorf("collection = %+v, %v", c, err)
		}
		for q, id := range map[string]string{"fresh": "new", "early": "n000", "late": "n299", "word77": "n077"} {
			if got := find(t, e, search.Query{Q: q, Mode: search.Keyword, Limit: ptr(1)}); got != id {
				t.Errorf("%s finds %q, want %s", q, got, id)
			}
			// Several words share a dimension of these vectors.
			if got := find(t, e, search.Query{Q: "common " + q, Mode: search.Semantic, Limit: ptr(20)}); !strings.Contains(got, id) {
				t.Errorf("by meaning, %s finds %q, want %s among them", q, got, id)
			}
		}
		if got := first(t, e, "docs-old", "word77"); got != "n077" {
			t.Errorf("the collection as it was finds %q", got)
		}
		put(t, e, search.Unchanged, doc("new", `{"text":"common fresh"}`))
		noProblems(t, e)
		e.Close()
		e = mustOpenWide(t, dir, w)
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if got := first(t, e, "docs-old", "word77"); got != "n077" {
		t.Errorf("after the new one was deleted, the old finds %q", got)
	}
	another(t, e, "docs", doc("x", `{"text":"a third life"}`))
	if got, _ := contents(t, e, "docs"); len(got) != 1 {
		t.Errorf("a collection of the same name holds %d documents, want 1", len(got))
	}
}

func sorted(list []string) string {
	list = append([]string(nil), list...)
	for i := range list {
		for j := range list[:i] {
			if list[i] < list[j] {
				list[i], list[j] = list[j], list[i]
			}
		}
	}
	return strings.Join(list, "\n")
}

// TestReembedUnderWrites writes without a pause until the change has come: nothing that was
// acknowledged is missing afterwards.
func TestReembedUnderWrites(t *testing.T) {
	e := mustOpenWide(t, t.TempDir(), &wideEmbedder{})
	put(t, e, search.Created, numbered(150)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{} // what was written last, -1: deleted
	for n := 0; ; n++ {
		id := fmt.Sprintf("n%03d", n%170)
		if n%7 == 3 {
			if _, err := e.DeleteDocuments(t.Context(), "docs", []string{id}); err != nil {
				t.Fatal(err)
			}
			last[id] = -1
		} else {
			r, err := e.Ingest(t.Context(), "docs", []search.Document{doc(id, fmt.Sprintf(`{"text":"common","round":%d}`, n))})
			if err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
			last[id] = n
		}
		if now, err := e.Task(t.Context(), task.ID); err != nil {
			t.Fatal(err)
		} else if now.Ended() && n > 60 {
			if task = now; task.State != search.TaskSucceeded {
				t.Fatalf("task = %+v", task)
			}
			break
		}
	}
	for id, n := range last {
		d, err := e.Document(t.Context(), "docs", id)
		switch {
		case n < 0 && !errors.Is(err, search.ErrDocumentNotFound):
			t.Errorf("%s was deleted and is there: %v", id, err)
		case n >= 0 && (err != nil || !strings.Contains(string(d.Fields), fmt.Sprintf(`"round":%d`, n))):
			t.Errorf("%s: %v, want round %d", id, err, n)
		}
	}
	noProblems(t, e)
}

// TestReembedEnds ends a re-embedding in every way but success: nothing of it is left.
func TestReembedEnds(t *testing.T) {
	w := &wideEmbedder{gate: make(chan struct{})}
	e := mustOpenWide(t, t.TempDir(), w)
	put(t, e, search.Created, numbered(200)...)
	begin := func() search.Task {
		task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	task := begin()
	w.gate <- struct{}{}
	if task, err := e.CancelTask(t.Context(), task.ID); err != nil || task.State != search.TaskCanceled || task.Finished == nil {
		t.Errorf("CancelTask = %+v, %v", task, err)
	}
	if _, err := e.CancelTask(t.Context(), task.ID); !errors.Is(err, search.ErrTaskFinished) {
		t.Errorf("a second time: %v, want ErrTaskFinished", err)
	}
	if _, err := e.CancelTask(t.Context(), "none"); !errors.Is(err, search.ErrTaskNotFound) {
		t.Errorf("no such task: %v, want ErrTaskNotFound", err)
	}
	if _, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: "some/other"}); err == nil {
		t.Error("a checkpoint that is not there was taken")
	}
	if got := find(t, e, search.Query{Q: "word7", Limit: ptr(1)}); got != "n007" {
		t.Errorf("after it was canceled a search finds %q", got)
	}
	noProblems(t, e)
	begin()
	w.gate <- struct{}{}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Errorf("dropping a collection that is being re-embedded: %v", err)
	}
	if list, err := e.Collections(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%d collections are left: %v", len(list), err)
	}
}

// TestReembedKeepsUnderAllowedNames: the name is asked about when the task begins, and again where
// another has taken it meanwhile.
func TestReembedKeepsUnderAllowedNames(t *testing.T) {
	w := &wideEmbedder{gate: make(chan struct{}, 100)}
	e := mustOpenWide(t, t.TempDir(), w)
	put(t, e, search.Created, numbered(20)...)
	forbidden := errors.New("not this one")
	allowed := map[string]bool{"docs-old": true}
	keep := search.ReembedOptions{Model: wide, KeepOld: true, MayKeep: func(name string) error {
		if !allowed[name] {
			return fmt.Errorf("%w: %s", forbidden, name)
		}
		return nil
	}}
	for _, may := range []bool{false, true} {
		allowed["docs-old2"] = may
		task, err := e.Reembed(t.Context(), "docs", keep)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.EnsureCollection(t.Context(), "docs-old", search.Settings{}); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			w.gate <- struct{}{}
		}
		task = ended(t, e, task.ID)
		if done := task.State == search.TaskSucceeded; done != may || !strings.Contains(task.Error+string(task.Result), "docs-old2") {
			t.Errorf("docs-old2 allowed: %v, the task is %s: %s %s", may, task.State, task.Error, task.Result)
		}
		if !may {
			if err := e.DropCollection(t.Context(), "docs-old"); err != nil {
				t.Fatal(err)
			}
		}
	}
	allowed["docs-old3"] = false
	if _, err := e.Reembed(t.Context(), "docs", keep); !errors.Is(err, forbidden) {
		t.Errorf("a name that is not allowed: %v", err)
	}
	noProblems(t, e)
}

// TestReembedResumes closes the engine in the middle.
func TestReembedResumes(t *testing.T) {
	dir := t.TempDir()
	w := &wideEmbedder{gate: make(chan struct{})}
	e := mustOpenWide(t, dir, w)
	put(t, e, search.Created, numbered(600)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.gate <- struct{}{}
	}
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"n000", "n001"}); err != nil {
		t.Fatal(err)
	}
	e.Close()
	done := w.texts.Load()
	close(w.gate)
	e = mustOpenWide(t, dir, w)
	task = ended(t, e, task.ID)
	if task.State != search.TaskSucceeded {
		t.Fatalf("task = %+v", task)
	}
	if again := w.texts.Load() - done; again > 600-2*reembedBatch {
		t.Errorf("%d texts were encoded after opening again, want those that were missing", again)
	}
	if got, _ := contents(t, e, "docs"); len(got) != 598 {
		t.Errorf("%d documents, want 598", len(got))
	}
	noProblems(t, e)
}

const reembedBatch = 64

// TestCheckpointChanged opens a data folder whose checkpoint is another than the one that is
// recorded.
func TestCheckpointChanged(t *testing.T) {
	dir := t.TempDir()
	e := mustOpenWide(t, dir, &wideEmbedder{})
	put(t, e, search.Created, numbered(20)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("task = %+v", task)
	}
	e.Close()
	var said string
	e, err = openWide(dir, &wideEmbedder{fakeEmbedder: fakeEmbedder{sha256: "changed"}}, func(text string) { said += text + "\n" })
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, searching := e.Search(t.Context(), "docs", search.Query{Q: "word7"})
	_, writing := e.Ingest(t.Context(), "docs", numbered(1))
	for name, text := range map[string]string{"opening": said, "searching": fmt.Sprint(searching), "writing": fmt.Sprint(writing)} {
		for _, part := range []string{"sha256 wide", "sha256 changed", "searchd reembed --data DIR --collection docs"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s says %q, want %q in it", name, text, part)
			}
		}
	}
	if !errors.Is(searching, search.ErrModelMismatch) || !errors.Is(writing, search.ErrModelMismatch) {
		t.Errorf("%v, %v, want ErrModelMismatch", searching, writing)
	}
	if got := find(t, e, search.Query{Q: "word7", Mode: search.Keyword}); got != "n007" {
		t.Errorf("a keyword search finds %q", got)
	}
	if task, err = e.Reembed(t.Context(), "docs", search.ReembedOptions{}); err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("re-embedding with the engine's own checkpoint: %+v", task)
	}
	if got := find(t, e, search.Query{Q: "word7", Mode: search.Semantic, Limit: ptr(1)}); got != "n007" {
		t.Errorf("a semantic search finds %q after re-embedding", got)
	}
}

// reembedChild names the data folder for the process that is killed while it re-embeds.
const reembedChild = "SEARCHD_REEMBED_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(reembedChild); dir != "" {
		fmt.Fprintln(os.Stderr, "child:", reembedUntilKilled(dir))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// reembedUntilKilled re-embeds to and fro, with settings in between, for which vectors are taken
// over.
func reembedUntilKilled(dir string) error {
	e, err := openWide(dir, &wideEmbedder{delay: 3 * time.Millisecond}, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	for n := 0; ; n++ {
		time.Sleep(3 * time.Millisecond)
		list, err := e.Tasks(context.Background())
		if err != nil {
			return err
		}
		busy := false
		for _, t := range list {
			busy = busy || !t.Ended()
			if t.State == search.TaskFailed || t.State == search.TaskInterrupted {
				return fmt.Errorf("task failed: %s", t.Error)
			}
		}
		if !busy {
			o := search.ReembedOptions{}
			if c, err := e.Collection(context.Background(), "docs"); err != nil {
				return err
			} else if c.Model.Name == wide && c.Settings.Language == "" {
				o.Settings = &search.Settings{Language: "de"}
			} else if c.Model.Name != wide && c.Settings.Language != "" {
				o.Settings = &search.Settings{}
			} else if c.Model.Name != wide {
				o.Model = wide
			}
			if _, err := e.Reembed(context.Background(), "docs", o); err != nil {
				return err
			}
		}
		d := doc(fmt.Sprintf("n%03d", n%400), fmt.Sprintf(`{"text":"common word%d","round":%d}`, n%400, n))
		if _, err := e.Ingest(context.Background(), "docs", []search.Document{d}); err != nil {
			return err
		}
	}
}

// TestReembedKilled kills a process while it re-embeds: what opens is one generation or the other,
// whole.
func TestReembedKilled(t *testing.T) {
	dir := t.TempDir()
	e := mustOpenWide(t, dir, &wideEmbedder{})
	put(t, e, search.Created, numbered(400)...)
	e.Close()
	seen := map[string]int{}
	for round := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), reembedChild+"="+dir)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 8)) // it has begun
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if strings.Contains(said.String(), "child:") {
			t.Fatal(said.String())
		}
		w := &wideEmbedder{gate: make(chan struct{})} // what goes on waits
		e, err := openWide(dir, w, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.Collection(t.Context(), "docs")
		if err != nil || c.Documents != 400 {
			t.Fatalf("round %d: %d documents, %v", round, c.Documents, err)
		}
		seen[c.Model.Name]++
		for _, mode := range []search.Mode{search.Hybrid, search.Semantic} {
			if got := find(t, e, search.Query{Q: "common word123", Mode: mode, Limit: ptr(20)}); !strings.Contains(got, "n123") {
				t.Errorf("round %d: %s finds %q with %s", round, mode, got, c.Model.Name)
			}
		}
		noProblems(t, e)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e, err := openWide(dir, &wideEmbedder{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	list, err := e.Tasks(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	if task := ended(t, e, list[0].ID); task.State != search.TaskSucceeded {
		t.Errorf("the last task: %+v", task)
	}
	noProblems(t, e)
	t.Logf("generations found: %v", seen)
	got := e.Vectors(t, "docs")
	c, err := e.Collection(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	o := search.ReembedOptions{}
	if c.Model.Name == wide {
		o.Model = wide
	}
	task, err := e.Reembed(t.Context(), "docs", o)
	if err != nil || ended(t, e, task.ID).State != search.TaskSucceeded {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, e.Vectors(t, "docs")) {
		t.Error("vectors differ from those that are made anew")
	}
}

// TestNoTasks opens a folder with an unfinished re-embedding to read: it stays as it is, and the
// next opening goes on with it.
func TestNoTasks(t *testing.T) {
	dir := t.TempDir()
	w := &wideEmbedder{gate: make(chan struct{})}
	e := mustOpenWide(t, dir, w)
	put(t, e, search.Created, numbered(5)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	for w.texts.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err = search.Open(dir, search.Options{Embedder: &fakeEmbedder{}, NoTasks: true}); err != nil {
		t.Fatal(err)
	}
	if got, err := e.Task(t.Context(), task.ID); err != nil || got.Ended() {
		t.Errorf("Task = %+v, %v", got, err)
	}
	if got := find(t, e, search.Query{Q: "common"}); got == "" {
		t.Error("nothing is found")
	}
	noProblems(t, e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	close(w.gate)
	e = mustOpenWide(t, dir, w)
	if got := ended(t, e, task.ID); got.State != search.TaskSucceeded {
		t.Errorf("Task = %+v", got)
	}
}
