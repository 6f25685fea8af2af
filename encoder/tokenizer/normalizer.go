package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/internal/strictjson"

	"golang.org/x/text/unicode/norm"
)

// normalizer is one step of normalisation. It writes the new text to dst and returns true, or
// returns false if nothing changes; dst is then undefined. Implementations are read-only and safe
// for concurrent use.
type normalizer interface {
	normalize(dst, src *aligned) bool
}

// normalizeAll applies the steps to cur and returns the result and the other buffer.
func normalizeAll(steps []normalizer, cur, next *aligned) (out, free *aligned) {
	for _, s := range steps {
		if s.normalize(next, cur) {
			cur, next = next, cur
		}
	}
	return cur, next
}

// component is the common field of all parts of a pipeline in tokenizer.json.
type component struct {
	Type string `json:"type"`
}

func typeOf(raw json.RawMessage) (string, error) {
	var c component
	if err := json.Unmarshal(raw, &c); err != nil {
		return "", fmt.Errorf("want an object with type: %w", err)
	}
	return c.Type, nil
}

// maxSequence bounds how deep Sequence may nest in itself.
const maxSequence = 16

// sequence returns the parts of a Sequence under key; depth is its nesting depth, itself included.
func sequence(raw json.RawMessage, key string, depth int) (parts []json.RawMessage, err error) {
	if depth > maxSequence {
		return nil, fmt.Errorf("Sequence nested deeper than %d", maxSequence)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if list := fields[key]; !strictjson.IsNull(list) {
		err = json.Unmarshal(list, &parts)
	}
	return parts, err
}

// parseSteps reads a field that holds one part of a kind, or a Sequence of them under key, and
// returns them in order, Sequences flattened.
func parseSteps[S any](raw json.RawMessage, key string, depth int, parse func(kind string, raw json.RawMessage) (S, error)) ([]S, error) {
	if strictjson.IsNull(raw) {
		return nil, nil
	}
	kind, err := typeOf(raw)
	if err != nil {
		return nil, err
	}
	if kind != "Sequence" {
		s, err := parse(kind, raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		return []S{s}, nil
	}
	depth++
	parts, err := sequence(raw, key, depth)
	if err != nil {
		return nil, err
	}
	var steps []S
	for i, part := range parts {
		s, err := parseSteps(part, key, depth, parse)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
		}
		if steps = append(steps, s...); len(steps) > maxSteps { // before the others take memory
			return nil, fmt.Errorf("at least %d steps, allowed are at most %d", len(steps), maxSteps)
		}
	}
	return steps, nil
}

// parseNormalizer reads one step of the normalizer field.
func parseNormalizer(kind string, raw json.RawMessage) (normalizer, error) {
	switch kind {
	case "BertNormalizer":
		return parseBertNormalizer(raw)
	case "Lowercase":
		return lowercase{}, nil
	case "NFC":
		return newUnicodeForm(norm.NFC), nil
	case "NFD":
		return newUnicodeForm(norm.NFD), nil
	case "NFKC":
		return newUnicodeForm(norm.NFKC), nil
	case "NFKD":
		return newUnicodeForm(norm.NFKD), nil
	case "StripAccents":
		return runeFilter(func(r rune) rune {
			if unicode.Is(combiningMarks, r) {
				return -1
			}
			return r
		}), nil
	case "Nmt":
		return runeFilter(nmt), nil
	case "Strip", "StripNormalizer":
		return parseStrip(raw)
	case "Prepend":
		return parsePrepend(raw)
	case "Replace":
		return parseReplace(raw)
	case "Precompiled":
		return parsePrecompiled(raw)
	case "ByteLevel":
		return byteLevelNormalizer{}, nil
	}
	return nil, fmt.Errorf("unknown type %q, allowed are BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, "+
		"Strip, Replace, Prepend, Nmt, Precompiled, ByteLevel and Sequence", kind)
}

// lowercase maps each character by its full lower-case mapping, without regard to its neighbours.
type lowercase struct{}

func appendLower(dst []byte, r rune) []byte {
	if r == 'İ' { // the only unconditional mapping to two characters
		return append(dst, "i\u0307"...)
	}
	return utf8.AppendRune(dst, unicode.ToLower(r))
}

func (lowercase) normalize(dst, src *aligned) bool {
	changed := false
	for i := 0; i < len(src.b) && !changed; {
		r, n := utf8.DecodeRune(src.b[i:])
		changed = r == 'İ' || unicode.ToLower(r) != r
		i += n
	}
	if !changed {
		return false
	}
	dst.reset()
	var buf [utf8.UTFMax]byte
	for i := 0; i < len(src.b); {
		r, n := utf8.DecodeRune(src.b[i:])
		dst.put(appendLower(buf[:0], r), src.source(i, i+n))
		i += n
	}
	return true
}

// runeFilter maps each character to another one, or to nothing where it returns -1.
type runeFilter func(r rune) rune

func (f runeFilter) normalize(dst, src *aligned) bool {
	dst.reset()
	changed := false
	var buf [utf8.UTFMax]byte
	for i := 0; i < len(src.b); {
		r, n := utf8.DecodeRune(src.b[i:])
		if m := f(r); m == r {
			dst.keep(src, i, i+n)
		} else {
			changed = true
			if m >= 0 {
				dst.put(utf8.AppendRune(buf[:0], m), src.source(i, i+n))
			}
		}
		i += n
	}
	return changed
}

// nmt is the clean-up of the nmt rules of SentencePiece.
func nmt(r rune) rune {
	switch {
	case r >= 0x01 && r <= 0x08, r == 0x0B, r >= 0x0E && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return -1
	case r == 0x09, r == 0x0A, r == 0x0C, r == 0x0D, r == 0x1680, r >= 0x200B && r <= 0x200F,
		r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return ' '
	}
	return r
}

// strip removes white space at the ends.
type strip struct{ left, right bool }

func parseStrip(raw json.RawMessage) (normalizer, error) {
	var f struct {
		Left  *bool `json:"strip_left"`
		Right *bool `json:"strip_right"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f.Left == nil || f.Right == nil {
		return nil, fmt.Errorf("strip_left and strip_right must be true or false")
	}
	return strip{*f.Left, *f.Right}, nil
}

func (s strip) normalize(dst, src *aligned) bool {
	i, j := 0, len(src.b)
	if s.left {
		i = j - len(bytes.TrimLeftFunc(src.b, unicode.IsSpace))
	}
	if s.right {
		j = i + len(bytes.TrimRightFunc(src.b[i:], unicode.IsSpace))
	}
	if i == 0 && j == len(src.b) {
		return false
	}
	dst.reset()
	dst.keep(src, i, j)
	return true
}

// prepend puts a text before a non-empty text. The new bytes have the source of the first
// character.
type prepend string

func parsePrepend(raw json.RawMessage) (normalizer, error) {
	var f struct {
		Prepend *string `json:"prepend"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f.Prepend == nil || len(*f.Prepend) > maxToken {
		return nil, fmt.Errorf("prepend must be a string of at most %d bytes", maxToken)
	}
	return prepend(*f.Prepend), nil
}

func (p prepend) normalize(dst, src *aligned) bool {
	if len(src.b) == 0 || p == "" {
		return false
	}
	_, n := utf8.DecodeRune(src.b)
	dst.reset()
	dst.putString(string(p), src.source(0, n))
	dst.keep(src, 0, len(src.b))
	return true
}

// replace replaces each match by content, whose bytes have the source of the match.
type replace struct {
	find    matcher
	content string
}

func parseReplace(raw json.RawMessage) (*replace, error) {
	var f struct {
		Pattern json.RawMessage `json:"pattern"`
		Content *string         `json:"content"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f.Content == nil || len(*f.Content) > maxToken {
		return nil, fmt.Errorf("content must be a string of at most %d bytes", maxToken)
	}
	p, err := parsePattern(f.Pattern)
	if err != nil {
		return nil, err
	}
	rep := &replace{find: literal(p.literal), content: *f.Content}
	if p.regex != "" {
		t, err := translateRegex(p.regex)
		if err != nil {
			return nil, err
		}
		if t.backOff > 0 {
			return nil, fmt.Errorf("pattern %q: look-ahead is not supported here", p.regex)
		}
		rep.find = t
	}
	return rep, nil
}

func (p *replace) normalize(dst, src *aligned) bool {
	dst.reset()
	end := 0
	p.find.matches(src.b, func(i, j int) {
		dst.keep(src, end, i)
		dst.putString(p.content, src.source(i, j))
		end = j
	})
	if end == 0 {
		return false
	}
	dst.keep(src, end, len(src.b))
	return true
}
