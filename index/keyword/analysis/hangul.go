package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// splitHangul is a token filter that cuts words where Hangul begins and ends and marks the Hangul
// as ideographic: only that is paired by bleve, whose tokenizer takes Hangul for letters and 2024년
// for one word. 々 and 〻, which repeat a Han character, are letters to it too, and would split 佐々木;
// they are treated like Hangul.
type splitHangul struct{}

// Filter implements analysis.TokenFilter.
func (splitHangul) Filter(input analysis.TokenStream) analysis.TokenStream {
	output := make(analysis.TokenStream, 0, len(input))
	for _, t := range input {
		if t.Type == analysis.Ideographic || !bytes.ContainsFunc(t.Term, isHangul) {
			output = append(output, t)
			continue
		}
		if t.Type == nameType {
			continue
		}
		for start := 0; start < len(t.Term); {
			end, hangul := hangulRun(t.Term, start)
			from, to := start, end
			if !hangul { // 했다.그리고 is one word of the tokenizer
				run := bytes.TrimLeftFunc(t.Term[start:end], notWord)
				from = end - len(run)
				to = from + len(bytes.TrimRightFunc(run, notWord))
			}
			if from < to {
				p := subToken(t, from, to)
				if hangul {
					p.Type = analysis.Ideographic
				}
				output = append(output, p)
			}
			start = end
		}
	}
	return output
}

// hangulRun returns where the run that begins at start ends, and whether it is Hangul. Marks belong
// to the character before.
func hangulRun(term []byte, start int) (end int, hangul bool) {
	r, size := utf8.DecodeRune(term[start:])
	hangul = isHangul(r)
	for end = start + size; end < len(term); end += size {
		r, size = utf8.DecodeRune(term[end:])
		if isHangul(r) != hangul && !unicode.IsMark(r) {
			break
		}
	}
	return end, hangul
}

func isHangul(r rune) bool { return unicode.Is(unicode.Hangul, r) || r == '々' || r == '〻' }

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }
