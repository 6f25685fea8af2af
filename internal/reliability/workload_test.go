package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
)

// embedder hashes words into dimensions, so that a workload needs no model.
type embedder struct{ name string }

func (e embedder) Embed(_ context.Context, texts []string, _ search.EmbedOptions) (*search.Embeddings, error) {
	r := &search.Embeddings{Truncated: make([]bool, len(texts))}
	for _, t := range texts {
		v := make([]float32, e.Model().Dimension)
		v[0] = .1
		for _, w := range strings.Fields(e.name + " " + t) {
			h := fnv.New32a()
			h.Write([]byte(w))
			v[1+h.Sum32()%uint32(len(v)-1)]++
		}
		r.Vectors = append(r.Vectors, v)
	}
	return r, nil
}

func (e embedder) CountTokens(text string) int { return len(strings.Fields(text)) }

func (e embedder) Model() search.ModelInfo {
	return search.ModelInfo{Name: e.name, SHA256: e.name, Dimension: 16, Pooling: "mean", MaxTokens: 32}
}

func (e embedder) Calibration() models.Calibration { return models.Calibration{} }

// A world is what a workload has made so far.
type world struct {
	docs      map[string]map[string]string // by collection and id: the fields
	restored  map[string]map[string]string // the same of the restored folder; nil: there is none
	snapshots int                          // the least number of them
}

func (w *world) clone() *world {
	c := &world{restored: cloneDocs(w.restored), docs: cloneDocs(w.docs), snapshots: w.snapshots}
	return c
}

func cloneDocs(docs map[string]map[string]string) map[string]map[string]string {
	if docs == nil {
		return nil
	}
	c := map[string]map[string]string{}
	for name, d := range docs {
		c[name] = maps.Clone(d)
	}
	return c
}

// A step changes a world, and the folders of a session in the same way.
type step struct {
	name   string
	change func(w *world)
	do     func(ctx context.Context, s *session) error
}

// A session is the program that goes through the steps.
type session struct {
	root   string // data folder: root/data; folder of what is restored: root/restored
	engine *search.Engine
	alarms []string
}

func (s *session) data() string     { return filepath.Join(s.root, "data") }
func (s *session) restored() string { return filepath.Join(s.root, "restored") }

// open opens a data folder as each process of the workload does.
func (s *session) open(dir string) (err error) {
	s.engine, err = search.Open(dir, search.Options{
		Embedder: embedder{"one"},
		Load:     func(source, _, _ string) (search.Embedder, error) { return embedder{filepath.Base(source)}, nil },
		Alarm:    func(text string) { s.alarms = append(s.alarms, text) },
		Notice:   func(string) {},
	})
	return err
}

// ended waits for a task that has been started.
func (s *session) ended(ctx context.Context, t search.Task, err error) error {
	for err == nil && !t.Ended() {
		time.Sleep(2 * time.Millisecond)
		t, err = s.engine.Task(ctx, t.ID)
	}
	if err == nil && t.State != search.TaskSucceeded {
		err = fmt.Errorf("task %s: %s", t.State, t.Error)
	}
	return err
}

func nothing(*world) {}

// errMissing is returned by a step that needs what an earlier one has failed to make.
var errMissing = errors.New("an earlier step has failed")

// put makes a step that writes documents and deletes others.
func put(r *rand.Rand, n int, collection string) step {
	var docs []search.Document
	var gone []string
	for range 1 + r.IntN(6) {
		id := fmt.Sprintf("d%02d", r.IntN(40))
		docs = append(docs, search.Document{ID: id, Fields: json.RawMessage(fmt.Sprintf(`{"n":%d,"text":"common word%d %s"}`, n, n, strings.Repeat("and more of it ", r.IntN(12))))})
	}
	for range r.IntN(3) {
		gone = append(gone, fmt.Sprintf("d%02d", r.IntN(40)))
	}
	if n%3 == 0 { // documents and deletions are acknowledged one by one
		docs, gone = docs[:1], nil
	} else if n%3 == 1 {
		docs = nil
	} else {
		gone = nil
	}
	return step{fmt.Sprintf("write %d to %s", n, collection),
		func(w *world) {
			for _, d := range docs {
				w.docs[collection][d.ID] = string(d.Fields)
			}
			for _, id := range gone {
				delete(w.docs[collection], id)
			}
		},
		func(ctx context.Context, s *session) error {
			if docs == nil {
				_, err := s.engine.DeleteDocuments(ctx, collection, gone)
				return err
			}
			results, err := s.engine.Ingest(ctx, collection, docs)
			for _, res := range results {
				err = errors.Join(err, res.Err)
			}
			return err
		}}
}

