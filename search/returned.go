package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"searchd/search/fault"
)

// MaxReturnFields is the most names of fields to return, and of those to omit, of one query.
const MaxReturnFields = 100

// checkReturned reads the names of the fields to return and of those to omit.
func (p *plan) checkReturned(wrong *fault.Fields) {
	checkNames("return_fields", p.ReturnFields, wrong)
	checkNames("omit_fields", p.OmitFields, wrong)
}

func checkNames(member string, names []string, wrong *fault.Fields) {
	if len(names) > MaxReturnFields {
		wrong.Add(member, len(names), fmt.Sprintf("at most %d names", MaxReturnFields))
		return
	}
	for i, name := range names {
		if name == "" || !utf8.ValidString(name) {
			wrong.Add(fmt.Sprintf("%s[%d]", member, i), name, "the name of a field, nested ones joined with dots")
		}
	}
}

// returned leaves of a document the fields that are named, with all that they hold, but for those
// to omit; nil names mean all of it.
//
//  1. A name with dots leads into nested objects, as in filters: meta.lang leaves {"meta": {"lang":
//     …}}. It is also the name of a field that has the dots itself. It does not lead into lists.
//  2. A name that the document does not have leaves nothing. Without any the document is {}.
//  3. A field is omitted by the same names.
func returned(doc json.RawMessage, names, omit []string) (json.RawMessage, error) {
	var err error
	if names != nil {
		if doc, err = part(doc, names, keep); err != nil {
			return nil, err
		}
	}
	if len(omit) > 0 {
		return part(doc, omit, drop)
	}
	return doc, nil
}

// part is what pick takes of a document.
func part(doc json.RawMessage, names []string, pick func(json.RawMessage, string, []string) (map[string]any, error)) (json.RawMessage, error) {
	kept, err := pick(doc, "", names)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(kept); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// keep returns the members of an object that names lead to; prefix is the path of the object with a
// dot, or empty.
func keep(object json.RawMessage, prefix string, names []string) (map[string]any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, value := range members {
		path, nested := prefix+key, false
		for _, name := range names {
			if name == path {
				out[key], nested = value, false
				break
			}
			nested = nested || strings.HasPrefix(name, path+".")
		}
		if !nested || value[0] != '{' {
			continue
		}
		sub, err := keep(value, path+".", names)
		if err != nil {
			return nil, err
		}
		if len(sub) > 0 {
			out[key] = sub
		}
	}
	return out, nil
}

// drop returns the members of an object that names do not lead to; prefix is as that of keep.
func drop(object json.RawMessage, prefix string, names []string) (map[string]any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, value := range members {
		path := prefix + key
		if slices.Contains(names, path) {
			continue
		}
		out[key] = value
		if value[0] != '{' || !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, path+".") }) {
			continue
		}
		sub, err := drop(value, path+".", names)
		if err != nil {
			return nil, err
		}
		out[key] = sub
	}
	return out, nil
}
