package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/extract"
)

// A file has one document, whatever path names it in later runs.
func TestOneDocumentPerFile(t *testing.T) {
	const all = "a.md=top b.md=other x/a.md=inner x/deep/c.md=deep"
	for name, tt := range map[string]struct {
		runs [][]string // paths below the folder c
		want string
	}{
		"part, then whole":                {[][]string{{"x"}, {""}}, all},
		"whole, then part":                {[][]string{{""}, {"x"}}, all},
		"whole, part, whole":              {[][]string{{""}, {"x"}, {""}}, all},
		"part of a part, then whole":      {[][]string{{"x/deep"}, {""}}, all},
		"three steps up":                  {[][]string{{"x/deep"}, {"x"}, {""}}, all},
		"two parts, then whole":           {[][]string{{"x", "x/deep"}, {""}}, all},
		"file, then whole":                {[][]string{{"x/a.md"}, {""}}, all},
		"whole, then file":                {[][]string{{""}, {"x/a.md"}}, all},
		"file, then its folder":           {[][]string{{"x/a.md"}, {"x"}}, "a.md=inner deep/c.md=deep"},
		"part and whole at once":          {[][]string{{"x", ""}}, all},
		"whole and part at once":          {[][]string{{"", "x"}}, all},
		"whole and part at once, again":   {[][]string{{"", "x"}, {"", "x"}, {"x", ""}}, all},
		"trailing slash":                  {[][]string{{"x/"}, {"./"}}, all},
		"dots":                            {[][]string{{"x/../x/deep/.."}, {"x/.."}}, all},
		"link to the whole, then part":    {[][]string{{"../link"}, {"x"}}, all},
		"link to the part, then whole":    {[][]string{{"../link/x"}, {""}}, all},
		"whole, then part through a link": {[][]string{{""}, {"../link/x"}}, all},
		"whole, then file through a link": {[][]string{{""}, {"../link.md"}}, all},
		"whole by two names":              {[][]string{{""}, {"../link"}, {""}}, all},
	} {
		t.Run(name, func(t *testing.T) {
			top, f, to := t.TempDir(), flags{state: t.TempDir()}, shelf{}
			for file, text := range map[string]string{"a.md": "top", "b.md": "other", "x/a.md": "inner", "x/deep/c.md": "deep"} {
				write(t, top+"/c/"+file, text)
			}
			symlink(t, "c", top+"/link")
			symlink(t, "c/x/a.md", top+"/link.md")
			run := func(paths ...string) {
				t.Helper()
				p := pipelineOf(t, f, to)
				if err := p.once(t.Context(), paths, extract.Options{}); err != nil || p.failures.count > 0 {
					t.Fatalf("%v, %d failures", err, p.failures.count)
				}
			}
			for _, paths := range tt.runs {
				var below []string
				for _, path := range paths {
					below = append(below, top+"/c/"+path)
				}
				run(below...)
			}
			if to.String() != tt.want {
				t.Errorf("the collection has %s, want %s", to, tt.want)
			}
			f.deleteMissing = true
			last := tt.runs[len(tt.runs)-1][0]
			if err := os.Remove(top + "/c/x/a.md"); err != nil {
				t.Fatal(err)
			}
			if last != "x/a.md" && last != "../link.md" {
				run(top + "/c/" + last)
			} else {
				run(top + "/c")
			}
			for id, text := range to {
				if text == "inner" {
					t.Errorf("the file is gone, and its document %s is not", id)
				}
			}
		})
	}
}

