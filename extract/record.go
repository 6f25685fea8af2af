package extract

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxID is the longest id, in bytes.
const maxID = 512

// record emits the document of a record, or reports why it is invalid.
func (x *source) record(line int, fields map[string]any) error {
	id, err := takeID(fields, x.o.IDField)
	if err != nil {
		return x.Errorf(line, "%v", err)
	}
	switch {
	case len(x.o.TextFields) == 0 && !hasValue(fields):
		return x.Errorf(line, "no text, number or boolean in any field")
	case len(x.o.TextFields) > 0 && !hasText(fields, x.o.TextFields):
		return x.Errorf(line, "no text in the fields %s", strings.Join(x.o.TextFields, ", "))
	}
	if id == "" {
		id = contentID(fields, cmp.Or(x.docID, x.id))
	}
	return x.document(Document{ID: id, Fields: fields, Line: line})
}

// entryDocument emits an entry of a file, such as a note, with its id or else a hash.
func (x *source) entryDocument(line int, id, title, text string, fields map[string]any) error {
	fields["title"] = title
	if text = withoutTitle(text, title); text != "" || x.format != VCF && x.format != ICS {
		fields["text"] = text
	}
	x.locate(fields, title)
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, notInID) {
		id = contentID(fields, "")
	}
	return x.document(Document{ID: id, Fields: fields, Line: line})
}

// takeID removes the id from fields and returns it; empty if there is none.
func takeID(fields map[string]any, name string) (string, error) {
	asked := name != ""
	if !asked {
		name = "_id"
		if fields[name] == nil {
			name = "id"
		}
	}
	var id string
	switch v := fields[name].(type) {
	case nil:
		if asked {
			return "", fmt.Errorf("record has no field %q for its id", name)
		}
		return "", nil
	case string:
		id = v
	case float64:
		id = strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		id = v.String()
	default:
		return "", fmt.Errorf("id field %q is %s; allowed are strings and numbers", name, jsonKind(v))
	}
	switch {
	case strings.TrimSpace(id) == "":
		return "", fmt.Errorf("id field %q is empty", name)
	case len(id) > maxID:
		return "", fmt.Errorf("id field %q has %d bytes; the limit is %d", name, len(id), maxID)
	case strings.ContainsFunc(id, notInID):
		return "", fmt.Errorf("id field %q is %q; control characters and invalid UTF-8 are not allowed", name, id)
	}
	delete(fields, name)
	return id, nil
}

func notInID(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }

// contentID returns a hash of fields and of the path of the file: equal records of two files are
// two documents.
func contentID(fields map[string]any, path string) string {
	b, err := json.Marshal(fields)
	if err != nil { // cannot happen: fields hold only what JSON can hold
		panic("extract: " + err.Error())
	}
	sum := sha256.Sum256(append(b, path...))
	return hex.EncodeToString(sum[:16])
}

func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case float64, json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}
