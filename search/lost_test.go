package search_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestDamagedCatalog damages what the whole folder is opened with: a collection's record, what a
// name or an alias leads to, a task. The other collections serve, nothing is dropped, and what is
// damaged is named.
func TestDamagedCatalog(t *testing.T) {
	ctx := t.Context()
	for _, tt := range []struct {
		name, value string // that is overwritten
		broken      string // the name that leads nowhere
		says        string
	}{
		{"record", `{"dimension":`, "bad", "collections, key "},
		{"record and name", `{"dimension":`, "damaged-2", "collections, key "},
		{"generation", "current/docsdocs~2", "docs", `"current/docs"`},
		{"alias", "alias/liveother", "live", `"alias/live"`},
		{"task", `"kind":"reembed"`, "", `"task/`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			e := mustOpenWide(t, dir, &wideEmbedder{})
			for _, name := range []string{"bad", "other"} {
				if _, err := e.CreateCollection(ctx, name, search.Settings{}); err != nil {
					t.Fatal(err)
				}
			}
			put(t, e, search.Created, doc("cat", `{"text":"a kitten sleeps"}`))
			if _, err := e.SetAlias(ctx, "live", "other"); err != nil {
				t.Fatal(err)
			}
			task, err := e.Reembed(ctx, "docs", search.ReembedOptions{Model: wide})
			if err != nil {
				t.Fatal(err)
			}
			if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
				t.Fatalf("re-embedding: %+v", task)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "searchd.db")
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			value := []byte(tt.value)
			if strings.HasPrefix(tt.name, "record") { // that of one collection alone
				value = append([]byte("\x03\x00bad"), value...)
			}
			if !bytes.Contains(file, value) {
				t.Fatalf("the store does not hold %q", value)
			}
			worse := bytes.Clone(value)
			worse[len(worse)-2] ^= 1
			file = bytes.ReplaceAll(file, value, worse)
			if tt.name == "record and name" {
				file = bytes.ReplaceAll(file, []byte("bad\x02\x00\x00\x00"), []byte("bad\x02\x00\x00\x01"))
			}
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}

			var told strings.Builder
			if e, err = openWide(dir, &wideEmbedder{}, func(text string) { told.WriteString(text + "\n") }); err != nil {
				t.Fatal(err)
			}
			defer func() { e.Close() }()
			if !strings.Contains(told.String(), tt.says) {
				t.Errorf("told: %s", told.String())
			}
			if problems, err := e.Check(ctx, true); err != nil || len(problems) == 0 {
				t.Errorf("Check = %v, %v", problems, err)
			}
			if _, err := e.Collection(ctx, "other"); err != nil {
				t.Errorf("the other: %v", err)
			}
			if tt.broken != "docs" {
				if got := find(t, e, search.Query{Q: "kitten"}); got != "cat" {
					t.Errorf("docs finds %q", got)
				}
			}
			if tt.broken == "" {
				return
			}
			if _, err := e.Collection(ctx, tt.broken); !errors.Is(err, search.ErrDamaged) {
				t.Errorf("Collection(%s): %v", tt.broken, err)
			}
			if _, err := e.CreateCollection(ctx, tt.broken, search.Settings{}); !errors.Is(err, search.ErrDamaged) && !errors.Is(err, search.ErrCollectionExists) {
				t.Errorf("CreateCollection(%s): %v", tt.broken, err)
			}
			if tt.name != "alias" {
				list, err := e.Collections(ctx)
				i := slices.IndexFunc(list, func(c search.CollectionInfo) bool { return c.Name == tt.broken })
				if err != nil || len(list) != 3 || i < 0 || list[i].Damaged == "" {
					t.Errorf("Collections = %+v, %v", list, err)
				}
				if s, err := e.Stats(ctx); err != nil || s.Damaged != 1 {
					t.Errorf("Stats = %+v, %v", s, err)
				}
			}
			switch tt.name {
			case "alias":
				if _, err := e.SetAlias(ctx, "live", "other"); err != nil {
					t.Error(err)
				}
				if a, err := e.Alias(ctx, "live"); err != nil || a.Collection != "other" {
					t.Errorf("Alias = %+v, %v", a, err)
				}
				noProblems(t, e)
			case "record", "record and name":
				if err := e.DropCollection(ctx, tt.broken); err != nil {
					t.Error(err)
				}
				noProblems(t, e)
			default:
				if err := e.DropCollection(ctx, tt.broken); !errors.Is(err, search.ErrDamaged) {
					t.Errorf("DropCollection: %v", err)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, bytes.ReplaceAll(mustRead(t, path), worse, value), 0o600); err != nil {
					t.Fatal(err)
				}
				e = mustOpenWide(t, dir, &wideEmbedder{})
				if got := find(t, e, search.Query{Q: "kitten"}); got != "cat" {
					t.Errorf("put right, docs finds %q", got)
				}
			}
		})
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
