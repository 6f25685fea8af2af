package backendtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"searchd/search/backend"
)

// testWrites writes one document again and again, and holds what becomes of each write.
func testWrites(t *testing.T, b Calls) {
	ctx := t.Context()
	must(t, b.Create(ctx, docs, config()))
	r := rand.New(rand.NewPCG(5, 6))
	one, two := document("a", `{"text":"one"}`, 1, r), document("a", `{"text":"two"}`, 2, r)
	remove, other := backend.Write{ID: "a", Delete: true}, document("b", `{"text":"one"}`, 1, r)
	var revision uint64
	is := func(w backend.Write, revision uint64) backend.Write {
		w.IfRevision = &revision
		return w
	}
	for i, step := range []struct {
		what   string
		write  backend.Write
		status backend.Status
	}{
		{"delete what is not there", remove, backend.Missing},
		{"change what is not there", is(one, 5), backend.Conflict},
		{"put if absent", is(one, 0), backend.Created},
		{"put if absent what is there", is(two, 0), backend.Conflict},
		{"put the same", one, backend.Unchanged},
		{"put another", two, backend.Updated},
		{"put another over a wrong revision", is(one, 1<<40), backend.Conflict},
		{"put the first again", one, backend.Updated},
		{"delete a wrong revision", is(remove, 1<<40), backend.Conflict},
		{"delete", remove, backend.Deleted},
		{"delete again", remove, backend.Missing},
		{"put after it was deleted", two, backend.Created},
	} {
		before, err := b.Collection(ctx, docs)
		must(t, err)
		out, err := b.Apply(ctx, docs, []backend.Write{step.write})
		if err != nil || len(out) != 1 || out[0].Status != step.status {
			t.Fatalf("step %d, %s: %+v, %v, want status %d", i, step.what, out, err, step.status)
		}
		after, err := b.Collection(ctx, docs)
		must(t, err)
		changed := step.status == backend.Created || step.status == backend.Updated || step.status == backend.Deleted
		if now := out[0].Revision; changed != (after.Sequence > before.Sequence) ||
			(step.status == backend.Created || step.status == backend.Updated) && now <= revision || step.status == backend.Unchanged && now != revision {
			t.Errorf("step %d, %s: revision %d after %d, sequence %d after %d", i, step.what, now, revision, after.Sequence, before.Sequence)
		}
		if changed {
			revision = out[0].Revision
		}
	}
	out, err := b.Apply(ctx, docs, []backend.Write{is(one, revision), other, remove, one, other, two, is(two, 0)})
	var got []backend.Status
	for _, o := range out {
		got = append(got, o.Status)
	}
	want := []backend.Status{backend.Updated, backend.Created, backend.Deleted, backend.Created, backend.Unchanged, backend.Updated, backend.Conflict}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("several writes of a call: %v, %v, want %v", got, err, want)
	}
	found, err := b.Lookup(ctx, docs, []string{"a", "b", "c", "a"})
	must(t, err)
	if found[2] != nil || !same(found[0], two) || !same(found[1], other) || !same(found[3], two) {
		t.Errorf("Lookup = %+v", found)
	}
	if c, err := b.Collection(ctx, docs); err != nil || c.Documents != 2 || c.Passages != 3 {
		t.Errorf("Collection = %+v, %v, want 2 documents of 3 passages", c, err)
	}
	if out, err := b.Apply(ctx, docs, nil); err != nil || len(out) != 0 {
		t.Errorf("Apply of nothing = %v, %v", out, err)
	}
}

// same reports whether a document is what was written.
func same(d *backend.Document, w backend.Write) bool {
	return d != nil && d.ID == w.ID && bytes.Equal(d.Fields, w.Fields) && d.Hash == w.Hash && slices.Equal(d.Passages, w.Passages) && d.Revision > 0
}

// testRefused writes what is not allowed, which changes nothing.
func testRefused(t *testing.T, b Calls) {
	ctx := t.Context()
	must(t, b.Create(ctx, docs, config()))
	r := rand.New(rand.NewPCG(7, 8))
	for name, change := range map[string]func(w *backend.Write){
		"no id":            func(w *backend.Write) { w.ID = "" },
		"an id of no text": func(w *backend.Write) { w.ID = "a\x00" },
		"a long id":        func(w *backend.Write) { w.ID = strings.Repeat("a", 10_000) },
		"too few vectors":  func(w *backend.Write) { w.Passages = append(w.Passages, backend.Passage{Field: "text"}) },
		"no vectors":       func(w *backend.Write) { w.Vectors = nil },
		"a short vector":   func(w *backend.Write) { w.Vectors[0] = w.Vectors[0][1:] },
		"an empty vector":  func(w *backend.Write) { w.Vectors[0] = nil },
		"a zero vector":    func(w *backend.Write) { clear(w.Vectors[0]) },
	} {
		w := document("a", `{"text":"one"}`, 1, r)
		change(&w)
		if out, err := b.Apply(ctx, docs, []backend.Write{w}); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%s: %+v, %v, want ErrInvalid", name, out, err)
		}
	}
	if c, err := b.Collection(ctx, docs); err != nil || c.Documents != 0 || c.Passages != 0 {
		t.Errorf("after writes that were refused: %+v, %v", c, err)
	}
	if _, _, err := b.List(ctx, docs, "no cursor", 1); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("List from a wrong cursor: %v, want ErrInvalid", err)
	}
}

