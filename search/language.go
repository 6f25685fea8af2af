package search

import (
	"cmp"
	"context"
	"encoding/json"

	"example.com/searchd/index/keyword/analysis"
	"example.com/searchd/search/backend"
)

// What is read of a collection to tell its language.
const (
	languagePage      = 16
	languageDocuments = 2000 // at most
)

// Language is the language in which a collection is searched by words, and the one that its texts
// look like.
type Language struct {
	Language  string `json:"language"`
	LooksLike string `json:"looks_like,omitempty"` // empty where they do not tell
}

// Language returns the language of a collection and the one that [analysis.Sample.Language] detects
// in its first documents, in the order of their ids.
func (e *Engine) Language(ctx context.Context, name string) (*Language, error) {
	c, r, err := e.open(ctx, name)
	if err != nil {
		return nil, err
	}
	var sample analysis.Sample
	list := backend.ListRequest{Collection: c.Name, Limit: languagePage}
read:
	for range languageDocuments / languagePage {
		page, err := e.backend.List(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Documents {
			var fields map[string]any // damage is reported where the document is read
			if json.Unmarshal(d.Fields, &fields) == nil && sample.Add(fields) {
				break read
			}
		}
		if list.Cursor = page.Next; list.Cursor == "" {
			break
		}
	}
	return &Language{cmp.Or(r.Settings.Language, DefaultLanguage), sample.Language()}, nil
}
