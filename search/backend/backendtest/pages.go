package backendtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/searchd/search/backend"
)

// testPages checks that documents of megabytes come in pages of about backend.PageBytes, each once.
func testPages(t *testing.T, b Calls) {
	ctx := t.Context()
	must(t, b.Create(ctx, docs, config()))
	const n, size = 6, 7 << 20
	r := rand.New(rand.NewPCG(14, 15))
	fields := bytes.Repeat([]byte("a"), size)
	copy(fields, `{"secret":"`)
	copy(fields[size-2:], `"}`)
	ids := []string{"none"}
	for i := range n {
		w := document(fmt.Sprint(i), string(fields), 1, r)
		out, err := b.Apply(ctx, docs, []backend.Write{w})
		if err != nil || out[0].Status != backend.Created {
			t.Fatalf("Apply of a document of %d bytes: %+v, %v", size, out, err)
		}
		ids = append(ids, w.ID)
	}
	bounded := func(what string, page []*backend.Document) {
		var sum, last int
		for _, d := range page {
			if d != nil {
				last = d.Size()
				sum += last
			}
		}
		if most := backend.PageBytes + last; sum > most {
			t.Errorf("%s answers %d documents of %d bytes, want up to %d bytes", what, len(page), sum, most)
		}
	}
	refs := []backend.Ref{}
	var got []string
	must(t, backend.LookupPages(ctx, b.Backend, backend.LookupRequest{Collection: docs, IDs: append(ids, "3", "none")}, func(ids []string, page []*backend.Document) error {
		bounded("Lookup", page)
		for i, d := range page {
			if d == nil {
				got = append(got, "none")
			} else if got = append(got, d.ID); d.ID != ids[i] || !bytes.Equal(d.Fields, fields) {
				t.Errorf("Lookup has %q in the place of %q, with %d bytes", d.ID, ids[i], len(d.Fields))
			} else {
				refs = append(refs, d.Ref)
			}
		}
		return nil
	}))
	if want := "[none 0 1 2 3 4 5 3 none]"; fmt.Sprint(got) != want {
		t.Fatalf("Lookup in pages = %v, want %s", got, want)
	}
	at := 0
	must(t, backend.FetchPages(ctx, b.Backend, backend.FetchRequest{Collection: docs, Refs: refs}, func(refs []backend.Ref, have backend.FetchResponse) error {
		bounded("Fetch", have.Documents)
		for i, d := range have.Documents {
			if at++; d == nil || d.Ref != refs[i] {
				t.Errorf("Fetch(%d) = %+v", refs[i], d)
			}
		}
		return nil
	}))
	if at != len(refs) {
		t.Errorf("Fetch in pages has %d documents, want %d", at, len(refs))
	}
	seen := map[string]bool{}
	for r, more := (backend.ListRequest{Collection: docs, Limit: 100}), true; more; more = r.Cursor != "" {
		page, err := b.List(ctx, r)
		if err != nil || len(page.Documents) == 0 {
			t.Fatalf("List after %d documents = %+v, %v", len(seen), page, err)
		}
		bounded("List", page.Documents)
		for _, d := range page.Documents {
			if seen[d.ID] {
				t.Errorf("List has %s twice", d.ID)
			}
			seen[d.ID] = true
		}
		r.Cursor = page.Next
	}
	if len(seen) != n {
		t.Errorf("List in pages has %d documents, want %d", len(seen), n)
	}
}
