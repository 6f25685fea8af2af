package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search/backend"
)

// testWrites writes one document repeatedly and checks the outcome of each write.
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
		changed := changes(step.status)
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

// testRefused makes writes that are not allowed: they change nothing.
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
	if _, err := b.List(ctx, backend.ListRequest{Collection: docs, Cursor: "no cursor", Limit: 1}); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("List from a wrong cursor: %v, want ErrInvalid", err)
	}
}

// testDocuments reads documents by id and by ref, with and without their fields.
func testDocuments(t *testing.T, l *library) {
	ctx := t.Context()
	ids := append(l.sorted(), "nobody", "gone "+l.sorted()[0], "whale")
	found, err := l.Lookup(ctx, docs, ids)
	must(t, err)
	heads, err := l.Backend.Lookup(ctx, backend.LookupRequest{Collection: docs, IDs: ids, NoFields: true, Vectors: true})
	must(t, err)
	for i, id := range ids {
		d, head := found[i], heads[i]
		fields, known := texts[id]
		if known != (d != nil) || known != (head != nil) {
			t.Errorf("Lookup(%q) = %+v, and without fields %+v", id, d, head)
		}
		if !known {
			continue
		}
		if d.ID != id || string(d.Fields) != fields || d.Ref != l.refs[id] || len(d.Passages) != len(l.vectors[id]) {
			t.Errorf("Lookup(%q) = %+v", id, d)
		}
		if !slices.EqualFunc(head.Vectors, l.vectors[id], slices.Equal) {
			t.Errorf("Lookup(%q) has the vectors %v, want %v", id, head.Vectors, l.vectors[id])
		}
		if head.Vectors, head.Fields = nil, d.Fields; !reflect.DeepEqual(head, d) {
			t.Errorf("Lookup(%q) without fields = %+v, want %+v", id, head, d)
		}
	}
	refs := l.of("wall whale wall second")
	fetched := l.fetch(t, backend.FetchRequest{Refs: refs, Documents: true}).Documents
	for i, ref := range refs {
		if want := found[slices.Index(ids, l.ids[ref])]; !reflect.DeepEqual(fetched[i], want) {
			t.Errorf("Fetch = %+v\nLookup = %+v", fetched[i], want)
		}
	}
	if none, err := l.Lookup(ctx, docs, nil); err != nil || len(none) != 0 {
		t.Errorf("Lookup of nothing = %v, %v", none, err)
	}
	if none := l.fetch(t, backend.FetchRequest{Documents: true}).Documents; len(none) != 0 {
		t.Errorf("Fetch of nothing = %v", none)
	}
}

// list returns all documents of the library in pages of a length.
func (l *library) list(t *testing.T, limit int, noFields bool) (all []*backend.Document) {
	t.Helper()
	r := backend.ListRequest{Collection: docs, Limit: limit, NoFields: noFields}
	for range len(texts) + 1 {
		page, err := l.List(t.Context(), r)
		if err != nil || len(page.Documents) > limit || len(page.Documents) < limit && page.Next != "" {
			t.Fatalf("List(%+v) = %d documents, next %q, %v", r, len(page.Documents), page.Next, err)
		}
		all = append(all, page.Documents...)
		if r.Cursor = page.Next; r.Cursor == "" {
			return all
		}
	}
	t.Fatalf("List in pages of %d does not end", limit)
	return nil
}

// testList reads all documents in pages of several lengths, with and without their fields.
func testList(t *testing.T, l *library) {
	all := l.list(t, 1000, false)
	seen := map[string]bool{}
	for _, d := range all {
		if seen[d.ID] = true; string(d.Fields) != texts[d.ID] || d.Ref != l.refs[d.ID] {
			t.Errorf("List has %+v", d)
		}
	}
	if len(seen) != len(texts) || len(all) != len(texts) {
		t.Errorf("List has %d documents, %d different ones, want %d", len(all), len(seen), len(texts))
	}
	for _, noFields := range []bool{false, true} {
		for _, limit := range []int{1, 2, 5, len(texts) - 1, len(texts), 1000} {
			if noFields {
				for _, d := range all {
					d.Fields = nil
				}
			}
			if got := l.list(t, limit, noFields); !reflect.DeepEqual(got, all) {
				t.Errorf("List in pages of %d (no fields: %t) has other documents, or another order, than at once", limit, noFields)
			}
		}
	}
}

