package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/index/filter"
	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// Limits of search.
const (
	defaultHits, maxHits         = 5, 20
	defaultPassages, maxPassages = 1, 5
	maxPassageBytes              = 2000 // bytes of a passage
	maxFields, maxValueBytes     = 12, 160
	maxOffset                    = 180
)

const searchText = `Searches a collection by meaning and by words, and returns the best documents with the passages that match. ` +
	`A passage is a stretch of a field of a document, a few sentences long; its place is given as bytes from-to of the field's text, and get_document reads around it. ` +
	`In the query, "two words" in double quotes must occur as they stand, and -word leaves out documents that have the word; everything else is plain text. ` +
	`An empty query lists the documents that pass the filter.`

const similarText = `Finds documents that are near in meaning to a document that you have the id of. The document itself is not among them.`

const filterText = `Which documents may be found. Conditions on fields: = != < <= > >=, IN ['a', 'b'], EXISTS, CONTAINS 'part', STARTS WITH 'part', joined with AND, OR, NOT and parentheses. ` +
	`Strings stand in single quotes, a quote in one is doubled ('it''s'); numbers, true and false stand bare; dates are strings: '2024-05-01'. ` +
	`A nested field is object.member; a field with other characters stands in backquotes. Conditions other than CONTAINS and STARTS WITH compare whole values. ` +
	`Example: lang = 'en' AND year >= 2020 AND NOT draft = true. list_collections shows fields.`

var collectionArgument = object{"type": "string", "description": "The collection; may be left out where there is only one. list_collections shows them."}

var searchArguments = object{
	"query":      object{"type": "string", "description": "What to look for: a question, a description, or key words. Empty: all documents that pass the filter."},
	"collection": collectionArgument,
	"mode": object{"type": "string", "enum": []string{"hybrid", "semantic", "keyword"}, "default": "hybrid",
		"description": "hybrid: by meaning and by words; semantic: by meaning alone; keyword: by words alone, for names and codes that must occur."},
	"filter": object{"type": "string", "description": filterText},
	"limit":  object{"type": "integer", "minimum": 1, "maximum": maxHits, "default": defaultHits, "description": "How many documents."},
	"offset": object{"type": "integer", "minimum": 0, "maximum": maxOffset, "default": 0, "description": "How many documents to pass over: with 5, those after the first 5."},
	"sort": object{"type": "string", "description": "Another order than by relevance: a field with :asc or :desc, several with commas between them, such as published:desc. " +
		"Best with an empty query or mode keyword, as search by meaning finds weakly related documents too, which then can stand first."},
	"passages": object{"type": "integer", "minimum": 1, "maximum": maxPassages, "default": defaultPassages, "description": "How many passages of each document, best first."},
}

var similarArguments = object{
	"id":         object{"type": "string", "description": "The id of the document, as search shows it."},
	"collection": collectionArgument,
	"filter":     searchArguments["filter"],
	"limit":      searchArguments["limit"],
}

type searchInput struct {
	Query      string `json:"query"`
	Collection string `json:"collection"`
	Mode       string `json:"mode"`
	Filter     string `json:"filter"`
	Limit      int    `json:"limit"`
	Offset     int    `json:"offset"`
	Sort       string `json:"sort"`
	Passages   int    `json:"passages"`
}

type similarInput struct {
	ID         string `json:"id"`
	Collection string `json:"collection"`
	Filter     string `json:"filter"`
	Limit      int    `json:"limit"`
}

// found is the structured result of a search.
type found struct {
	Collection string   `json:"collection"`
	Total      int      `json:"total" jsonschema:"how many documents match; at semantic search everything is near to some degree"`
	AtLeast    bool     `json:"at_least,omitempty" jsonschema:"true: there may be more than total"`
	Offset     int      `json:"offset,omitempty" jsonschema:"how many documents were passed over"`
	Hits       []hit    `json:"hits" jsonschema:"best first, or as sort asks"`
	Notes      []string `json:"notes,omitempty" jsonschema:"how the query was read, and what was not as asked"`
}

type hit struct {
	ID       string         `json:"id"`
	Title    string         `json:"title,omitempty"`
	Score    float64        `json:"score" jsonschema:"larger is better"`
	Fields   map[string]any `json:"fields,omitempty" jsonschema:"the short values of the document"`
	Passages []passage      `json:"passages" jsonschema:"best first; empty where the document has no text"`
}

type passage struct {
	Field string `json:"field"`
	Start int    `json:"start" jsonschema:"byte of the field's text at which it begins"`
	End   int    `json:"end" jsonschema:"byte at which it ends"`
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty" jsonschema:"true: the passage goes on behind end"`
}

