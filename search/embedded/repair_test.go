package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// breakKeyword takes the folder of the keyword index away until giveBack is called, and writes
// until the index has noticed.
func breakKeyword(t *testing.T, b *Backend, c *collection) (giveBack func()) {
	t.Helper()
	dir := filepath.Join(c.dir, keywordFolder)
	must(t, os.Rename(dir, dir+".away"))
	colour(t, b, "unseen", "grey")
	select {
	case <-c.keyword.Broken():
	case <-time.After(20 * time.Second):
		t.Fatal("the index does not notice that it cannot write")
	}
	return func() {
		t.Helper()
		must(t, errors.Join(os.RemoveAll(dir), os.Rename(dir+".away", dir)))
	}
}

var colours atomic.Int64 // makes each write another

// colour writes a document with a word that is also a value.
func colour(t *testing.T, b *Backend, id, word string) {
	t.Helper()
	n := colours.Add(1)
	_, err := on(b).Apply(t.Context(), "docs", []backend.Write{{ID: id, Fields: json.RawMessage(fmt.Sprintf(`{"text":"%s paint","colour":%q,"size":%d}`, word, word, n)),
		Hash: [32]byte{1, byte(n), byte(n >> 8)}, Passages: []backend.Passage{{Field: "text", End: 1}}, Vectors: [][]float32{{1, 0}}}})
	if err != nil {
		t.Fatal(err)
	}
}