// steps returns the workload: writes, snapshots, re-embeddings, a drop, a compaction and a restore.
func steps(seed uint64) (list []step) {
	r := rand.New(rand.NewPCG(seed, 0))
	add := func(name string, change func(*world), do func(ctx context.Context, s *session) error) {
		list = append(list, step{name, change, do})
	}
	writes := func(n int, collection string) {
		for range n {
			list = append(list, put(r, len(list), collection))
		}
	}
	create := func(name string) {
		add("create "+name, func(w *world) { w.docs[name] = map[string]string{} }, func(ctx context.Context, s *session) error {
			_, err := s.engine.CreateCollection(ctx, name, search.Settings{})
			return err
		})
	}
	takeSnapshot := func() {
		add("snapshot", func(w *world) { w.snapshots++ }, func(ctx context.Context, s *session) error {
			t, err := s.engine.CreateSnapshot(ctx)
			return s.ended(ctx, t, err)
		})
	}
	reembed := func(o search.ReembedOptions) {
		add("re-embed", nothing, func(ctx context.Context, s *session) error {
			t, err := s.engine.Reembed(ctx, "docs", o)
			return s.ended(ctx, t, err)
		})
	}
	add("open", nothing, func(_ context.Context, s *session) error { return s.open(s.data()) })
	create("docs")
	writes(9, "docs")
	takeSnapshot()
	writes(3, "docs")
	reembed(search.ReembedOptions{Model: "two"})
	writes(3, "docs")
	create("other")
	writes(4, "other")
	add("set an alias", nothing, func(ctx context.Context, s *session) error {
		_, err := s.engine.SetAlias(ctx, "name", "docs")
		return err
	})
	add("drop", func(w *world) { delete(w.docs, "other") }, func(ctx context.Context, s *session) error { return s.engine.DropCollection(ctx, "other") })
	reembed(search.ReembedOptions{Settings: &search.Settings{Language: "de"}})
	writes(2, "docs")
	add("close and open", nothing, func(_ context.Context, s *session) error {
		if err := s.engine.Close(); err != nil {
			return err
		}
		return s.open(s.data())
	})
	writes(2, "docs")
	add("compact", nothing, func(ctx context.Context, s *session) error {
		if err := s.engine.Close(); err != nil {
			return err
		}
		if _, _, err := embedded.Compact(ctx, s.data()); err != nil {
			return err
		}
		return s.open(s.data())
	})
	writes(2, "docs")
	takeSnapshot()
	add("restore", func(w *world) { w.restored = cloneDocs(w.docs) }, func(ctx context.Context, s *session) error {
		list, err := s.engine.Snapshots(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errMissing
		}
		f, _, err := s.engine.OpenSnapshot(ctx, list[0].ID)
		if err != nil {
			return err
		}
		return errors.Join(embedded.Restore(ctx, f, s.restored(), nil), f.Close())
	})
	add("delete a snapshot", func(w *world) { w.snapshots-- }, func(ctx context.Context, s *session) error {
		list, err := s.engine.Snapshots(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errMissing
		}
		return s.engine.DeleteSnapshot(ctx, list[len(list)-1].ID)
	})
	writes(2, "docs")
	add("close", nothing, func(_ context.Context, s *session) error { return s.engine.Close() })
	return list
}

// work goes through the steps and says on standard output what it begins and what it has done.
func work(root string, seed uint64) error {
	s := &session{root: root}
	for i, step := range steps(seed) {
		if _, err := fmt.Println("begin", i); err != nil {
			return err
		}
		if err := step.do(context.Background(), s); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, step.name, err)
		}
		if _, err := fmt.Println("done", i); err != nil {
			return err
		}
	}
	return nil
}

// worlds returns what the steps that were done have made, and that with the step that was begun.
func worlds(list []step, output string) (after *world, maybe *world) {
	done, begun := 0, 0
	for line := range strings.Lines(output) {
		var word string
		var i int
		if n, _ := fmt.Sscanf(line, "%s %d\n", &word, &i); n == 2 && word == "done" {
			done = i + 1
		} else if n == 2 {
			begun = i + 1
		}
	}
	after = &world{docs: map[string]map[string]string{}}
	for _, s := range list[:done] {
		s.change(after)
	}
	maybe = after.clone()
	for _, s := range list[done:begun] {
		s.change(maybe)
	}
	return after, maybe
}

