package analysis

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/registry"
)

// MaxTerm is the length in bytes at which terms are cut. Lines of base64 and the like are longer.
const MaxTerm = 128

// StopPrefix begins the terms of stop words, so that they differ from the stems of other words.
const StopPrefix = "\x01"

// Token is a term and the bytes [Start, End) of the text that it stands for. The tokens of a word
// can overlap: the word and its parts.
type Token struct {
	Term       string
	Word       string // lower-cased, without accents and not stemmed; empty where that is Term
	Start, End int
	Position   int // counts the smallest words of the text
	Next       int // the position after the token
	Kind       Kind
	Pair       bool // two characters of a script without spaces
}

// Kind tells how a token counts.
type Kind uint8

const (
	Plain  Kind = iota
	Single      // one character that a pair beside it contains
	Part        // a part of a word such as iPhone15: indexed, never queried, not counted in lengths
	Name        // a name such as os.path.join whose words are tokens too; not counted in lengths
	Stop        // a stop word: counted and queried only where there are no other words
)

// Analyzer turns texts of one language into tokens. It is safe for concurrent use.
type Analyzer struct {
	language string
	pipeline pipeline
	chunks   *chunkCache
}

// New returns the analyzer of a language, one of [Languages].
func New(language string) (*Analyzer, error) {
	p, err := newPipeline(registry.NewCache(), language)
	if err != nil {
		return nil, fmt.Errorf("analysis: language %q: %w", language, err)
	}
	return &Analyzer{language, p, newChunkCache()}, nil
}

// Language returns the language of the analyzer.
func (a *Analyzer) Language() string { return a.language }

// Tokens returns the tokens of text in order.
func (a *Analyzer) Tokens(text string) iter.Seq[Token] { return a.TokensAmong(text, Terms{}) }

// TokensAmong returns the tokens of text in order, without most of those of other terms: looking
// for few terms in a text costs less than reading all of its tokens.
func (a *Analyzer) TokensAmong(text string, terms Terms) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		position := 0
		for start, part := range chunks(text) {
			if w := plainWord(part); w.end > 0 {
				start, part = start+w.start, part[w.start:w.end]
			}
			end := start + len(part)
			joins := end+1 < len(text) && text[end] == ' ' && mayJoin(text[end+1:])
			var c chunk
			if len(part) <= maxCachedChunk {
				key := a.chunks.keyOf(part)
				if terms.sets != nil {
					s := a.chunks.summaries[key%recentChunks].load(key)
					if s != 0 && !(joins && s.one()) && !terms.mayBeIn(s.terms()) {
						position += s.width()
						continue
					}
				}
				c = a.chunks.getKeyed(key, part, a.analyzeChunk)
			} else {
				c = a.analyzeChunk(part)
			}
			if joins && len(c.tokens) == 1 {
				if name := a.joined(part, c.tokens[0], text[end+1:]); name.Term != "" {
					if !yield(name.moved(start, position)) {
						return
					}
				}
			}
			if terms.mayBeIn(c.terms) {
				for _, t := range c.tokens {
					if !yield(t.moved(start, position)) {
						return
					}
				}
			}
			position += c.width
		}
	}
}

// moved returns the token of a chunk as one of a text.
func (t Token) moved(start, position int) Token {
	t.Start, t.End, t.Position, t.Next = start+t.Start, start+t.End, position+t.Position, position+t.Next
	return t
}

// beforeSign reports whether the text after a word and a space begins with a sign that joins words.
func beforeSign(next string) bool {
	return len(next) > 2 && (next[0] == '&' || next[0] == '/') && next[1] == ' '
}

// mayJoin reports whether a word can be joined with what comes after it and a space.
func mayJoin(next string) bool {
	return beforeSign(next) || (len(next) < 2 || !isLower(next[1])) && singleLetter(next) != ""
}

// joined returns the name that joins the only word of a chunk with what comes after it and a space;
// it has no term if there is none.
func (a *Analyzer) joined(part string, word Token, next string) Token {
	if beforeSign(next) {
		return a.aroundSign(part, word, next[2:])
	}
	return a.withLetter(next, part, word)
}

// withLetter returns the name that joins the only word of a chunk with a single letter after it and
// a space: usbc for USB C. Words of one letter, words that have parts and stop words are not
// joined, nor are letters that are stop words. Its offsets are from the start of the chunk; it has
// no term if there is none.
func (a *Analyzer) withLetter(after, part string, word Token) (name Token) {
	letter := singleLetter(after)
	letters := part[word.Start:]
	if letter == "" || len(part) > MaxJoined || word.Kind != Plain || word.End != len(part) || utf8.RuneCountInString(letters) < 2 || strings.ContainsFunc(letters, notLetter) {
		return name
	}
	for _, t := range a.chunks.get(letter, a.analyzeChunk).tokens {
		if t.Kind != Plain {
			return name
		}
	}
	joined := a.chunks.get(strings.ToLower(letters+letter), a.analyzeChunk) // else c of USBc would begin a part
	if len(joined.tokens) == 0 || joined.width != 1 {
		return name
	}
	name = joined.tokens[0]
	name.Kind = Name
	name.Start, name.End, name.Position, name.Next = word.Start, len(part)+1+len(letter), word.Position, word.Next+1
	return name
}

