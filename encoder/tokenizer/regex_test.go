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
		{`(?m)a.b`, "a\nb a b", []string{"a\nb", "a b"}},
		{`a.b`, "a\nb a b", []string{"a b"}},
		{`(?m:a.)b.`, "a\nb\n", []string{}},
		{`^a`, "a\na", []string{"a", "a"}},
		{`a$`, "a\nba", []string{"a", "a"}},
		{`a\z`, "a\na", []string{"a"}},
		{`\Aa`, "aa", []string{"a"}},
		{`\h+`, "fag09Ggé", []string{"fa", "09"}},
		{`\H+`, "fag09Ggé", []string{"g", "Ggé"}},
		{`[\hx]+`, "xfyg", []string{"xf"}},
		{`a{,2}b`, "aaab{,2}b", []string{"aab", "b"}},
		{`a{1,}?b?`, "aab", []string{"a", "ab"}},
		{`a{b}{`, "a{b}{", []string{"a{b}{"}},
		{`\e`, "\u001b e", []string{"\u001b"}},
		{`\v\a\f`, "\u000b\u0007\f", []string{"\u000b\u0007\f"}},
		{`\u00e9\x41\x{4e2d}`, "éA中", []string{"éA中"}},
		{`\p{^Lu}+`, "aBcÉ1", []string{"a", "c", "1"}},
		{`\P{^Lu}+`, "aBcÉ1", []string{"B", "É"}},
		{`\p{Letter}+\p{Han}`, "ab中 中中", []string{"ab中", "中中"}},
		{`(?i:k|s)+`, "kKK sSſ ß", []string{"kKK", "sSſ"}},
		{`(?i)[a-k]+`, "aK\u212ab", []string{"aK\u212ab"}},
		{`a(?-i:b)(?i:b)`, "abB aBb", []string{"abB"}},
		{`(?i)ab|cd`, "AB cD", []string{"AB", "cD"}},
		{`(?<n>a)(b)`, "abb", []string{"ab"}},
		{`\w+`, "a²_é1 ٣Ⓐ", []string{"a²_é1", "٣Ⓐ"}},
		{`[\w]+`, "a²_é1 ٣Ⓐ", []string{"a", "_é1", "٣Ⓐ"}},
		{`[+--]+`, "+,-.", []string{"+,-"}},
		{`[a\-.]+`, "a-.b", []string{"a-."}},
		{`[-a]+|[b-]+`, "-ab-", []string{"-a", "b-"}},
		{`\<\é\_\ `, "<é_ ", []string{"<é_ "}},
		{`]}`, "a]}", []string{"]}"}},
		{`\s+`, "a\u0085\u3000\u2028\u000bb\u200b", []string{"\u0085\u3000\u2028\u000b"}},
		{`[^a]+`, "a\nb", []string{"\nb"}},
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

// TestRegexRefused: what Go would read otherwise than Oniguruma, or not at all, is refused by name.
func TestRegexRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		`a(?=b)`: "look-around", `(?<!a)b`: "look-around", `(?>a)`: "atomic groups", `(?~a)`: "the group (?~ ", `(?#a)b`: "the group (?# ",
		`(?P<n>a)`: "the group (?P ", "(?\x80": "the group (?\ufffd ", `(?x) a`: "the group (?x ", `(?s)a.`: "the group (?s ", `(?U)a+`: "the group (?U ", `(?)a`: "the group (?) ",
		`(?<n-1>a)`: `the group name "n-1"`, `(*FAIL)`: "callouts", `a(?i)b|c`: "(?i) is supported at the beginning", `a|(?i)b`: "(?i) is supported at the beginning",
		`(a`: "not closed", `a)`: "not open", `[a`: "[ is not closed", `a\`: `\ at the end`,
		`a++`: "possessive quantifier ++", `a*+`: "possessive quantifier *+", `a?+b`: "possessive quantifier ?+", `a{2}?`: "{2}? is not supported",
		`a{1,2}+`: "{1,2}+ of a quantifier", `a**`: "** of a quantifier", `a+?*`: "+?* of a quantifier", `a{2}{3}`: "{2}{ of a quantifier", `a{3,1}`: "{3,1}, whose bounds",
		`a{99999999999999999999}`: "too large", `*a`: "* has nothing to repeat", `(+a)`: "+ has nothing", `a|?`: "? has nothing", `{2}a`: "{2} has nothing",
		`^*a`: "^ cannot be repeated", `a$+`: "$ cannot be repeated", `a\n^b`: "^ is supported at the beginning", `(a|b)\Ab`: `\A is supported at the beginning`,
		`^a` + spaceTail: "^ and \\A are not supported before", `a*`: "the empty text", `$`: "the empty text", `|a`: "the empty text",
		`[[:alpha:]]`: "[ and && inside []", `[^[a]]`: "[ and && inside []", `[a&&b]`: "[ and && inside []", `[]a]`: "] at the beginning",
		`[\w-z]`: "- between a class and a character", `[a-\d]`: "no end", `[z-a]`: "no end", `[a-c-e]`: "- behind a range", `[a--]`: "no end", `[^\S]`: `\S inside []`,
		`[^\H]`: `\H inside []`, `[\b]`: `\b is not supported`, `[a\R]`: `\R is not supported`,
		`\bé`: `\b is not supported`, `a\B`: `\B is not supported`, `a\Z`: `\Z is not supported`, `\Ga`: `\G is not supported`, `\X`: `\X is not supported`,
		`\R`: `\R is not supported`, `a\Kb`: `\K is not supported`, `\N`: `\N is not supported`, `\O`: `\O is not supported`, `\Qa\E`: `\Q is not supported`,
		`\ya`: `\y is not supported`, `(a)\k<1>`: `\k is not supported`, `(a)\g<1>`: `\g is not supported`, `\cA`: `\c is not supported`, `\C-a`: `\C is not supported`, `\M-a`: `\M is not supported`,
		`(a)\1`: `\1: references and octal`, `\12`: `\1: references and octal`, `\012`: `\0: references and octal`, `\o{12}`: `\o is not supported`, `\xe9`: `\xe9 is a byte`,
		`\x4`: `\x wants two`, `\x{61 62}`: `"\\x{61 62}" is no character`, `\x{110000}`: "is no character", `\ud800`: "is no character", `\u41`: `\u wants four`,
		`\pL`: `\p without {}`, `\p{punct}`: `\p{punct} is not supported`, `\p{Alpha}`: `\p{Alpha} is not supported`, `\P{Emoji}`: `\P{Emoji} is not supported`, `\p{L`: `\p without {}`,
		`(?i)ß`: `"ß" where (?i) holds`, `(?i:'s|ss)`: `"s" where (?i) holds`, `(?i)fi`: `"i" where (?i) holds`, `(?i)[ß]`: `"ß" where (?i) holds`, `(?i)[a-ÿ]`: "a range beyond ASCII",
		`(?i)\p{Lu}`: `\p where (?i) holds`, `(?i)[\w]`: `\w where (?i) holds`,
		strings.Repeat("(", 65) + "a" + strings.Repeat(")", 65): "groups inside of more than 64",
	} {
		re, err := translateRegex(pattern)
		if err == nil {
			t.Errorf("%q is taken for %s", pattern, re.re)
		} else if !strings.Contains(err.Error()+" ", want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
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
	for _, p := range []string{gpt2Pattern, `(?i:a|[^\h-]{,3})?b$`, `\x{61}\u0061\p{^Lu}`} {
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
