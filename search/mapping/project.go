package mapping

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Project returns a document with the named fields only, without those to omit; nil names mean all
// fields.
//
//  1. A name with dots leads into nested objects, as in filters: meta.lang leaves {"meta": {"lang":
//     …}}. It also names a field that has the dots itself. It does not lead into lists.
//  2. A name that the document lacks leaves nothing; without any the document is {}.
func Project(doc json.RawMessage, names, omit []string) (json.RawMessage, error) {
	if names == nil && len(omit) == 0 {
		return doc, nil
	}
	fields, err := project(doc, "", names, omit)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// project returns the members of an object that names lead to, all if names is nil, without those
// of omit. prefix is the path of the object with a dot, or empty.
func project(object json.RawMessage, prefix string, names, omit []string) (map[string]any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, value := range members {
		path := prefix + key
		below := func(name string) bool { return strings.HasPrefix(name, path+".") }
		within, whole := names, names == nil || slices.Contains(names, path)
		if slices.Contains(omit, path) || !whole && !slices.ContainsFunc(names, below) {
			continue
		}
		if whole {
			within = nil
		}
		if value[0] != '{' || whole && !slices.ContainsFunc(omit, below) {
			if whole {
				out[key] = value
			}
			continue
		}
		sub, err := project(value, path+".", within, omit)
		if err != nil {
			return nil, err
		}
		if whole || len(sub) > 0 {
			out[key] = sub
		}
	}
	return out, nil
}
