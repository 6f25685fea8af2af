// Package querytext parses what a user types into a search box and corrects misspelled words.
package querytext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a parsed query.
//
// The rules:
//  1. "two words" is a phrase: its words must occur next to one another, in this order, in one
//     searched field, of a list in one element. The analysis of the collection's language applies:
//     "running shoes" is also found as "running shoe". Stop words are words, too. A quote opens a
//     phrase where no letter or digit stands before it, and closes it where none stands after it;
//     letters of scripts that put no space between words, and of Hangul, do not count: 今日の"天気予報"は
//     has a phrase. “ ” „ and the full-width ＂ are quotes too.
//  2. -word and -"two words" exclude the documents that have the word, in any of its forms, or
//     exactly the phrase in any searched field. The minus stands at the beginning or after white
//     space, and a letter, an emoji or a phrase follows at once. -40 is a number. The full-width －
//     is a minus too.
//  3. Everything else is literal text: a quote that nothing closes, 5" in the middle of words, a
//     lone minus, --flag, AND, OR, *, ^, :, ~.
//  4. A document that lacks a phrase or has an excluded word is not found, in no mode: neither by
//     words nor by meaning.
//  5. Text is what is left without quotes and exclusions. Keyword search ranks by its words and
//     the checkpoint encodes it. Where it is empty nothing is ranked: all documents that are not
//     excluded are found.
//  6. Words that no document has may be read as others, see [Respelling].
//  7. A phrase or an exclusion of which the analysis leaves nothing is ignored, and named in
//     Ignored.
type Text struct {
	Text    string   `json:"text"`
	Phrases []string `json:"phrases,omitempty"`
	Without []string `json:"without,omitempty"`
	Ignored []string `json:"ignored,omitempty"`

	Respelled []Respelling `json:"respelled,omitempty"` // in Text
	Completed *Respelling  `json:"completed,omitempty"` // the word that was not finished; in Text, unless the checkpoint knows it: then by words alone
}

// Differs reports whether the query has operators or a word was read as another.
func (t Text) Differs() bool {
	return len(t.Phrases)+len(t.Without)+len(t.Ignored)+len(t.Respelled) > 0 || t.Completed != nil
}

// Parse parses a query. A query without operators is its own Text, byte by byte.
func Parse(q string) Text {
	var t Text
	var text strings.Builder
	last := lastClosing(q)
	before := ' ' // the character before q[i]
	for i := 0; i < len(q); {
		r, size := utf8.DecodeRuneInString(q[i:])
		if (r == '-' || r == '－') && unicode.IsSpace(before) {
			if what, end := excluded(q, i+size, last); what != "" {
				t.Without = append(t.Without, what)
				text.WriteByte(' ')
				before, _ = utf8.DecodeLastRuneInString(q[:end])
				i = end
				continue
			}
		}
		if isQuote(r) && !joinsQuote(before) {
			if phrase, end := quoted(q, i+size, last); phrase != "" {
				t.Phrases = append(t.Phrases, phrase)
				text.WriteString(" " + phrase + " ")
				before, i = '"', end
				continue
			}
		}
		text.WriteRune(r)
		before = r
		i += size
	}
	if len(t.Phrases)+len(t.Without) == 0 {
		t.Text = q
		return t
	}
	if t.Text = strings.Join(strings.Fields(text.String()), " "); !strings.ContainsFunc(t.Text, isWordRune) {
		t.Text = ""
	}
	return t
}

// excluded reads what a minus before q[at:] excludes and where it ends; "" for nothing.
func excluded(q string, at, last int) (what string, end int) {
	r, size := utf8.DecodeRuneInString(q[at:])
	switch {
	case isQuote(r):
		return quoted(q, at+size, last)
	case unicode.IsLetter(r), isSign(r):
		end = len(q)
		if i := strings.IndexFunc(q[at:], unicode.IsSpace); i >= 0 {
			end = at + i
		}
		return q[at:end], end
	}
	return "", at
}

// quoted reads the phrase whose opening quote ends at q[at], and where it ends; "" where no quote
// closes it or it has no words. The last quote of q that may close one is at q[last], so that many
// which nothing closes are not each looked for to the end.
func quoted(q string, at, last int) (phrase string, end int) {
	for i := at; i <= last; {
		r, size := utf8.DecodeRuneInString(q[i:])
		if isQuote(r) {
			if closes(q, i+size) {
				if phrase = strings.Join(strings.Fields(q[at:i]), " "); !strings.ContainsFunc(phrase, isWordRune) {
					phrase = ""
				}
				return phrase, i + size
			}
		}
		i += size
	}
	return "", at
}

// lastClosing returns where the last quote of q that may close a phrase is, -1 for none.
func lastClosing(q string) int {
	for end := len(q); end > 0; {
		r, size := utf8.DecodeLastRuneInString(q[:end])
		if isQuote(r) && closes(q, end) {
			return end - size
		}
		end -= size
	}
	return -1
}

// closes says whether a quote that ends at q[end] may close a phrase.
func closes(q string, end int) bool {
	after, _ := utf8.DecodeRuneInString(q[end:])
	return !joinsQuote(after)
}

// Unspaced are the scripts that put no space between words.
var Unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

func isQuote(r rune) bool { return r == '"' || r == '“' || r == '”' || r == '„' || r == '＂' }

// joinsQuote says whether a quote next to r is part of a word: 5" and O"Brien. The long vowel of
// kana, ー and ｰ, and its voicing marks are in no script of their own.
func joinsQuote(r rune) bool {
	switch r {
	case 'ー', 'ｰ', '\u3099', '\u309a':
		return false
	}
	return isWordRune(r) && !isSign(r) && !unicode.In(r, Unspaced...) && !unicode.Is(unicode.Hangul, r)
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || isSign(r))
}

// isSign reports whether r is an emoji or another sign that may be a word.
func isSign(r rune) bool { return unicode.Is(unicode.So, r) }
