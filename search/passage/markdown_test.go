package passage

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// describe returns blocks as text.
func describe(text string, blocks []Block) string {
	var out []string
	for _, b := range blocks {
		s := fmt.Sprintf("%v", b.Kind)
		if b.Level > 0 {
			s += fmt.Sprint(b.Level)
		}
		if b.Language != "" {
			s += "(" + b.Language + ")"
		}
		s += fmt.Sprintf(" %q", text[b.Start:b.End])
		if b.Head > 0 {
			s += fmt.Sprintf(" head %q", text[b.Start:b.Head])
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"plain text. It has - and = and # within.":   "",
		"# One\ntext\n## Two ##\n#no heading":        `heading1 "# One"; heading2 "## Two ##"`,
		"Title\n=====\n\ntext\n\nSection\n---\nmore": `heading1 "Title\n====="; heading2 "Section\n---"`,
		"two lines of\nprose\n-----\nmore":           "",
		"---\nkey: value\n---\ntext":                 "",
		"a\n==\nb":                                   "",
		"- item\n---\n":                              "",
		"```bash\n# install dependencies\n## also not a heading\n```\n# A heading": `code(bash) "` + "```bash\\n# install dependencies\\n## also not a heading\\n```" + `"; heading1 "# A heading"`,
		"~~~ {.Go}\ncode ```\n~~~~\n# H":                                           `code(go) "~~~ {.Go}\ncode ` + "```" + `\n~~~~"; heading1 "# H"`,
		"```\nnot closed\n# H\n````\n# I":                                          `code "` + "```\\nnot closed\\n# H\\n````" + `"; heading1 "# I"`,
		"````\nnot closed\n# H\n```\n# I":                                          `heading1 "# H"; heading1 "# I"`,
		"| a | b |\n|---|:-:|\n| 1 | 2 |\n\ntext | more":                           `table "| a | b |\n|---|:-:|\n| 1 | 2 |" head "| a | b |\n|---|:-:|"`,
		"a | b\r\n--|--\r\n1 | 2\r\ntext":                                          `table "a | b\r\n--|--\r\n1 | 2" head "a | b\r\n--|--"`,
		"a | b\n1 | 2":                                                             "",
	} {
		blocks := Markdown(text)
		if got := describe(text, blocks); got != want {
			t.Errorf("Markdown(%q) =\n%s, want\n%s", text, got, want)
		}
		if err := Check(text, blocks); err != nil {
			t.Errorf("Markdown(%q): %v", text, err)
		}
	}
}

// cut returns the passages of a text, each behind what stands in front of it.
func cut(text string, blocks []Block, budget int) (out []string) {
	c := Cutter{Budget: budget, Count: words, Prefix: func(c Context) string { return c.Lead("") }}
	for _, p := range c.Cut(text, blocks) {
		s := text[p.Start:p.End]
		if lead := p.Context.Lead(""); lead != "" {
			s = "[" + lead + "] " + s
		}
		out = append(out, s)
	}
	return out
}

func TestCutAlongBlocks(t *testing.T) {
	var table strings.Builder
	table.WriteString("parameter | type | default in milliseconds | description\n---|---|---|---\n")
	for i := range 80 {
		fmt.Fprintf(&table, "timeout_%d | int | %d | how long step %d may take\n", i, 100+i, i)
	}
	for _, p := range cut("# Settings\n\n"+table.String(), nil, 60) {
		if row := strings.Contains(p, "timeout_63 |"); row && !strings.HasPrefix(p, "[Settings\nparameter | type | default in milliseconds | description] timeout_") {
			t.Errorf("a passage of the table is %q", p)
		}
		if last := p[strings.LastIndex(p, "\n")+1:]; !strings.HasSuffix(last, "may take") {
			t.Errorf("a row is divided: %q", last)
		}
	}
	for _, tc := range []struct {
		name, text string
		blocks     []Block
		budget     int
		want       []string
	}{
		{"fenced code is no heading", "Run it.\n\n```sh\n# install dependencies\nmake deps\n## also not a heading\nmake\n```\n\nThen wait.", nil, 30,
			[]string{"Run it.\n\n```sh\n# install dependencies\nmake deps\n## also not a heading\nmake\n```\n\nThen wait."}},
		{"underlined headings", "One\n===\n\ntext of one\n\nTwo\n===\n\ntext of two", nil, 30, []string{"One\n===\n\ntext of one", "Two\n===\n\ntext of two"}},
		{"trail", "# A\n\na b.\n\n## B\n\nc d.\n\n### C\n\ne f. g h.\n\n## D\n\ni j.", nil, 7,
			[]string{"# A\n\na b.", "[A] ## B\n\nc d.", "[A > B] ### C\n\ne f.", "[A > B > C] g h.", "[A] ## D\n\ni j."}},
		{"items stay whole", "a b. c d. e f.\ng h. i j. k l.\nm n.", []Block{{Kind: Item, Level: 1, End: 14}, {Kind: Item, Level: 1, Start: 15, End: 29}, {Kind: Item, Level: 1, Start: 30, End: 34}}, 8,
			[]string{"a b. c d. e f.", "g h. i j. k l.\nm n."}},
		{"lines of code stay whole", "x = 1. y = 2. z\nif a. b. c. d", []Block{{Kind: Code, Language: "go", End: 29}}, 8, []string{"[go] x = 1. y = 2. z", "[go] if a. b. c. d"}},
		{"pages", "a b c. d e f.", []Block{{Kind: Paragraph, End: 6, Page: 1}, {Kind: Paragraph, Start: 7, End: 13, Page: 2}}, 3, []string{"a b c.", "d e f."}},
		{"blocks decide", "# no heading\n\nheading\n\ntext", []Block{{Kind: Paragraph, End: 12}, {Kind: Heading, Level: 2, Start: 14, End: 21}}, 30, []string{"# no heading", "heading\n\ntext"}},
	} {
		if got := cut(tc.text, tc.blocks, tc.budget); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// TestContexts checks that what is found out about stored passages is what they were cut with, and
// that passages of random blocks lose nothing.
func TestContexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for _, line := range rapid.SliceOfN(rapid.SampledFrom([]string{"# A b", "## C", "### D", "Title\n=====", "text of it. More of it.", "", "```go\nx := 1\n\n# y\n```", "h | i\n--|--\n1 | 2\n3 | 4 and more of it", "- item", "---"}), 0, 30).Draw(t, "lines") {
			b.WriteString(line + "\n")
		}
		text := b.String()
		blocks := Markdown(text)
		if err := Check(text, blocks); err != nil {
			t.Fatal(err)
		}
		passages := Cutter{Budget: rapid.IntRange(1, 20).Draw(t, "budget"), Count: words}.Cut(text, blocks)
		var starts []int
		joined, end := "", 0
		for _, p := range passages {
			if p.Start < end {
				t.Fatalf("passage %v of %q overlaps another", p, text)
			}
			starts, joined, end = append(starts, p.Start), joined+text[p.Start:p.End], p.End
		}
		for i, c := range Contexts(text, blocks, starts) {
			if !c.same(passages[i].Context) {
				t.Fatalf("the context at %d of %q is %+v, cut with %+v", starts[i], text, c, passages[i].Context)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(joined) != squeeze(text) {
			t.Fatalf("passages of %q lose text: %q", text, joined)
		}
	})
}
