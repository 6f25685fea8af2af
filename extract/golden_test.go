package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// outcome is everything that reading one stream gives.
type outcome struct {
	docs   []Document
	errors []ItemError
}

// readBytes reads b and fails the test if Reader itself does.
func readBytes(t testing.TB, b []byte, name string, o Options) outcome {
	t.Helper()
	var out outcome
	err := Reader(context.Background(), bytes.NewReader(b), name, Auto, o,
		func(d Document) error { checkBlocks(t, d); out.docs = append(out.docs, d); return nil },
		func(e ItemError) error { out.errors = append(out.errors, e); return nil })
	if err != nil {
		t.Fatalf("Reader(%s): %v", name, err)
	}
	return out
}

// String writes an outcome for eyes and diffs.
func (o outcome) String() string {
	var b strings.Builder
	for _, d := range o.docs {
		fields, err := json.MarshalIndent(d.Fields, "", "  ")
		if err != nil {
			panic(err)
		}
		// Text is shown line by line.
		b.WriteString("document " + d.ID + " at " + ItemError{Path: d.Source, Line: d.Line}.Error() + "\n")
		b.WriteString(strings.ReplaceAll(string(fields), `\n`, "\n    | ") + "\n")
	}
	for _, e := range o.errors {
		b.WriteString("fail " + e.Error() + "\n")
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		n++
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := readBytes(t, b, filepath.Base(file), Options{}).String()
			if *update {
				if err := os.WriteFile(file+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s:\ngot\n%s\nwant\n%s", file, got, want)
			}
		})
	}
	if n < 15 {
		t.Errorf("found %d golden inputs, want at least 15", n)
	}
}

// How the bytes arrive, and whether they arrive compressed, changes nothing.
func TestGoldenAnyTransport(t *testing.T) {
	files, _ := filepath.Glob("testdata/golden/*.golden")
	for _, golden := range files {
		file := strings.TrimSuffix(golden, ".golden")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		want := readBytes(t, b, name, Options{}).String()
		if got := readBytes(t, pack(t, b), name, Options{}).String(); got != want {
			t.Errorf("%s packed:\ngot\n%s\nwant\n%s", name, got, want)
		}
		var out outcome
		f, _ := Detect(name, nil) // with Auto, recognition would fill the buffer first
		err = Reader(context.Background(), iotest.OneByteReader(bytes.NewReader(b)), name, f, Options{},
			func(d Document) error { checkBlocks(t, d); out.docs = append(out.docs, d); return nil },
			func(e ItemError) error { out.errors = append(out.errors, e); return nil })
		if got := out.String(); err != nil || got != want {
			t.Errorf("%s byte by byte: %v\ngot\n%s\nwant\n%s", name, err, got, want)
		}
	}
}
