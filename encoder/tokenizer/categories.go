package tokenizer

import (
	_ "embed"
	"strconv"
	"strings"
	"unicode"
)

// The categories of characters as Hugging Face's tokenizers have them. Its crates
// (unicode_categories 0.1.1, unicode-normalization-alignments 0.1.12) use early versions of
// Unicode, so that the newer tables of package unicode would strip and split characters that a
// checkpoint's vocabulary contains. Measured over all code points against tokenizers 0.23.
var (
	nonspacingMarks = category("nonspacingMarks") // Mn: what BertNormalizer strips after NFD
	combiningMarks  = category("combiningMarks")  // M: what StripAccents strips
	punctuation     = category("punctuation")     // P outside ASCII
	controls        = category("controls")        // what clean_text removes: Cc, Cf, Co and U+FFFD without tab and line ends
	undecomposed    = category("undecomposed")    // the compatibility decomposition is newer than the crate
	inert           = category("inert")           // unknown to the crate: neither decomposes nor is reordered
)

//go:embed categories.txt
var categoryRanges string

// category reads the ranges after the line "# name" of categories.txt, in hexadecimal.
func category(name string) *unicode.RangeTable {
	_, section, _ := strings.Cut(categoryRanges, "# "+name+"\n")
	section, _, _ = strings.Cut(section, "#")
	t := new(unicode.RangeTable)
	for _, word := range strings.Fields(section) {
		from, to, ok := strings.Cut(word, "-")
		if !ok {
			to = from
		}
		lo, _ := strconv.ParseUint(from, 16, 32)
		hi, _ := strconv.ParseUint(to, 16, 32)
		if hi < 1<<16 {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(lo), Hi: uint16(hi), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1})
		}
	}
	return t
}
