package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/searchd/search"
	"example.com/searchd/search/given"
	"example.com/searchd/search/passage"
)

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// parseDocument reads one document of a request. It has one of these forms:
//
//	{"id": "a1", "title": "…", "year": 2024}               flat: all other members are fields
//	{"_id": "a1", "title": "…", "text": "…"}               the same, as BEIR and database dumps have it; then id is a field
//	{"id": "a1", "document": {"title": "…", "year": 2024}}  as GET and export return it ("fields" is allowed too)
//
// The last form has no members but id, document (or fields), vector, vectors, blocks, revision and
// passages; the last two are ignored, and vectors are as if they were fields. Without an id the
// engine uses the hash of the content. An id may be an integer.
func parseDocument(data []byte) (search.Document, error) {
	data, list := given.CutNumbers(data) // which would be scanned several times
	doc, err := parseMembers(data)
	if err == nil && list.Vector != nil {
		if doc.Fields, err = list.Into(doc.Fields); err != nil {
			err = &requestError{kind: errMalformed, detail: err.Error()}
		}
	}
	return doc, err
}

// parseMembers is parseDocument of an object of which a vector may have been taken.
func parseMembers(data []byte) (search.Document, error) {
	id, fields, err := splitID(data)
	if err != nil {
		return search.Document{ID: id}, err
	}
	if m, ok := enveloped(fields); ok {
		doc := search.Document{ID: id, Within: m.name}
		var beside given.Members
		for _, m := range fields {
			beside.Set(m.name, m.value)
		}
		if doc.Fields, err = beside.Into(bytes.TrimSpace(m.value)); err != nil {
			return doc, &requestError{kind: errMalformed, detail: err.Error()}
		}
		doc.Blocks, err = parseBlocks(fields)
		return doc, err
	}
	return search.Document{ID: id, Fields: joinMembers(fields)}, nil
}

// splitID splits an object into its id, "" if it has none, and its other members. It returns the id
// also with an error.
func splitID(data []byte) (id string, fields []member, err error) {
	if err := checkText(data); err != nil {
		return "", nil, err
	}
	members, err := objectMembers(data)
	if err != nil {
		return "", nil, err
	}
	key := "id"
	if slices.ContainsFunc(members, func(m member) bool { return m.name == "_id" && string(bytes.TrimSpace(m.value)) != "null" }) {
		key = "_id"
	}
	for _, m := range members {
		if m.name != key {
			if err := checkRepeats(m); err != nil {
				return id, nil, err
			}
			fields = append(fields, m)
			continue
		}
		if id, err = parseID(key, m.value); err != nil {
			return id, nil, err
		}
	}
	return id, fields, nil
}

// parseFields reads a body with a document's fields; a member id must equal the id of the path.
func parseFields(data []byte, id string) (search.Document, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return doc, err
	}
	doc.ID, err = id, sameID(doc.ID, id)
	return doc, err
}

// parsePatch reads a merge patch. Unlike in a document, {"fields": {…}} changes the field of that
// name. A member id must equal the id of the path, and is removed.
func parsePatch(data []byte, id string) (json.RawMessage, error) {
	given, fields, err := splitID(data)
	if err != nil {
		return nil, err
	}
	return joinMembers(fields), sameID(given, id)
}

func sameID(given, id string) error {
	if given != "" && given != id {
		return &search.FieldError{Field: "id", Value: given, Allowed: fmt.Sprintf("the id of the path, %q, or none", id)}
	}
	return nil
}

func parseID(field string, raw json.RawMessage) (string, error) {
	var id string
	switch raw = bytes.TrimSpace(raw); {
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &id); err != nil {
			return "", jsonError(err)
		}
	case !bytes.ContainsAny(raw, ".eE{[tfn"):
		id = string(raw)
	default:
		return "", &search.FieldError{Field: field, Value: literal(raw), Allowed: "a string or an integer"}
	}
	return id, checkName(field, id, 512)
}

// enveloped returns the member that has the fields if the members are those of the last form.
func enveloped(members []member) (inner member, ok bool) {
	for _, m := range members {
		switch m.name {
		case "document", "fields":
			if ok || bytes.TrimSpace(m.value)[0] != '{' {
				return inner, false
			}
			inner, ok = m, true
		case "revision", "passages", "blocks", given.One, given.Several:
		default:
			return inner, false
		}
	}
	return inner, ok
}

