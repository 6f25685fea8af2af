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
// not decoded: it is nil; and more than maxNested objects and lists are a [Refusal].
func decode(text []byte, short bool) (map[string]any, error) {
	d := decoder{Decoder: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), short: short}
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("not %.20s", text)
	}
	return object, nil
}

type decoder struct {
	*jsontext.Decoder
	short  bool
	nested int // objects and lists so far
}

func (d *decoder) value() (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '{', '[':
		if d.nested++; d.short && d.nested > maxNested {
			return nil, &Refusal{Value: Phrase(fmt.Sprintf("more than %d objects and lists", maxNested)), Allowed: fmt.Sprintf("at most %d", maxNested)}
		}
		if t.Kind() == '[' {
			return d.list()
		}
		object := map[string]any{}
		for d.PeekKind() != '}' {
			t, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			name := t.String()
			if object[name], err = d.value(); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return object, err
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}

// list reads the elements of a list and its end.
func (d *decoder) list() (any, error) {
	list, skipped := []any{}, 0
	for d.PeekKind() != ']' {
		if d.short && len(list) > MaxListValues {
			if err := d.SkipValue(); err != nil {
				return nil, err
			}
			skipped++
			continue
		}
		v, err := d.value()
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
}
