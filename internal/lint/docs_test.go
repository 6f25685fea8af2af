package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// personal matches paths of one machine inside running text.
var personal = regexp.MustCompile(`(^|[\s"'(=` + "`" + `])/(root|wo` + `rk)/\w`)

func textFaults(f textFile) (out []string) {
	for i, line := range strings.Split(f.text, "\n") {
		if word := leftover.FindString(line); word != "" {
			out = append(out, fmt.Sprintf("%s:%d: %s: do it, or say what is and why", f.path, i+1, word))
		}
		if personal.MatchString(line) {
			out = append(out, fmt.Sprintf("%s:%d: a path of one machine: readers have another one", f.path, i+1))
		}
	}
	return out
}

func TestText(t *testing.T) {
	files, err := textFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, v := range textFaults(f) {
			t.Error(v)
		}
	}
	gofiles, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range gofiles {
		for i, line := range strings.Split(string(f.src), "\n") {
			if personal.MatchString(line) {
				t.Errorf("%s:%d: a path of one machine: readers have another one", f.path, i+1)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	inWords = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchor returns the name under which a heading can be linked to.
func anchor(heading string) string {
	return strings.ReplaceAll(inWords.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// brokenLinks returns the relative links of a Markdown file that lead to no file or heading. read
// returns the text of a file.
func brokenLinks(f textFile, read func(string) (string, bool)) (out []string) {
	if path.Ext(f.path) != ".md" {
		return nil
	}
	for i, line := range strings.Split(f.text, "\n") {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "/") {
				continue
			}
			target, text := f.path, f.text
			if m[1] != "" {
				target = path.Join(path.Dir(f.path), m[1])
				var ok bool
				if text, ok = read(target); !ok {
					out = append(out, fmt.Sprintf("%s:%d: the link leads to %s, which does not exist", f.path, i+1, target))
					continue
				}
			}
			if m[2] == "" || path.Ext(target) != ".md" {
				continue
			}
			if !slices.ContainsFunc(heading.FindAllStringSubmatch(text, -1), func(h []string) bool { return anchor(h[1]) == m[2] }) {
				out = append(out, fmt.Sprintf("%s:%d: %s has no heading #%s", f.path, i+1, target, m[2]))
			}
		}
	}
	return out
}

// readTree returns the text of a file of the repository; a folder has an empty one.
func readTree(p string) (string, bool) {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
	return string(b), err == nil || inTree(p)
}

func inTree(p string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(p)))
	return err == nil
}

func TestLinks(t *testing.T) {
	files, err := textFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, v := range brokenLinks(f, readTree) {
			t.Error(v)
		}
	}
}

var (
	fence     = regexp.MustCompile("(?ms)^```(?:sh(?: run)?|console|bash|shell)?\n(.*?)^```")
	ourTool   = regexp.MustCompile(`(?m)(?:^|[|&;$] *|\./|go run \./cmd/)(searchd|ingest)\b(?: +([a-z][a-z-]*)(?: +([a-z][a-z-]*))?)?`)
	goPath    = regexp.MustCompile(`(?m)\bgo (?:run|build|test|install|generate|vet)\b[^\n]*? \./([\w/.-]+)`)
	cobraUse  = regexp.MustCompile(`Use:\s*"([a-z][a-z-]*)`)
	wildcards = regexp.MustCompile(`/?\.\.\.$`)
)

// commandFaults returns the commands in the code blocks of a document that this repository does not
// have. uses are the names of all subcommands of searchd.
func commandFaults(f textFile, uses map[string]bool, exists func(string) bool) (out []string) {
	for _, block := range fence.FindAllStringSubmatch(f.text, -1) {
		for _, m := range ourTool.FindAllStringSubmatch(block[1], -1) {
			if !exists("cmd/" + m[1]) {
				out = append(out, fmt.Sprintf("%s: %q: there is no cmd/%s", f.path, strings.TrimSpace(m[0]), m[1]))
			} else if m[1] == "searchd" && m[2] != "" && !uses[m[2]] {
				out = append(out, fmt.Sprintf("%s: %q: searchd has no command %s", f.path, strings.TrimSpace(m[0]), m[2]))
			}
		}
		for _, m := range goPath.FindAllStringSubmatch(block[1], -1) {
			if dir := wildcards.ReplaceAllString(m[1], ""); dir != "" && !exists(dir) {
				out = append(out, fmt.Sprintf("%s: %q: there is no %s", f.path, m[0], dir))
			}
		}
	}
	return out
}

// What the documents and the examples tell people to type exists.
func TestCommands(t *testing.T) {
	texts, err := textFiles()
	if err != nil {
		t.Fatal(err)
	}
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string]bool{"help": true, "completion": true} // cobra's own
	for _, f := range files {
		if f.pkg() == "cmd/searchd" || strings.HasPrefix(f.pkg(), "cmd/internal/") {
			for _, m := range cobraUse.FindAllSubmatch(f.src, -1) {
				uses[string(m[1])] = true
			}
		}
	}
	for _, f := range texts {
		switch {
		case strings.HasPrefix(f.path, "examples/") && path.Ext(f.path) == ".sh":
			f.text = "```sh\n" + f.text + "\n```"
		case !document(f.path):
			continue
		}
		for _, v := range commandFaults(f, uses, inTree) {
			t.Error(v)
		}
	}
}

