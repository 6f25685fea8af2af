package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"searchd/search"
	"searchd/search/mapping"
)

// pair is a primary and a replica of it.
type pair struct {
	t       *testing.T
	a, b    *search.Engine
	dir     string // of b
	version uint64
	keys    int // how often API keys changed
}

func openReplica(t *testing.T, dir string) *search.Engine {
	t.Helper()
	e, err := openWide(dir, &wideEmbedder{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newPair(t *testing.T) *pair {
	t.Helper()
	return newPairOf(t, &wideEmbedder{})
}

// newPairOf is newPair with a primary that can load w.
func newPairOf(t *testing.T, w *wideEmbedder) *pair {
	t.Helper()
	p := &pair{t: t, a: mustOpenWide(t, t.TempDir(), w), dir: t.TempDir()}
	put(t, p.a, search.Created, numbered(20)...)
	p.copy()
	t.Cleanup(func() {
		if err := p.b.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// copy makes the replica anew.
func (p *pair) copy() {
	p.t.Helper()
	var backup bytes.Buffer
	if _, err := p.a.Copy(p.t.Context(), "b", &backup); err != nil {
		p.t.Fatal(err)
	}
	if p.b == nil {
		if _, err := search.OpenReplica(p.dir); err != nil {
			p.t.Fatal(err)
		}
	}
	m := search.Marker{Primary: p.a.StoreID(), URL: "http://a", Name: "b"}
	if n, _, err := search.FetchCopy(p.t.Context(), &backup, p.dir, m, func(text string) { p.t.Error(text) }); err != nil || n == 0 {
		p.t.Fatal(n, err)
	}
	if p.b != nil {
		if err := p.b.Close(); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := search.InstallCopy(p.dir); err != nil {
		p.t.Fatal(err)
	}
	p.b, p.version = openReplica(p.t, p.dir), 0
}

// follow brings the replica up to date.
func (p *pair) follow() {
	p.t.Helper()
	for {
		n, err := p.a.News(p.t.Context(), "b", p.b.Stands(), p.version)
		if err != nil {
			p.t.Fatal(err)
		}
		keys, err := p.b.Take(p.t.Context(), n)
		if err != nil {
			p.t.Fatal(err)
		}
		if keys {
			p.keys++
		}
		if n.Behind == 0 {
			p.version = n.Version
			return
		}
	}
}

// same wants that both answer the same.
func (p *pair) same() {
	p.t.Helper()
	p.follow()
	ctx := p.t.Context()
	la, err := p.a.Collections(ctx)
	lb, errB := p.b.Collections(ctx)
	if err = errors.Join(err, errB); err != nil || !reflect.DeepEqual(la, lb) {
		p.t.Fatalf("collections: %v\nprimary: %+v\nreplica: %+v", err, la, lb)
	}
	aa, err := p.a.Aliases(ctx)
	ab, errB := p.b.Aliases(ctx)
	if err = errors.Join(err, errB); err != nil || !reflect.DeepEqual(aa, ab) {
		p.t.Fatalf("aliases: %v: %v, %v", err, aa, ab)
	}
	for _, c := range la {
		da, _, err := p.a.Documents(ctx, c.Name, "", 1000)
		db, _, errB := p.b.Documents(ctx, c.Name, "", 1000)
		if err = errors.Join(err, errB); err != nil || !reflect.DeepEqual(da, db) {
			p.t.Fatalf("documents of %s: %v\nprimary: %+v\nreplica: %+v", c.Name, err, da, db)
		}
		for _, q := range []search.Query{{Q: "common word3"}, {Q: "word7", Mode: search.Keyword}, {Q: "word5", Mode: search.Semantic}, {Filter: "n > 4", Sort: []search.SortKey{{Field: "n"}}}} {
			ra, err := p.a.Search(ctx, c.Name, q)
			rb, errB := p.b.Search(ctx, c.Name, q)
			if err = errors.Join(err, errB); err != nil {
				p.t.Fatal(err)
			}
			if a, b := shown(ra), shown(rb); a != b {
				p.t.Fatalf("Search(%q) of %s:\nprimary: %s\nreplica: %s", q.Q, c.Name, a, b)
			}
		}
	}
	problems, err := p.b.Check(ctx, true)
	if err != nil || len(problems) > 0 {
		p.t.Fatalf("Check of the replica = %v, %v", problems, err)
	}
}

// shown is what an answer says of documents.
func shown(r *search.Response) string {
	s := fmt.Sprintf("%d of %v:", len(r.Hits), r.Total)
	for _, h := range r.Hits {
		s += fmt.Sprintf(" %s %.6f", h.ID, h.Score)
	}
	return s
}

func TestFollow(t *testing.T) {
	const grace = time.Second
	search.SetReembedGrace(t, grace)
	p := newPair(t)
	ctx := t.Context()
	p.same()
	write := func(e *search.Engine, c string, docs ...search.Document) {
		t.Helper()
		if _, err := e.Ingest(ctx, c, docs); err != nil {
			t.Fatal(err)
		}
	}
	write(p.a, "docs", doc("n001", `{"text":"another word7"}`), doc("bare", `{"n":9}`), doc("new", `{"text":"common word3"}`))
	if _, err := p.a.DeleteDocuments(ctx, "docs", []string{"n002", "n003"}); err != nil {
		t.Fatal(err)
	}
	p.same()
	write(p.a, "docs", doc("n002", `{"text":"it is back"}`))
	if _, err := p.a.CreateCollection(ctx, "other", search.Settings{Language: "de"}); err != nil {
		t.Fatal(err)
	}
	write(p.a, "other", numbered(30)...)
	if _, err := p.a.SetAlias(ctx, "live", "other"); err != nil {
		t.Fatal(err)
	}
	p.same()
	if _, _, err := p.a.EnsureCollection(ctx, "other", search.Settings{Language: "de", Index: search.IndexSettings{EfSearch: 99}}); err != nil {
		t.Fatal(err)
	}
	p.same()
	typed := search.Settings{Fields: mapping.Mapping{"code": {Type: mapping.Stored}}}
	if _, _, err := p.a.EnsureCollection(ctx, "docs", typed); err != nil {
		t.Fatal(err)
	}
	write(p.a, "docs", doc("coded", `{"text":"common word3","code":"hidden"}`))
	p.same()
	if got := find(t, p.b, search.Query{Q: "hidden", Mode: search.Keyword}); got != "" {
		t.Errorf("the replica finds %q by a field that is only stored", got)
	}
	task, err := p.a.Reembed(ctx, "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	if got := ended(t, p.a, task.ID); got.State != search.TaskSucceeded {
		t.Fatalf("re-embedding: %+v", got)
	}
	for len(p.a.Stands()) > 2 { // the old generation is gone there
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	if p.same(); len(p.b.Stands()) != 3 && time.Since(began) < grace { // on a busy machine comparing may take longer than it stays
		t.Errorf("the generation that was replaced is gone before searches that began with it can have ended: %v", p.b.Stands())
	}
	for deadline := time.Now().Add(10 * time.Second); len(p.b.Stands()) > 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the generation that was replaced stays: %v", p.b.Stands())
		}
	}
	p.same()
	if err := p.b.Close(); err != nil {
		t.Fatal(err)
	}
	write(p.a, "docs", doc("n001", `{"text":"while the replica is away"}`))
	if err := p.a.DeleteAlias(ctx, "live"); err != nil {
		t.Fatal(err)
	}
	if err := p.a.DropCollection(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.a.CreateCollection(ctx, "other", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	write(p.a, "other", numbered(3)...)
	p.b, p.version = openReplica(t, p.dir), 0
	p.same()
	vault, err := p.a.Vault()
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.SetValues(ctx, map[string][]byte{"key/x": []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if p.same(); p.keys != 1 {
		t.Errorf("told %d times that API keys changed, want once", p.keys)
	}
}

// A replica takes writes of nobody but its primary, and has tasks of its own.
func TestReplicaRefusesWrites(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	vault, err := p.b.Vault()
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"ingest": func() error { _, err := p.b.Ingest(ctx, "docs", numbered(1)); return err },
		"update": func() error {
			_, err := p.b.Ingest(ctx, "docs", []search.Document{doc("n000", `{"text":"x"}`)})
			return err
		},
		"delete":  func() error { _, err := p.b.DeleteDocuments(ctx, "docs", []string{"n001"}); return err },
		"create":  func() error { _, err := p.b.CreateCollection(ctx, "x", search.Settings{}); return err },
		"drop":    func() error { return p.b.DropCollection(ctx, "docs") },
		"alias":   func() error { _, err := p.b.SetAlias(ctx, "x", "docs"); return err },
		"key":     func() error { return vault.SetValues(ctx, map[string][]byte{"key/x": nil}) },
		"news":    func() error { _, err := p.b.News(ctx, "c", nil, 0); return err },
		"copying": func() error { _, err := p.b.Copy(ctx, "c", &bytes.Buffer{}); return err },
		"settings": func() error {
			_, _, err := p.b.EnsureCollection(ctx, "docs", search.Settings{Index: search.IndexSettings{EfSearch: 99}})
			return err
		},
	} {
		if name == "ingest" {
			continue // the same content is not written
		}
		if err := write(); !errors.Is(err, search.ErrReplica) {
			t.Errorf("%s: %v, want ErrReplica", name, err)
		}
	}
	task, err := p.b.CreateSnapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := ended(t, p.b, task.ID); got.State != search.TaskSucceeded {
		t.Errorf("snapshot: %+v", got)
	}
	p.same()
	if _, err := p.b.Task(ctx, task.ID); err != nil {
		t.Errorf("the task of a snapshot: %v", err)
	}
}

// A replica that lost its place is told so, and the next copy takes the place of what it holds.
func TestFollowLost(t *testing.T) {
	p := newPair(t)
	p.same()
	after := p.b.Stands()
	for id := range after {
		after[id] += 1000
	}
	if _, err := p.a.News(t.Context(), "b", after, 0); !errors.Is(err, search.ErrPlaceLost) {
		t.Errorf("News after what is not there: %v, want ErrPlaceLost", err)
	}
	put(t, p.a, search.Created, doc("late", `{"text":"late"}`))
	p.copy()
	p.same()
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) != 3 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// A copy that was being installed is installed at the next start, and one that was not whole goes.
func TestCopyInterrupted(t *testing.T) {
	p := newPair(t)
	if err := p.b.Close(); err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(p.dir, "replica.new")
	if err := os.MkdirAll(filepath.Join(next, "indexes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(p.dir, "indexes", "00000001"), filepath.Join(next, "indexes", "00000001")); err != nil {
		t.Fatal(err)
	}
	if m, err := search.OpenReplica(p.dir); err != nil || m == nil || m.Name != "b" {
		t.Fatal(m, err)
	}
	p.b = openReplica(t, p.dir)
	p.same()
	if err := p.b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(next, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(next, "searchd.db"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := search.OpenReplica(p.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(next); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a copy that is not whole: %v, want none", err)
	}
	p.b = openReplica(t, p.dir)
	p.same()
}

// A folder with anything of its own does not become a replica.
func TestOpenReplica(t *testing.T) {
	dir := t.TempDir()
	if m, err := search.OpenReplica(filepath.Join(dir, "none")); m != nil || err != nil {
		t.Errorf("a folder that is not there: %v, %v", m, err)
	}
	if m, err := search.OpenReplica(dir); m != nil || err != nil {
		t.Errorf("an empty folder: %v, %v", m, err)
	}
	e, err := search.Open(filepath.Join(dir, "own"), search.Options{Embedder: &fakeEmbedder{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "own")} {
		if _, err := search.OpenReplica(d); !errors.Is(err, search.ErrNoReplica) {
			t.Errorf("OpenReplica(%s) = %v, want ErrNoReplica", d, err)
		}
	}
}

// A replica that is promoted is a primary: it takes writes, goes on with the revisions, and nobody's replica can follow it as before.
func TestPromote(t *testing.T) {
	p := newPair(t)
	ctx := t.Context()
	p.same()
	before, err := p.b.Collection(ctx, "docs")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.b.Close(); err != nil {
		t.Fatal(err)
	}
	var alarms []string
	b, err := search.Open(p.dir, search.Options{Embedder: &fakeEmbedder{}, Promote: true, Alarm: func(s string) { alarms = append(alarms, s) }})
	if err != nil {
		t.Fatal(err)
	}
	p.b = b
	if len(alarms) != 1 || !strings.Contains(alarms[0], "http://a") {
		t.Errorf("alarms %q, want one that names the old primary", alarms)
	}
	if m := b.Marker(); m != nil || b.StoreID() == p.a.StoreID() {
		t.Errorf("the marker is %v, the store %s", m, b.StoreID())
	}
	put(t, b, search.Updated, doc("n001", `{"text":"promoted"}`))
	d, err := b.Document(ctx, "docs", "n001")
	if err != nil || d.Revision != before.Sequence+1 {
		t.Errorf("revision %d, %v, want %d", d.Revision, err, before.Sequence+1)
	}
	if _, err := search.OpenReplica(p.dir); err == nil {
		t.Error("a primary's folder is taken for a replica's")
	}
}

// A backup of a replica is restored as any other: what comes of it follows nobody.
func TestBackupOfReplica(t *testing.T) {
	p := newPair(t)
	var backup bytes.Buffer
	if _, err := p.b.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := search.Restore(t.Context(), &backup, dir); err != nil {
		t.Fatal(err)
	}
	e := openReplica(t, dir)
	defer e.Close()
	if m := e.Marker(); m != nil {
		t.Errorf("the restored folder follows %s", m.URL)
	}
	put(t, e, search.Updated, doc("n001", `{"text":"restored"}`))
}

// A re-embedding that the primary has begun goes on where a replica takes its place.
func TestPromoteGoesOn(t *testing.T) {
	w := &wideEmbedder{gate: make(chan struct{})}
	p := newPairOf(t, w)
	ctx := t.Context()
	task, err := p.a.Reembed(ctx, "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	for {
		now, err := p.a.Task(ctx, task.ID)
		if err != nil {
			t.Fatal(err)
		}
		if now.State == search.TaskRunning {
			break
		}
	}
	p.follow()
	if err := p.b.Close(); err != nil {
		t.Fatal(err)
	}
	p.b, err = search.Open(p.dir, search.Options{Embedder: &fakeEmbedder{}, Promote: true, Load: func(_, _, _ string) (search.Embedder, error) { return &wideEmbedder{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if got := ended(t, p.b, task.ID); got.State != search.TaskSucceeded {
		t.Errorf("at the new primary: %+v", got)
	}
	if c, err := p.b.Collection(ctx, "docs"); err != nil || c.Model.Name != wide || c.Documents != 20 {
		t.Errorf("collection %+v, %v", c, err)
	}
	if _, err := p.a.CancelTask(ctx, task.ID); err != nil {
		t.Error(err)
	}
}

// TestFollowTwin writes to a primary at random, while a replica follows, is closed and opened, and is copied anew.
func TestFollowTwin(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			p := newPair(t)
			for n := range 60 {
				docs := make([]search.Document, 1+r.IntN(5))
				for i := range docs {
					docs[i] = doc(fmt.Sprintf("n%03d", r.IntN(30)), fmt.Sprintf(`{"text":"common word%d of %d","n":%d}`, r.IntN(9), n, r.IntN(9)))
				}
				var err error
				switch r.IntN(12) {
				case 0:
					_, err = p.a.DeleteByFilter(t.Context(), "docs", fmt.Sprintf("n = %d", r.IntN(9)), false)
				case 1:
					p.follow()
				case 2:
					if err = p.b.Close(); err == nil {
						p.b, p.version = openReplica(t, p.dir), 0
					}
				case 3:
					if r.IntN(3) == 0 {
						p.copy()
					}
				default:
					_, err = p.a.Ingest(t.Context(), "docs", slices.CompactFunc(docs, func(a, b search.Document) bool { return a.ID == b.ID }))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			p.same()
		})
	}
}

// Searches find what stays the same while a replica takes changes, settings and another generation.
func TestSearchWhileFollowing(t *testing.T) {
	p := newPair(t)
	put(t, p.a, search.Created, doc("stays", `{"text":"steadfast"}`))
	p.follow()
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for ctx.Err() == nil {
				r, err := p.b.Search(t.Context(), "docs", search.Query{Q: "steadfast"})
				if err != nil || len(r.Hits) == 0 || r.Hits[0].ID != "stays" {
					t.Errorf("Search = %+v, %v", r, err)
					return
				}
			}
		})
	}
	for n := range 15 {
		docs := numbered(20)
		for i := range docs {
			docs[i].Fields = fmt.Appendf(nil, `{"text":"common word%d of %d"}`, i, n)
		}
		if _, err := p.a.Ingest(t.Context(), "docs", docs); err != nil {
			t.Fatal(err)
		}
		switch n {
		case 5:
			if _, _, err := p.a.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{EfSearch: 99, Quantize: "int8"}}); err != nil {
				t.Fatal(err)
			}
		case 8:
			task, err := p.a.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
			if err != nil {
				t.Fatal(err)
			}
			ended(t, p.a, task.ID)
		}
		p.follow()
	}
	cancel()
	wait.Wait()
	p.same()
}
