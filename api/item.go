package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"searchd/search"
	"searchd/search/passage"
)

// member is one member of a JSON object, in the order of the text.
type member struct {
	name  string
	value json.RawMessage
}

// parseDocument reads one document of a request. It has one of these forms:
//
//	{"id": "a1", "title": "…", "year": 2024}               flat: the member id is the id, all others are fields
//	{"_id": "a1", "title": "…", "text": "…"}               the same, as BEIR and dumps of databases write it; then id is a field
//	{"id": "a1", "document": {"title": "…", "year": 2024}}  as GET and export give it ("fields" is understood as well)
//
// The last form has no members but id, document (or fields), blocks, revision and passages; the
// last two are ignored. Without an id the engine takes the hash of the content. An id may be an
// integer.
func parseDocument(data []byte) (search.Document, error) {
	id, fields, err := identified(data)
	if err != nil {
		return search.Document{ID: id}, err
	}
	if m, ok := enveloped(fields); ok {
		doc := search.Document{ID: id, Fields: bytes.TrimSpace(m.value), Within: m.name}
		doc.Blocks, err = parseBlocks(fields)
		return doc, err
	}
	return search.Document{ID: id, Fields: joinMembers(fields)}, nil
}

// identified splits an object into its id, empty where it has none, and its other members. With an
// error about the id it returns that.
func identified(data []byte) (id string, fields []member, err error) {
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
			if err := repeatsIn(m); err != nil {
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

// parseFields reads a body that is a document's fields alone, for the document id. A member id must
// say the same.
func parseFields(data []byte, id string) (search.Document, error) {
	doc, err := parseDocument(data)
	if err != nil {
		return doc, err
	}
	doc.ID, err = id, sameID(doc.ID, id)
	return doc, err
}

// parsePatch reads a merge patch for the document id. Its members are those of the fields and never
// taken for a form of a document, for {"fields": {…}} changes the field of that name; only a member
// id must say the same as the path, and is left out.
func parsePatch(data []byte, id string) (json.RawMessage, error) {
	given, fields, err := identified(data)
	if err != nil {
		return nil, err
	}
	return joinMembers(fields), sameID(given, id)
}

// sameID holds the id of a body, where it has one, to that of the path.
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

// enveloped returns the member whose object holds the fields when the members are those of the
// second form.
func enveloped(members []member) (inner member, ok bool) {
	for _, m := range members {
		switch m.name {
		case "document", "fields":
			if ok || bytes.TrimSpace(m.value)[0] != '{' {
				return inner, false
			}
			inner, ok = m, true
		case "revision", "passages", "blocks":
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

// wrapped warns of a document that is likely to be a list of documents: all that it has is a list
// of objects with the name documents.
func wrapped(doc search.Document) string {
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

// objectMembers splits a JSON object. A repeated member is an error, for one of the two values
// would be lost.
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
		return nil, &requestError{kind: errMalformed, detail: fmt.Sprintf("document: something follows the object at byte %d", dec.InputOffset())}
	}
	return members, nil
}

// repeatsIn refuses a repeated member of an object anywhere within m, as objectMembers does of the
// object that m is of.
func repeatsIn(m member) error {
	if c := bytes.TrimSpace(m.value)[0]; c != '{' && c != '[' {
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

// mergePatch applies an RFC 7396 merge patch to an object's fields: null removes a member, an
// object is merged into the member of its name, anything else replaces it.
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