// verify opens the folders that a crash has left and returns what is wrong with them: they must
// hold the one world or the other, each index must agree with the store, and they must take writes.
func verify(ctx context.Context, root string, after, maybe *world) error {
	s := &session{root: root}
	if err := s.verify(ctx, s.data(), after.docs, maybe.docs); err != nil {
		return err
	}
	if n, err := s.snapshots(ctx); err != nil || n < min(after.snapshots, maybe.snapshots) {
		return fmt.Errorf("%d snapshots, %w; want %d", n, err, after.snapshots)
	}
	if maybe.restored == nil {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(s.restored(), "searchd.db")); errors.Is(err, os.ErrNotExist) && after.restored == nil {
		return nil
	}
	return s.verify(ctx, s.restored(), maybe.restored, maybe.restored)
}

// snapshots verifies the snapshots and returns their number.
func (s *session) snapshots(ctx context.Context) (int, error) {
	list, err := filepath.Glob(filepath.Join(s.data(), "snapshots", "*"))
	for _, p := range list {
		damage, verifyErr := embedded.VerifyBackup(ctx, p)
		if err = errors.Join(err, verifyErr); len(damage) > 0 || err != nil {
			return 0, fmt.Errorf("%s: %s, %w", p, damage, err)
		}
	}
	return len(list), err
}

func (s *session) verify(ctx context.Context, dir string, after, maybe map[string]map[string]string) (err error) {
	if err := s.open(dir); err != nil {
		return fmt.Errorf("opening %s: %w", filepath.Base(dir), err)
	}
	defer func() { err = errors.Join(err, s.engine.Close()) }()
	if err := s.tasksEnd(ctx); err != nil {
		return err
	}
	found, err := s.contents(ctx)
	if err != nil {
		return err
	}
	if !equal(found, after) && !equal(found, maybe) {
		return fmt.Errorf("%s holds %v\nwant %v\nor   %v", filepath.Base(dir), found, after, maybe)
	}
	if problems, err := s.engine.Check(ctx, true); err != nil || len(problems) > 0 {
		return fmt.Errorf("check --deep: %v, %w", problems, err)
	}
	if len(s.alarms) > 0 {
		return fmt.Errorf("alarms: %q", s.alarms)
	}
	for name := range found {
		doc := search.Document{ID: "afterwards", Fields: json.RawMessage(`{"text":"written afterwards"}`)}
		if results, err := s.engine.Ingest(ctx, name, []search.Document{doc}); err != nil || results[0].Err != nil {
			return fmt.Errorf("writing to %s afterwards: %v, %w", name, results, err)
		}
		if r, err := s.engine.Search(ctx, name, search.Query{Q: "afterwards"}); err != nil || len(r.Hits) == 0 || r.Hits[0].ID != "afterwards" {
			return fmt.Errorf("searching %s afterwards: %v, %w", name, r, err)
		}
	}
	return nil
}

// tasksEnd waits for the tasks that the crash interrupted.
func (s *session) tasksEnd(ctx context.Context) error {
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		list, err := s.engine.Tasks(ctx)
		if err != nil {
			return err
		}
		busy := false
		for _, t := range list {
			if t.State == search.TaskFailed {
				return fmt.Errorf("task %s failed: %s", t.Kind, t.Error)
			}
			busy = busy || !t.Ended()
		}
		if !busy {
			return nil
		}
		if time.Since(began) > time.Minute {
			return fmt.Errorf("tasks do not end: %+v", list)
		}
	}
}

// contents returns the documents of all collections.
func (s *session) contents(ctx context.Context) (map[string]map[string]string, error) {
	found := map[string]map[string]string{}
	list, err := s.engine.Collections(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if found[c.Name], err = s.documents(ctx, c.Name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// documents returns the documents of a collection.
func (s *session) documents(ctx context.Context, collection string) (map[string]string, error) {
	found := map[string]string{}
	for cursor, more := "", true; more; more = cursor != "" {
		var docs []search.StoredDocument
		var err error
		if docs, cursor, err = s.engine.Documents(ctx, collection, cursor, 100); err != nil {
			return nil, err
		}
		for _, d := range docs {
			found[d.ID] = string(d.Fields)
		}
	}
	return found, nil
}

func equal(a, b map[string]map[string]string) bool {
	return maps.EqualFunc(a, b, func(a, b map[string]string) bool { return maps.Equal(a, b) })
}
