package keyword

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/registry"

	// Each registers the analyzer of a language.
	_ "github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ar"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/da"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/de"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/es"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fa"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hu"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/it"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/nl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/no"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pt"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ro"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ru"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/sv"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/tr"
)

var languages = []string{
	"ar", "cjk", "ckb", "da", "de", "en", "es", "fa", "fi", "fr", "hi", "hr", "hu", "it", "nl", "no", "pt",
	"ro", "ru", "standard", "sv", "tr",
}

// Languages returns what Options.Language can be, sorted: codes of languages, "cjk" for Chinese, Japanese and Korean
// in pairs of characters, and "standard", which stems no word and suits any other language. Thai, Lao, Khmer and Burmese are in pairs
// of characters in each of them.
func Languages() []string { return slices.Clone(languages) }

// languageTag is an ISO 639 code, with or without a script, region and the like behind it.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[a-z0-9]{1,8})*$`)

// analysedAs has the languages that are analysed under another name.
var analysedAs = map[string]string{"ja": "cjk", "ko": "cjk", "zh": "cjk", "nb": "no", "nn": "no"}

// LanguageOf returns which of [Languages] a name or tag means: cjk for ja, no for nb, pt for pt-BR. false: none of them.
func LanguageOf(tag string) (language string, ok bool) {
	if tag = strings.ToLower(tag); languageTag.MatchString(tag) {
		tag, _, _ = strings.Cut(tag, "-")
	}
	if other, ok := analysedAs[tag]; ok {
		tag = other
	}
	return tag, slices.Contains(languages, tag)
}

// maxTerm is the number of bytes of a term that are indexed and searched for. Lines of base64 and the like are longer.
const maxTerm = 128

// pieceBytes bounds the memory of an analysis: bleve holds about 100 bytes per token of what it is given at once.
const pieceBytes = 1 << 16

// Token is a term of a text and the bytes [Start, End) of the text that it stands for. Tokens of one word can overlap:
// the word and its parts. Position counts the words of the text, those that the analysis drops too.
//
// Covered terms are single characters of scripts in pairs that a pair next to them has, too. They are indexed, so that queries of one
// character find them; no query asks for them, and they count in no length.
//
// Names have words that are terms, too, and come before them, see [wholeName]. No phrase asks for them, and they count in no length.
type Token struct {
	Term       string
	Start, End int
	Position   int
	Covered    bool
	Name       bool
}

// analyzer turns texts into terms. It is safe for concurrent use.
type analyzer struct {
	language string
	chain    analysis.Analyzer
	chunks   *chunks
}

func newAnalyzer(language string) (a analyzer, err error) {
	a.language, a.chunks = language, chunksFor(language)
	cache := registry.NewCache()
	if language == "en" {
		a.chain, err = newEnglish(cache)
	} else {
		a.chain, err = newMended(cache, language)
	}
	if err != nil {
		return a, fmt.Errorf("keyword: analyzer %q: %w", language, err)
	}
	return a, nil
}

// newEnglish returns bleve's English analyzer with folded, unspaced, signedNames, splitWords, respelled, thousands and foldAccents put in. On eleven test
// collections splitWords and foldAccents raise the mean nDCG@10 from 0.6385 to 0.6455, on program code from 0.65 to 0.73, and lower none by
// more than 0.004.
// Tried and left out: Porter2 for Porter (0.6451), a shorter stop list (0.6230 against 0.6385), no stop list (0.6063).
func newEnglish(cache *registry.Cache) (analysis.Analyzer, error) {
	words, err := cache.TokenizerNamed(unicode.Name)
	if err != nil {
		return nil, err
	}
	chain := &analysis.DefaultAnalyzer{Tokenizer: signedNames{unspaced{words}}}
	for _, f := range []any{en.PossessiveName, splitWords{}, lowerShrinking{}, newRespelled("en"), thousandsOf("en"), lowercase.Name, en.StopName, foldAccents{}, porter.Name} {
		tf, ok := f.(analysis.TokenFilter)
		if !ok {
			if tf, err = cache.TokenFilterNamed(f.(string)); err != nil {
				return nil, err
			}
		}
		chain.TokenFilters = append(chain.TokenFilters, tf)
	}
	return folded{chain: chain}, nil
}

