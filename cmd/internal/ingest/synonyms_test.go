package ingest

import (
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

func TestSynonyms(t *testing.T) {
	notes, files := t.TempDir(), t.TempDir()
	write(t, notes+"/tv.md", "The television is broken.")
	write(t, files+"/first", "\ufeff# comment\n\n  tv, telly => television  \r\nk8s, kubernetes")
	write(t, files+"/second", "box, television\n")
	write(t, files+"/empty", "# nothing\n")
	write(t, files+"/wrong", "a, b\n# c\na, => b\n")
	write(t, files+"/bytes", "a, \xff\n")
	for _, sink := range []string{"folder", "server"} {
		t.Run(sink, func(t *testing.T) {
			base, with := into(t, sink, notes)
			for _, step := range []struct {
				file  string // of --synonyms
				rules []string
				wrong string
			}{
				{file: "first", rules: []string{"tv, telly => television", "k8s, kubernetes"}},
				{rules: []string{"tv, telly => television", "k8s, kubernetes"}},
				{file: "wrong", rules: []string{"tv, telly => television", "k8s, kubernetes"}, wrong: `line 3 of ` + files + `/wrong is "a, => b", allowed: between commas`},
				{file: "bytes", rules: []string{"tv, telly => television", "k8s, kubernetes"}, wrong: "is not UTF-8"},
				{file: "none", rules: []string{"tv, telly => television", "k8s, kubernetes"}, wrong: "--synonyms: open"},
				{file: "second", rules: []string{"box, television"}},
				{file: "empty"},
			} {
				args := base
				if step.file != "" {
					args = append([]string{"--synonyms", files + "/" + step.file}, base...)
				}
				var said strings.Builder
				cmd := Program()
				cmd.SetArgs(args)
				cmd.SetOut(&said)
				cmd.SetErr(&said)
				if err := cmd.ExecuteContext(t.Context()); (err != nil) != (step.wrong != "") || err != nil && !strings.Contains(err.Error(), step.wrong) {
					t.Errorf("--synonyms %s: %v, want %q; %s", step.file, err, step.wrong, said.String())
				}
				with(func(e *search.Engine) {
					c, err := e.Collection(t.Context(), "docs")
					if err != nil || !slices.Equal(c.Settings.Synonyms, step.rules) || c.Documents != 1 {
						t.Errorf("after --synonyms %s: %q, %d documents, %v, want %q", step.file, c.Settings.Synonyms, c.Documents, err, step.rules)
					}
				})
			}
		})
	}
}
