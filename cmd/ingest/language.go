package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"searchd/extract"
	"searchd/index/keyword"
)

// autoLanguage is the value of --language that leaves the choice to the texts.
const autoLanguage = "auto"

// sampleTime bounds the reading of texts that tell a language.
const sampleTime = 5 * time.Second

// newLanguage is the language of a collection that is made.
type newLanguage struct {
	named   string // --language
	paths   []string
	options extract.Options
	notice  func(string)
}

func (l newLanguage) auto() bool { return l.named == "" || l.named == autoLanguage }

// sensible returns an error where there is nothing at any of the paths: a slip must not make a
// folder, nor a collection, whose language its texts decide.
func (l newLanguage) sensible() error {
	for _, path := range l.paths {
		if path == "-" || !absent(path) {
			return nil
		}
	}
	return fmt.Errorf("%s: no such file or folder, and no collection to look after", strings.Join(l.paths, ", "))
}

// choose returns the language of a new collection; empty: the default.
func (l newLanguage) choose(ctx context.Context, collection string) string {
	if !l.auto() {
		return l.named
	}
	language := l.guess(ctx)
	if language == "" || language == "en" {
		return ""
	}
	l.notice(fmt.Sprintf("the new collection %s is searched by words as %q, which its texts look like; --language names another", collection, language))
	return language
}

// check refuses another language than the collection has, where one was named. anew says how the
// collection is built anew.
func (l newLanguage) check(collection, has, anew string) error {
	has = cmp.Or(has, "en")
	if named, _ := keyword.LanguageOf(l.named); l.auto() || named == has {
		return nil
	}
	return fmt.Errorf("--language: got %q, but the collection %s is there already, with %q: leave the flag out, name another collection, or build it anew: %s with other settings",
		l.named, collection, has, anew)
}

// errEnough ends the reading of a sample.
var errEnough = errors.New("enough read")

// guess returns the language that the first documents look like, "" where they do not tell. What
// cannot be read is told when it is read again.
func (l newLanguage) guess(ctx context.Context) string {
	paths := slices.DeleteFunc(slices.Clone(l.paths), func(p string) bool { return p == "-" }) // nobody can read it twice
	if len(paths) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	var sample keyword.Sample
	_, _ = extract.Walk(ctx, paths, l.options, func(d extract.Document) error {
		if sample.Add(d.Fields) {
			return errEnough
		}
		return nil
	}, func(extract.ItemError) error { return nil })
	return sample.Language()
}
