package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.com/searchd/internal/strictjson"
)

// wrap adds special tokens around each text unless they are there already.
func (t *Tokenizer) wrap(begin, end string) error {
	for i, token := range []string{begin, end} {
		if token == "" {
			continue
		}
		id, ok := t.ID(token)
		if !ok {
			return fmt.Errorf("the special token %.40q is not in the vocabulary", token)
		}
		put := false
		for _, parts := range []*[]templatePart{&t.template.single, &t.template.pair} {
			all := slices.Clone(*parts)
			for at := len(all) - 1; at >= 0; at-- { // from the end, because an insertion moves the rest
				beside, into := at-1+2*i, at+i
				if all[at].sequence < 0 || beside >= 0 && beside < len(all) && all[beside].sequence < 0 && all[beside].id == id {
					continue
				}
				all = slices.Insert(all, into, templatePart{-1, id, all[at].typeID})
				put = true
			}
			*parts = all
		}
		if put {
			t.replaced += fmt.Sprintf(" %s=%d", [2]string{"begin", "end"}[i], id)
		}
	}
	return nil
}

// unwrap removes special tokens next to a text, begin before and end after it, all of them.
func (t *Tokenizer) unwrap(begin, end string) {
	for i, token := range []string{begin, end} {
		id, ok := t.ID(token)
		if token == "" || !ok {
			continue
		}
		taken := false
		for _, parts := range []*[]templatePart{&t.template.single, &t.template.pair} {
			all := slices.Clone(*parts)
			if i == 0 {
				slices.Reverse(all) // begin is now after the text
			}
			beside := false
			all = slices.DeleteFunc(all, func(p templatePart) bool {
				drop := beside && p.sequence < 0 && p.id == id
				beside = drop || p.sequence >= 0
				taken = taken || drop
				return drop
			})
			if i == 0 {
				slices.Reverse(all)
			}
			*parts = all
		}
		if taken {
			t.replaced += fmt.Sprintf(" not %s=%d", [2]string{"begin", "end"}[i], id)
		}
	}
}

// maxSpecial bounds how many special tokens a template may add.
const maxSpecial = 64

// templatePart is a special token, or the place of sequence A or B.
type templatePart struct {
	sequence int // 0 for A, 1 for B, -1: special token
	id       int32
	typeID   int32
}

// template holds the special tokens around a text (single) and a pair of texts.
type template struct {
	single, pair []templatePart
	trim         bool // spans leave out white space at the ends of a token
}

// special returns the number of special tokens of parts.
func special(parts []templatePart) int {
	n := 0
	for _, p := range parts {
		if p.sequence < 0 {
			n++
		}
	}
	return n
}

func bareTemplate() *template {
	return &template{
		single: []templatePart{{sequence: 0}},
		pair:   []templatePart{{sequence: 0}, {sequence: 1, typeID: 1}},
	}
}