// token is a Token as the analysis has it.
type token struct {
	term       string
	start, end int
	position   int
	covered    bool
	name       bool // see splitWords
}

// wanted calls yield with the terms of text that a query asks for and a length counts, see each.
func (a analyzer) wanted(text string, yield func(t token) bool) {
	a.each(text, func(t token) bool { return t.covered || yield(t) })
}

// asked calls yield with the terms of text that a query asks for, names too, but not email beside e and mail for e-mail: words with hyphens would count
// for more than others. Where no words are left of A.I., ai it is.
func (a analyzer) asked(text string, yield func(t token) bool) {
	var held token // a name that is asked for where nothing follows that is a part of it
	a.eachWithNames(text, func(t token) bool {
		h := held
		held = token{}
		switch {
		case h.name && t.start >= h.end && !yield(h):
			return false
		case t.name && joinsLetters(t.term, text[t.start:t.end]):
			held = t
			return true
		}
		return t.covered || yield(t)
	})
	if held.name {
		yield(held)
	}
}

// each calls yield with every term of text but whole names, see eachWithNames.
func (a analyzer) each(text string, yield func(t token) bool) {
	a.eachWithNames(text, func(t token) bool { return t.name || yield(t) })
}

// eachWithNames calls yield with every term of text in order. It stops when yield returns false.
func (a analyzer) eachWithNames(text string, yield func(t token) bool) {
	position, more := 0, true
	eachChunk(text, func(start int, part string) bool {
		if w := plainWord(part); w.end > 0 {
			start, part = start+w.start, part[w.start:w.end]
		}
		var c chunk
		if len(part) <= chunkBytes {
			c = a.chunks.get(part, a.chunk)
		} else {
			c = a.chunk(part)
		}
		for _, t := range c.tokens {
			t.start, t.end, t.position = start+t.start, start+t.end, position+t.position
			if more = yield(t); !more {
				break
			}
		}
		position += c.width
		return more
	})
}

// chunk analyses a chunk.
func (a analyzer) chunk(text string) (c chunk) {
	if w := plainWord(text); len(text) <= chunkBytes && w == (span{0, len(text)}) { // one word, whatever becomes of it
		for _, t := range a.chain.Analyze([]byte(text)) {
			c.tokens = append(c.tokens, token{term: string(t.Term), start: t.Start, end: t.End, position: t.Position})
		}
		c.width = 1
		return c
	}
	for base := 0; base < len(text); {
		piece := text[base:]
		if len(piece) > pieceBytes {
			piece = piece[:cutAt(piece, pieceBytes)]
		}
		tokens := a.chain.Analyze([]byte(" " + piece + " 0")) // a mark at its beginning belongs to the space, and a word behind it tells the positions that it takes
		tokens, behind := tokens[:len(tokens)-1], tokens[len(tokens)-1]
		for i, t := range tokens {
			term := t.Term
			t.Start = max(t.Start, 1) // a mark that changed places with those before it begins with the space
			if len(term) > maxTerm {
				term = term[:cutRune(term, maxTerm)]
			}
			if len(term) > 0 && !noName(tokens, i) {
				c.tokens = append(c.tokens, token{string(term), base + t.Start - 1, base + t.End - 1, c.width + t.Position, covered(tokens, i), t.Type == wholeName})
			}
		}
		base, c.width = base+len(piece), c.width+behind.Position-1
	}
	return c
}

// covered says whether a token is a single character in a pair. Pairs stand next to their characters.
func covered(tokens analysis.TokenStream, i int) bool {
	t := tokens[i]
	if t.Type != analysis.Single {
		return false
	}
	in := func(p *analysis.Token) bool { return p.Type == analysis.Double && p.Start <= t.Start && t.End <= p.End }
	return i > 0 && in(tokens[i-1]) || i+1 < len(tokens) && in(tokens[i+1])
}

