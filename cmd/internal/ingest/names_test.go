package ingest

import (
	"os"
	"strings"
	"testing"
)

// Names of files need not be UTF-8, nor free of control characters: such files are known again, and
// go when they do.
func TestNamesOfFiles(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir(), deleteMissing: true}, shelf{}
	unlessLacking(t, os.Mkdir(dir+"/d\xe9p", 0o755)) // where names are UTF-8
	step := func(name, want string, unchanged int) {
		t.Helper()
		told, p := ingested(t, f, to, dir)
		got := 0
		for _, c := range p.counts.byFormat {
			got += c.unchanged
		}
		if len(told) > 0 || to.String() != want || got != unchanged {
			t.Errorf("%s: the collection has %s, %d unchanged, want %s and %d; told %q", name, to, got, want, unchanged, told)
		}
	}
	write(t, dir+"/d\xe9p/a.jsonl", `{"id":"1","text":"one"}`)
	write(t, dir+"/gr\xfc\xdfe.txt", "ue")
	write(t, dir+"/gr\xf6\xdfe.txt", "oe")
	write(t, dir+"/two\nlines.txt", "two")
	all := `1=one gr\xf6\xdfe.txt=oe gr\xfc\xdfe.txt=ue two\nlines.txt=two`
	step("new", all, 0)
	step("again", all, 4)
	if err := os.Remove(dir + "/gr\xfc\xdfe.txt"); err != nil {
		t.Fatal(err)
	}
	step("one gone", strings.Replace(all, `gr\xfc\xdfe.txt=ue `, "", 1), 3)
	if err := os.Remove(dir + "/d\xe9p/a.jsonl"); err != nil {
		t.Fatal(err)
	}
	step("records gone", `gr\xf6\xdfe.txt=oe two\nlines.txt=two`, 2)
}
