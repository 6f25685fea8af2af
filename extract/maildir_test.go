package extract

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Messages of a Maildir are known by their place, whatever their names end with, and have the id
// that they have in a mailbox.
func TestMaildir(t *testing.T) {
	dir := t.TempDir()
	const letter = "From: a@example.org\nSubject: %s\n%s\nFrom b@example.org Mon Jan  1 10:00:00 2024 is text here.\n"
	for name, text := range map[string]string{
		"cur/1483351200.M1P2.host:2,S":     fmt.Sprintf(letter, "Read", "Message-ID: <1@example.org>\n"),
		"cur/1483351200_0.12.host,U=1:2,S": fmt.Sprintf(letter, "Offline", "Message-ID: <2@example.org>\n"),
		"new/1483351201.V1.example.com":    fmt.Sprintf(letter, "New", ""),
		"new/1483351202.V1.host":           "no message",
		"new/20230101.trip.jpg":            "\xff\xd8\xff",
		"new/1483351203.a.txt":             "words",
		"tmp/1483351201.V1.example.com":    "cut o",
		"other/1483351201.V1.example.com":  fmt.Sprintf(letter, "Elsewhere", ""),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			if runtime.GOOS != "windows" { // where names have no colon
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	var ids, fails []string
	stats, err := Walk(t.Context(), []string{dir}, Options{}, func(d Document) error {
		if d.Line > 0 && !strings.HasSuffix(d.Fields["text"].(string), "is text here.") {
			t.Errorf("got %v", d)
		}
		ids = append(ids, d.ID[:min(len(d.ID), 20)]+" "+d.Fields["title"].(string))
		return nil
	}, func(e ItemError) error { fails = append(fails, e.Error()); return nil })
	if got := strings.Join(ids, "|"); err != nil || stats.Skipped != 3 || !strings.HasPrefix(got, "1@example.org Read|2@example.org Offline|") || !strings.HasSuffix(got, " New|new/1483351203.a.txt words") || len(ids) != 4 {
		t.Errorf("%v, %+v, ids %q", err, stats, got)
	}
	if len(fails) != 1 || !strings.HasSuffix(fails[0], "new/1483351202.V1.host:1: not a message: malformed header line: no message") {
		t.Errorf("fails %q", fails)
	}
}

func TestEMLX(t *testing.T) {
	for in, want := range map[string]string{
		"33\nFrom: a\nSubject: Kayak\n\nThe text.<?xml version=\"1.0\"?><plist/>": "The text.",
		"99999\nFrom: a\nSubject: Kayak\n\nThe text.":                             "The text.",
		"-1\nFrom: a\nSubject: Kayak\n\nThe text.":                                "The text.",
		"From: a\nSubject: Kayak\n\nThe text.":                                    "The text.",
	} {
		out := readBytes(t, []byte(in), "Messages/12.emlx", Options{})
		if len(out.docs) != 1 || out.docs[0].ID != "Messages/12.emlx" || out.docs[0].Fields["title"] != "Kayak" || out.docs[0].Fields["text"] != want {
			t.Errorf("%q: %v", in, out)
		}
	}
}