// noName says whether a token is a name that is no term:
//
//  1. One with slashes of which the analysis leaves no part, as of and/or.
//  2. U.S. is not us.
//  3. One that would be cut, as of base64 with slashes: nothing would ask for it.
func noName(tokens analysis.TokenStream, i int) bool {
	name := tokens[i]
	switch {
	case name.Type != wholeName:
		return false
	case bytes.IndexByte(name.Term, '/') >= 0 && !hasParts(tokens, i):
		return true
	case string(name.Term) == "us":
		return true
	}
	return len(name.Term) > maxTerm
}

// hasParts says whether words of a name follow it.
func hasParts(tokens analysis.TokenStream, i int) bool {
	name := tokens[i]
	for i++; i < len(tokens) && tokens[i].Type == wholeName; i++ {
	}
	return i < len(tokens) && tokens[i].Start < name.End
}

// cutAt returns the end of the last white space within the first n bytes of s, or where a character ends.
func cutAt(s string, n int) int {
	for i := n; i > n/2; i-- {
		switch s[i-1] {
		case ' ', '\n', '\t', '\r':
			return i
		}
	}
	for n > 1 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func cutRune(b []byte, n int) int {
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return n
}

// Analyze returns the terms of text as they are indexed and, covered ones apart, searched for, in order, with the bytes of text that
// each stands for: what a highlighter marks.
func (x *Index) Analyze(text string) []Token { return x.Occurrences(text, nil) }

// Occurrences returns those tokens of [Index.Analyze] whose terms wanted accepts; nil: all.
func (x *Index) Occurrences(text string, wanted func(term string) bool) []Token {
	return x.analyzer.occurrences(text, wanted)
}

func (a analyzer) occurrences(text string, wanted func(term string) bool) (tokens []Token) {
	a.eachWithNames(text, func(t token) bool {
		if wanted == nil || wanted(t.term) {
			tokens = append(tokens, Token{t.term, t.start, t.end, t.position, t.covered, t.name})
		}
		return true
	})
	return tokens
}

// Analysis analyses texts as the indexes of a language do. It is safe for concurrent use.
type Analysis struct{ analyzer analyzer }

// NewAnalysis returns the analysis of a language, one of [Languages]; "" is "en". Making one takes a tenth of a millisecond. ErrOptions says that there
// is no such language.
func NewAnalysis(language string) (*Analysis, error) {
	o, err := Options{Language: language}.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := newAnalyzer(o.Language)
	if err != nil {
		return nil, err
	}
	return &Analysis{a}, nil
}

// Term returns the term of a text that a query takes for exactly one; false for any other text.
func (a *Analysis) Term(text string) (term string, ok bool) {
	terms := a.index().queryTerms(Query{Text: text}, nil)
	if len(terms) != 1 {
		return "", false
	}
	return string(terms[0].text), true
}

// Expand is [Index.Expand] of any of the indexes that q.Global is of: these statistics say all that must be known of documents.
func (a *Analysis) Expand(ctx context.Context, q Query) ([]Expansion, error) {
	if q.Global == nil {
		return nil, fmt.Errorf("%w: there are none", ErrStatistics)
	}
	if q.Texts == nil { // it has been read by the indexes
		q.Texts = func(context.Context, []uint32, func(no uint32, text Field, starts []int)) error { return nil }
	}
	x := a.index()
	l, err := x.lexicon(nil, q)
	if err != nil {
		return nil, err
	}
	return x.expand(ctx, l, q)
}

// index is an index of the language without any documents.
func (a *Analysis) index() *Index { return &Index{analyzer: a.analyzer} }

// Occurrences is [Index.Occurrences].
func (a *Analysis) Occurrences(text string, wanted func(term string) bool) []Token {
	return a.analyzer.occurrences(text, wanted)
}
