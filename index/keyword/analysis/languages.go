package analysis

import (
	"regexp"
	"slices"
	"strings"

	// Each registers the analyzer of a language.
	_ "github.com/blevesearch/bleve/v2/analysis/analyzer/standard"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ar"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/da"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/de"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
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

// Languages returns the supported languages, sorted: language codes, "cjk" for Chinese, Japanese
// and Korean, which are indexed in pairs of characters, and "standard", which does not stem and
// suits any other language. All of them index Thai, Lao, Khmer and Burmese in pairs of characters.
func Languages() []string { return slices.Clone(languages) }

// languageTag is an ISO 639 code, with or without a script, region and the like after it.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[a-z0-9]{1,8})*$`)

// analyzedAs maps languages to those that they are analysed as.
var analyzedAs = map[string]string{"ja": "cjk", "ko": "cjk", "zh": "cjk", "nb": "no", "nn": "no"}

// LanguageOf returns which of [Languages] a name or tag means: cjk for ja, no for nb, pt for pt-BR.
// ok is false if it means none of them.
func LanguageOf(tag string) (language string, ok bool) {
	if tag = strings.ToLower(tag); languageTag.MatchString(tag) {
		tag, _, _ = strings.Cut(tag, "-")
	}
	if other, ok := analyzedAs[tag]; ok {
		tag = other
	}
	return tag, slices.Contains(languages, tag)
}