// aroundSign returns the name that joins the only word of a chunk with the next one, which is after
// a space, a sign and a space, if one of both is a single letter: rd for R & D. See withLetter.
func (a *Analyzer) aroundSign(part string, word Token, after string) (name Token) {
	end := strings.IndexFunc(after, notLetter)
	if end < 0 {
		end = len(after)
	}
	left, right := part[word.Start:word.End], after[:end]
	switch {
	case right == "" || end < len(after) && !isSpace(after[end]) && !closes[after[end]], word.Kind != Plain && word.Kind != Stop || word.End != len(part):
		return name
	case utf8.RuneCountInString(left) > 1 && utf8.RuneCountInString(right) > 1, len(left)+len(right) > MaxJoined, strings.ContainsFunc(left, notLetter):
		return name
	}
	joined := a.chunks.get(strings.ToLower(left+right), a.analyzeChunk)
	if len(joined.tokens) != 1 || joined.tokens[0].Kind != Plain {
		return name
	}
	name = joined.tokens[0]
	name.Kind = Name
	name.Start, name.End, name.Position, name.Next = word.Start, len(part)+len(" & ")+len(right), word.Position, word.Next+1
	return name
}

// singleLetter returns the letter that text begins with if at most one punctuation mark is between
// it and white space or the end.
func singleLetter(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if !unicode.IsLetter(r) || len(text) > n && !isSpace(text[n]) && (!closes[text[n]] || len(text) > n+1 && !isSpace(text[n+1])) {
		return ""
	}
	return text[:n]
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// pieceBytes bounds the memory of an analysis: bleve takes about 100 bytes per token of its input.
const pieceBytes = 1 << 16

func (a *Analyzer) analyzeChunk(text string) (c chunk) {
	for base := 0; base < len(text); {
		piece := text[base:]
		if len(piece) > pieceBytes {
			piece = piece[:CutAt(piece, pieceBytes)]
		}
		tokens, width := a.pipeline.tokens(piece)
		for _, t := range tokens {
			t.Start, t.End, t.Position, t.Next = base+t.Start, base+t.End, c.width+t.Position, c.width+t.Next
			c.tokens, c.terms = append(c.tokens, t), c.terms.add(t.Term)
		}
		base, c.width = base+len(piece), c.width+width
	}
	return c
}

// CutAt returns the end of the last white space within the first n bytes of s, or else the last end
// of a character there.
func CutAt(s string, n int) int {
	for i := n; i > n/2; i-- {
		if isSpace(s[i-1]) {
			return i
		}
	}
	for n > 1 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// Counter counts the tokens of a text for its length.
type Counter struct{ words, stops int }

// Add counts a token.
func (c *Counter) Add(t Token) {
	switch t.Kind {
	case Plain:
		c.words++
	case Stop:
		c.stops++
	}
}

// Length returns the number of words, or of stop words where there are no others.
func (c *Counter) Length() int {
	if c.words == 0 {
		return c.stops
	}
	return c.words
}

// Length returns the length of a text: its number of words.
func (a *Analyzer) Length(text string) int {
	var c Counter
	for t := range a.Tokens(text) {
		c.Add(t)
	}
	return c.Length()
}

// QueryTokens returns the tokens of text that a query asks for: words and names, or stop words
// where there is nothing else. A name that only joins words, such as email for e-mail, is left out
// where its words follow and none is a stop word: they would otherwise count twice.
func (a *Analyzer) QueryTokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		var name Token // that joins the words that follow; of Kind Name if there is one
		var inside []Token
		var stops []Token
		found, more, stopInside := false, true, false
		emit := func(t Token) { found, more = true, more && yield(t) }
		endName := func() {
			if name.Kind == Name && (len(inside) == 0 || stopInside) {
				emit(name)
			}
			for _, t := range inside {
				emit(t)
			}
			name, inside, stopInside = Token{}, inside[:0], false
		}
		for t := range a.Tokens(text) {
			if name.Kind == Name && t.Start >= name.End {
				endName()
			}
			switch {
			case !more:
				return
			case t.Kind == Stop:
				stopInside = true
				if !found && len(inside) == 0 {
					stops = append(stops, t)
				}
			case t.Kind == Name && joinsLetters(t.Term, text[t.Start:t.End]):
				endName()
				name = t
			case t.Kind != Plain && t.Kind != Name:
			case name.Kind == Name:
				inside = append(inside, t)
			default:
				emit(t)
			}
		}
		if endName(); found {
			return
		}
		for _, t := range stops {
			if !yield(t) {
				return
			}
		}
	}
}

// WholeTokens returns the words and names of text that are not part of another one: GitHub without
// Git and Hub. A name counts if asName accepts its term; otherwise its words do.
func (a *Analyzer) WholeTokens(text string, asName func(term string) bool) (out []Token) {
	return a.whole(text, func(t Token) bool { return t.Kind == Plain || t.Kind == Name && asName(t.Term) })
}

// WholeWords returns the words of text, stop words too, that are not part of another one.
func (a *Analyzer) WholeWords(text string) []Token {
	return a.whole(text, func(t Token) bool { return t.Kind == Plain || t.Kind == Stop })
}

func (a *Analyzer) whole(text string, accept func(t Token) bool) (out []Token) {
	for t := range a.Tokens(text) {
		n := len(out)
		if accept(t) && (n == 0 || t.Start < out[n-1].Start || t.End > out[n-1].End) {
			out = append(out, t)
		}
	}
	return out
}
