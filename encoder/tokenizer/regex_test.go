package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// TestRegex compares with what Oniguruma 6.9.8 finds.
func TestRegex(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          []string
	}{
		{`a.b`, "a\nb a b", []string{"a b"}},
		{`^a`, "a\na", []string{"a", "a"}},
		{`a$`, "a\nba", []string{"a", "a"}},
		{`a{1,}?b?`, "aab", []string{"a", "ab"}},
		{`\P{Lu}+`, "aBcÉ1", []string{"a", "c", "1"}},
		{`\p{L}+\p{Han}`, "ab中 中中", []string{"ab中", "中中"}},
		{`(?i:k|s)+`, "kKK sSſ ß", []string{"kKK", "sSſ"}},
		{`a(?i:[a-k])+b`, "aK\u212ab akB", []string{"aK\u212ab"}},
		{`(a)(b)`, "abb", []string{"ab"}},
		{`\w+`, "a²_é1 ٣Ⓐ", []string{"a²_é1", "٣Ⓐ"}},
		{`[\w]+`, "a²_é1 ٣Ⓐ", []string{"a", "_é1", "٣Ⓐ"}},
		{`[a\-.]+`, "a-.b", []string{"a-."}},
		{`[-a]+|[b-]+`, "-ab-", []string{"-a", "b-"}},
		{`\<\_\ `, "<_ ", []string{"<_ "}},
		{`]}`, "a]}", []string{"]}"}},
		{`\s+`, "a\u0085\u3000\u2028\u000bb\u200b", []string{"\u0085\u3000\u2028\u000b"}},
		{`\S+`, "a\u0085b", []string{"a", "b"}},
		{`[^a]+`, "a\nb", []string{"\nb"}},
		{`[^\r\n\t]\t`, "\n\ta\t", []string{"a\t"}},
		{`[a^]+`, "a^b", []string{"a^"}},
		{`\p{C}+`, "a\u0378\u200db", []string{"\u0378\u200d"}},
		{gpt2Pattern, "I'll  go,\n 12x", []string{"I", "'ll", " ", " go", ",", "\n", " 12", "x"}},
		{`\p{L}+` + spaceTail, "a \u3000b  ", []string{"a", " ", "\u3000", "b", "  "}},
	} {
		re, err := translateRegex(c.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		got := []string{}
		re.matches([]byte(c.text), func(i, j int) { got = append(got, c.text[i:j]) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %q, want %q", c.pattern, c.text, got, c.want)
		}
	}
}

// TestRegexRefused: everything that Go lacks or reads with another meaning is refused by name.
func TestRegexRefused(t *testing.T) {
	for want, patterns := range map[string][]string{
		"look-around only as": {`a(?=b)`, `(?<!a)b`, `(?>a)`, `(?~a)`, `(?#a)b`, `(?P<n>a)`, "(?\x80", `(?x) a`, `(?i)a`, `(?s:a.)`, `(?)a`, `(?<n>a)`, `(*FAIL)`,
			`[a`, `[]a]`, `[[:alpha:]]`, `[^[a]]`, `a\`, `a{,2}`, `a{b}`},
		"not closed":                {`(a`, `(a|(b)`},
		"not open":                  {`a)`, `(a))`},
		"the quantifier":            {`a++`, `a*+`, `a?+b`, `a{2}?`, `a{1,2}+`, `a**`, `a+?*`, `a{2}{3}`, `*a`, `(+a)`, `a|?`, `{2}a`, `^*a`, `a$+`},
		"invalid repeat count":      {`a{3,1}`, `a{99999999999999999999}`},
		"^ is supported at":         {`a\n^b`, `(a|^b)`},
		"^ is not supported before": {`^a` + spaceTail},
		"the empty text":            {`a*`, `$`, `|a`},
		"inside [] is not":          {`[a&&b]`, `[\w-z]`, `[a--]`, `[^\S]`, `[\b]`, `[a\R]`, `[a-b-c]`, `[a-c-e]`, `[\u0041]`, `[--a]`, `[a-\d]`, `[z-a]`, `(?i:[a-ÿ])`, `(?i:[\w])`},
		"is not supported":          {`\bé`, `a\B`, `a\Z`, `\Aa`, `\X`, `a\Kb`, `\h`, `\D`, `\W`, `(a)\k<1>`, `\cA`, `(a)\1`, `\012`, `\xe9`, `\x41`, `\u0041`, `\é`, `\pL`, `\p{punct}`, `\p{Alpha}`, `\p{Letter}`, `\P{Emoji}`},
		"where (?i) holds":          {`(?i:ß)`, `(?i:'s|ss)`, `(?i:fi)`, `(?i:[ß])`, `(?i:\p{Lu})`},
		"nested deeper than 64":     {strings.Repeat("(", 65) + "a" + strings.Repeat(")", 65)},
	} {
		for _, pattern := range patterns {
			re, err := translateRegex(pattern)
			if err == nil {
				t.Errorf("%q is read as %s", pattern, re.re)
			} else if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", pattern, err, want)
			}
		}
	}
}

// TestRegexKnown: the patterns of checkpoints are taken.
func TestRegexKnown(t *testing.T) {
	for _, p := range []string{
		gpt2Pattern, llama3Pattern, qwen2Pattern,
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
		"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
		`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, `[一-龥ࠀ-一가-퟿]+`, `\s+$`, `[!-/:-~！-／：-～‘-‟　-。]+`, ` {2,}`, `[0-9][0-9][0-9]`, `\p{N}{1,3}`, `^\s+|\s+$`,
		`'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`, `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, `\w+|[^\w\s]+`,
	} {
		if _, err := translateRegex(p); err != nil {
			t.Error(err)
		}
	}
}

// FuzzRegex requires that no pattern makes it panic, and that what it takes matches no empty text.
func FuzzRegex(f *testing.F) {
	for _, p := range []string{gpt2Pattern, `(?i:a|[^s-])?b$`, `[\w-]{2,}\P{Lu}`} {
		f.Add(p, "a b\n\xff'll")
	}
	f.Fuzz(func(t *testing.T, p, text string) {
		re, err := translateRegex(p)
		if err != nil {
			return
		}
		last := 0
		re.matches([]byte(text), func(i, j int) {
			if i < last || i >= j || j > len(text) {
				t.Fatalf("%q in %q: %d to %d after %d", p, text, i, j, last)
			}
			last = j
		})
	})
}
