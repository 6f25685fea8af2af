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

// Languages returns what Options.Language can be, sorted: codes of languages, "cjk" for Chinese,
// Japanese and Korean in pairs of characters, and "standard", which stems no word and suits any
// other language. Thai, Lao, Khmer and Burmese are in pairs of characters in each of them.
func Languages() []string { return slices.Clone(languages) }

// languageTag is an ISO 639 code, with or without a script, region and the like behind it.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[a-z0-9]{1,8})*$`)

// analysedAs has the languages that are analysed under another name.
var analysedAs = map[string]string{"ja": "cjk", "ko": "cjk", "zh": "cjk", "nb": "no", "nn": "no"}

// LanguageOf returns which of [Languages] a name or tag means: cjk for ja, no for nb, pt for pt-BR.
// false: none of them.
func LanguageOf(tag string) (language string, ok bool) {
	if tag = strings.ToLower(tag); languageTag.MatchString(tag) {
		tag, _, _ = strings.Cut(tag, "-")
	}
	if other, ok := analysedAs[tag]; ok {
		tag = other
	}
	return tag, slices.Contains(languages, tag)
}

// maxTerm is the number of bytes of a term that are indexed and searched for. Lines of base64 and
// the like are longer.
const maxTerm = 128

// pieceBytes bounds the memory of an analysis: bleve holds about 100 bytes per token of what it is
// given at once.
const pieceBytes = 1 << 16

// Token is a term of a text and the bytes [Start, End) of the text that it stands for. Tokens of
// one word can overlap: the word and its parts. Position counts the smallest words of the text.
//
// Covered terms are indexed, but no query asks for them and they count in no length: single
// characters of scripts in pairs that a pair next to them has, too, and the parts of words such as
// iPhone15, see [runs].
//
// Names have words that are terms, too, and come before them, see [wholeName]. They count in no
// length.
//
// Common terms are stop words. They count in no length that has other words, and a query asks for
// them where it has no other words. Phrases have them.
type Token struct {
	Term       string
	Start, End int
	Position   int
	Covered    bool
	Name       bool
	Common     bool
}

// commonMark is what the terms of stop words begin with in an index, so that they differ from the
// stems of other words.
const commonMark = "\x01"

