package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// missingTests returns the alternatives of the -run patterns of a row that no test of the package
// has.
func missingTests(t *testing.T, r row) (missing []string) {
	t.Helper()
	for _, c := range append(append([]string{}, r.short...), r.long...) {
		_, test, isTest := strings.Cut(c, "test ")
		f := strings.Fields(test)
		if !isTest || len(f) < 2 {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, f[0], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var source []byte
		for _, p := range files {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			source = append(source, b...)
		}
		for alternative := range strings.SplitSeq(f[1], "|") {
			if !regexp.MustCompile(`(?m)^func ` + strings.ReplaceAll(alternative, ".*", `\w*`) + `\(`).Match(source) {
				missing = append(missing, f[0]+" "+alternative)
			}
		}
	}
	return missing
}

// TestRows holds the rows against the tests that they name, and README.md against the rows.
func TestRows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "internal", "reliability", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if r.number != i+1 {
			t.Errorf("row %d has the number %d", i+1, r.number)
		}
		for _, m := range missingTests(t, r) {
			t.Errorf("row %d: there is no test %s", r.number, m)
		}
		if line := fmt.Sprintf("| %d | %s |", r.number, r.promise); !bytes.Contains(page, []byte(line)) {
			t.Errorf("internal/reliability/README.md lacks %q", line)
		}
		cells := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \|[^|]+\|([^|]*)\|([^|]*)\|$`, r.number)).FindSubmatch(page)
		if cells == nil || !regexp.MustCompile(`\d`).Match(cells[1]) || len(bytes.TrimSpace(cells[2])) == 0 {
			t.Errorf("row %d of internal/reliability/README.md lacks a figure or the fault that made it fail", r.number)
		}
	}
	if len(missingTests(t, row{short: []string{"test store TestKill|TestNobodyWroteIt"}})) != 1 {
		t.Error("a test that does not exist is not missed")
	}
}

func TestArguments(t *testing.T) {
	var out bytes.Buffer
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--list --row 2,9", 0, " 9 one process has a data folder"},
		{"--list --row 1 --long", 0, "SEARCHD_STORE_KILLS=200 go test"},
		{"--row 26", 2, ""},
		{"--row one", 2, ""},
	} {
		out.Reset()
		if code := run(strings.Fields(tt.args), &out); code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: exit code %d, want %d, with %q in\n%s", tt.args, code, tt.code, tt.want, out.String())
		}
	}
	failing := row{1, "it fails", []string{"exit 3"}, nil}
	if failing.run(&out, failing.commands(false), 1) || !strings.Contains(out.String(), "FAILED: exit 3") {
		t.Errorf("a command that fails: %s", out.String())
	}
}
