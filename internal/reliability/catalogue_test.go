package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var catalogueLine = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)

// lacking returns the tests, named as in CATALOGUE.md, that do not exist.
func lacking(t *testing.T, names string) (missing []string) {
	t.Helper()
	for name := range strings.SplitSeq(names, ", ") {
		dir, test, ok := strings.Cut(name, ".")
		files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, path := range files {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(b), "\nfunc "+test+"(t *testing.T)")
		}
		if !ok || !found {
			missing = append(missing, name)
		}
	}
	return missing
}

// TestCatalogue: every line of CATALOGUE.md has an answer and names tests that exist.
func TestCatalogue(t *testing.T) {
	page, err := os.ReadFile("CATALOGUE.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, m := range catalogueLine.FindAllSubmatch(page, -1) {
		input, tests := string(m[1]), string(m[3])
		if input == "input" {
			continue
		}
		lines++
		for _, name := range lacking(t, tests) {
			t.Errorf("%s: there is no test %s", input, name)
		}
	}
	if want := strings.Count(string(page), "\n| ") - strings.Count(string(page), "\n| input |"); lines != want || lines < 50 {
		t.Errorf("%d of %d lines have three columns, want all, and at least 50", lines, want)
	}
	if got := lacking(t, "store.TestKill, store.TestNobodyWroteIt, TestKill"); len(got) != 2 {
		t.Errorf("missing: %v, want those that do not exist", got)
	}
}

// TestModuleVersions: the modules that read foreign bytes are of versions without known faults.
func TestModuleVersions(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for module, least := range map[string][3]int{
		"github.com/labstack/echo/v4":     {4, 16, 0}, // paths past access rules, redirects, forged schemes
		"github.com/blevesearch/bleve/v2": {2, 5, 0},  // its HTTP handlers are gone
		"golang.org/x/net":                {0, 45, 0}, // quadratic and endless parsing of HTML
	} {
		var got [3]int
		m := regexp.MustCompile(regexp.QuoteMeta(module) + ` (v\d+\.\d+\.\d+)`).FindSubmatch(mod)
		if m == nil {
			t.Errorf("go.mod lacks %s", module)
			continue
		}
		if _, err := fmt.Sscanf(string(m[1]), "v%d.%d.%d", &got[0], &got[1], &got[2]); err != nil {
			t.Fatal(err)
		}
		older := false
		for i := range got {
			if got[i] != least[i] {
				older = got[i] < least[i]
				break
			}
		}
		if older {
			t.Errorf("%s is %s, want v%d.%d.%d or later", module, m[1], least[0], least[1], least[2])
		}
	}
}