// A relative path is the same as an absolute one.
func TestOneDocumentPerFileRelative(t *testing.T) {
	top, f, to := t.TempDir(), flags{state: t.TempDir()}, shelf{}
	write(t, top+"/c/x/a.md", "inner")
	t.Chdir(top)
	for _, path := range []string{"c/x", "./c", top + "/c", "c/x/a.md"} {
		if err := pipelineOf(t, f, to).once(t.Context(), []string{path}, extract.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir("c")
	if err := pipelineOf(t, f, to).once(t.Context(), []string{".", "x/.."}, extract.Options{}); err != nil || to.String() != "x/a.md=inner" {
		t.Errorf("%v, the collection has %s", err, to)
	}
}

// Records keep their ids; nothing else of the same id is lost.
func TestOneDocumentPerRecord(t *testing.T) {
	top, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	write(t, top+"/c/x/r.csv", "id,text\n1,one\n2,two\n")
	write(t, top+"/c/x/n.csv", "name,text\nA,alpha\n") // ids are hashes
	write(t, top+"/c/x/a.md", "inner")
	write(t, top+"/c/a.md", "top") // the id that the inner one had
	run := func(path string) (notices []string) {
		t.Helper()
		p := pipelineOf(t, f, to)
		p.notice = func(text string) { notices = append(notices, text) }
		if err := p.once(t.Context(), []string{top + path}, extract.Options{}); err != nil || p.failures.count+p.failures.warnings > 0 {
			t.Fatalf("%v, %d failures, %d warnings", err, p.failures.count, p.failures.warnings)
		}
		return notices
	}
	run("/c/x")
	if len(to) != 4 {
		t.Fatalf("the collection has %s", to)
	}
	notices := run("/c")
	if len(to) != 5 || to["1"] != "one" || to["a.md"] != "top" || to["x/a.md"] != "inner" {
		t.Errorf("the collection has %s", to)
	}
	if len(notices) > 1 {
		t.Errorf("notices: %q", notices)
	}
	if again := run("/c"); len(again) > 0 {
		t.Errorf("notices of the next run: %q", again)
	}
	if err := os.Remove(top + "/c/x/r.csv"); err != nil {
		t.Fatal(err)
	}
	if run("/c/x"); len(to) != 3 {
		t.Errorf("with a file gone: the collection has %s", to)
	}
}

// A dry run names the documents of old ids, and deletes nothing.
func TestSupersededDryRun(t *testing.T) {
	top, state, to := t.TempDir(), t.TempDir(), shelf{}
	write(t, top+"/c/x/a.md", "inner")
	ingested(t, flags{state: state}, to, top+"/c/x")
	var out strings.Builder
	p := pipelineOf(t, flags{state: state, dryRun: true}, drySink{})
	p.stdout = &out
	if err := p.once(t.Context(), []string{top + "/c"}, extract.Options{}); err != nil || out.String() != "would delete a.md\n" {
		t.Errorf("%v, %q", err, out.String())
	}
	if ingested(t, flags{state: state}, to, top+"/c/x"); to.String() != "a.md=inner" {
		t.Errorf("the collection has %s", to)
	}
}

func TestRoots(t *testing.T) {
	top, f := t.TempDir(), flags{state: t.TempDir()}
	write(t, top+"/c/x/a.md", "inner")
	write(t, top+"/c/y/b.md", "other")
	_, p := ingested(t, f, shelf{}, top+"/c")
	write(t, top+"/c/z/new.md", "not read yet")
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{"c"}, "[{ [c]}]"},
		{[]string{"c/x", "c/y/b.md"}, "[{c [c/x c/y/b.md]}]"},
		{[]string{"c/z"}, "[{ [c/z]}]"},
		{[]string{"c/x", "elsewhere", "c/y"}, "[{c [c/x]} { [elsewhere]} {c [c/y]}]"},
	} {
		for i, path := range tt.paths {
			tt.paths[i] = filepath.Join(top, path)
		}
		got, err := p.journal.roots(slices.Concat(tt.paths))
		if s := strings.ReplaceAll(fmt.Sprint(got), top+"/", ""); err != nil || s != tt.want {
			t.Errorf("roots(%q) = %s, %v, want %s", tt.paths, s, err, tt.want)
		}
	}
}