// parseBlocks returns the member blocks: the structure of texts by the name of their field.
func parseBlocks(members []member) (map[string][]passage.Block, error) {
	i := slices.IndexFunc(members, func(m member) bool { return m.name == "blocks" })
	if i < 0 {
		return nil, nil
	}
	var blocks map[string][]passage.Block
	dec := json.NewDecoder(bytes.NewReader(members[i].value))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&blocks); err != nil {
		return nil, &requestError{kind: errMalformed, pointer: pointerTo("blocks"), detail: "blocks: " + strings.TrimPrefix(err.Error(), "json: ") +
			"; allowed: an object of lists of blocks with the members kind, level, start, end, head, language and page"}
	}
	return blocks, nil
}

// listWarning warns of a document that is likely a list of documents: its only member is documents,
// a list of objects.
func listWarning(doc search.Document) string {
	if doc.ID != "" || !bytes.HasPrefix(doc.Fields, []byte(`{"documents":`)) {
		return ""
	}
	members, err := objectMembers(doc.Fields)
	if err != nil || len(members) != 1 {
		return ""
	}
	if list, ok := bytes.CutPrefix(bytes.TrimSpace(members[0].value), []byte("[")); !ok || !bytes.HasPrefix(bytes.TrimSpace(list), []byte("{")) {
		return ""
	}
	return "stored as one document, whose only field is documents; several are sent as an array: [{…}, {…}]"
}

// objectMembers splits a JSON object. A repeated member is an error.
func objectMembers(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return nil, jsonError(err)
	}
	if tok != json.Delim('{') {
		return nil, &requestError{kind: errMalformed, detail: "document: got " + jsonKind(data) + ", allowed: an object"}
	}
	var members []member
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, jsonError(err)
		}
		m := member{name: tok.(string)}
		if seen[m.name] {
			return nil, &requestError{kind: errMalformed, pointer: pointerTo(m.name), detail: fmt.Sprintf("member %q: given more than once", short(m.name))}
		}
		seen[m.name] = true
		if err := dec.Decode(&m.value); err != nil {
			return nil, jsonError(err)
		}
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, jsonError(err)
	}
	if rest := bytes.TrimSpace(data[dec.InputOffset():]); len(rest) > 0 {
		return nil, &requestError{kind: errMalformed, detail: fmt.Sprintf("document: unexpected data after the object at byte %d", dec.InputOffset())}
	}
	return members, nil
}

// checkRepeats refuses a repeated member in any object within m.
func checkRepeats(m member) error {
	if c := bytes.TrimSpace(m.value)[0]; c != '{' && (c != '[' || bytes.IndexByte(m.value, '{') < 0) {
		return nil
	}
	w := memberWalk{dec: json.NewDecoder(bytes.NewReader(m.value)), at: []any{m.name}}
	w.dec.UseNumber()
	return w.value(nil)
}

func joinMembers(members []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string cannot fail
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func jsonKind(data []byte) string {
	switch c := bytes.TrimSpace(data)[0]; {
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case strings.IndexByte("-0123456789", c) >= 0:
		return "a number"
	}
	return "true, false or null"
}

// mergePatch applies a merge patch (RFC 7396): null removes a member, an object is merged into the
// member, anything else replaces it.
func mergePatch(target, patch json.RawMessage) (json.RawMessage, error) {
	changes, err := objectMembers(patch)
	if err != nil {
		return nil, err
	}
	members, err := objectMembers(target)
	if err != nil {
		members = nil // RFC 7396: a target that is no object counts as an empty one
	}
	at := make(map[string]int, len(members))
	for i, m := range members {
		at[m.name] = i
	}
	for _, c := range changes {
		i, found := at[c.name]
		value := bytes.TrimSpace(c.value)
		switch {
		case string(value) == "null" && found:
			members[i].value = nil
			continue
		case string(value) == "null":
			continue
		case value[0] == '{':
			inner := json.RawMessage("{}")
			if found {
				inner = members[i].value
			}
			if value, err = mergePatch(inner, value); err != nil {
				return nil, err
			}
		}
		if !found {
			members = append(members, member{name: c.name, value: value})
			continue
		}
		members[i].value = value
	}
	return joinMembers(slices.DeleteFunc(members, func(m member) bool { return m.value == nil })), nil
}