// parseTemplate reads the post_processor field. known returns the token of an id.
func parseTemplate(raw json.RawMessage, known func(id int32) (string, bool), depth int) (*template, error) {
	t := bareTemplate()
	if strictjson.IsNull(raw) {
		return t, nil
	}
	kind, err := typeOf(raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "TemplateProcessing":
		err = t.parse(raw, known)
	case "BertProcessing", "RobertaProcessing":
		err = t.parseOld(raw, known, kind == "RobertaProcessing")
	case "ByteLevel":
		var b *byteLevel
		if b, err = parseByteLevel(raw); err == nil {
			t.trim = b.trim
		}
	case "Sequence":
		return parseProcessors(raw, known, depth+1)
	default:
		return nil, fmt.Errorf("unknown type %q, allowed are TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and Sequence", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return t, nil
}

// parseProcessors reads a Sequence, in which at most one part may add tokens.
func parseProcessors(raw json.RawMessage, known func(id int32) (string, bool), depth int) (*template, error) {
	parts, err := sequence(raw, "processors", depth)
	if err != nil {
		return nil, err
	}
	all := bareTemplate()
	adds := false
	for i, r := range parts {
		t, err := parseTemplate(r, known, depth)
		if err != nil {
			return nil, fmt.Errorf("processors[%d]: %w", i, err)
		}
		all.trim = all.trim || t.trim
		if special(t.single)+special(t.pair) == 0 {
			continue
		}
		if adds {
			return nil, fmt.Errorf("processors[%d]: a second processor adds special tokens, allowed is one", i)
		}
		adds = true
		all.single, all.pair = t.single, t.pair
	}
	return all, nil
}

// piece is one part of TemplateProcessing in the file.
type templatePiece struct {
	Sequence *struct {
		ID     string `json:"id"`
		TypeID int32  `json:"type_id"`
	} `json:"Sequence"`
	SpecialToken *struct {
		ID     string `json:"id"`
		TypeID int32  `json:"type_id"`
	} `json:"SpecialToken"`
}

type templateToken struct {
	IDs    []int32  `json:"ids"`
	Tokens []string `json:"tokens"`
}

func (t *template) parse(raw json.RawMessage, known func(id int32) (string, bool)) error {
	var f struct {
		Single  []templatePiece          `json:"single"`
		Pair    []templatePiece          `json:"pair"`
		Special map[string]templateToken `json:"special_tokens"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	for name, s := range f.Special {
		if len(s.IDs) == 0 || len(s.IDs) != len(s.Tokens) || len(s.IDs) > maxSpecial {
			return fmt.Errorf("special_tokens %.40q: %d ids and %d tokens, want 1 to %d and as many tokens", name, len(s.IDs), len(s.Tokens), maxSpecial)
		}
		for i, id := range s.IDs {
			if tok, ok := known(id); !ok || tok != s.Tokens[i] {
				return fmt.Errorf("special_tokens %.40q: id %d is not the id of %.40q in the vocabulary", name, id, s.Tokens[i])
			}
		}
	}
	var err error
	if t.single, err = parts(f.Single, f.Special, 1); err != nil {
		return fmt.Errorf("single: %w", err)
	}
	if f.Pair == nil {
		return nil
	}
	if t.pair, err = parts(f.Pair, f.Special, 2); err != nil {
		return fmt.Errorf("pair: %w", err)
	}
	return nil
}

// parts checks a template that must name each of its sequences once.
func parts(pieces []templatePiece, special map[string]templateToken, sequences int) ([]templatePart, error) {
	var out []templatePart
	var seen [2]bool
	for i, p := range pieces {
		switch {
		case p.Sequence != nil && p.SpecialToken == nil:
			n := 0
			if p.Sequence.ID == "B" {
				n = 1
			}
			if p.Sequence.ID != "A" && p.Sequence.ID != "B" || n >= sequences || seen[n] {
				return nil, fmt.Errorf("piece %d: sequence %.40q, allowed is each of A and B once, B in pair only", i, p.Sequence.ID)
			}
			seen[n] = true
			if err := checkTypeID(p.Sequence.TypeID); err != nil {
				return nil, err
			}
			out = append(out, templatePart{sequence: n, typeID: p.Sequence.TypeID})
		case p.SpecialToken != nil && p.Sequence == nil:
			tok, ok := special[p.SpecialToken.ID]
			if !ok {
				return nil, fmt.Errorf("piece %d: special token %.40q is not in special_tokens", i, p.SpecialToken.ID)
			}
			if err := checkTypeID(p.SpecialToken.TypeID); err != nil {
				return nil, err
			}
			for _, id := range tok.IDs {
				out = append(out, templatePart{sequence: -1, id: id, typeID: p.SpecialToken.TypeID})
			}
			if len(out) > maxSpecial {
				return nil, fmt.Errorf("more than %d tokens", maxSpecial)
			}
		default:
			return nil, fmt.Errorf("piece %d: want one of Sequence and SpecialToken", i)
		}
	}
	for n := range sequences {
		if !seen[n] {
			return nil, errors.New("sequence " + "AB"[n:n+1] + " is missing")
		}
	}
	return out, nil
}

func checkTypeID(id int32) error {
	if id < 0 || id > 255 {
		return fmt.Errorf("type_id %d, allowed 0 to 255", id)
	}
	return nil
}

// specialPair is ["token", id].
type specialPair struct {
	token string
	id    int32
}

// UnmarshalJSON reads ["token", id].
func (p *specialPair) UnmarshalJSON(raw []byte) error {
	var two []json.RawMessage
	if err := json.Unmarshal(raw, &two); err != nil || len(two) != 2 {
		return fmt.Errorf("%.60s, want [token, id]", raw)
	}
	if err := json.Unmarshal(two[0], &p.token); err != nil {
		return err
	}
	return json.Unmarshal(two[1], &p.id)
}

// parseOld reads BertProcessing and RobertaProcessing.
func (t *template) parseOld(raw json.RawMessage, known func(id int32) (string, bool), roberta bool) error {
	f := struct {
		Sep  *specialPair `json:"sep"`
		Cls  *specialPair `json:"cls"`
		Trim bool         `json:"trim_offsets"`
	}{Trim: true}
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	if f.Sep == nil || f.Cls == nil {
		return errors.New("sep and cls must be given as [token, id]")
	}
	for _, p := range []*specialPair{f.Sep, f.Cls} {
		if tok, ok := known(p.id); !ok || tok != p.token {
			return fmt.Errorf("id %d is not the id of %.40q in the vocabulary", p.id, p.token)
		}
	}
	cls, sep := templatePart{-1, f.Cls.id, 0}, templatePart{-1, f.Sep.id, 0}
	t.single = []templatePart{cls, {sequence: 0}, sep}
	if roberta {
		t.trim = f.Trim
		t.pair = []templatePart{cls, {sequence: 0}, sep, sep, {sequence: 1}, sep}
		return nil
	}
	t.pair = []templatePart{cls, {sequence: 0}, sep, {sequence: 1, typeID: 1}, {-1, f.Sep.id, 1}}
	return nil
}
