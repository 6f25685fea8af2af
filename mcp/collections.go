package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/index/filter"
	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// Limits of list_collections.
const (
	maxListed     = 500
	maxSampled    = 20 // collections of which documents are looked at
	sampled       = 3  // documents of each
	maxFieldNames = 40 // fields of a collection
	maxExample    = 60 // bytes of a value
	maxSuggested  = 20 // collections that an error names
)

const listText = `Lists the collections that can be searched: how many documents each has, its language, and its fields with an example of a value, ` +
	`as seen in the first documents. Any field with an example can be used in the filter of search.`

// listed is the structured result of list_collections.
type listed struct {
	Collections []collection `json:"collections"`
	More        int          `json:"more,omitempty" jsonschema:"how many more there are"`
}

type collection struct {
	Name      string  `json:"name"`
	Documents int     `json:"documents"`
	Passages  int     `json:"passages"`
	Language  string  `json:"language,omitempty" jsonschema:"in which words are compared"`
	Fields    []field `json:"fields,omitempty" jsonschema:"those of the settings and of the first documents; others may have more"`
	Damaged   string  `json:"damaged,omitempty" jsonschema:"why it cannot be searched"`
}

type field struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty" jsonschema:"as the settings say: text, filter or stored"`
	Example any    `json:"example,omitempty" jsonschema:"a value; absent where the values are long texts"`
}

func (s *Server) listCollections(ctx context.Context, _ struct{}) (listed, string, error) {
	infos, err := s.engine.Collections(ctx)
	if err != nil {
		return listed{}, "", err
	}
	out := listed{Collections: []collection{}, More: max(0, len(infos)-maxListed)}
	for i, info := range infos[:min(len(infos), maxListed)] {
		c := collection{Name: info.Name, Documents: info.Documents, Passages: info.Passages, Language: cmp.Or(info.Settings.Language, "en"), Damaged: info.Damaged}
		if info.Damaged == "" {
			c.Fields = s.fields(ctx, info, i < maxSampled)
		}
		out.Collections = append(out.Collections, c)
	}
	if err := ctx.Err(); err != nil {
		return listed{}, "", err
	}
	return out, out.text(), nil
}

// fields describes the fields of a collection. A key without the scope search gets no examples.
func (s *Server) fields(ctx context.Context, info search.CollectionInfo, look bool) []field {
	known := map[string]field{}
	for name, f := range info.Settings.Fields {
		known[name] = field{Name: name, Type: string(f.Type)}
	}
	if look {
		limit, none := sampled, 0
		r, err := s.engine.Search(ctx, info.Name, search.Query{Limit: &limit, Passages: &none})
		if err == nil {
			for _, h := range r.Hits {
				sample(known, h)
			}
		}
	}
	out := slices.SortedFunc(maps.Values(known), func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return out[:min(len(out), maxFieldNames)]
}

// sample adds the fields of a document.
func sample(known map[string]field, h search.Hit) {
	parts, err := mapping.Mapping(nil).SplitStored(h.Document)
	if err != nil {
		return
	}
	for name, v := range parts.Values {
		f := known[name]
		f.Name = name
		example := plain(v)
		if _, long := v.(filter.Present); !long && f.Example == nil && f.Type != string(mapping.Stored) && len(example) <= maxExample && !strings.ContainsAny(example, breaks) {
			f.Example = v
		}
		known[name] = f
	}
}

func (l listed) text() string {
	var b strings.Builder
	if len(l.Collections) == 0 {
		b.WriteString("There is no collection yet, or none that may be listed here.\n")
	}
	for _, c := range l.Collections {
		if c.Damaged != "" {
			fmt.Fprintf(&b, "%s: cannot be searched: %s\n", c.Name, c.Damaged)
			continue
		}
		fmt.Fprintf(&b, "%s: %d documents in %d passages, language %s\n", c.Name, c.Documents, c.Passages, c.Language)
		for _, f := range c.Fields {
			fmt.Fprintf(&b, "   %s", flat(f.Name))
			if f.Type != "" {
				fmt.Fprintf(&b, " (%s)", f.Type)
			}
			if f.Example != nil {
				fmt.Fprintf(&b, ", e.g. %s", quoted(f.Example))
			}
			b.WriteByte('\n')
		}
	}
	if l.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", l.More)
	}
	return b.String()
}

// quoted returns a value in the syntax of filters.
func quoted(v any) string {
	if s, ok := v.(string); ok {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return plain(v)
}

// choose returns the named collection, or the only one.
func (s *Server) choose(ctx context.Context, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	names, err := s.names(ctx)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", errors.New("collection: none can be seen here, so name one that you know of; new ones are made by bringing documents in")
	case len(names) > 1:
		return "", fmt.Errorf("collection: missing, and there are %d, allowed: %s", len(names), suggested(names))
	}
	return names[0], nil
}

// rephrase adapts an error of the engine to the names of the tools. For an unknown collection it
// lists those that exist.
func (s *Server) rephrase(ctx context.Context, err error) error {
	for of, is := range map[string]string{"q: ": "query: ", "ids[0]: ": "id: "} {
		if text, ok := strings.CutPrefix(err.Error(), of); ok {
			return errors.New(is + text)
		}
	}
	if !errors.Is(err, search.ErrCollectionNotFound) {
		return err
	}
	names, listErr := s.names(ctx)
	if listErr != nil || len(names) == 0 {
		return err
	}
	return fmt.Errorf("%w; there are: %s", err, suggested(names))
}

func (s *Server) names(ctx context.Context) (names []string, err error) {
	infos, err := s.engine.Collections(ctx)
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names, err
}

func suggested(names []string) string {
	if more := len(names) - maxSuggested; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxSuggested], ", "), more)
	}
	return strings.Join(names, ", ")
}
