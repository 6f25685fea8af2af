package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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

var link = regexp.MustCompile(`\]\(([^)\s#]+)(#[^)]*)?\)`)

// brokenLinks returns the relative links of a Markdown file that lead nowhere.
func brokenLinks(f textFile, exists func(string) bool) (out []string) {
	if path.Ext(f.path) != ".md" {
		return nil
	}
	for i, line := range strings.Split(f.text, "\n") {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "/") {
				continue
			}
			if target := path.Join(path.Dir(f.path), m[1]); !exists(target) {
				out = append(out, fmt.Sprintf("%s:%d: the link leads to %s, which does not exist", f.path, i+1, target))
			}
		}
	}
	return out
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
		for _, v := range brokenLinks(f, inTree) {
			t.Error(v)
		}
	}
}

var (
	fence     = regexp.MustCompile("(?ms)^```(?:sh|console|bash|shell)?\n(.*?)^```")
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

// What the README tells people to type exists.
func TestCommands(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if os.IsNotExist(err) {
		t.Skip("there is no README.md whose commands could be checked")
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string]bool{"help": true, "completion": true} // cobra's own
	for _, f := range files {
		if f.pkg() == "cmd/searchd" {
			for _, m := range cobraUse.FindAllSubmatch(f.src, -1) {
				uses[string(m[1])] = true
			}
		}
	}
	for _, v := range commandFaults(textFile{"README.md", string(readme)}, uses, inTree) {
		t.Error(v)
	}
}

func TestDocsCanFail(t *testing.T) {
	exists := func(p string) bool { return p == "cmd/searchd" || p == "docs/a.md" || p == "internal/lint" }
	bad := textFile{"docs/b.md", "see [a](a.md#x), [web](https://x.org), [gone](gone.md)\nTO" + "DO: more\nlook in /wo" + "rk/x and https://x.org/root/y\n"}
	if got := brokenLinks(bad, exists); len(got) != 1 || !strings.Contains(got[0], "docs/gone.md") {
		t.Errorf("brokenLinks = %q", got)
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