// testDeleted deletes documents between two pages: nothing finds them any more, and no other
// document is skipped.
func testDeleted(t *testing.T, l *library) {
	ctx := t.Context()
	page, err := l.List(ctx, backend.ListRequest{Collection: docs, Limit: 4})
	must(t, err)
	first := page.Documents
	gone := []*backend.Document{first[3], first[1]} // the last of the page, too
	for _, d := range gone {
		l.apply(t, backend.Write{ID: d.ID, Delete: true})
	}
	rest, err := l.List(ctx, backend.ListRequest{Collection: docs, Cursor: page.Next, Limit: 1000})
	if err != nil || len(rest.Documents) != len(texts)-4 {
		t.Errorf("after the first page are %d documents, %v, want %d", len(rest.Documents), err, len(texts)-4)
	}
	all, err := l.Select(ctx, backend.SelectRequest{Collection: docs})
	if err != nil || all.Len() != len(texts)-2 || all.Contains(gone[0].Ref) || all.Contains(gone[1].Ref) {
		t.Errorf("all documents are %d, %v, want %d", all.Len(), err, len(texts)-2)
	}
	q, words := l.vectors["whale"][0], backend.Words{Text: "old wall whale sea captain numbers label"}
	refs := []backend.Ref{gone[0].Ref, first[0].Ref, gone[1].Ref}
	got := l.fetch(t, backend.FetchRequest{Refs: refs, Documents: true, Vector: q, Words: &words, Scores: true,
		Passages: []backend.PassageRef{{Ref: refs[0]}, {Ref: refs[2]}}, Names: true, Vectors: true})
	if got.Documents[1] == nil || got.Vectors[0] != nil || got.Vectors[1] != nil || got.Names[0]+got.Names[1] != 0 {
		t.Errorf("Fetch of passages of deleted documents = %+v", got)
	}
	for _, i := range []int{0, 2} {
		if got.Documents[i] != nil || got.Cosines[i] != nil || got.Scores[i] != 0 {
			t.Errorf("Fetch of a deleted document = %+v, %v, %v", got.Documents[i], got.Cosines[i], got.Scores[i])
		}
	}
	nearest, err := l.Nearest(ctx, docs, q, 1000, nil)
	if err != nil || slices.ContainsFunc(nearest, func(m backend.PassageMatch) bool { return m.Ref == refs[0] || m.Ref == refs[2] }) {
		t.Errorf("RetrieveVectors = %v, %v, has deleted documents", nearest, err)
	}
	l.apply(t, document(gone[0].ID, texts[gone[0].ID], 1, rand.New(rand.NewPCG(9, 9))))
	again, err := l.Lookup(ctx, docs, []string{gone[0].ID})
	if err != nil || again[0] == nil || again[0].Ref == gone[0].Ref {
		t.Errorf("a document that was put again after its deletion = %+v, %v, want another ref than %d", again[0], err, gone[0].Ref)
	}
}

// testChanges follows the change log.
func testChanges(t *testing.T, l *library) {
	if _, err := l.Changes(t.Context(), backend.ChangesRequest{Collection: docs}); errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("the backend has no change log: %v", err)
	}
	changes := func(after uint64, limit int) backend.ChangesResponse {
		t.Helper()
		out, err := l.Changes(t.Context(), backend.ChangesRequest{Collection: docs, After: after, Limit: limit, Keep: true})
		must(t, err)
		return out
	}
	from := l.last
	if at := changes(from, 10); len(at.IDs) != 0 || at.Next != from || at.End != from {
		t.Errorf("Changes at the end of the log = %+v, want none and %d", at, from)
	}
	r := rand.New(rand.NewPCG(10, 11))
	for i, id := range []string{"whale", "new", "storm", "whale", "garden", "new"} {
		l.apply(t, document(id, fmt.Sprintf(`{"text":"change %d"}`, i), 1, r))
	}
	l.apply(t, backend.Write{ID: "garden", Delete: true})
	end := changes(from, 0).End
	if end-from != 7 {
		t.Errorf("from %d until %d are %d changes, want 7", from, end, end-from)
	}
	for limit := 1; limit <= 8; limit++ {
		seen := map[string]bool{}
		at := from
		for range 20 {
			page := changes(at, limit)
			if got := slices.Compact(slices.Sorted(slices.Values(page.IDs))); len(got) != len(page.IDs) || len(got) > limit {
				t.Errorf("Changes(%d, %d) = %q, want at most so many ids, each once", at, limit, page.IDs)
			}
			for _, id := range page.IDs {
				seen[id] = true
			}
			if page.Next == at {
				break
			}
			if page.Next < at || page.Next > end {
				t.Fatalf("Changes(%d, %d) goes on from %d", at, limit, page.Next)
			}
			at = page.Next
		}
		if at != end || len(seen) != 4 || !seen["whale"] || !seen["new"] || !seen["storm"] || !seen["garden"] {
			t.Errorf("with a limit of %d the changes are of %v up to %d, want those of 4 documents up to %d", limit, seen, at, end)
		}
	}
}
