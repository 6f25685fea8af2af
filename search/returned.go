package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxReturnFields is the most names of one query.
const MaxReturnFields = 100

// checkReturned reads the names of the fields to return.
func (p *plan) checkReturned(wrong *fieldErrors) {
	if len(p.ReturnFields) > MaxReturnFields {
		wrong.add("return_fields", len(p.ReturnFields), fmt.Sprintf("at most %d names", MaxReturnFields))
		return
	}
	for i, name := range p.ReturnFields {
		if name == "" || !utf8.ValidString(name) {
			wrong.add(fmt.Sprintf("return_fields[%d]", i), name, "the name of a field, nested ones joined with dots")
		}
	}
}

// returned leaves of a document the fields that are named, with all that they hold; nil names mean all of it.
//
//  1. A name with dots leads into nested objects, as in filters: meta.lang leaves {"meta": {"lang": …}}. It is also the name of a field that has
//     the dots itself. It does not lead into lists.
//  2. A name that the document does not have leaves nothing. Without any the document is {}.
func returned(doc json.RawMessage, names []string) (json.RawMessage, error) {
	if names == nil {
		return doc, nil
	}
	kept, err := keep(doc, "", names)
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

// keep returns the members of an object that names lead to; prefix is the path of the object with a dot, or empty.
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