func (s *Server) search(ctx context.Context, in searchInput) (found, string, error) {
	var keys []search.SortKey
	if in.Sort != "" {
		var err error
		if keys, err = search.ParseSortKeys(in.Sort); err != nil {
			return found{}, "", err
		}
	}
	collection, err := s.choose(ctx, in.Collection)
	if err != nil {
		return found{}, "", err
	}
	never := false
	r, err := s.engine.Search(ctx, collection, search.Query{
		Q: in.Query, Mode: search.Mode(in.Mode), Filter: in.Filter, Limit: &in.Limit, Offset: in.Offset, Sort: keys, Passages: &in.Passages, Highlight: &never})
	if err != nil {
		return found{}, "", s.rephrase(ctx, err)
	}
	out := foundOf(collection, r, in.Filter != "")
	out.Offset = in.Offset
	return out, out.text(fmt.Sprintf("for %q", shown([]byte(in.Query)))), nil
}

func (s *Server) similar(ctx context.Context, in similarInput) (found, string, error) {
	collection, err := s.choose(ctx, in.Collection)
	if err != nil {
		return found{}, "", err
	}
	r, err := s.engine.Similar(ctx, collection, search.Similar{IDs: []string{in.ID}, Filter: in.Filter, Limit: &in.Limit})
	if err != nil {
		return found{}, "", s.rephrase(ctx, err)
	}
	out := foundOf(collection, r, in.Filter != "")
	return out, out.text(fmt.Sprintf("like %q", in.ID)), nil
}

func foundOf(collection string, r *search.Response, filtered bool) found {
	out := found{Collection: collection, Total: r.Total.Value, AtLeast: r.Total.Relation == "gte", Hits: []hit{}}
	if q := r.Query; q != nil {
		for _, x := range q.Respelled {
			out.Notes = append(out.Notes, fmt.Sprintf("no document has %q: read as %q", x.Word, x.As))
		}
		for _, phrase := range q.Ignored {
			out.Notes = append(out.Notes, fmt.Sprintf("%q has no word that is searched for: left out", phrase))
		}
	}
	if r.Degraded {
		out.Notes = append(out.Notes, r.Reason)
	}
	out.Notes = append(out.Notes, r.Warnings...)
	if filtered && out.Total == 0 && len(r.Warnings) == 0 {
		out.Notes = append(out.Notes, "filter: whole values are compared, capitals and small letters differ, and the number 2020 is not the string '2020'")
	}
	for _, h := range r.Hits {
		out.Hits = append(out.Hits, hitOf(h))
	}
	return out
}

// hitOf returns the title, the passages and the short values of a hit.
func hitOf(h search.Hit) hit {
	out := hit{ID: h.ID, Score: h.Score, Passages: []passage{}}
	shown := map[string]bool{}
	for _, p := range h.Passages {
		n := cutPoint(p.Text, maxPassageBytes)
		shown[p.Field] = true
		out.Passages = append(out.Passages, passage{Field: p.Field, Start: p.Start, End: p.Start + n, Text: p.Text[:n], Cut: n < len(p.Text)})
	}
	parts, err := mapping.Mapping(nil).SplitStored(h.Document)
	if err != nil {
		return out // a document that is shown in part
	}
	title := flat(parts.Title)
	if out.Title = title; len(title) > maxValueBytes {
		out.Title = title[:cutPoint(title, maxValueBytes)] + "…"
	}
	for _, f := range parts.Text {
		if mapping.IsTitle(f.Name) && f.Text == parts.Title {
			shown[f.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts.Values)) {
		v := parts.Values[name]
		if _, long := v.(filter.Present); long || shown[name] || v == any(h.ID) || len(plain(v)) > maxValueBytes {
			continue
		}
		if len(out.Fields) == maxFields {
			break
		}
		if out.Fields == nil {
			out.Fields = map[string]any{}
		}
		out.Fields[name] = v
	}
	return out
}

// plain returns a string as it is, any other value as JSON.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// text returns the answer as text.
func (f found) text(what string) string {
	var b strings.Builder
	more := ""
	if f.AtLeast {
		more = "at least "
	}
	fmt.Fprintf(&b, "%d of %s%d documents of %s %s\n", len(f.Hits), more, f.Total, f.Collection, what)
	for _, note := range f.Notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	for i, h := range f.Hits {
		fmt.Fprintf(&b, "\n%d. id: %s\n   score: %.3f\n", f.Offset+i+1, oneLine(h.ID), h.Score)
		if h.Title != "" {
			fmt.Fprintf(&b, "   title: %s\n", h.Title)
		}
		for _, name := range slices.Sorted(maps.Keys(h.Fields)) {
			fmt.Fprintf(&b, "   %s: %s\n", flat(name), flat(plain(h.Fields[name])))
		}
		for _, p := range h.Passages {
			cut := ""
			if p.Cut {
				cut = ", goes on"
			}
			fmt.Fprintf(&b, "   passage (%s, bytes %d-%d%s):\n%s\n", flat(p.Field), p.Start, p.End, cut, quote(strings.TrimSpace(p.Text)))
		}
	}
	return b.String()
}
