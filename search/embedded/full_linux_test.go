package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// alone runs a test in a process of its own, since withoutRoom is for all of it, and reports
// whether it is that process.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv("SEARCHD_EMBEDDED_FULL") != "" {
		return true
	}
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "SEARCHD_EMBEDDED_FULL=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// withoutRoom runs f while no file can grow.
func withoutRoom(t *testing.T, f func()) {
	t.Helper()
	giveBack := fill(t)
	defer giveBack()
	f()
}

// fill lets no file grow until giveBack is called.
func fill(t *testing.T) (giveBack func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	limit := before
	limit.Cur = 1
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	return func() {
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	}
}

// TestOpensWithoutRoom opens a keyword index that lacks changes, for which the disk has no room:
// the collection opens without them, and the index catches up when there is room.
func TestOpensWithoutRoom(t *testing.T) {
	if !alone(t) {
		return
	}
	var told notices
	b := openDocs(t, Options{Notice: told.tell})
	var err error
	c := b.mu.byName["docs"]
	colour(t, b, "first", "red")
	must(t, c.keyword.Sync(t.Context()))
	giveBack := breakKeyword(t, b, c)
	writes := make([]backend.Write, 8*blockDocuments) // more than may wait for the disk
	for i := range writes {
		writes[i] = backend.Write{ID: fmt.Sprintf("d%d", i), Fields: json.RawMessage(`{"text":"blue paint","colour":"blue"}`), Hash: [32]byte{2, byte(i), byte(i >> 8)}}
	}
	if _, err := on(b).Apply(t.Context(), "docs", writes); err != nil {
		t.Fatal(err)
	}
	c.end()
	c.keyword.Close()
	c.stale.Store(nil)
	giveBack()
	withoutRoom(t, func() { err = c.openKeyword(t.Context()) })
	c.begin()
	if err != nil {
		t.Fatalf("openKeyword = %v", err)
	}
	if _, byWord, partial := coloured(t, b, "red"); byWord != "first" || !partial {
		t.Errorf("behind, red is %q, partial %t", byWord, partial)
	}
	told.wait(t, "works again")
	if byValue, byWord, partial := coloured(t, b, "grey"); byValue != "unseen" || byWord != "unseen" || partial {
		t.Errorf("grey is %q by value, %q by word, partial %t", byValue, byWord, partial)
	}
}

// TestNoRoomForAnIndex makes a keyword index on a full disk: the error says so, nothing is called
// damaged, and nothing is left to be taken for an index.
func TestNoRoomForAnIndex(t *testing.T) {
	if !alone(t) {
		return
	}
	dir := filepath.Join(t.TempDir(), "keyword")
	var err error
	withoutRoom(t, func() { _, err = keyword.Open(dir, keyword.Options{}) })
	if !errors.Is(err, keyword.ErrNoSpace) || errors.Is(err, keyword.ErrDamaged) || !errors.Is(translate(err), backend.ErrNoSpace) {
		t.Errorf("Open = %v, want ErrNoSpace", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	x, err := keyword.Open(dir, keyword.Options{})
	must(t, err)
	x.Close()
}

// TestUpdateKeepsTheName changes the settings of a collection whose keyword index cannot be opened:
// it is not called unknown from then on.
func TestUpdateKeepsTheName(t *testing.T) {
	b, err := Open(t.TempDir(), Options{})
	must(t, err)
	defer func() { b.Close() }()
	config := backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}
	must(t, on(b).Create(t.Context(), "docs", config))
	c := b.mu.byName["docs"]
	giveBack := breakKeyword(t, b, c)
	giveBack()
	release := lockKeyword(t, c)
	config.Quantize = backend.QuantizeInt8
	if err := on(b).Update(t.Context(), "docs", config); !errors.Is(err, keyword.ErrLocked) {
		t.Fatalf("Update = %v, want ErrLocked", err)
	}
	list, err := b.Collections(t.Context())
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Damaged, "nothing is lost") {
		t.Errorf("Collections = %+v, %v", list, err)
	}
	if _, err := on(b).Words(t.Context(), "docs", backend.Words{Text: "grey"}, 10, nil); !errors.Is(err, backend.ErrDamaged) {
		t.Errorf("Words = %v, want ErrDamaged", err)
	}
	release()
	must(t, on(b).Update(t.Context(), "docs", config))
	if _, byWord, partial := coloured(t, b, "grey"); byWord != "unseen" || partial {
		t.Errorf("grey is %q, partial %t", byWord, partial)
	}
}

