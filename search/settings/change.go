package settings

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/mapping"
)

// Change is a change of the settings of a collection in place. While it holds documents these can
// change:
//
//  1. index.ef_search, index.target_recall, index.quantize, synonyms, rules, expiry and the weights
//     of fields: they take effect when a query is answered, or on a graph that is rebuilt.
//  2. The type of a field, or whether it has an entry, if no document has the field yet or those
//     that have it are treated as before. Stored fields are in no index, so the documents are read
//     from the store and split by both mappings, while writers wait.
//  3. Of embedder what does not decide the vectors: address, key, batches and rate.
//  4. Nothing else: language, embedder, passages, index.m and index.ef_construction are part of
//     every passage or index.
type Change struct {
	Backend    backend.Backend
	Collection backend.Collection
	Old, New   Settings
}

// pageSize is how many documents are read at a time.
const pageSize = 500

// retyped names the fields whose type differs, sorted; one without an entry has the type "".
func (c Change) retyped() (names []string) {
	all := maps.Clone(c.Old.Fields)
	if all == nil {
		all = mapping.Mapping{}
	}
	maps.Copy(all, c.New.Fields)
	for name := range all {
		if c.Old.Fields[name].Type != c.New.Fields[name].Type {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Check reports every setting that cannot change in place.
func (c Change) Check(ctx context.Context) error {
	var wrong fault.Fields
	o, n := c.Old, c.New
	if was, asked := identity(o.Embedder), identity(n.Embedder); was != asked {
		wrong.Add("embedder", asked, c.stay(was, "the vectors of the collection come from it"))
	}
	if c.Collection.Documents == 0 {
		return wrong.Err()
	}
	for _, s := range []struct {
		field    string
		old, new any
	}{
		{"language", cmp.Or(o.Language, DefaultLanguage), cmp.Or(n.Language, DefaultLanguage)},
		{"passages.max_tokens", o.Passages.MaxTokens, n.Passages.MaxTokens},
		{"passages.no_title", o.Passages.NoTitle, n.Passages.NoTitle},
		{"index.m", cmp.Or(o.Index.M, hnsw.DefaultM), cmp.Or(n.Index.M, hnsw.DefaultM)},
		{"index.ef_construction", o.EfConstruction(), n.EfConstruction()},
	} {
		if s.old != s.new {
			wrong.Add(s.field, s.new, c.stay(s.old, fmt.Sprintf("the collection's %d documents are indexed with it", c.Collection.Documents)))
		}
	}
	if err := c.checkFields(ctx, &wrong); err != nil {
		return err
	}
	return wrong.Err()
}

// stay says what a setting has to be, why, and the way to another value.
func (c Change) stay(old any, why string) string {
	if old == 0 || old == "" {
		return fmt.Sprintf("left out as it is: %s. Re-embed the collection with other settings, or make a new one, to change it", why)
	}
	return fmt.Sprintf("%s as it is: %s. Re-embed the collection with other settings, or make a new one, to change it", fault.Quote(old), why)
}

// checkFields looks for the first document that each field of another type would change.
func (c Change) checkFields(ctx context.Context, wrong *fault.Fields) error {
	names := c.retyped()
	keys := make([][]byte, len(names))
	for i, name := range names {
		keys[i] = keyBytes(name)
	}
	for cursor, more := "", len(names) > 0; more; more = cursor != "" && len(names) > 0 {
		page, err := c.Backend.List(ctx, backend.ListRequest{Collection: c.Collection.Name, Cursor: cursor, Limit: pageSize})
		if err != nil {
			return err
		}
		for _, d := range page.Documents {
			has := func(key []byte) bool { return bytes.Contains(d.Fields, key) }
			if !slices.ContainsFunc(keys, has) {
				continue
			}
			at, err := c.changed(d.Fields, names)
			if err != nil {
				return fmt.Errorf("stored document %s: %w", d.ID, err)
			}
			if at < 0 {
				continue
			}
			name := names[at]
			var asked any = string(c.New.Fields[name].Type)
			if asked == "" {
				asked = "left out"
			}
			wrong.Add("fields."+name+".type", asked, c.stay(string(c.Old.Fields[name].Type), fmt.Sprintf("document %s has the field and is indexed with it", fault.Quote(d.ID))))
			names, keys = slices.Delete(names, at, at+1), slices.Delete(keys, at, at+1)
		}
		cursor = page.Next
	}
	return nil
}

// changed returns the place in names of a field whose new type changes what a document is taken
// apart into; -1 where none does.
func (c Change) changed(fields []byte, names []string) (int, error) {
	before, err := c.Old.Fields.SplitStored(fields)
	if err != nil {
		return -1, err
	}
	differs := func(names []string) (bool, error) {
		after, err := c.with(names).SplitStored(fields)
		before.NotText, after.NotText = nil, nil // is told where a document is written
		return !reflect.DeepEqual(before, after), err
	}
	if all, err := differs(names); err != nil || !all {
		return -1, err
	}
	for i := range names {
		if one, err := differs(names[i : i+1]); err != nil || one {
			return i, err
		}
	}
	return 0, nil // several together
}

// with returns the old mapping with the new entries of some fields.
func (c Change) with(names []string) mapping.Mapping {
	m := mapping.Mapping{}
	maps.Copy(m, c.Old.Fields)
	for _, name := range names {
		if f, set := c.New.Fields[name]; set {
			m[name] = f
		} else {
			delete(m, name)
		}
	}
	return m
}

// keyBytes returns what the stored JSON of a document with a field has in it: the end of the last
// key of its path.
func keyBytes(name string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(name[strings.LastIndexByte(name, '.')+1:]) // a string always can be
	return append(bytes.TrimRight(b.Bytes(), "\n")[1:], ':')
}
