package search

import (
	"cmp"
	"context"
	"encoding/json"

	"searchd/index/keyword/analysis"
	"searchd/search/backend"
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

// Language returns the language of a collection, and what [analysis.Sample.Language] says of its
// first documents in the order of their ids.
func (e *Engine) Language(ctx context.Context, name string) (*Language, error) {
	c, r, err := e.open(ctx, name)
	if err != nil {
		return nil, err
	}
	var sample analysis.Sample
	read, enough, cursor := 0, false, ""
	for more := true; more && !enough && read < languageDocuments; more = cursor != "" {
		page, err := e.backend.List(ctx, backend.ListRequest{Collection: c.Name, Cursor: cursor, Limit: languagePage})
		if err != nil {
			return nil, err
		}
		for _, d := range page.Documents {
			var fields map[string]any
			if err := json.Unmarshal(d.Fields, &fields); err != nil {
				continue // damage is told where the document is read
			}
			if enough = sample.Add(fields); enough {
				break
			}
		}
		read, cursor = read+len(page.Documents), page.Next
	}
	return &Language{cmp.Or(r.Settings.Language, DefaultLanguage), sample.Language()}, nil
}
