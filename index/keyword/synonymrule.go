package keyword

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of synonyms.
const (
	MaxSynonymRules = 10_000
	MaxSynonymBytes = 256 << 10 // of all rules together; settings have them twice, in 1 MiB

	maxRuleBytes = 2000
	maxRuleTexts = 64 // words and phrases of a rule
	maxRuleWords = 8  // of one of them
)

// SynonymRule is a rule of synonyms, in the form that Solr, Elasticsearch and OpenSearch read:
//
//	k8s, kubernetes            each is read as any of them
//	tv, telly => television    what is left is read as what is right, and as itself only where it is there too
//
// A backslash takes the special meaning from the character behind it.
type SynonymRule struct {
	From, To []string // the same where the rule has no arrow
}

// ParseSynonymRule reads a rule. Its error says what is allowed.
func ParseSynonymRule(text string) (r SynonymRule, err error) {
	if len(text) > maxRuleBytes || !utf8.ValidString(text) {
		return r, fmt.Errorf("at most %d bytes of UTF-8", maxRuleBytes)
	}
	sides := [][]string{nil}
	var one strings.Builder
	end := func() {
		last := &sides[len(sides)-1]
		*last = append(*last, strings.Join(strings.Fields(one.String()), " "))
		one.Reset()
	}
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == '\\' && len(rest) > 1:
			i++
			one.WriteByte(text[i])
		case rest[0] == ',':
			end()
		case strings.HasPrefix(rest, "=>"):
			end()
			sides = append(sides, nil)
			i++
		default:
			one.WriteByte(rest[0])
		}
	}
	end()
	n := 0
	for _, side := range sides {
		n += len(side)
		for _, s := range side {
			if words := len(strings.Fields(s)); words < 1 || words > maxRuleWords {
				return r, fmt.Errorf("between commas, and beside =>, 1 to %d words", maxRuleWords)
			}
		}
	}
	switch {
	case len(sides) > 2:
		return r, errors.New("one => at most; \\=> for the characters themselves")
	case n < 2:
		return r, errors.New(`words and phrases with commas between them, "tv, telly", or with => before what they are read as, "tv, telly => television"`)
	case n > maxRuleTexts:
		return r, fmt.Errorf("at most %d words and phrases, not %d", maxRuleTexts, n)
	}
	return SynonymRule{sides[0], sides[len(sides)-1]}, nil
}