// testDocuments reads documents by id and by ref.
func testDocuments(t *testing.T, l *library) {
	ids := append(l.sorted(), "nobody", "gone "+l.sorted()[0], "whale")
	found, err := l.Lookup(t.Context(), docs, ids)
	must(t, err)
	refs := l.of("wall whale wall second")
	fetched, err := l.Fetch(t.Context(), docs, refs)
	must(t, err)
	for i, id := range ids {
		if fields, ok := texts[id]; ok != (found[i] != nil) || ok && (found[i].ID != id || string(found[i].Fields) != fields || found[i].Ref != l.refs[id]) {
			t.Errorf("Lookup(%q) = %+v", id, found[i])
		}
	}
	for i, ref := range refs {
		at := slices.Index(ids, l.ids[ref])
		if !reflect.DeepEqual(fetched[i], found[at]) {
			t.Errorf("Fetch = %+v\nLookup = %+v", fetched[i], found[at])
		}
	}
	if len(found[slices.Index(ids, "second")].Passages) != 0 || len(found[slices.Index(ids, "whale")].Passages) == 0 {
		t.Error("a document without passages has some, or one with passages has none")
	}
	for name, n := range map[string]int{"Lookup": length(l.Lookup(t.Context(), docs, nil)), "Fetch": length(l.Fetch(t.Context(), docs, nil))} {
		if n != 0 {
			t.Errorf("%s of nothing has %d answers", name, n)
		}
	}
}

// length returns how many results a call without an error has.
func length[T any](list []T, err error) int {
	if err != nil {
		return -1
	}
	return len(list)
}

// testList reads all documents in pages of several lengths.
func testList(t *testing.T, l *library) {
	all, next, err := l.List(t.Context(), docs, "", 1000)
	if err != nil || next != "" || len(all) != len(texts) {
		t.Fatalf("List of all = %d documents, next %q, %v, want %d", len(all), next, err, len(texts))
	}
	seen := map[string]bool{}
	for _, d := range all {
		if seen[d.ID] = true; string(d.Fields) != texts[d.ID] || d.Ref != l.refs[d.ID] {
			t.Errorf("List has %+v", d)
		}
	}
	if len(seen) != len(texts) {
		t.Errorf("List has %d documents of %d", len(seen), len(texts))
	}
	for _, limit := range []int{1, 2, 5, len(texts) - 1, len(texts)} {
		var got []*backend.Document
		for cursor, pages := "", 0; ; pages++ {
			page, next, err := l.List(t.Context(), docs, cursor, limit)
			if err != nil || len(page) > limit || len(page) < limit && next != "" || pages > len(texts) {
				t.Fatalf("List(%q, %d) = %d documents, next %q, %v", cursor, limit, len(page), next, err)
			}
			got = append(got, page...)
			if cursor = next; next == "" {
				break
			}
		}
		if !reflect.DeepEqual(got, all) {
			t.Errorf("List in pages of %d has other documents, or another order, than at once", limit)
		}
	}
}

// testDeleted holds that a document that is deleted is in nothing any more, and that those deleted
// between two pages take no others with them.
func testDeleted(t *testing.T, l *library) {
	ctx := t.Context()
	first, next, err := l.List(ctx, docs, "", 4)
	must(t, err)
	gone := []*backend.Document{first[3], first[1]} // the last of the page, too
	for _, d := range gone {
		l.apply(t, backend.Write{ID: d.ID, Delete: true})
	}
	rest, _, err := l.List(ctx, docs, next, 1000)
	if err != nil || len(rest) != len(texts)-4 {
		t.Errorf("after the first page are %d documents, %v, want %d", len(rest), err, len(texts)-4)
	}
	refs := []backend.Ref{gone[0].Ref, first[0].Ref, gone[1].Ref}
	fetched, err := l.Fetch(ctx, docs, refs)
	if err != nil || fetched[0] != nil || fetched[1] == nil || fetched[2] != nil {
		t.Errorf("Fetch of a document between two that are gone = %+v, %v", fetched, err)
	}
	all, err := l.Select(ctx, backend.SelectRequest{Collection: docs})
	if err != nil || all.Len() != len(texts)-2 || all.Contains(gone[0].Ref) || all.Contains(gone[1].Ref) {
		t.Errorf("all documents are %d, %v, want %d", all.Len(), err, len(texts)-2)
	}
	q := l.vectors["whale"][0]
	cosines, err := l.Cosines(ctx, docs, q, refs)
	if err != nil || cosines[0] != nil || cosines[2] != nil {
		t.Errorf("Cosines of documents that are gone = %v, %v", cosines, err)
	}
	vectors, err := l.Vectors(ctx, docs, []backend.PassageRef{{Ref: refs[0]}, {Ref: refs[2]}})
	if err != nil || vectors[0] != nil || vectors[1] != nil {
		t.Errorf("Vectors of documents that are gone = %v, %v", vectors, err)
	}
	names, err := l.Names(ctx, docs, []backend.PassageRef{{Ref: refs[0]}, {Ref: refs[2]}})
	if err != nil || names[0] != 0 || names[1] != 0 {
		t.Errorf("Names of documents that are gone = %v, %v", names, err)
	}
	nearest, err := l.Nearest(ctx, docs, q, 1000, nil)
	if err != nil || slices.ContainsFunc(nearest, func(m backend.PassageMatch) bool { return m.Ref == refs[0] || m.Ref == refs[2] }) {
		t.Errorf("Nearest = %v, %v, has documents that are gone", nearest, err)
	}
	scores, err := l.WordScores(ctx, docs, backend.Words{Text: "old wall whale sea captain numbers label"}, refs)
	if err != nil || scores[0] != 0 || scores[2] != 0 {
		t.Errorf("WordScores of documents that are gone = %v, %v", scores, err)
	}
	l.apply(t, document(gone[0].ID, texts[gone[0].ID], 1, rand.New(rand.NewPCG(9, 9))))
	again, err := l.Lookup(ctx, docs, []string{gone[0].ID})
	if err != nil || again[0] == nil || again[0].Ref == gone[0].Ref {
		t.Errorf("a document that was put again after its deletion = %+v, %v, want another ref than %d", again[0], err, gone[0].Ref)
	}
}