// analyzer turns texts into terms. It is safe for concurrent use.
type analyzer struct {
	language string
	chain    folded
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

// newEnglish returns bleve's English analyzer with folded, symbols, unspaced, signedNames,
// splitWords, runs, respelled, thousands, commonWords and foldAccents put in. On eleven test
// collections splitWords and foldAccents raise the mean nDCG@10 from 0.6385 to 0.6455, on program
// code from 0.65 to 0.73, and lower none by more than 0.004. Tried and left out: Porter2 for Porter
// (0.6451), a shorter stop list (0.6230 against 0.6385), no stop list (0.6063).
func newEnglish(cache *registry.Cache) (f folded, err error) {
	words, err := cache.TokenizerNamed(unicode.Name)
	if err != nil {
		return f, err
	}
	chain := &analysis.DefaultAnalyzer{Tokenizer: signedNames{unspaced{words}}}
	for _, f := range []any{en.PossessiveName, splitWords{}, runs{thousandsOf("en")}, lowerShrinking{}, newRespelled("en"), thousandsOf("en"), lowercase.Name, en.StopName, foldAccents{}, porter.Name} {
		tf, ok := f.(analysis.TokenFilter)
		if !ok {
			if tf, err = cache.TokenFilterNamed(f.(string)); err != nil {
				return folded{}, err
			}
		}
		chain.TokenFilters = append(chain.TokenFilters, tf)
	}
	return newFolded(chain, "en"), nil
}

// token is a Token as the analysis has it.
type token struct {
	term       string
	word       string // as it is written, in small letters and without accents, where the stem is another; empty: as the term
	start, end int
	position   int
	next       int // the position behind it
	kind       kind
	pair       bool // of characters
}

// kind says what a query and a length make of a term.
type kind uint8

const (
	plainTerm   kind = iota
	coveredTerm      // a single character that a pair has, too
	innerTerm        // a part that no query asks for, see runs
	nameTerm         // see splitWords
	commonTerm       // a stop word
)

// length returns how many tokens a text counts for: its words without stop words, unless it has no
// others.
func (a analyzer) length(text string) int {
	words, commons := 0, 0
	a.each(text, func(t token) bool {
		switch t.kind {
		case plainTerm:
			words++
		case commonTerm:
			commons++
		}
		return true
	})
	return lengthOf(words, commons)
}

func lengthOf(words, commons int) int {
	if words == 0 {
		return commons
	}
	return words
}

// asked calls yield with the terms of text that a query asks for, names too, but not email beside e
// and mail for e-mail: words with hyphens would count for more than others. Where no words are left
// of A.I., ai it is. What is asked for by a text of stop words alone, its stop words are.
func (a analyzer) asked(text string, yield func(t token) bool) {
	var held token // a name that is asked for where nothing follows that is a part of it
	var commons []token
	any := false
	give := func(t token) bool { any = true; return yield(t) }
	a.each(text, func(t token) bool {
		switch {
		case t.kind == commonTerm && !any:
			commons = append(commons, t)
			return true
		case t.kind != plainTerm && t.kind != nameTerm:
			return true
		}
		h := held
		held = token{}
		switch {
		case h.kind == nameTerm && t.start >= h.end && !give(h):
			return false
		case t.kind == nameTerm && joinsLetters(t.term, text[t.start:t.end]):
			held = t
			return true
		}
		return give(t)
	})
	if held.kind == nameTerm {
		give(held)
	}
	if any {
		return
	}
	for _, t := range commons {
		if !yield(t) {
			return
		}
	}
}

// each calls yield with every term of text in order. It stops when yield returns false.
func (a analyzer) each(text string, yield func(t token) bool) {
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
			t.start, t.end, t.position, t.next = start+t.start, start+t.end, position+t.position, position+t.next
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
	for base := 0; base < len(text); {
		piece := text[base:]
		if len(piece) > pieceBytes {
			piece = piece[:cutAt(piece, pieceBytes)]
		}
		tokens, width := a.chain.tokens(piece)
		for _, t := range tokens {
			t.start, t.end, t.position, t.next = base+t.start, base+t.end, c.width+t.position, c.width+t.next
			c.tokens = append(c.tokens, t)
		}
		base, c.width = base+len(piece), c.width+width
	}
	return c
}

// isCovered says whether a token is a single character in a pair. Pairs stand next to their
// characters.
func isCovered(tokens analysis.TokenStream, i int) bool {
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

// hasParts says whether words of a name follow it, other than stop words.
func hasParts(tokens analysis.TokenStream, i int) bool {
	name := tokens[i]
	for i++; i < len(tokens) && (tokens[i].Type == wholeName || tokens[i].Type == commonWord); i++ {
	}
	return i < len(tokens) && tokens[i].Start < name.End
}

// cutAt returns the end of the last white space within the first n bytes of s, or where a character
// ends.
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

// Analyze returns the terms of text as they are indexed and, covered ones apart, searched for, in
// order, with the bytes of text that each stands for: what a highlighter marks.
func (x *Index) Analyze(text string) []Token { return x.Occurrences(text, nil) }

// Occurrences returns those tokens of [Index.Analyze] whose terms wanted accepts; nil: all.
func (x *Index) Occurrences(text string, wanted func(term string) bool) []Token {
	return x.analyzer.occurrences(text, wanted)
}

func (a analyzer) occurrences(text string, wanted func(term string) bool) (tokens []Token) {
	a.each(text, func(t token) bool {
		if term := strings.TrimPrefix(t.term, commonMark); wanted == nil || wanted(term) {
			tokens = append(tokens, Token{term, t.start, t.end, t.position, t.kind == coveredTerm || t.kind == innerTerm, t.kind == nameTerm, t.kind == commonTerm})
		}
		return true
	})
	return tokens
}

// Analysis analyses texts as the indexes of a language do. It is safe for concurrent use.
type Analysis struct{ analyzer analyzer }

// NewAnalysis returns the analysis of a language, one of [Languages]; "" is "en". Making one takes
// a tenth of a millisecond. ErrOptions says that there is no such language.
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
	return a.index().onlyTerm(text)
}

// Expand is [Index.Expand] of any of the indexes that q.Global is of: these statistics say all that
// must be known of documents.
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
