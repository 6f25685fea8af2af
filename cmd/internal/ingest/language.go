package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/searchd/extract"
	"example.com/searchd/index/keyword/analysis"
)

// autoLanguage is the value of --language that takes the language of the texts.
const autoLanguage = "auto"

// sampleTime bounds the reading of texts to guess their language.
const sampleTime = 5 * time.Second

// languageChoice chooses the language of a new collection.
type languageChoice struct {
	named   string // --language
	paths   []string
	options extract.Options
	notice  func(string)
}

func (l languageChoice) auto() bool { return l.named == "" || l.named == autoLanguage }

// requirePath returns an error where none of the paths exists: a misspelled path must not create a
// data folder or a collection.
func (l languageChoice) requirePath() error {
	for _, path := range l.paths {
		if path == "-" || !absent(path) {
			return nil
		}
	}
	return fmt.Errorf("%s: no such file or folder, and no such collection", strings.Join(l.paths, ", "))
}

// choose returns the language of a new collection; empty: the default.
func (l languageChoice) choose(ctx context.Context, collection string) string {
	if !l.auto() {
		return l.named
	}
	language := l.guess(ctx)
	if language == "" || language == "en" {
		return ""
	}
	l.notice(fmt.Sprintf("the new collection %s uses %q for keyword search, the language its texts seem to have; --language names another", collection, language))
	return language
}

// check refuses a named language that an existing collection does not have. rebuild is the command
// that changes it.
func (l languageChoice) check(collection, has, rebuild string) error {
	has = cmp.Or(has, "en")
	if named, _ := analysis.LanguageOf(l.named); l.auto() || named == has {
		return nil
	}
	return fmt.Errorf("--language: got %q, but the collection %s is there already, with %q: leave the flag out, name another collection, or rebuild it: %s with other settings",
		l.named, collection, has, rebuild)
}

// errEnough ends the reading of a sample.
var errEnough = errors.New("enough read")

// guess returns the language of the first documents, "" where it is not clear. Failures are
// reported when the files are read again.
func (l languageChoice) guess(ctx context.Context) string {
	paths := slices.DeleteFunc(slices.Clone(l.paths), func(p string) bool { return p == "-" }) // which cannot be read twice
	if len(paths) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	var sample analysis.Sample
	o := l.options
	o.OCR = nil // which takes longer than there is time for
	if l.othersThanPDF(ctx, paths) {
		o.PDF = nil // PDFium takes seconds to start
	}
	_, _ = extract.Walk(ctx, paths, o, func(d extract.Document) error {
		if sample.Add(d.Fields) {
			return errEnough
		}
		return nil
	}, func(extract.ItemError) error { return nil })
	return sample.Language()
}

// othersThanPDF reports whether the paths have a file that is no PDF.
func (l languageChoice) othersThanPDF(ctx context.Context, paths []string) bool {
	_, err := extract.Files(ctx, paths, l.options, func(f extract.File) error {
		if !strings.EqualFold(filepath.Ext(f.Path), ".pdf") {
			return errEnough
		}
		return nil
	}, func(extract.ItemError) error { return nil })
	return errors.Is(err, errEnough)
}
