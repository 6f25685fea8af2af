package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// fuzzReader reads data as one format, with small limits, and checks what must hold for any input.
func fuzzReader(f *testing.F, name string) {
	files, _ := filepath.Glob("testdata/golden/*" + filepath.Ext(name))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(pack(f, b))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		o := Options{MaxLine: 200, MaxFile: 1 << 17, MaxUnpacked: 1 << 20}
		lines := 1 + bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r"))
		packed := bytes.HasPrefix(data, []byte("\x1f\x8b\x08"))
		check := func(line int) {
			if line < 0 || !packed && !bytes.HasPrefix(data, []byte("\xff\xfe")) && !bytes.HasPrefix(data, []byte("\xfe\xff")) && line > lines {
				t.Errorf("line %d of %d", line, lines)
			}
		}
		err := Reader(context.Background(), bytes.NewReader(data), name, Auto, o, func(d Document) error {
			check(d.Line)
			if d.ID == "" || !strings.HasPrefix(d.Source, name) || !utf8.ValidString(d.ID) {
				t.Errorf("document %q of %q", d.ID, d.Source)
			}
			b, err := json.Marshal(d.Fields)
			if err != nil || !utf8.Valid(b) {
				t.Errorf("fields %v: %v", d.Fields, err)
			}
			if s, ok := d.Fields["text"].(string); ok && !utf8.ValidString(s) {
				t.Errorf("text %q is not UTF-8", s)
			}
			return nil
		}, func(e ItemError) error {
			check(e.Line)
			misprinted := strings.Contains(e.Reason, "%!") && !packed && !bytes.Contains(data, []byte("%")) // a reason quotes what it is about
			if e.Path != name || e.Reason == "" || misprinted {
				t.Errorf("error %+v", e)
			}
			return nil
		})
		if err != nil {
			t.Errorf("Reader: %v", err)
		}
	})
}

func FuzzJSONLines(f *testing.F) { fuzzReader(f, "in.jsonl") }
func FuzzJSON(f *testing.F)      { fuzzReader(f, "in.json") }
func FuzzCSV(f *testing.F)       { fuzzReader(f, "in.csv") }
func FuzzTSV(f *testing.F)       { fuzzReader(f, "in.tsv") }
func FuzzMarkdown(f *testing.F)  { fuzzReader(f, "in.md") }
func FuzzHTML(f *testing.F)      { fuzzReader(f, "in.html") }
func FuzzText(f *testing.F)      { fuzzReader(f, "in.txt") }

func FuzzTwins(f *testing.F) {
	f.Add([]byte("a,\"b\"\n"))
	f.Add([]byte(`[{"a":"]"},1]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		// A CR that does not stand before LF ends a line here and is text there; NUL is no matter
		// of this layer.
		if !bytes.Contains(bytes.ReplaceAll(data, []byte("\r\n"), nil), []byte("\r")) {
			compareCSV(t, data)
		}
		compareJSON(t, data)
	})
}
