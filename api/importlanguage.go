package api

import (
	"cmp"
	"encoding/json"

	"example.com/searchd/index/keyword/analysis"
	"example.com/searchd/search"
)

// languageCheck reports once if the texts of an import look like another language than that of the
// collection.
type languageCheck struct {
	has    string // language of the collection
	sample analysis.Sample
	fresh  bool // the sample has something that was not judged yet
	done   bool // it has been told, or there is nothing to tell
}

// newLanguageCheck checks nothing for the language "standard", which suits several.
func newLanguageCheck(s search.Settings) languageCheck {
	has := cmp.Or(s.Language, search.DefaultLanguage)
	return languageCheck{has: has, done: has == "standard"}
}

// add samples a document until there are enough.
func (c *languageCheck) add(fields json.RawMessage) {
	if c.done || c.sample.Enough() {
		return
	}
	var values map[string]any
	if json.Unmarshal(fields, &values) != nil {
		return // its own answer says so
	}
	c.sample.Add(values)
	c.fresh = true
}

// report returns the other language, once; "" if there is none or not enough text.
func (c *languageCheck) report() string {
	if c.done || !c.fresh {
		return ""
	}
	c.fresh = false
	guess := c.sample.Language()
	if guess == "" || guess == c.has {
		c.done = c.sample.Enough()
		return ""
	}
	c.done = true
	return guess
}