// document reports whether a file is one of the documents for users and contributors.
func document(p string) bool {
	return path.Base(p) == "FORMAT.md" || path.Ext(p) == ".md" && (path.Dir(p) == "." || strings.HasPrefix(p, "docs/") || strings.HasPrefix(p, "training/"))
}

// Limits on documents: words of README.md and of all of docs/, lines of ARCHITECTURE.md.
const (
	maxReadmeWords       = 700
	maxDocsWords         = 15000
	maxArchitectureLines = 300
)

// privateWords are not the terms of the field; docs/README.md lists those that are used.
var privateWords = regexp.MustCompile(`(?i)\b(legs?|what is gone|spread|mend(?:s|ed)?|twin|courtesy)\b`)

// proseFaults returns the lines of a document that are too long or use a word that it must not.
// Tables, code, headings and lines that are one long word, such as a link, may be longer.
func proseFaults(f textFile) (out []string) {
	code := false
	for i, line := range strings.Split(f.text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code || strings.HasPrefix(line, "    ") {
			continue
		}
		if word := privateWords.FindString(line); word != "" {
			out = append(out, fmt.Sprintf("%s:%d: %q: use the terms of docs/README.md", f.path, i+1, word))
		}
		if strings.HasPrefix(line, "|") || len(strings.Fields(strings.TrimLeft(line, "-* "))) < 2 {
			continue
		}
		if n := utf8.RuneCountInString(line); n > maxColumns {
			out = append(out, fmt.Sprintf("%s:%d: %d columns, the limit is %d", f.path, i+1, n, maxColumns))
		}
	}
	return out
}

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```")

// jsonFaults returns the JSON blocks of a document that are no JSON.
func jsonFaults(f textFile) (out []string) {
	for _, block := range jsonBlock.FindAllStringSubmatch(f.text, -1) {
		if err := json.Unmarshal([]byte(block[1]), new(any)); err != nil {
			out = append(out, fmt.Sprintf("%s: %v in\n%s", f.path, err, block[1]))
		}
	}
	return out
}

func TestProse(t *testing.T) {
	files, err := textFiles()
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, f := range files {
		if !document(f.path) {
			continue
		}
		if strings.HasPrefix(f.path, "docs/") {
			words += len(strings.Fields(f.text))
		}
		for _, v := range append(proseFaults(f), jsonFaults(f)...) {
			t.Error(v)
		}
		switch f.path {
		case "README.md":
			if n := len(strings.Fields(f.text)); n > maxReadmeWords {
				t.Errorf("README.md has %d words, the limit is %d: it is read in two minutes", n, maxReadmeWords)
			}
			for _, want := range []string{"make run", "make test"} {
				if !strings.Contains(f.text, want) {
					t.Errorf("README.md does not name `%s`", want)
				}
			}
		case "ARCHITECTURE.md":
			if n := strings.Count(f.text, "\n"); n > maxArchitectureLines {
				t.Errorf("ARCHITECTURE.md has %d lines, the limit is %d", n, maxArchitectureLines)
			}
		}
	}
	if words > maxDocsWords {
		t.Errorf("docs/ has %d words, the limit is %d: nobody reads more", words, maxDocsWords)
	}
}

func TestDocsCanFail(t *testing.T) {
	exists := func(p string) bool { return p == "cmd/searchd" || p == "internal/lint" }
	read := func(p string) (string, bool) { return "# A heading: of two, words\n", p == "docs/a.md" }
	bad := textFile{"docs/b.md", "see [a](a.md#a-heading-of-two-words), [x](a.md#x), [web](https://x.org), [gone](gone.md), [here](#here)\nTO" + "DO: more\nlook in /wo" + "rk/x and https://x.org/root/y\n## Here\n"}
	if got := brokenLinks(bad, read); len(got) != 2 || !strings.Contains(got[0], "#x") || !strings.Contains(got[1], "docs/gone.md") {
		t.Errorf("brokenLinks = %q", got)
	}
	long := strings.Repeat("words ", 20)
	prose := textFile{"docs/c.md", long + "\n|" + long + "\n```\n" + long + "\n```\n- https://x.org/" + strings.ReplaceAll(long, " ", "") + "\nthe keyword leg\n"}
	if got := proseFaults(prose); len(got) != 2 || !strings.Contains(got[0], ":1:") || !strings.Contains(got[1], `"leg"`) {
		t.Errorf("proseFaults = %q", got)
	}
	if got := jsonFaults(textFile{"docs/d.md", "```json\n{\"a\": 1}\n```\n```json\n{a: 1}\n```\n"}); len(got) != 1 {
		t.Errorf("jsonFaults = %q", got)
	}
	if got := textFaults(bad); len(got) != 2 {
		t.Errorf("textFaults = %q", got)
	}
	doc := textFile{"README.md", "Type searchd nonsense in prose.\n```sh\nsearchd serve --data x\n./searchd fly\ncat x | ingest -\ngo test ./internal/lint ./...\ngo run ./cmd/nothing\ngo build ./...\n```\n"}
	got := commandFaults(doc, map[string]bool{"serve": true}, exists)
	if len(got) != 3 {
		t.Errorf("commandFaults = %q, want fly, ingest and cmd/nothing", got)
	}
}
