package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"example.com/searchd/search"
)

// textInput is the input of the embedding routes: a text, an array of texts, the token ids of one
// text, or an array of those. It is parsed once the limits are known.
type textInput struct{ raw json.RawMessage }

func (in *textInput) UnmarshalJSON(data []byte) error {
	in.raw = bytes.Clone(data)
	return nil
}

// inputs are texts or token ids.
type inputs struct {
	texts []string
	ids   [][]int32 // nil where texts are given
}

func (in inputs) len() int { return max(len(in.texts), len(in.ids)) }

func (in inputs) characters() (n int) {
	for _, t := range in.texts {
		n += len([]rune(t))
	}
	return n
}

// read parses the input, called field in errors: at most max items, and ids below vocabulary,
// unless that is 0.
func (in *textInput) read(field string, max, vocabulary int) (inputs, error) {
	p := inputParser{field: field, max: max, vocabulary: vocabulary, dec: json.NewDecoder(bytes.NewReader(in.raw))}
	p.dec.UseNumber()
	if in.raw == nil || string(in.raw) == "null" {
		return inputs{}, p.wrong(field, literal("nothing"))
	}
	tok, err := p.dec.Token()
	if err != nil {
		return inputs{}, jsonError(err)
	}
	switch t := tok.(type) {
	case string:
		if t == "" {
			return inputs{}, &search.FieldError{Field: field, Value: t, Allowed: "a string that is not empty"}
		}
		return inputs{texts: []string{t}}, nil
	case json.Delim:
		if t == '[' {
			return p.array()
		}
	}
	return inputs{}, p.wrong(field+"[0]", literal(in.raw))
}

type inputParser struct {
	field      string
	max        int
	vocabulary int
	dec        *json.Decoder
}

func (p *inputParser) wrong(field string, value any) error {
	if value == nil {
		value = literal("null")
	}
	return &search.FieldError{Field: field, Value: value, Allowed: fmt.Sprintf("a string, an array of 1 to %d strings, an array of token ids, or an array of 1 to %d arrays of token ids", p.max, p.max)}
}

// array reads the rest of an array whose items must be of one kind.
func (p *inputParser) array() (in inputs, err error) {
	var flat []int32 // the tokens of a single text
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return in, jsonError(err)
		}
		n := in.len() + len(flat)
		field := fmt.Sprintf("%s[%d]", p.field, n)
		switch t := tok.(type) {
		case string:
			if in.ids != nil || flat != nil {
				return in, p.wrong(field, t)
			}
			if t == "" {
				return in, &search.FieldError{Field: field, Value: t, Allowed: "a string that is not empty"}
			}
			in.texts = append(in.texts, t)
		case json.Number:
			if in.len() > 0 {
				return in, p.wrong(field, t)
			}
			id, err := p.id(field, t)
			if err != nil {
				return in, err
			}
			flat = append(flat, id)
		case json.Delim:
			if t != '[' || in.texts != nil || flat != nil {
				return in, p.wrong(field, literal("an array or object"))
			}
			list, err := p.tokens(field)
			if err != nil {
				return in, err
			}
			in.ids = append(in.ids, list)
		default:
			return in, p.wrong(field, t)
		}
		if in.len() > p.max {
			return in, p.wrong(p.field, literal(fmt.Sprintf("more than %d items", p.max)))
		}
	}
	if flat != nil {
		in.ids = [][]int32{flat}
	}
	if in.len() == 0 {
		return in, p.wrong(p.field, literal("no items"))
	}
	return in, nil
}

// tokens reads the rest of an array of token ids.
func (p *inputParser) tokens(field string) ([]int32, error) {
	list := []int32{}
	for p.dec.More() {
		at := fmt.Sprintf("%s[%d]", field, len(list))
		tok, err := p.dec.Token()
		if err != nil {
			return nil, jsonError(err)
		}
		n, ok := tok.(json.Number)
		if tok == nil {
			tok = literal("null")
		}
		if !ok {
			return nil, &search.FieldError{Field: at, Value: tok, Allowed: "a token id"}
		}
		id, err := p.id(at, n)
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	if _, err := p.dec.Token(); err != nil {
		return nil, jsonError(err)
	}
	if len(list) == 0 {
		return nil, &search.FieldError{Field: field, Value: literal("no items"), Allowed: "one token id or more"}
	}
	return list, nil
}

func (p *inputParser) id(field string, n json.Number) (int32, error) {
	top := int64(math.MaxInt32)
	if p.vocabulary > 0 {
		top = int64(p.vocabulary) - 1
	}
	id, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || id < 0 || id > top {
		return 0, &search.FieldError{Field: field, Value: literal(n), Allowed: fmt.Sprintf("a token id of this checkpoint, an integer from 0 to %d; another model's tokens mean something else here, send the text instead", top)}
	}
	return int32(id), nil
}
