package keyword

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// innerPart is the type of terms that are parts of words and that no query asks for, see [runs].
const innerPart = analysis.TokenType(65)

// leastRun is the number of letters of a part of a word with several runs of digits.
const leastRun = 3

// runs is a token filter that adds the parts of words and numbers by which people ask for the
// whole:
//
//  1. The letters and the digits of a word that has both: iphone and 15 of iPhone15, gb of 16gb. Of
//     a word where they change more than once, as in mp3player, letters alone, three and more; but
//     all of 15T14 and the like, which come from times as 2024-03-15T14:30 writes them.
//  2. The beginnings of numbers with several full stops: 2 and 2.10 of 2.10.3, but not 1.234 of
//     1.234.567 where full stops separate thousands. Behind letters one full stop is enough: 2 of
//     v2.10.
//
// It must stand before filters that change the length of terms, because it finds the parts' places
// in the text.
type runs struct{ thousands thousands }

// Filter implements analysis.TokenFilter.
func (f runs) Filter(input analysis.TokenStream) analysis.TokenStream {
	if !bytesIn(input, isDigit) {
		return input
	}
	output := make(analysis.TokenStream, 0, len(input)+4)
	for i, t := range input {
		output = append(output, t)
		if t.Type == wholeName || t.Type == analysis.Ideographic || t.Type == symbol {
			continue
		}
		if !bytes.ContainsFunc(t.Term, unicode.IsLetter) {
			behind := i > 0 && input[i-1].End == t.Start && input[i-1].Type != symbol && endsInLetter(input[i-1].Term)
			output = f.beginnings(output, t, behind)
			continue
		}
		output = letterRuns(output, t)
	}
	return output
}

func bytesIn(tokens analysis.TokenStream, is func(c byte) bool) bool {
	for _, t := range tokens {
		for _, c := range t.Term {
			if c >= utf8.RuneSelf || is(c) { // a digit of another script
				return true
			}
		}
	}
	return false
}

// letterRuns appends the letters and digits of a word, by rule 1 of runs.
func letterRuns(dst analysis.TokenStream, t *analysis.Token) analysis.TokenStream {
	var borders []int
	wasDigit, time := false, true // time: digits, and T or Z for letters
	for i, r := range string(t.Term) {
		digit := unicode.IsDigit(r)
		switch {
		case digit || r == 'T' || r == 'Z':
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
	time = time && isDigit(t.Term[0])
	start := 0
	for _, end := range append(borders, len(t.Term)) {
		run := t.Term[start:end]
		if len(borders) == 1 || time || !unicode.IsDigit(firstRune(run)) && utf8.RuneCount(run) >= leastRun {
			dst = withPart(dst, part(t, start, end))
		}
		start = end
	}
	return dst
}

// beginnings appends those of a number, by rule 2 of runs.
func (f runs) beginnings(dst analysis.TokenStream, t *analysis.Token, behindLetters bool) analysis.TokenStream {
	groups := bytes.Split(t.Term, []byte("."))
	least := 3
	if behindLetters {
		least = 2
	}
	if len(groups) < least || len(groups) > 8 || f.thousands == '.' && f.thousands.parts(string(t.Term)) {
		return dst
	}
	end := 0
	for i, g := range groups {
		if len(g) == 0 || !allDigits(g) {
			return dst
		}
		if i > 0 {
			dst = withPart(dst, part(t, 0, end-1))
		}
		end += len(g) + 1
	}
	return dst
}

// withPart appends a part, unless a longer word has had it.
func withPart(dst analysis.TokenStream, p *analysis.Token) analysis.TokenStream {
	for i := len(dst) - 1; i >= max(0, len(dst)-16); i-- {
		if dst[i].Start == p.Start && dst[i].End == p.End {
			return dst
		}
	}
	p.Type = innerPart
	return append(dst, p)
}

func firstRune(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}
