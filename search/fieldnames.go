package search

import (
	"context"
	"fmt"
	"slices"

	"example.com/searchd/index/filter"
	"example.com/searchd/internal/edits"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/mapping"
)

// fieldUse is a field that a query names.
type fieldUse struct {
	at   string // the member of the query: filter, fields, facets, sort, boosts, group
	path string // where in it, as a FieldError has it
	name string
}

// uses returns the fields that a query names, in the order of its members.
func (p *plan) uses() []fieldUse {
	uses := filterUses(p.asked)
	for _, f := range p.words.Fields {
		uses = append(uses, fieldUse{"fields", "fields", f.Name})
	}
	for i, f := range p.Facets {
		uses = append(uses, fieldUse{"facets", fmt.Sprintf("facets[%d].field", i), f.Field})
	}
	for i, k := range p.Sort {
		if k.Field != scoreField {
			uses = append(uses, fieldUse{"sort", fmt.Sprintf("sort[%d].field", i), k.Field})
		}
	}
	for i, b := range p.boosts {
		if b.filter != nil {
			for _, u := range filterUses(b.filter) {
				uses = append(uses, fieldUse{"boosts", fmt.Sprintf("boosts[%d].filter", i), u.name})
			}
		} else if b.field != "" {
			uses = append(uses, fieldUse{"boosts", fmt.Sprintf("boosts[%d].field", i), b.field})
		}
	}
	if p.Group != "" {
		uses = append(uses, fieldUse{"group", "group", p.Group})
	}
	return uses
}

func filterUses(e filter.Expr) (uses []fieldUse) {
	for _, name := range filter.Fields(e) {
		uses = append(uses, fieldUse{"filter", "filter", name})
	}
	return uses
}

// checkStored refuses fields that the mapping keeps out of the index.
func checkStored(m mapping.Mapping, uses []fieldUse, wrong *fault.Fields) {
	for _, u := range uses {
		if u.at != "fields" && m[u.name].Type == mapping.Stored {
			wrong.Add(u.path, u.name, "fields that the settings do not declare stored: these have no values in the index")
		}
	}
}

// undeclared returns the uses of fields of which the mapping does not say that they are what they
// are used for.
func undeclared(m mapping.Mapping, uses []fieldUse) []fieldUse {
	return slices.DeleteFunc(slices.Clone(uses), func(u fieldUse) bool {
		f, set := m[u.name]
		return set && (u.at != "fields" || f.Type == mapping.Text)
	})
}

// lacking returns those of uses whose field no document has. partial: documents may have it that
// the index does not know yet.
func (e *Engine) lacking(ctx context.Context, collection string, uses []fieldUse) (none []fieldUse, partial bool, err error) {
	if len(uses) == 0 {
		return nil, false, nil
	}
	var names backend.FieldNames
	for _, u := range uses {
		if u.at == "fields" {
			names.Texts = append(names.Texts, u.name)
		} else {
			names.Values = append(names.Values, u.name)
		}
	}
	have, err := e.backend.Aggregate(ctx, backend.AggregateRequest{Collection: collection, Fields: names})
	names, partial = have.Missing, have.Partial
	for _, u := range uses {
		if u.at == "fields" && slices.Contains(names.Texts, u.name) || u.at != "fields" && slices.Contains(names.Values, u.name) {
			none = append(none, u)
		}
	}
	return none, partial, err
}

// aboutID says what is behind a field that people ask for because every document has an id.
func aboutID(name string) string {
	if name != "id" && name != "_id" {
		return ""
	}
	return "; the id of a document is none of its fields, and filters support only =, != and IN on it"
}

// sampleFields is the number of documents whose fields are suggested for unknown ones.
const sampleFields = 50

// someFields returns the names of the fields of the first documents that have values, and of those
// that are searched, sorted, and the values of these documents.
func (e *Engine) someFields(ctx context.Context, collection string, m mapping.Mapping) (values, texts []string, documents []map[string]any, err error) {
	page, err := e.backend.List(ctx, backend.ListRequest{Collection: collection, Limit: sampleFields})
	if err != nil {
		return nil, nil, nil, err
	}
	for _, doc := range page.Documents {
		parts, err := m.SplitStored(doc.Fields)
		if err != nil {
			continue // it cannot be searched either
		}
		documents = append(documents, parts.Values)
		for name := range parts.Values {
			values = append(values, name)
		}
		for _, f := range slices.Concat(parts.Text, parts.Words) {
			texts = append(texts, f.Name)
		}
	}
	slices.Sort(values)
	slices.Sort(texts)
	return slices.Compact(values), slices.Compact(texts), documents, nil
}

// warnings says which fields of the query no document has, and of a query without results what its
// filter compares with values of another kind, unless the index is being filled or the sender may
// not see all documents.
func (s *search) warnings(ctx context.Context) ([]string, error) {
	if s.plan.Within != nil {
		return s.notes, nil
	}
	none, partial, err := s.engine.lacking(ctx, s.collection, undeclared(s.record.Settings.Fields, s.plan.uses()))
	unmatched := s.plan.asked != nil && s.total.Value == 0
	if err != nil || partial || len(none) == 0 && !unmatched {
		return s.notes, err
	}
	out := s.notes
	values, texts, documents, err := s.engine.someFields(ctx, s.collection, s.record.Settings.Fields)
	if err != nil {
		return nil, err
	}
	for _, u := range none {
		known := values
		kind := "field"
		if u.at == "fields" {
			kind, known = "text field", texts
		}
		note := fmt.Sprintf("%s: no document has a %s %s", u.at, kind, fault.Quote(u.name)) + aboutID(u.name)
		if near := edits.Nearest(u.name, known); near != "" && aboutID(u.name) == "" {
			note += "; the nearest name is " + fault.Quote(near)
		}
		out = append(out, note)
	}
	if unmatched {
		for _, note := range filter.Mismatches(s.plan.asked, documents) {
			out = append(out, "filter: "+note)
		}
	}
	return out, nil
}
