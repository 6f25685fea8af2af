package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../.."
	module = "example.com/searchd"
)

// file is one Go file.
type file struct {
	path string // below the root, with forward slashes
	src  []byte
	ast  *ast.File
	fset *token.FileSet
}

// pkg returns the folder of the file, the import path without the module.
func (f *file) pkg() string { return path.Dir(f.path) }

// room returns the first element of the path: cmd, api, search, ...
func (f *file) room() string {
	room, _, _ := strings.Cut(f.path, "/")
	return room
}

func (f *file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func (f *file) generated() bool { return generatedLine.Match(f.src) }

// at returns "path:line: " for a message.
func (f *file) at(p token.Pos) string { return f.fset.Position(p).String() + ": " }

func parse(path string, src []byte) (*file, error) {
	fset := token.NewFileSet()
	a, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	return &file{path: path, src: src, ast: a, fset: fset}, err
}

// mustParse is for source inside tests.
func mustParse(t *testing.T, path, src string) *file {
	t.Helper()
	f, err := parse(path, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// walk calls fn for each file of the repository, leaving out what is hidden, what belongs to no
// one's source (folders that begin with an underscore have their own go.mod) and test data.
func walk(fn func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "node_modules" || name == "__pycache__") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || name[0] == '.' {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		return fn(filepath.ToSlash(rel), d)
	})
}

// goFiles returns all Go files of the module.
var goFiles = sync.OnceValues(func() ([]*file, error) {
	var files []*file
	err := walk(func(p string, _ fs.DirEntry) error {
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return err
		}
		f, err := parse(p, src)
		files = append(files, f)
		return err
	})
	return files, err
})

// textFile is a file that people read and that is not Go.
type textFile struct {
	path string
	text string
}

var textExts = map[string]bool{
	".md": true, ".s": true, ".py": true, ".sh": true, ".yml": true, ".yaml": true, ".html": true, ".js": true, ".css": true, ".toml": true, ".json": true,
}

// textFiles returns the small files of the kinds that people write. Large ones are data.
var textFiles = sync.OnceValues(func() ([]textFile, error) {
	var files []textFile
	err := walk(func(p string, d fs.DirEntry) error {
		info, err := d.Info()
		if err != nil || info.Size() > 1<<20 || !textExts[path.Ext(p)] && path.Base(p) != "Makefile" && path.Base(p) != "Dockerfile" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(root, p))
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			return err
		}
		files = append(files, textFile{p, string(b)})
		return nil
	})
	return files, err
})

// each runs one rule over all Go files.
func each(t *testing.T, rule func(*file) []string) {
	t.Helper()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found %d Go files below %s", len(files), root)
	}
	for _, f := range files {
		for _, v := range rule(f) {
			t.Error(v)
		}
	}
}

// violations fails the test unless rule finds exactly want faults in the source.
func violations(t *testing.T, rule func(*file) []string, path, src string, want int) {
	t.Helper()
	if got := rule(mustParse(t, path, src)); len(got) != want {
		t.Errorf("%s: %d violations, want %d: %q in\n%s", path, len(got), want, got, src)
	}
}
