package search_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
	"example.com/searchd/search/mapping"
)

func TestExpiry(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, x := range map[string]*search.Expiry{"at": {Field: "at"}, "after": {Field: "at", After: "2d"}, "none": nil} {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{Expiry: x}); err != nil {
			t.Fatal(err)
		}
		_, err := e.Ingest(t.Context(), name, []search.Document{
			doc("past", `{"text":"a","at":"2026-02-01"}`), doc("day", `{"text":"a","at":"2026-02-28T12:00:00Z"}`), doc("now", `{"text":"a","at":"2026-03-01T12:00:00Z"}`),
			doc("later", `{"text":"a","at":"2026-03-01T12:00:01Z"}`), doc("first", `{"text":"a","at":["2027-01-01","2026-01-01"]}`),
			doc("never", `{"text":"a"}`), doc("number", `{"text":"a","at":5}`), doc("text", `{"text":"a","at":"soon"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	left := func(name string) string {
		t.Helper()
		docs, _, err := e.Documents(t.Context(), name, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, d := range docs {
			ids = append(ids, d.ID)
		}
		return strings.Join(ids, " ")
	}
	if err := search.Expire(e, t.Context(), now); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"at": "later never number text", "after": "day now later never number text", "none": "past day now later first never number text",
	} {
		if got := left(name); got != want {
			t.Errorf("%s: %s are left, want %s", name, got, want)
		}
	}
	// The settings change in place, and act from then on.
	change := func(x *search.Expiry) error {
		_, err := e.ChangeSettings(t.Context(), "none", func(s search.Settings) (search.Settings, error) {
			s.Expiry = x
			return s, nil
		})
		return err
	}
	if err := change(&search.Expiry{Field: "at", After: "1w"}); err != nil {
		t.Fatal(err)
	}
	if err := search.Expire(e, t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if got, want := left("none"), "day now later never number text"; got != want {
		t.Errorf("after a change: %s are left, want %s", got, want)
	}
	for _, x := range []search.Expiry{{}, {Field: "at", After: "2"}, {Field: "at", After: "d"}, {Field: "at", After: "-1d"}, {Field: "at", After: "NaNd"}, {Field: "at", After: "36526d"}} {
		if err := change(&x); err == nil || !strings.Contains(err.Error(), "expiry.") {
			t.Errorf("%+v: %v, want an error about it", x, err)
		}
	}
	s := search.Settings{Expiry: &search.Expiry{Field: "raw"}, Fields: mapping.Mapping{"raw": {Type: mapping.Stored}}}
	if _, err := e.CreateCollection(t.Context(), "raw", s); err == nil || !strings.Contains(fmt.Sprint(err), "expiry.field") {
		t.Errorf("a stored field: %v, want an error about it", err)
	}
}

// follower is a backend that others share, of whom another leads.
type follower struct {
	backend.Backend
	leads bool
}

func (*follower) OnChange(func()) {}
func (f *follower) Leads() bool   { return f.leads }

// TestExpiryIsLeft: of those that share a backend only the one that leads deletes what has expired.
func TestExpiryIsLeft(t *testing.T) {
	b, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{Backend: b}
	e, err := search.Open("", search.Options{Backend: f, Embedder: &fakeEmbedder{}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Expiry: &search.Expiry{Field: "at"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "docs", []search.Document{doc("past", `{"text":"a","at":"2026-02-01"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, f.leads = range []bool{false, true} {
		if err := search.Expire(e, t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		docs, _, err := e.Documents(t.Context(), "docs", "", 1)
		if err != nil || (len(docs) == 0) != f.leads {
			t.Errorf("leads %t: %d documents are left, %v", f.leads, len(docs), err)
		}
	}
}