// coloured returns the ids of the documents of a colour, by value and by word, and whether some may
// be missing.
func coloured(t *testing.T, b *Backend, word string) (byValue, byWord string, partial bool) {
	t.Helper()
	e, err := filter.Parse(fmt.Sprintf("colour = '%s'", word))
	must(t, err)
	sel, err := b.Select(t.Context(), backend.SelectRequest{Collection: "docs", Filter: e})
	if err != nil {
		t.Error(err)
		return "", "", false
	}
	refs := sel.Refs(0, 100)
	words, err := on(b).Words(t.Context(), "docs", backend.Words{Text: word}, 100, nil)
	if err != nil {
		t.Error(err)
	}
	var found []backend.Ref
	for _, m := range words.Matches {
		found = append(found, m.Ref)
	}
	ids := func(refs []backend.Ref) string {
		docs, err := on(b).Documents(t.Context(), "docs", refs)
		if err != nil {
			t.Error(err)
		}
		var all []string
		for _, d := range docs {
			if d != nil {
				all = append(all, d.ID)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	return ids(refs), ids(found), sel.Partial || words.Partial
}

// notStale asks for values of the documents while all but d49 were red and are not any more.
func notStale(t *testing.T, b *Backend) {
	t.Helper()
	docs, err := on(b).Lookup(t.Context(), "docs", []string{"d0", "d49"})
	must(t, err)
	refs := []backend.Ref{docs[0].Ref, docs[1].Ref}
	red, err := filter.Parse("colour = 'red'")
	must(t, err)
	got, err := b.Fetch(t.Context(), backend.FetchRequest{Collection: "docs", Refs: refs, First: "colour", Passing: []filter.Expr{red}, Numbers: []backend.NumberField{{Field: "size"}}})
	if err != nil || got.Firsts[0] != nil || got.Firsts[1] == nil || got.Passing[0][0] || !got.Passing[0][1] || len(got.Numbers[0]) != 1 || got.Numbers[0][0].Index != 1 {
		t.Errorf("Fetch while the index is behind: %+v, %v", got, err)
	}
	counts, err := b.Aggregate(t.Context(), backend.AggregateRequest{Collection: "docs", Selection: backend.Select(refs), Facets: []backend.Facet{{Field: "colour", Limit: 5}}})
	if err != nil || len(counts.Facets[0].Values) != 1 || counts.Facets[0].Values[0].Count != 1 {
		t.Errorf("facets while the index is behind: %+v, %v", counts, err)
	}
}

// openDocs opens a backend with an empty collection docs, until the test ends.
func openDocs(t *testing.T, o Options) *Backend {
	t.Helper()
	b, err := Open(t.TempDir(), o)
	must(t, err)
	t.Cleanup(func() { b.Close() })
	must(t, on(b).Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}))
	return b
}

// TestKeywordIndexRecovers lets the disk refuse the keyword index, once while its folder is also
// held by somebody else, once with its files gone, once with its log gone too: writes go on, what
// the index has missed is not found wrongly, and then everything is right.
func TestKeywordIndexRecovers(t *testing.T) {
	for _, name := range []string{"locked", "gone", "trimmed"} {
		t.Run(name, func(t *testing.T) {
			var told, alarms notices
			b := openDocs(t, Options{Notice: told.tell, Alarm: alarms.tell})
			var err error
			defer func() { b.Close() }() // it becomes another
			c := b.mu.byName["docs"]
			c.reopenFirst = 500 * time.Millisecond
			for i := range 50 {
				colour(t, b, fmt.Sprintf("d%d", i), "red")
			}
			must(t, c.keyword.Sync(t.Context()))
			if name == "trimmed" {
				must(t, c.store.TrimChanges(t.Context(), c.id, c.seq.Load()))
			}
			stop := searching(t, b)
			defer stop()
			giveBack := breakKeyword(t, b, c)
			release := func() {}
			if name == "locked" {
				giveBack()
				release = lockKeyword(t, c)
			}
			for i := range 49 {
				colour(t, b, fmt.Sprintf("d%d", i), "blue")
			}
			if _, err := on(b).Apply(t.Context(), "docs", []backend.Write{{ID: "d48", Delete: true}}); err != nil {
				t.Fatal(err)
			}
			if red := list(49, 50); name == "locked" {
				if byValue, byWord, partial := coloured(t, b, "red"); byValue != red || byWord != red || !partial {
					t.Errorf("behind, red is %q by value, %q by word, partial %t, want %q", byValue, byWord, partial, red)
				}
				notStale(t, b)
				problems, err := on(b).Problems(t.Context(), false)
				if s := fmt.Sprint(problems); err != nil || !strings.Contains(s, "lacks the changes of") {
					t.Errorf("Check: %s, %v", s, err)
				}
				told.wait(t, "cannot be reopened yet")
			}
			alarms.has(t, "the keyword index cannot write")
			release()
			told.wait(t, map[string]string{"locked": "works again", "gone": "works again", "trimmed": "the keyword index is built"}[name])
			stop()
			right := func(when string) {
				t.Helper()
				for colour, want := range map[string]string{"red": list(49, 50), "blue": list(0, 48), "grey": "unseen"} {
					if byValue, byWord, partial := coloured(t, b, colour); byValue != want || byWord != want || partial {
						t.Errorf("%s: %s is %q by value, %q by word, partial %t, want %q", when, colour, byValue, byWord, partial, want)
					}
				}
				sound(t, b)
			}
			right("caught up")
			colour(t, b, "d49", "green")
			colour(t, b, "d49", "red")
			right("written to")
			must(t, b.Close())
			if b, err = Open(b.dir, Options{Notice: func(s string) {
				if !strings.Contains(s, "building the vector index") {
					t.Errorf("opened again: %s", s)
				}
			}}); err != nil {
				t.Fatal(err)
			}
			right("opened again")
		})
	}
}

// TestKeywordIndexBreaksTwice takes the folder away while what was broken is filled anew, and
// closes while it is broken.
func TestKeywordIndexBreaksTwice(t *testing.T) {
	var told, alarms notices
	b := openDocs(t, Options{Notice: told.tell, Alarm: alarms.tell})
	var err error
	defer func() { b.Close() }() // it becomes another
	c := b.mu.byName["docs"]
	c.reopenFirst = 10 * time.Millisecond
	for i := range 20 {
		colour(t, b, fmt.Sprintf("d%d", i), "red")
	}
	for range 3 {
		breakKeyword(t, b, c)
		colour(t, b, "d0", "blue")
		told.wait(t, "works again")
		told.Lock()
		told.text.Reset()
		told.Unlock()
		must(t, os.RemoveAll(filepath.Join(c.dir, keywordFolder)+".away"))
		sound(t, b)
	}
	c.reopenFirst = time.Hour
	giveBack := breakKeyword(t, b, c)
	colour(t, b, "d1", "blue")
	must(t, b.Close())
	giveBack()
	b, err = Open(b.dir, Options{})
	must(t, err)
	if byValue, byWord, partial := coloured(t, b, "blue"); byValue != "d0 d1" || byWord != "d0 d1" || partial {
		t.Errorf("blue is %q by value, %q by word, partial %t", byValue, byWord, partial)
	}
	sound(t, b)
}

// list returns the names of documents from to until, sorted as coloured sorts them.
func list(from, until int) string {
	var all []string
	for i := from; i < until; i++ {
		all = append(all, fmt.Sprintf("d%d", i))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// wait waits until something has been told.
func (n *notices) wait(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		n.Lock()
		told := strings.Contains(n.text.String(), want)
		n.Unlock()
		if told {
			return
		}
	}
	n.has(t, want)
	t.FailNow()
}

// lockKeyword holds the folder of a broken index until the function is called that it returns.
func lockKeyword(t *testing.T, c *collection) (release func()) {
	t.Helper()
	c.keyword.Release()
	y, err := keyword.Open(filepath.Join(c.dir, keywordFolder), c.keywordOptions())
	must(t, err)
	return func() {
		if err := y.Close(); err != nil {
			t.Error(err)
		}
	}
}

// searching searches until the function is called that it returns.
func searching(t *testing.T, b *Backend) (stop func()) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					coloured(t, b, "blue")
					if _, err := b.Stats(t.Context(), backend.StatsRequest{Collection: "docs"}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
}

// TestReplacedKeepsNobodyElse lets a broken keyword index be replaced during a long call: other
// collections answer meanwhile, and a search of this one waits no longer than it may.
func TestReplacedKeepsNobodyElse(t *testing.T) {
	var told notices
	b := openDocs(t, Options{Notice: told.tell})
	must(t, on(b).Create(t.Context(), "other", backend.Config{Dimension: 2, Language: "en", Payload: json.RawMessage("{}")}))
	c := b.mu.byName["docs"]
	c.reopenFirst = 10 * time.Millisecond
	colour(t, b, "d0", "red")
	_, release, err := b.collection(t.Context(), "docs") // a long call
	must(t, err)
	defer func() {
		if release != nil {
			release()
		}
	}()
	breakKeyword(t, b, c)
	for c.use.TryRLock() { // until the new index waits for the call
		c.use.RUnlock()
		time.Sleep(time.Millisecond)
	}
	short, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	search := func(ctx context.Context, name string) error {
		_, err := on(b).Words(ctx, name, backend.Words{Text: "red"}, 1, nil)
		return err
	}
	var searches sync.WaitGroup
	searches.Go(func() {
		if err := search(t.Context(), "docs"); err != nil {
			t.Errorf("a search that has time: %v", err)
		}
	})
	soon(t, "a search that has little time", func() {
		if err := search(short, "docs"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a search that has little time: %v", err)
		}
	})
	soon(t, "another collection", func() {
		if err := on(b).Create(t.Context(), "third", settings("")); err != nil {
			t.Error(err)
		}
		if err := search(t.Context(), "other"); err != nil {
			t.Error(err)
		}
	})
	release()
	release = nil
	searches.Wait()
	told.wait(t, "works again")
	sound(t, b)
}

// TestOtherSettingsLeaveNoCopy opens indexes that were made with other settings: they are made
// anew, and take no room twice.
func TestOtherSettingsLeaveNoCopy(t *testing.T) {
	b := openDocs(t, Options{})
	config := *b.mu.byName["docs"].config.Load()
	colour(t, b, "first", "red")
	config.Language, config.Quantize = "de", backend.QuantizeInt8
	must(t, on(b).Update(t.Context(), "docs", config))
	if copies, _ := filepath.Glob(filepath.Join(b.mu.byName["docs"].dir, "*"+quarantineMark+"*")); len(copies) > 0 {
		t.Errorf("kept %q", copies)
	}
	if byValue, byWord, partial := coloured(t, b, "red"); byValue != "first" || byWord != "first" || partial {
		t.Errorf("red is %q by value, %q by word, partial %t", byValue, byWord, partial)
	}
}

// TestFillingBreaks fills a keyword index that cannot write any more while a collection opens: it
// opens, and the index is filled later, or turns out to have been filled.
func TestFillingBreaks(t *testing.T) {
	t.Run("empty", func(t *testing.T) { testFillingBreaks(t, false, "the keyword index is built") })
	t.Run("filled", func(t *testing.T) { testFillingBreaks(t, true, "works again") })
}

func testFillingBreaks(t *testing.T, filled bool, want string) {
	var told notices
	b := openDocs(t, Options{Notice: told.tell})
	c := b.mu.byName["docs"]
	c.reopenFirst = 100 * time.Millisecond
	colour(t, b, "first", "red")
	must(t, c.keyword.Sync(t.Context()))
	giveBack := breakKeyword(t, b, c)
	c.end()
	c.stale.Store(nil)
	if filled {
		giveBack()
	}
	c.rebuild.keyword.Store(true)
	must(t, c.brokenLater(c.addDocuments(t.Context())))
	if _, _, partial := coloured(t, b, "red"); !partial {
		t.Error("nothing says that documents may be missing")
	}
	c.begin()
	told.wait(t, want)
	for word, want := range map[string]string{"red": "first", "grey": "unseen"} {
		if byValue, byWord, partial := coloured(t, b, word); byValue != want || byWord != want || partial {
			t.Errorf("%s is %q by value, %q by word, partial %t, want %q", word, byValue, byWord, partial, want)
		}
	}
	sound(t, b)
}
