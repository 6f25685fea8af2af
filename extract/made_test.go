package extract

import (
	"archive/zip"
	"encoding/json"
	"io"
	"path"
	"strings"
	"testing"

	"example.com/searchd/extract/content"
)

// TestMade reads documents that the usual libraries made, at least a dozen of each kind, and looks
// for what was put into them; see testdata/made/make.py.
func TestMade(t *testing.T) {
	z, err := zip.OpenReader("testdata/made/made.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	read := func(name string) []byte {
		f, err := z.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var wants map[string][]string
	if err := json.Unmarshal(read("wants.json"), &wants); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for name, want := range wants {
		kinds[path.Ext(name)]++
		out := readBytes(t, read(name), name, Options{})
		if len(out.docs) != 1 || len(out.errors) > 0 {
			t.Errorf("%s: %.300v", name, out)
			continue
		}
		text := content.OneLine(out.docs[0].Fields["title"].(string) + " " + out.docs[0].Fields["text"].(string))
		for _, w := range want {
			unwanted, not := strings.CutPrefix(w, "!")
			if strings.Contains(text, unwanted) == not {
				t.Errorf("%s: %q, not as wanted: %q", name, text[:min(len(text), 400)], w)
			}
		}
	}
	for kind, n := range kinds {
		if n < 12 {
			t.Errorf("%d files of kind %s", n, kind)
		}
	}
	if len(kinds) != 5 {
		t.Errorf("kinds %v", kinds)
	}
}
