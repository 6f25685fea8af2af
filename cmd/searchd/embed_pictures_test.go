package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/cmd/internal/command"
)

const visionData = "../../encoder/testdata/vision/"

// TestEmbedPictures wants a line for each picture, and errors that name the file.
func TestEmbedPictures(t *testing.T) {
	photo, logo := visionData+"pictures/420.jpg", visionData+"pictures/alpha.png"
	stdout, stderr, err := execute(t, "", "embed", "--model", visionData+"clip", photo, logo)
	if err != nil || !strings.Contains(stderr, "2 pictures") {
		t.Fatalf("error %v, standard error %s", err, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	for i, want := range []string{photo, logo} {
		var got struct {
			File      string
			Embedding []float32
		}
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil || got.File != want || len(got.Embedding) != 20 {
			t.Errorf("line %d: %v; %s", i, err, lines[i])
		}
	}
	if stdout, _, err := execute(t, "", "embed", "--model", visionData+"vit", "--format", "f32", "--dimensions", "8", photo); err != nil || len(stdout) != 4*8 {
		t.Errorf("f32: %d bytes, error %v", len(stdout), err)
	}
	broken := filepath.Join(t.TempDir(), "broken.png")
	if err := os.WriteFile(broken, []byte("\x89PNG\r\n\x1a\nnothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"broken.png: picture: not a picture that can be read: PNG", []string{"--model", visionData + "clip", photo, broken}},
		{"config.json: picture: not a picture that can be read: want JPEG", []string{"--model", visionData + "clip", visionData + "clip/config.json"}},
		{"does not encode pictures", []string{photo}},
		{"--ids and --query", []string{"--model", visionData + "clip", "--ids", photo}},
		{"nothing.jpg", []string{"--model", visionData + "clip", "nothing.jpg"}},
	} {
		if _, _, err := execute(t, "", append([]string{"embed"}, tt.args...)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("embed %q: error %v, want %q", tt.args, err, tt.want)
		}
	}
	if _, _, err := execute(t, `"a"`, "embed", "--model", visionData+"vit"); err == nil || !strings.Contains(err.Error(), "encodes pictures only") {
		t.Errorf("a text with ViT: %v", err)
	}
}

// TestSearchPictures puts a folder of pictures into a collection and finds them by words of their
// captions, by the vector of a text and by a picture.
func TestSearchPictures(t *testing.T) {
	dir, photos := t.TempDir(), t.TempDir()
	for _, name := range []string{"exif.png", "444.jpg", "large.png", "wide.png"} {
		b, err := os.ReadFile(visionData + "pictures/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(photos, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(photos, "broken.jpg"), []byte("\xff\xd8\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	docs, stderr, err := execute(t, "", "embed", "--model", visionData+"clip", "--format", "documents", photos)
	if !errors.Is(err, command.ErrSome) || !strings.Contains(stderr, "broken.jpg: picture: ") || strings.Count(docs, "\n") != 4 {
		t.Fatalf("error %v; standard error %s; %s", err, stderr, docs)
	}
	for _, want := range []string{`"file":"exif.png"`, `"text":"Boats at the quay"`, `"taken":"2018-12-31T23:59:58Z"`} {
		if !strings.Contains(docs, want) {
			t.Errorf("documents have no %s: %s", want, docs)
		}
	}
	settings, data, file := filepath.Join(dir, "settings.json"), filepath.Join(dir, "data"), filepath.Join(dir, "pictures.jsonl")
	for name, text := range map[string]string{settings: `{"embedder":{"source":"given","dimension":20}}`, file: docs} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, err := execute(t, "", "ingest", "--data", data, "--settings", settings, file); err != nil {
		t.Fatalf("ingest: %v; %s", err, stderr)
	}
	first := func(what, stdin string, args ...string) string {
		t.Helper()
		stdout, stderr, err := execute(t, stdin, append([]string{"query", "--data", data, "--json"}, args...)...)
		if err != nil {
			t.Fatalf("%s: %v; %s", what, err, stderr)
		}
		var r struct{ Hits []struct{ ID string } }
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Hits) == 0 {
			t.Fatalf("%s: %v; %s", what, err, stdout)
		}
		return filepath.Base(r.Hits[0].ID)
	}
	if got := first("words", "", "--mode", "keyword", "quay"); got != "exif.png" {
		t.Errorf("words find %s", got)
	}
	for _, name := range []string{"444.jpg", "large.png", "wide.png"} {
		line, _, err := execute(t, "", "embed", "--model", visionData+"clip", visionData+"pictures/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if got := first("a picture", line, "--vector", "-"); got != name {
			t.Errorf("the picture %s finds %s", name, got)
		}
	}
	line, _, err := execute(t, `"boats"`, "embed", "--model", visionData+"clip")
	if err != nil {
		t.Fatal(err)
	}
	if got := first("a text", line, "--vector", "-", "--mode", "hybrid", "boats quay"); got != "exif.png" {
		t.Errorf("words and vector of a text find %s", got)
	}
}

// TestModelsInfoOfPictures wants what models embed.
func TestModelsInfoOfPictures(t *testing.T) {
	for name, want := range map[string]string{visionData + "siglip": `"embeds":["texts","pictures"]`, visionData + "vit": `"embeds":["pictures"]`, "embedded": `"embeds":["texts"]`} {
		stdout, _, err := execute(t, "", "models", "info", name)
		if compact := strings.Join(strings.Fields(stdout), ""); err != nil || !strings.Contains(compact, want) {
			t.Errorf("%s: error %v, %s", name, err, compact)
		}
	}
}

// TestServePicturesOnly wants a server to refuse a model that encodes no texts.
func TestServePicturesOnly(t *testing.T) {
	_, _, err := execute(t, "", "serve", "--addr", "127.0.0.1:0", "--model", visionData+"vit", "--data", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "a collection needs one that encodes texts") {
		t.Errorf("serve: %v", err)
	}
}