// testChanges follows the change log.
func testChanges(t *testing.T, l *library) {
	ctx := t.Context()
	from, err := l.Position(ctx, docs)
	must(t, err)
	must(t, l.Keep(ctx, docs, from))
	if ids, next, err := l.Changed(ctx, docs, from, 10); err != nil || len(ids) != 0 || next != from {
		t.Errorf("Changed at the end of the log = %q, %v, %v, want none and %v", ids, next, err, from)
	}
	r := rand.New(rand.NewPCG(10, 11))
	for i, id := range []string{"whale", "new", "storm", "whale", "garden", "new"} {
		l.apply(t, document(id, fmt.Sprintf(`{"text":"change %d"}`, i), 1, r))
	}
	l.apply(t, backend.Write{ID: "garden", Delete: true})
	end, err := l.Position(ctx, docs)
	if err != nil || end-from != 7 {
		t.Errorf("from %v until %v are %d changes, %v, want 7", from, end, end-from, err)
	}
	for limit := 1; limit <= 8; limit++ {
		seen := map[string]bool{}
		at := from
		for range 20 {
			ids, next, err := l.Changed(ctx, docs, at, limit)
			must(t, err)
			if got := slices.Compact(slices.Sorted(slices.Values(ids))); len(got) != len(ids) || len(ids) > limit {
				t.Errorf("Changed(%v, %d) = %q, want at most so many ids, each once", at, limit, ids)
			}
			for _, id := range ids {
				seen[id] = true
			}
			if next == at {
				break
			}
			if next < at || next > end {
				t.Fatalf("Changed(%v, %d) goes on from %v", at, limit, next)
			}
			at = next
		}
		if at != end || len(seen) != 4 || !seen["whale"] || !seen["new"] || !seen["storm"] || !seen["garden"] {
			t.Errorf("with a limit of %d the changes are of %v up to %v, want those of 4 documents up to %v", limit, seen, at, end)
		}
	}
}

// testConcurrent writes from several goroutines while others read.
func testConcurrent(t *testing.T, b Calls) {
	ctx := t.Context()
	must(t, b.Create(ctx, docs, config()))
	const writers, each = 4, 10
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 12))
			for i := range each {
				id, fields := fmt.Sprint(n, " ", i), fmt.Sprintf(`{"text":"common words of writer%d","n":%d}`, n, i)
				if _, err := b.Apply(ctx, docs, []backend.Write{document(id, fields, 1, r), {ID: fmt.Sprint(n, " ", i-1), Delete: i%2 == 1, Fields: json.RawMessage(`{}`)}}); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 13))
			for range each {
				words, err := b.Words(ctx, docs, backend.Words{Text: "common"}, 100, nil)
				if err != nil || len(words.Matches) != words.Total {
					t.Errorf("Words finds %d of %d, %v", len(words.Matches), words.Total, err)
				}
				if _, err := b.Nearest(ctx, docs, unit(r), 100, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	c, err := b.Collection(ctx, docs)
	words, werr := b.Words(ctx, docs, backend.Words{Text: "common"}, 100, nil)
	if err != nil || werr != nil || c.Documents != words.Total+writers*each/2 {
		t.Errorf("%d documents, %v, of which %d have words, %v", c.Documents, err, words.Total, werr)
	}
	if problems, err := b.Problems(ctx, true); err != nil || len(problems) != 0 {
		t.Errorf("Check = %+v, %v", problems, err)
	}
}
