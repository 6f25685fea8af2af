package tokenizer

import (
	"strings"
	"testing"
)

// TestOtherSyntax refuses expressions that Go compiles and reads otherwise than Oniguruma, and takes those that both read alike.
func TestOtherSyntax(t *testing.T) {
	for expr, want := range map[string]string{
		`(?m:a.)`: "the group", `(?s)a.`: "the group", `(?U)a+`: "the group", `(?P<n>a)`: "the group", `(?im)a`: "the group",
		`a(?i)b|c`: "the group", `\((?i)b|c`: "the group",
		`a{,3}`: "{,n}", `a{2}?`: "{n}?", `[]a]`: "] that begins []", `[^]a]`: "] that begins []",
		`\Qa+\E`: `\Q is not supported`, `a\E`: `\E is not supported`, `(a)\1`: `\1 is not supported`, `a\12`: `\1 is not supported`, `\pL+`: `\p without {`, `[\PL]`: `\P without {`,
	} {
		if _, err := translateRegex(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", expr, err, want)
		}
	}
	for _, expr := range []string{`(?i)a|b`, `((?i)a|b)`, `(?-i:a)`, `(?i:'s|'t)|\p{L}`, `(?<name>a)`, `(?:a)`, `a{2,3}?`, `a{2}`, `[{,?]`, `[a\]]`, `[(?m]`, `\{,`, `\p{^Han}`, gpt2Pattern, llama3Pattern, qwen2Pattern} {
		if _, err := translateRegex(expr); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
}