// TestCreateWithoutRoom makes a collection where the disk has no room for its indexes, and then for
// dropping it: the name is listed, and the collection opens when there is room.
func TestCreateWithoutRoom(t *testing.T) {
	if !alone(t) {
		return
	}
	var told notices
	giveBack := func() {}
	b := openDocs(t, Options{Notice: func(text string) {
		if told.tell(text); strings.Contains(text, graphFile+" is unusable") { // the store has the collection now
			giveBack = fill(t)
		}
	}})
	dir := b.folder(b.mu.byName["docs"].id + 1)
	must(t, errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, graphFile), []byte("no graph"), 0o600)))
	config := backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}
	err := on(b).Create(t.Context(), "more", config)
	giveBack()
	if !errors.Is(err, backend.ErrNoSpace) {
		t.Fatalf("Create = %v, want ErrNoSpace", err)
	}
	if err := on(b).Create(t.Context(), "more", config); !errors.Is(err, backend.ErrCollectionExists) {
		t.Errorf("Create again = %v, want ErrCollectionExists", err)
	}
	if _, err := on(b).Collection(t.Context(), "more"); err != nil && !errors.Is(err, backend.ErrDamaged) {
		t.Errorf("Collection = %v", err)
	}
	told.wait(t, "collection more: it is opened")
	if err := b.Drop(t.Context(), "more"); err != nil {
		t.Error(err)
	}
}

// TestServesWithoutRoomForAnIndex opens a folder of which one collection has no keyword index, on a
// full disk: the other serves, and that one when there is room.
func TestServesWithoutRoomForAnIndex(t *testing.T) {
	if !alone(t) {
		return
	}
	var told notices
	b, err := Open(t.TempDir(), Options{Notice: told.tell})
	must(t, err)
	defer func() { b.Close() }()
	for _, name := range []string{"other", "docs"} {
		must(t, on(b).Create(t.Context(), name, backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}))
	}
	colour(t, b, "first", "red")
	for name, c := range b.mu.byName {
		must(t, c.close())
		delete(b.mu.byName, name)
		if name == "docs" {
			must(t, os.RemoveAll(filepath.Join(c.dir, keywordFolder)))
		}
	}
	withoutRoom(t, func() { err = b.openAll(t.Context()) })
	if err != nil {
		t.Fatalf("openAll = %v", err)
	}
	if _, err := on(b).Words(t.Context(), "other", backend.Words{Text: "red"}, 10, nil); err != nil {
		t.Errorf("the other: %v", err)
	}
	if _, err := on(b).Collection(t.Context(), "docs"); !errors.Is(err, backend.ErrDamaged) || !strings.Contains(err.Error(), "nothing is lost") {
		t.Errorf("docs: %v", err)
	}
	told.wait(t, "collection docs: it is opened")
	if byValue, byWord, partial := coloured(t, b, "red"); byValue != "first" || byWord != "first" || partial {
		t.Errorf("red is %q by value, %q by word, partial %t", byValue, byWord, partial)
	}
}

// TestClosesWithoutRoom closes a collection on a full disk: that is no failure, and the next
// opening has everything.
func TestClosesWithoutRoom(t *testing.T) {
	if !alone(t) {
		return
	}
	var told notices
	b := openDocs(t, Options{Notice: told.tell})
	var err error
	text := `{"text":"red paint","colour":"red"}`
	write := backend.Write{ID: "first", Fields: json.RawMessage(text), Passages: []backend.Passage{{Field: "text", End: 9}}, Vectors: [][]float32{{1, 0}}}
	if _, err := on(b).Apply(t.Context(), "docs", []backend.Write{write}); err != nil {
		t.Fatal(err)
	}
	c := b.mu.byName["docs"]
	withoutRoom(t, func() { err = c.close() })
	if err != nil {
		t.Errorf("close = %v", err)
	}
	told.has(t, "no space to save the indexes")
	delete(b.mu.byName, "docs")
	must(t, b.openAll(t.Context()))
	if _, byWord, partial := coloured(t, b, "red"); byWord != "first" || partial {
		t.Errorf("red is %q, partial %t", byWord, partial)
	}
	sound(t, b)
}

// withoutIndexes runs f while no collection of b can be opened.
func withoutIndexes(t *testing.T, b *Backend, f func()) {
	t.Helper()
	folder := filepath.Join(b.dir, indexFolder)
	must(t, errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)))
	f()
	must(t, os.Remove(folder))
}
