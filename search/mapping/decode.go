package mapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// decode reads the JSON object that text begins with as encoding/json's Decoder does after
// UseNumber, and faster. Of equal names the last one counts, invalid UTF-8 becomes U+FFFD, and null
// is nil. With short set, what a list holds behind the first MaxListValues+1 values is counted and
// not decoded: it is nil.
func decode(text []byte, short bool) (map[string]any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := decodeValue(d, short)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("not %.20s", text)
	}
	return object, nil
}

func decodeValue(d *jsontext.Decoder, short bool) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '{':
		object := map[string]any{}
		for d.PeekKind() != '}' {
			t, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			name := t.String()
			if object[name], err = decodeValue(d, short); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return object, err
	case '[':
		list, skipped := []any{}, 0
		for d.PeekKind() != ']' {
			if short && len(list) > MaxListValues {
				if err := d.SkipValue(); err != nil {
					return nil, err
				}
				skipped++
				continue
			}
			v, err := decodeValue(d, short)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		if skipped > 0 {
			list = slices.Concat(list, make([]any, skipped))
		}
		_, err := d.ReadToken()
		return list, err
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}
