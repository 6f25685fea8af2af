package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// keeping returns an engine whose collection docs has the setting.
func keeping(t testing.TB, v *search.VersionSettings) *search.Engine {
	t.Helper()
	e := open(t, t.TempDir(), &fakeEmbedder{})
	setVersions(t, e, v)
	return e
}

func setVersions(t testing.TB, e *search.Engine, v *search.VersionSettings) {
	t.Helper()
	_, err := e.ChangeSettings(t.Context(), "docs", func(s search.Settings) (search.Settings, error) { s.Versions = v; return s, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// texts returns the texts of a document's versions, newest first, with ! where a deletion followed.
func texts(t testing.TB, e *search.Engine, id string) string {
	t.Helper()
	v := search.VersionsOf(e)
	list, err := v.List(t.Context(), "docs", id)
	if errors.Is(err, search.ErrDocumentNotFound) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, one := range list.Versions {
		whole, err := v.Get(t.Context(), "docs", id, one.Revision)
		if err != nil {
			t.Fatal(err)
		}
		var fields struct{ Text string }
		if err := json.Unmarshal(whole.Fields, &fields); err != nil || len(whole.Fields) != one.Bytes || one.Until.IsZero() {
			t.Errorf("version %+v of %s: %v", one, whole.Fields, err)
		}
		if one.Deleted {
			fields.Text += "!"
		}
		out = append(out, fields.Text)
	}
	return strings.Join(out, " ")
}

func text(id, word string) search.Document { return doc(id, fmt.Sprintf(`{"text":%q}`, word)) }

func TestVersions(t *testing.T) {
	e := keeping(t, &search.VersionSettings{Keep: 3})
	want := func(step, id, want string) {
		t.Helper()
		if got := texts(t, e, id); got != want {
			t.Errorf("%s: versions of %s: %q, want %q", step, id, got, want)
		}
	}
	want("nothing", "a", "none")
	put(t, e, search.Created, text("a", "one"), text("b", "bee"))
	want("new", "a", "")
	put(t, e, search.Updated, text("a", "two"))
	put(t, e, search.Unchanged, text("a", "two"))
	put(t, e, search.Updated, text("a", "three"))
	want("written", "a", "two one")
	if _, err := e.DeleteDocument(t.Context(), "docs", "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"b"}); err != nil {
		t.Fatal(err)
	}
	want("deleted", "a", "three! two one")
	want("deleted", "b", "bee!")
	if hits := find(t, e, search.Query{Q: "three", Mode: search.Keyword}); hits != "" {
		t.Errorf("a version is found: %s", hits)
	}
	list, err := search.VersionsOf(e).List(t.Context(), "docs", "a")
	if err != nil || list.Revision != 0 || list.Keep != 3 {
		t.Fatalf("List = %+v, %v", list, err)
	}
	one, err := search.VersionsOf(e).Document(t.Context(), "docs", "a", list.Versions[2].Revision)
	if err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, one)
	want("restored", "a", "three! two one")
	put(t, e, search.Updated, text("a", "four"))
	want("more than are kept", "a", "one three! two")
	if d, err := e.DeleteByFilter(t.Context(), "docs", "id = 'a'", false); err != nil || d.Deleted != 1 {
		t.Fatal(d, err)
	}
	want("deleted by filter", "a", "four! one three!")
	if err := search.VersionsOf(e).Forget(t.Context(), "docs", "a"); err != nil {
		t.Fatal(err)
	}
	want("forgotten", "a", "none")
	want("forgotten", "b", "bee!")
	for name, call := range map[string]func(*search.Versions) error{
		"no such revision":   func(v *search.Versions) error { _, err := v.Get(t.Context(), "docs", "b", 999); return err },
		"revision 0":         func(v *search.Versions) error { _, err := v.Get(t.Context(), "docs", "b", 0); return err },
		"document of none":   func(v *search.Versions) error { _, err := v.Document(t.Context(), "docs", "x", 1); return err },
		"of another id":      func(v *search.Versions) error { _, err := v.Get(t.Context(), "docs", "a", 2); return err },
		"of no collection":   func(v *search.Versions) error { _, err := v.List(t.Context(), "nix", "a"); return err },
		"forget, collection": func(v *search.Versions) error { return v.Forget(t.Context(), "nix", "a") },
	} {
		if err := call(search.VersionsOf(e)); !errors.Is(err, search.ErrDocumentNotFound) && !errors.Is(err, search.ErrCollectionNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := search.VersionsOf(e).List(t.Context(), "docs", "\x00"); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("an id that there cannot be: %v", err)
	}
}

func TestVersionsOff(t *testing.T) {
	e := keeping(t, nil)
	put(t, e, search.Created, text("a", "one"))
	put(t, e, search.Updated, text("a", "two"))
	if got := texts(t, e, "a"); got != "" {
		t.Errorf("versions without the setting: %q", got)
	}
	setVersions(t, e, &search.VersionSettings{Keep: 2})
	put(t, e, search.Updated, text("a", "three"))
	put(t, e, search.Updated, text("a", "four"))
	if got := texts(t, e, "a"); got != "three two" {
		t.Errorf("versions: %q", got)
	}
	setVersions(t, e, &search.VersionSettings{Keep: 1})
	if got := texts(t, e, "a"); got != "three" {
		t.Errorf("with a smaller number: %q", got)
	}
	setVersions(t, e, nil)
	if got := texts(t, e, "a"); got != "" {
		t.Errorf("with the setting off: %q", got)
	}
	if err := search.TrimVersions(e, t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	setVersions(t, e, &search.VersionSettings{Keep: 2})
	if got := texts(t, e, "a"); got != "" {
		t.Errorf("after they were removed: %q", got)
	}
}

func TestVersionsAge(t *testing.T) {
	e := keeping(t, &search.VersionSettings{Keep: 9, For: "2h"})
	put(t, e, search.Created, text("a", "one"), text("b", "bee"))
	put(t, e, search.Updated, text("a", "two"), text("b", "cee"))
	if err := search.TrimVersions(e, t.Context(), time.Now().Add(119*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, e, "a"); got != "one" {
		t.Errorf("after 119 minutes: %q", got)
	}
	if err := search.TrimVersions(e, t.Context(), time.Now().Add(121*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, e, "a") + texts(t, e, "b"); got != "" {
		t.Errorf("after 121 minutes: %q", got)
	}
}

// TestExpiredLeaveNoVersions is of documents that the setting expiry deletes: what is to be gone
// at a date is not to be read afterwards.
func TestExpiredLeaveNoVersions(t *testing.T) {
	e := keeping(t, &search.VersionSettings{Keep: 9})
	_, err := e.ChangeSettings(t.Context(), "docs", func(s search.Settings) (search.Settings, error) {
		s.Expiry = &search.Expiry{Field: "at"}
		return s, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, doc("a", `{"text":"one","at":"2026-01-01T00:00:00Z"}`), doc("b", `{"text":"bee"}`))
	put(t, e, search.Updated, doc("a", `{"text":"two","at":"2026-01-01T00:00:00Z"}`), doc("b", `{"text":"cee"}`))
	if err := search.Expire(e, t.Context(), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if a, b := texts(t, e, "a"), texts(t, e, "b"); a != "none" || b != "bee" {
		t.Errorf("versions of the expired document: %q; of another: %q", a, b)
	}
}

// TestVersionsAfterReembedding keeps the versions of before under their revisions, and adds none.
func TestVersionsAfterReembedding(t *testing.T) {
	e := keeping(t, &search.VersionSettings{Keep: 9})
	put(t, e, search.Created, text("a", "one"), text("gone", "here"))
	put(t, e, search.Updated, text("a", "two"))
	if _, err := e.DeleteDocument(t.Context(), "docs", "gone", nil); err != nil {
		t.Fatal(err)
	}
	settings := search.Settings{Passages: search.PassageSettings{NoTitle: true}, Versions: &search.VersionSettings{Keep: 5}}
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("task: %+v", task)
	}
	if a, gone := texts(t, e, "a"), texts(t, e, "gone"); a != "one" || gone != "here!" {
		t.Errorf("versions after re-embedding: %q and %q", a, gone)
	}
	put(t, e, search.Updated, text("a", "three"))
	if got := texts(t, e, "a"); got != "two one" {
		t.Errorf("versions after another write: %q", got)
	}
}

func TestVersionSettings(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, x := range []struct {
		v     search.VersionSettings
		field string
	}{
		{search.VersionSettings{}, "versions.keep"}, {search.VersionSettings{Keep: -1}, "versions.keep"}, {search.VersionSettings{Keep: 101}, "versions.keep"},
		{search.VersionSettings{Keep: 1, For: "0d"}, "versions.for"}, {search.VersionSettings{Keep: 1, For: "1y"}, "versions.for"}, {search.VersionSettings{Keep: 1, For: "-1d"}, "versions.for"},
		{search.VersionSettings{Keep: 100, For: "5200w"}, ""},
	} {
		_, err := e.CreateCollection(t.Context(), "other", search.Settings{Versions: &x.v})
		var wrong *search.FieldError
		if x.field == "" && err != nil || x.field != "" && (!errors.As(err, &wrong) || wrong.Field != x.field) {
			t.Errorf("%+v: %v, want an error about %q", x.v, err, x.field)
		}
	}
}

// plain is a backend that keeps no versions, as that of a cluster.
type plain struct{ backend.Backend }

func TestVersionsOfAnotherBackend(t *testing.T) {
	b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := openWith(t, "", search.Options{Embedder: &fakeEmbedder{}, Backend: plain{b}})
	with := search.Settings{Versions: &search.VersionSettings{Keep: 1}}
	_, made := e.CreateCollection(t.Context(), "new", with)
	_, changed := e.ChangeSettings(t.Context(), "docs", func(search.Settings) (search.Settings, error) { return with, nil })
	copied := search.CopiesOf(e).Begin(context.Background(), "copy", search.Original{Of: "x", Settings: with, Model: (&fakeEmbedder{}).Model()})
	for name, err := range map[string]error{"create": made, "change": changed, "copy": copied} {
		if !errors.Is(err, search.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "settings.versions") {
			t.Errorf("%s: %v", name, err)
		}
	}
	put(t, e, search.Created, text("a", "one"))
	put(t, e, search.Updated, text("a", "two"))
	if err := search.VersionsOf(e).Forget(t.Context(), "docs", "a"); err != nil {
		t.Error(err)
	}
	if got := texts(t, e, "a"); got != "" {
		t.Errorf("versions: %q", got)
	}
}
