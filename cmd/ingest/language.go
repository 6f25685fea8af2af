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

// What is read to tell a language.
const (
	sampleBytes    = 64 << 10
	sampleDocument = 1 << 10 // of one document
	sampleTime     = 5 * time.Second
)

// newLanguage is the language of a collection that is made.
type newLanguage struct {
	named   string // --language
	paths   []string
	options extract.Options
	notice  func(string)
}

func (l newLanguage) auto() bool { return l.named == "" || l.named == autoLanguage }

// sensible returns an error where there is nothing at any of the paths: a slip must not make a folder, nor a collection, whose language its texts decide.
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
	language := keyword.GuessLanguage(l.sample(ctx))
	if language == "" || language == "en" {
		return ""
	}
	l.notice(fmt.Sprintf("the new collection %s is searched by words as %q, which its texts look like; --language names another", collection, language))
	return language
}

// check refuses another language than the collection has, where one was named.
func (l newLanguage) check(collection, has string) error {
	has = cmp.Or(has, "en")
	if named, _ := keyword.LanguageOf(l.named); l.auto() || named == has {
		return nil
	}
	return fmt.Errorf("--language: got %q, but the collection %s is there already, with %q: leave the flag out, name another collection, or build it anew: `searchd reembed --settings`, on a server POST /v1/collections/%s/reembed",
		l.named, collection, has, collection)
}

// errEnough ends the reading of a sample.
var errEnough = errors.New("enough read")

// sample returns the beginnings of the longest fields of the first documents. What cannot be read is told when it is read again.
func (l newLanguage) sample(ctx context.Context) string {
	paths := slices.DeleteFunc(slices.Clone(l.paths), func(p string) bool { return p == "-" }) // nobody can read it twice
	if len(paths) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	var b strings.Builder
	_, _ = extract.Walk(ctx, paths, l.options, func(d extract.Document) error {
		longest := ""
		for _, v := range d.Fields {
			if s, ok := v.(string); ok && len(s) > len(longest) {
				longest = s
			}
		}
		b.WriteString(longest[:min(len(longest), sampleDocument)])
		b.WriteByte('\n')
		if b.Len() >= sampleBytes {
			return errEnough
		}
		return nil
	}, func(extract.ItemError) error { return nil })
	return b.String()
}
