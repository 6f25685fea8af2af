package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
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

const (
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

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

// scanner is a pattern that matches everywhere: it returns the end of the match at i.
type scanner func(b []byte, i int) int

func (s scanner) matches(b []byte, f func(i, j int)) {
	for i := 0; i < len(b); {
		j := s(b, i)
		f(i, j)
		i = j
	}
}

// scanners are the patterns that are scanned by hand.
var scanners = map[string]scanner{
	gpt2Pattern:   scanGPT2,
	llama3Pattern: func(b []byte, i int) int { return scanLlama(b, i, 3) },
	qwen2Pattern:  func(b []byte, i int) int { return scanLlama(b, i, 1) },
}

var gpt2Split = &patternSplit{find: scanner(scanGPT2), mode: isolated}

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
	if scan := scanners[p.regex]; scan != nil {
		s.find = scan
	} else if p.regex != "" {
		if s.find, err = translateRegex(p.regex); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *patternSplit) split(p *pipe) {
	if scan, ok := s.find.(scanner); ok && (s.mode == isolated || s.mode == removed && s.invert) {
		p.eachWord(func(w span) { // without marks, since all of it is matches
			b := p.cur.b[:w.end]
			for i := int(w.start); i < len(b); {
				j := scan(b, i)
				p.add(i, j)
				i = j
			}
		})
		return
	}
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

// kind of a character in the patterns of the GPT family
const (
	kindOther = iota
	kindLetter
	kindNumber
	kindSpace
)

var asciiKind = func() (k [utf8.RuneSelf]uint8) {
	for c := range k {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			k[c] = kindLetter
		case c >= '0' && c <= '9':
			k[c] = kindNumber
		case c >= '\t' && c <= '\r' || c == ' ':
			k[c] = kindSpace
		}
	}
	return
}()

// kindAt returns the kind of the character at i and its length, 0 at the end.
func kindAt(b []byte, i int) (kind uint8, n int) {
	if i >= len(b) {
		return kindOther, 0
	}
	if b[i] < utf8.RuneSelf {
		return asciiKind[b[i]], 1
	}
	r, n := utf8.DecodeRune(b[i:])
	switch {
	case unicode.IsLetter(r):
		kind = kindLetter
	case unicode.IsNumber(r):
		kind = kindNumber
	case unicode.IsSpace(r):
		kind = kindSpace
	}
	return kind, n
}

// run returns the end of the run of characters of kind at i.
func run(b []byte, i int, kind uint8) int {
	for {
		k, n := kindAt(b, i)
		if n == 0 || k != kind {
			return i
		}
		i += n
	}
}

// spaces returns the end of the match of \s+(?!\S)|\s+ at i, given the end of the run.
func spaces(b []byte, i, end int) int {
	if end < len(b) {
		if _, n := utf8.DecodeLastRune(b[i:end]); i < end-n {
			return end - n
		}
	}
	return end
}

func scanGPT2(b []byte, i int) int {
	if b[i] == '\'' && i+1 < len(b) {
		switch b[i+1] {
		case 's', 't', 'm', 'd':
			return i + 2
		}
		if i+2 < len(b) {
			switch string(b[i+1 : i+3]) {
			case "re", "ve", "ll":
				return i + 3
			}
		}
	}
	j := i
	if b[i] == ' ' {
		j++
	}
	if k, n := kindAt(b, j); n > 0 && k != kindSpace {
		return run(b, j+n, k)
	}
	return spaces(b, i, run(b, i, kindSpace))
}

// scanLlama is the pattern of Llama 3 with runs of up to digits digits, and with 1 that of Qwen 2.
func scanLlama(b []byte, i, digits int) int {
	if n := contraction(b[i:]); n > 0 {
		return i + n
	}
	k, n := kindAt(b, i)
	if k == kindLetter {
		return run(b, i+n, kindLetter)
	}
	if k != kindNumber && b[i] != '\r' && b[i] != '\n' {
		if k2, n2 := kindAt(b, i+n); n2 > 0 && k2 == kindLetter {
			return run(b, i+n+n2, kindLetter)
		}
	}
	if k == kindNumber {
		j := i + n
		for range digits - 1 {
			k, n := kindAt(b, j)
			if n == 0 || k != kindNumber {
				break
			}
			j += n
		}
		return j
	}
	j := i
	if b[i] == ' ' {
		j++
	}
	if k, n := kindAt(b, j); n > 0 && k == kindOther {
		j = run(b, j+n, kindOther)
		for j < len(b) && (b[j] == '\r' || b[j] == '\n') {
			j++
		}
		return j
	}
	end := run(b, i, kindSpace)
	for j := end; j > i; j-- {
		if b[j-1] == '\r' || b[j-1] == '\n' {
			return j
		}
	}
	return spaces(b, i, end)
}

// contraction returns the length of 's 't 're 've 'm 'll or 'd at the start of b in either case, 0
// where there is none.
func contraction(b []byte) int {
	if len(b) < 2 || b[0] != '\'' {
		return 0
	}
	switch b[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(b) < 3 {
		return 0
	}
	if string(b[1:3]) == "ſ" { // folds to s
		return 3
	}
	switch string([]byte{b[1] | 0x20, b[2] | 0x20}) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}
