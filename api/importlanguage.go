package api

import (
	"cmp"
	"encoding/json"

	"searchd/index/keyword/analysis"
	"searchd/search"
)

// languageCheck tells once in which language the texts of an import are, where words of the
// collection are compared as those of another.
type languageCheck struct {
	has    string // language of the collection
	sample analysis.Sample
	fresh  bool // the sample has something that was not judged yet
	done   bool // it has been told, or there is nothing to tell
}

// newLanguageCheck begins for a collection. One that is "standard" is for any language, and for
// several.
func newLanguageCheck(s search.Settings) languageCheck {
	has := cmp.Or(s.Language, search.DefaultLanguage)
	return languageCheck{has: has, done: has == "standard"}
}

// add takes in a document, until there are enough of them.
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

// tell returns the other language that the texts so far look like; empty where they do not, do not
// tell, or it has been told.
func (c *languageCheck) tell() string {
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
