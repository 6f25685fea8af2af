package models

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/encoder"
)

func TestListAndRemove(t *testing.T) {
	cache, h := useCache(t), newTestHub(t, "bert-mean")
	if list, err := List(); len(list) != 0 || err != nil {
		t.Errorf("List() = %v, %v before any pull", list, err)
	}
	if err := Remove(t.Context(), "owner/name"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Remove: error %v, want ErrNotFound", err)
	}
	got := pullOrFail(t, "owner/name", h.options())
	if err := os.WriteFile(filepath.Join(cache, "stray"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := List()
	if err != nil || len(list) != 1 || list[0].Repo != "owner/name" || list[0].Dir != got.Dir || list[0].Family != "bert" || list[0].Dimension != got.Dimension {
		t.Errorf("List() = %+v, %v", list, err)
	}
	weights := filepath.Join(got.Dir, "model.safetensors")
	if err := os.Truncate(weights, 10); err != nil {
		t.Fatal(err)
	}
	if list, err := List(); len(list) != 0 || err == nil || !strings.Contains(err.Error(), "10 bytes") {
		t.Errorf("List() = %v, %v with a damaged checkpoint", list, err)
	}
	if _, _, err := Find("owner/name"); err == nil {
		t.Error("Find finds a damaged checkpoint")
	}
	if again := pullOrFail(t, "owner/name", h.options()); !again.New {
		t.Error("Pull leaves a damaged checkpoint in place")
	}
	if err := Remove(t.Context(), "owner/name"); err != nil {
		t.Fatal(err)
	}
	if files := below(t, cache); len(files) != 1 {
		t.Errorf("files after Remove: %q", files)
	}
	for _, name := range []string{"owner", "../owner", "owner/..", "owner/name@main", `owner\name`} {
		if err := Remove(t.Context(), name); !errors.Is(err, ErrName) {
			t.Errorf("Remove(%q): error %v, want ErrName", name, err)
		}
	}
}

// TestFolderGoesFirst has a folder with the name of a pulled checkpoint.
func TestFolderGoesFirst(t *testing.T) {
	useCache(t)
	h := newTestHub(t, "bert-mean")
	pullOrFail(t, "owner/name", h.options())
	fixture, err := filepath.Abs("../encoder/testdata/modernbert")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if m, err := Open("owner/name", encoder.Options{}); err != nil || m.Info().Family != "bert" || m.Name != "owner/name" {
		t.Fatalf("Open = %v, want the pulled checkpoint", err)
	}
	if err := os.Mkdir("owner", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fixture, filepath.Join("owner", "name")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	if m, err := Open("owner/name", encoder.Options{}); err != nil || m.Info().Family != "modernbert" {
		t.Fatalf("Open = %v, want the folder", err)
	}
}

// TestReplaceInterrupted has the folders as a crash between the two renames of a replacement leaves
// them.
func TestReplaceInterrupted(t *testing.T) {
	cache, h := useCache(t), newTestHub(t, "bert-mean")
	pullOrFail(t, "owner/name", h.options())
	place, old := filepath.Join(cache, "owner", "name"), filepath.Join(cache, "owner", ".name.old")
	if err := os.Rename(place, old); err != nil {
		t.Fatal(err)
	}
	if m, err := Open("owner/name", encoder.Options{}); err != nil || m.Name != "owner/name" || m.Info().Family != "bert" {
		t.Errorf("Open = %v, want the old checkpoint", err)
	}
	if _, _, err := Find("owner/name@v9"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Find finds another revision: %v", err)
	}
	if got := pullOrFail(t, "owner/name", h.options()); got.New {
		t.Error("the old checkpoint was not put back")
	}
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	pullOrFail(t, "owner/name", h.options())
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old folder is still there")
	}
}

func TestParseRepo(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Repo
		ok   bool
	}{
		{"sentence-transformers/all-MiniLM-L6-v2", Repo{"sentence-transformers", "all-MiniLM-L6-v2", ""}, true},
		{"a/b@refs/pr/1", Repo{"a", "b", "refs/pr/1"}, true},
		{"a/b@v1.0", Repo{"a", "b", "v1.0"}, true},
		{"a/b@" + testCommit, Repo{"a", "b", testCommit}, true},
		{"b", Repo{}, false}, {"a/b/c", Repo{}, false}, {"", Repo{}, false}, {"/", Repo{}, false}, {"a/", Repo{}, false},
		{"../b", Repo{}, false}, {"a/..", Repo{}, false}, {"a/.", Repo{}, false}, {"./b", Repo{}, false}, {"a/b..c", Repo{}, false}, {"a/b.", Repo{}, false},
		{`a\b/c`, Repo{}, false}, {"a/b?x", Repo{}, false}, {"a/b#x", Repo{}, false}, {"a/%2e%2e", Repo{}, false}, {"a/b\x00", Repo{}, false}, {"a b/c", Repo{}, false},
		{"a/b@", Repo{}, false}, {"a/b@../c", Repo{}, false}, {"a/b@a//b", Repo{}, false}, {"a/b@x y", Repo{}, false}, {"a/b@-x", Repo{}, false}, {"a/b@c@d", Repo{}, false},
		{strings.Repeat("a", 97) + "/b", Repo{}, false},
	} {
		got, err := ParseRepo(tt.in)
		if (err == nil) != tt.ok || got != tt.want || !tt.ok && !errors.Is(err, ErrName) {
			t.Errorf("ParseRepo(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
		if tt.ok && got.String() != tt.in {
			t.Errorf("String() = %q, want %q", got, tt.in)
		}
	}
}
