package search

import (
	"context"
	"fmt"
	"maps"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/suggest"
)

// Suggest asks for what a query that is being typed may become; see package suggest.
type Suggest struct {
	Q     string // as far as it is typed, at most [suggest.MaxTyped] bytes
	Limit int    // 1 to [suggest.MaxLimit]

	Within filter.Expr // documents that the sender may see; nil: all
}

// Suggestions answers a [Suggest].
type Suggestions struct {
	Suggestions []suggest.Completion `json:"suggestions"`
	Building    bool                 `json:"building,omitempty"` // they are being made of the documents for the first time; ask again
}

// Suggest completes a query. The first one of a collection, and one after a change, reads its
// documents in the background; searches do nothing for it.
func (e *Engine) Suggest(ctx context.Context, collection string, q Suggest) (*Suggestions, error) {
	c, r, err := e.open(ctx, collection)
	if err != nil {
		return nil, err
	}
	var wrong fault.Fields
	if len(q.Q) > suggest.MaxTyped {
		wrong.Add("q", q.Q, fmt.Sprintf("at most %d bytes", suggest.MaxTyped))
	}
	if q.Limit < 1 || q.Limit > suggest.MaxLimit {
		wrong.Add("limit", q.Limit, fmt.Sprintf("1 to %d", suggest.MaxLimit))
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	analysis, err := e.analysis(r.Settings.Language)
	if err != nil {
		return nil, err
	}
	index, err := e.suggest.Index(ctx, incarnation(c.Origin, r.Created), suggest.Reader{
		Version: c.Sequence,
		Read:    func(ctx context.Context, add func(suggest.Document)) error { return e.readTexts(ctx, c.Name, r, add) },
		Stop:    func(word string) bool { return len(analysis.Occurrences(word, nil)) == 0 },
	})
	if err != nil || index == nil {
		return &Suggestions{Suggestions: []suggest.Completion{}, Building: true}, err
	}
	found, err := index.Complete(ctx, q.Q, q.Limit, func(ctx context.Context, list []suggest.Completion) ([]bool, error) {
		return e.suggestable(ctx, c.Name, r, q.Within, list)
	})
	return &Suggestions{Suggestions: append([]suggest.Completion{}, found...)}, err
}

// readTexts reads the titles and texts of all documents.
func (e *Engine) readTexts(ctx context.Context, stored string, r record, add func(suggest.Document)) error {
	for cursor := ""; ; {
		page, err := e.backend.List(ctx, backend.ListRequest{Collection: stored, Cursor: cursor, Limit: maxList})
		if err != nil {
			return err
		}
		for _, d := range page.Documents {
			parts, err := r.Settings.Fields.SplitStored(d.Fields)
			if err != nil {
				continue // it is found by nothing
			}
			out := suggest.Document{Source: suggest.Source{ID: d.ID, Revision: d.Revision}, Title: parts.Title}
			for _, f := range parts.Text {
				if !parts.IsTitle(f.Name) {
					out.Texts = append(out.Texts, f.Text)
				}
			}
			add(out)
		}
		if cursor = page.Next; cursor == "" {
			return ctx.Err()
		}
	}
}

// suggestable reports which completions are from a document that is as it was and within what the
// sender may see.
func (e *Engine) suggestable(ctx context.Context, stored string, r record, within filter.Expr, list []suggest.Completion) ([]bool, error) {
	var ids []string
	at := map[string]int{}
	for _, c := range list {
		for _, s := range c.Sources {
			if _, ok := at[s.ID]; !ok {
				at[s.ID] = len(ids)
				ids = append(ids, s.ID)
			}
		}
	}
	revisions := make([]uint64, len(ids)) // 0: not to be seen
	n := 0
	err := backend.LookupPages(ctx, e.backend, backend.LookupRequest{Collection: stored, IDs: ids, NoFields: within == nil}, func(_ []string, docs []*backend.Document) error {
		for _, d := range docs {
			if d != nil {
				seen := within == nil
				if !seen {
					parts, err := r.Settings.Fields.SplitStored(d.Fields)
					if err == nil {
						values := map[string]any{filter.DocumentID: d.ID}
						maps.Copy(values, parts.Values)
						seen = filter.WithID(within).Match(values)
					}
				}
				if seen {
					revisions[n] = d.Revision
				}
			}
			n++
		}
		return nil
	})
	ok := make([]bool, len(list))
	for i, c := range list {
		seen, least := 0, 1
		if within != nil && c.Kind == suggest.Phrase { // that others have it, too, is not to be seen
			least = suggest.LeastShared
		}
		for _, s := range c.Sources {
			if revisions[at[s.ID]] == s.Revision {
				seen++
			}
		}
		ok[i] = seen >= least
	}
	return ok, err
}
