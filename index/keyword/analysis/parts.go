package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// addParts is a token filter that adds the parts of words and numbers by which people ask for the
// whole:
//
//  1. The letters and the digits of a word that has both: iphone and 15 of iPhone15, gb of 16gb. If
//     they alternate more than once, as in mp3player, only parts of at least minLetters letters, and
//     two or more letters with the digits behind them, mp3; 100 and m2 of 100m2; but all parts of
//     15T14 and the like, which come from times such as 2024-03-15T14:30.
//  2. The beginnings of numbers with several full stops: 2 and 2.10 of 2.10.3, but not 1.234 of
//     1.234.567 where full stops separate thousands. After letters one full stop is enough: 2 of
//     v2.10.
type addParts struct{ thousands joinThousands }

const minLetters = 3

// Filter implements analysis.TokenFilter.
func (f addParts) Filter(input analysis.TokenStream) analysis.TokenStream {
	if !mayHaveDigit(input) {
		return input
	}
	output := make(analysis.TokenStream, 0, len(input)+4)
	for i, t := range input {
		output = append(output, t)
		switch {
		case t.Type == nameType || t.Type == analysis.Ideographic || t.Type == symbolType:
		case bytes.ContainsFunc(t.Term, unicode.IsLetter):
			output = appendRuns(output, t)
		default:
			afterLetters := i > 0 && input[i-1].End == t.Start && input[i-1].Type != symbolType && endsInLetter(input[i-1].Term)
			output = f.appendPrefixes(output, t, afterLetters)
		}
	}
	return output
}

// mayHaveDigit reports whether any token has a digit, or a character beyond ASCII, which may be
// one.
func mayHaveDigit(tokens analysis.TokenStream) bool {
	for _, t := range tokens {
		for _, c := range t.Term {
			if c >= utf8.RuneSelf || IsDigit(c) {
				return true
			}
		}
	}
	return false
}

// appendRuns appends the letters and digits of a word, see rule 1 of addParts.
func appendRuns(dst analysis.TokenStream, t *analysis.Token) analysis.TokenStream {
	var borders []int
	wasDigit, time := false, true // time: digits with T or Z
	for i, r := range string(t.Term) {
		digit := unicode.IsDigit(r)
		switch {
		case digit || r|0x20 == 't' || r|0x20 == 'z':
		case unicode.IsLetter(r) || unicode.IsMark(r) || isApostrophe(r):
			time = false
		default:
			return dst
		}
		if i > 0 && digit != wasDigit {
			borders = append(borders, i)
		}
		wasDigit = digit
	}
	if len(borders) == 0 || len(borders) > 8 {
		return dst
	}
	time = time && IsDigit(t.Term[0])
	if len(borders) == 2 && IsDigit(t.Term[0]) && !time { // a number and a unit such as m2
		dst = appendPart(appendPart(dst, subToken(t, 0, borders[0])), subToken(t, borders[0], len(t.Term)))
	}
	start, before := 0, 0
	for _, end := range append(borders, len(t.Term)) {
		run := t.Term[start:end]
		digits := unicode.IsDigit(firstRune(run))
		if len(borders) == 1 || time || !digits && utf8.RuneCount(run) >= minLetters {
			dst = appendPart(dst, subToken(t, start, end))
		}
		if digits && len(borders) > 1 && !time && utf8.RuneCount(t.Term[before:start]) > 1 {
			dst = appendPart(dst, subToken(t, before, end))
		}
		before, start = start, end
	}
	return dst
}

// appendPrefixes appends the beginnings of a number, see rule 2 of addParts.
func (f addParts) appendPrefixes(dst analysis.TokenStream, t *analysis.Token, afterLetters bool) analysis.TokenStream {
	groups := bytes.Split(t.Term, []byte("."))
	least := 3
	if afterLetters {
		least = 2
	}
	if len(groups) < least || len(groups) > 8 || f.thousands == '.' && f.thousands.separates(string(t.Term)) {
		return dst
	}
	end := 0
	for i, g := range groups {
		if len(g) == 0 || !allDigits(g) {
			return dst
		}
		if i > 0 {
			dst = appendPart(dst, subToken(t, 0, end-1))
		}
		end += len(g) + 1
	}
	return dst
}

// appendPart appends a part, unless a token for the same bytes is there.
func appendPart(dst analysis.TokenStream, p *analysis.Token) analysis.TokenStream {
	for i := len(dst) - 1; i >= max(0, len(dst)-16); i-- {
		if dst[i].Start == p.Start && dst[i].End == p.End {
			return dst
		}
	}
	p.Type = partType
	return append(dst, p)
}
