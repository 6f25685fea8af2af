package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// pipe is the state of pre-tokenisation: the text and its words so far, in order, none empty. A
// step reads words by eachWord and returns its own by add; a step that rewrites the text uses
// rewrite.
type pipe struct {
	cur, tmp *aligned
	words    []span // ranges of cur.b
	next     []span
	marks    []mark
	origin   int // where the source of cur begins in the whole text
}

func (p *pipe) add(start, end int) {
	if start < end {
		p.next = append(p.next, span{int32(start), int32(end)})
	}
}

// eachWord calls f for each word; the words that f adds replace it.
func (p *pipe) eachWord(f func(w span)) {
	p.next = p.next[:0]
	for _, w := range p.words {
		f(w)
	}
	p.words, p.next = p.next, p.words
}

// rewrite calls f for each word; what f appends to dst is the word's new text.
func (p *pipe) rewrite(f func(dst *aligned, w span)) {
	p.tmp.reset()
	p.eachWord(func(w span) {
		start := len(p.tmp.b)
		f(p.tmp, w)
		p.add(start, len(p.tmp.b))
	})
	p.cur, p.tmp = p.tmp, p.cur
}

// preTokenizer is one step of cutting a text into words. Read-only and safe for concurrent use.
type preTokenizer interface {
	split(p *pipe)
}

// parsePreTokenizer reads one step of the pre_tokenizer field.
func parsePreTokenizer(kind string, raw json.RawMessage) (preTokenizer, error) {
	switch kind {
	case "BertPreTokenizer":
		return bertPreTokenizer{}, nil
	case "Whitespace":
		return whitespace{}, nil
	case "WhitespaceSplit":
		return runeSplit{unicode.IsSpace, removed}, nil
	case "Punctuation":
		f := struct {
			Behavior behavior `json:"behavior"`
		}{isolated}
		err := json.Unmarshal(raw, &f)
		return runeSplit{isPunctuation, f.Behavior}, err
	case "Digits":
		var f struct {
			Individual bool `json:"individual_digits"`
		}
		err := json.Unmarshal(raw, &f)
		if f.Individual {
			return runeSplit{unicode.IsNumber, isolated}, err
		}
		return runeSplit{unicode.IsNumber, contiguous}, err
	case "CharDelimiterSplit", "Delimiter":
		var f struct {
			Delimiter string `json:"delimiter"`
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, err
		}
		d, n := utf8.DecodeRuneInString(f.Delimiter)
		if n == 0 || n != len(f.Delimiter) {
			return nil, fmt.Errorf("delimiter %.40q, want one character", f.Delimiter)
		}
		return runeSplit{func(r rune) bool { return r == d }, removed}, nil
	case "FixedLength":
		f := struct {
			Length int `json:"length"`
		}{5}
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, err
		}
		if f.Length < 1 {
			return nil, fmt.Errorf("length %d, allowed 1 and more", f.Length)
		}
		return fixedLength(f.Length), nil
	case "Metaspace":
		return parseMetaspace(raw)
	case "ByteLevel":
		return parseByteLevel(raw)
	case "Split":
		return parseSplit(raw)
	}
	return nil, fmt.Errorf("unknown type %q, allowed are BertPreTokenizer, Whitespace, WhitespaceSplit, ByteLevel, Metaspace, "+
		"Punctuation, Digits, Split, CharDelimiterSplit, FixedLength and Sequence", kind)
}

// behavior is what happens to the matches at which a text is split.
type behavior uint8

const (
	removed            behavior = iota // a match is dropped
	isolated                           // a match is a word
	mergedWithPrevious                 // a match ends the word before it
	mergedWithNext                     // a match begins the word after it
	contiguous                         // neighbouring matches are one word
)

var behaviorNames = [...]string{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}

// UnmarshalJSON reads the name of a behaviour.
func (b *behavior) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("behavior: %w", err)
	}
	for i, name := range behaviorNames {
		if s == name {
			*b = behavior(i)
			return nil
		}
	}
	return fmt.Errorf("behavior %.40q, allowed are %v", s, behaviorNames)
}

// mark is a part of a word that matches a pattern, or one between matches.
type mark struct {
	start, end int
	match      bool
}

// apply adds the words that marks, which cover a word without gaps, make.
func (b behavior) apply(p *pipe, marks []mark) {
	switch b {
	case removed:
		for _, m := range marks {
			if !m.match {
				p.add(m.start, m.end)
			}
		}
	case isolated:
		for _, m := range marks {
			p.add(m.start, m.end)
		}
	case contiguous:
		for i := 0; i < len(marks); {
			j := i + 1
			for j < len(marks) && marks[j].match == marks[i].match {
				j++
			}
			p.add(marks[i].start, marks[j-1].end)
			i = j
		}
	case mergedWithPrevious:
		for i := 0; i < len(marks); i++ {
			m := marks[i]
			if !m.match && i+1 < len(marks) && marks[i+1].match {
				i++
				m.end = marks[i].end
			}
			p.add(m.start, m.end)
		}
	case mergedWithNext:
		for i := 0; i < len(marks); i++ {
			m := marks[i]
			if m.match && i+1 < len(marks) && !marks[i+1].match {
				i++
				m.end = marks[i].end
			}
			p.add(m.start, m.end)
		}
	}
}

// runeSplit splits at each character for which is holds.
type runeSplit struct {
	is   func(rune) bool
	mode behavior
}

func (s runeSplit) split(p *pipe) {
	p.eachWord(func(w span) {
		p.marks = p.marks[:0]
		start := int(w.start)
		for i := start; i < int(w.end); {
			r, n := utf8.DecodeRune(p.cur.b[i:w.end])
			if s.is(r) {
				if start < i {
					p.marks = append(p.marks, mark{start, i, false})
				}
				p.marks = append(p.marks, mark{i, i + n, true})
				start = i + n
			}
			i += n
		}
		if start < int(w.end) {
			p.marks = append(p.marks, mark{start, int(w.end), false})
		}
		s.mode.apply(p, p.marks)
	})
}

// whitespace keeps runs of word characters and runs of other characters that are not white space:
// \w+|[^\w\s]+
type whitespace struct{}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic) ||
		r == 0x200C || r == 0x200D
}

func (whitespace) split(p *pipe) {
	class := func(r rune) int {
		switch {
		case isWord(r):
			return 1
		case unicode.IsSpace(r):
			return 0
		}
		return 2
	}
	p.eachWord(func(w span) {
		start, last := int(w.start), 0
		for i := start; i < int(w.end); {
			r, n := utf8.DecodeRune(p.cur.b[i:w.end])
			if c := class(r); c != last {
				if last != 0 {
					p.add(start, i)
				}
				start, last = i, c
			}
			i += n
		}
		if last != 0 {
			p.add(start, int(w.end))
		}
	})
}

// fixedLength cuts words into pieces of that many characters.
type fixedLength int

func (f fixedLength) split(p *pipe) {
	p.eachWord(func(w span) {
		start, count := int(w.start), 0
		for i := start; i < int(w.end); {
			_, n := utf8.DecodeRune(p.cur.b[i:w.end])
			i += n
			if count++; count == int(f) {
				p.add(start, i)
				start, count = i, 0
			}
		}
		p.add(start, int(w.end))
	})
}
