package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxPattern bounds the length of a regular expression in bytes.
const maxPattern = 1 << 10

// pattern is the pattern field of Split and Replace: a literal text or a regular expression.
type pattern struct{ literal, regex string }

func parsePattern(raw json.RawMessage) (pattern, error) {
	var f struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return pattern{}, fmt.Errorf("pattern: %w", err)
	}
	switch {
	case f.String != nil && f.Regex == nil:
		if len(*f.String) > maxPattern {
			return pattern{}, fmt.Errorf("pattern of %d bytes, allowed up to %d", len(*f.String), maxPattern)
		}
		return pattern{literal: *f.String}, nil
	case f.Regex != nil && f.String == nil && *f.Regex != "":
		if len(*f.Regex) > maxPattern {
			return pattern{}, fmt.Errorf("pattern of %d bytes, allowed up to %d", len(*f.Regex), maxPattern)
		}
		return pattern{regex: *f.Regex}, nil
	}
	return pattern{}, fmt.Errorf("pattern %.60s, want one of String and Regex", raw)
}

// gpt2Pattern is the pattern of ByteLevel.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// matcher calls f with the range of each match of a pattern that is not empty.
type matcher interface {
	matches(b []byte, f func(i, j int))
}

// literal matches itself.
type literal []byte

func (l literal) matches(b []byte, f func(i, j int)) {
	for at := 0; len(l) > 0; {
		i := bytes.Index(b[at:], l)
		if i < 0 {
			return
		}
		f(at+i, at+i+len(l))
		at += i + len(l)
	}
}

// patternSplit splits at the matches of a pattern.
type patternSplit struct {
	find   matcher
	mode   behavior
	invert bool
}

func parseSplit(raw json.RawMessage) (preTokenizer, error) {
	var f struct {
		Pattern  json.RawMessage `json:"pattern"`
		Behavior *behavior       `json:"behavior"`
		Invert   bool            `json:"invert"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f.Behavior == nil {
		return nil, fmt.Errorf("behavior is missing, allowed are %v", behaviorNames)
	}
	p, err := parsePattern(f.Pattern)
	if err != nil {
		return nil, err
	}
	s := &patternSplit{find: literal(p.literal), mode: *f.Behavior, invert: f.Invert}
	if p.regex != "" {
		if s.find, err = translateRegex(p.regex); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *patternSplit) split(p *pipe) {
	p.eachWord(func(w span) {
		p.marks = p.marks[:0]
		b, base, end := p.cur.b[w.start:w.end], int(w.start), 0
		s.find.matches(b, func(i, j int) {
			if end < i {
				p.marks = append(p.marks, mark{base + end, base + i, s.invert})
			}
			p.marks = append(p.marks, mark{base + i, base + j, !s.invert})
			end = j
		})
		if end < len(b) {
			p.marks = append(p.marks, mark{base + end, int(w.end), s.invert})
		}
		s.mode.apply(p, p.marks)
	})
}
