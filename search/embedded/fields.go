package embedded

import (
	"maps"
	"slices"
	"strings"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// wordsPrefix begins the names of [mapping.Parts].Words in the keyword index. A field can be text
// in one document and words alone in the next, with different weights, so that it has two names
// there.
const wordsPrefix = "\x00"

// texts returns the searched fields of a document with their names in the keyword index.
func texts(parts mapping.Parts) []keyword.Field {
	out := make([]keyword.Field, 0, len(parts.Text)+len(parts.Words))
	for _, f := range parts.Text {
		out = append(out, keyword.Field{Name: f.Name, Text: f.Text})
	}
	for _, f := range parts.Words {
		out = append(out, keyword.Field{Name: wordsPrefix + f.Name, Text: f.Text})
	}
	return out
}

// languages returns the languages of the code in a document's texts, which the texts need not name,
// as words of these. A document without passages has no structure.
func languages(structure []byte) (out []keyword.Field) {
	blocks, _ := passage.Decode(structure)
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		var names []string
		for _, b := range blocks[name] {
			if b.Language != "" && !slices.Contains(names, b.Language) {
				names = append(names, b.Language)
			}
		}
		if len(names) > 0 {
			out = append(out, keyword.Field{Name: wordsPrefix + name, Text: strings.Join(names, "\n")})
		}
	}
	return out
}

// weights returns the weight of each field of the keyword index, as of now.
func (c *collection) weights() func(field string) float64 {
	m := c.config.Load().Mapping
	return func(field string) float64 {
		if strings.HasPrefix(field, wordsPrefix) {
			return mapping.AsideWeight
		}
		return m.Weight(field)
	}
}

// indexNames returns the names of fields in the keyword index, two for each.
func indexNames(names []string) []string {
	out := make([]string, 0, 2*len(names))
	for _, name := range names {
		out = append(out, name, wordsPrefix+name)
	}
	return out
}

// fieldName returns the field of a name in the keyword index.
func fieldName(field string) string { return strings.TrimPrefix(field, wordsPrefix) }

// missingFields returns the fields of which the keyword index has neither name.
func missingFields(names, missing []string) (out []string) {
	for _, name := range names {
		if slices.Contains(missing, name) && slices.Contains(missing, wordsPrefix+name) {
			out = append(out, name)
		}
	}
	return out
}
