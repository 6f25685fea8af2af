package embedded

import (
	"slices"
	"strings"

	"searchd/index/keyword"
	"searchd/search/mapping"
)

// asidePrefix begins the names under which the keyword index has the fields of
// [mapping.Parts].Words: one name can be text in a document and words alone in the next, and counts
// differently in the two.
const asidePrefix = "\x00"

// texts are the searched fields of a document as the keyword index takes them.
func texts(parts mapping.Parts) []keyword.Field {
	out := make([]keyword.Field, 0, len(parts.Text)+len(parts.Words))
	for _, f := range parts.Text {
		out = append(out, keyword.Field{Name: f.Name, Text: f.Text})
	}
	for _, f := range parts.Words {
		out = append(out, keyword.Field{Name: asidePrefix + f.Name, Text: f.Text})
	}
	return out
}

// weights says what a word counts in a field of the keyword index, the same as long as it is asked.
func (c *collection) weights() func(field string) float64 {
	m := c.config.Load().Mapping
	return func(field string) float64 {
		if strings.HasPrefix(field, asidePrefix) {
			return mapping.AsideWeight
		}
		return m.Weight(field)
	}
}

// indexed returns the names that the keyword index has for fields: two for each.
func indexed(names []string) []string {
	out := make([]string, 0, 2*len(names))
	for _, name := range names {
		out = append(out, name, asidePrefix+name)
	}
	return out
}

// named returns the name of a field of the keyword index as documents and queries have it.
func named(field string) string { return strings.TrimPrefix(field, asidePrefix) }

// unnamed returns those of names of which the keyword index lacks both of its own.
func unnamed(names, lacking []string) (out []string) {
	for _, name := range names {
		if slices.Contains(lacking, name) && slices.Contains(lacking, asidePrefix+name) {
			out = append(out, name)
		}
	}
	return out
}
