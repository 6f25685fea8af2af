package api

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"searchd/access"
	"searchd/search"
)

// section returns the lines of the description below a line, as far as they are indented deeper.
func section(t *testing.T, start string) []string {
	t.Helper()
	lines := strings.Split(string(openAPI), "\n")
	i := slices.Index(lines, start)
	if i < 0 {
		t.Fatalf("openapi.yaml has no line %q", start)
	}
	indent := len(start) - len(strings.TrimLeft(start, " "))
	var out []string
	for _, l := range lines[i+1:] {
		if l != "" && len(l)-len(strings.TrimLeft(l, " ")) <= indent {
			break
		}
		out = append(out, l)
	}
	return out
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	f := newFixture(t, Options{})
	described := map[string]bool{}
	path := ""
	pathLine, methodLine := regexp.MustCompile(`^  (/\S*):$`), regexp.MustCompile(`^    (get|put|post|patch|delete):`)
	for _, l := range section(t, "paths:") {
		if m := pathLine.FindStringSubmatch(l); m != nil {
			path = m[1]
		}
		if m := methodLine.FindStringSubmatch(l); m != nil {
			described[strings.ToUpper(m[1])+" "+path] = true
		}
	}
	served := map[string]bool{}
	for _, r := range f.server.routes() {
		served[r.method+" "+r.path] = true
	}
	if !maps.Equal(described, served) {
		for r := range served {
			if !described[r] {
				t.Errorf("openapi.yaml lacks %s", r)
			}
		}
		for r := range described {
			if !served[r] {
				t.Errorf("openapi.yaml describes %s, which is not served", r)
			}
		}
	}
}

// TestOpenAPIHasEveryScope compares what each operation says of its security with the route table.
func TestOpenAPIHasEveryScope(t *testing.T) {
	f := newFixture(t, Options{})
	said := map[string]string{}
	path, method := "", ""
	pathLine, methodLine := regexp.MustCompile(`^  (/\S*):$`), regexp.MustCompile(`^    (get|put|post|patch|delete):`)
	security := regexp.MustCompile(`\bsecurity: (\[\]|\[\{ bearer: \[[^]]*\] \}\])`)
	for _, l := range section(t, "paths:") {
		if m := pathLine.FindStringSubmatch(l); m != nil {
			path = m[1]
		}
		if m := methodLine.FindStringSubmatch(l); m != nil {
			method = strings.ToUpper(m[1])
		}
		if m := security.FindStringSubmatch(l); m != nil {
			said[method+" "+path] = strings.ReplaceAll(m[1], `"`, "")
		}
	}
	for _, r := range f.server.routes() {
		want := "[{ bearer: [" + strings.Join(r.needs.Names(), ", ") + "] }]"
		switch r.needs {
		case open:
			want = "[]"
		case access.All:
			want = "[{ bearer: [] }]"
		}
		if got := said[r.method+" "+r.path]; got != want {
			t.Errorf("%s %s: openapi.yaml says security: %s, the route table %s", r.method, r.path, got, want)
		}
	}
}

func TestOpenAPIHasEveryCode(t *testing.T) {
	text := strings.Join(section(t, "    Problem:"), "\n")
	for _, f := range append(failures, internalFailure) {
		if !regexp.MustCompile(`\b` + f.code + `\b`).MatchString(text) {
			t.Errorf("openapi.yaml lacks the code %s", f.code)
		}
	}
}

func TestOpenAPIHasEveryMember(t *testing.T) {
	for schema, v := range map[string]any{
		"Query": search.Query{}, "Response": search.Response{}, "Hit": search.Hit{}, "Passage": search.PassageHit{}, "Settings": search.Settings{},
		"Collection": search.CollectionInfo{}, "Problem": problem{}, "Result": itemAnswerOfAPI{}, "EmbeddingRequest": embeddingRequest{}, "EmbeddingList": embeddingList{},
		"TEIRequest": teiEmbedRequest{}, "RerankRequest": rerankRequest{}, "RerankAnswer": rerankAnswer{}, "AttentionRequest": attentionRequest{},
		"AttentionAnswer": attentionAnswer{}, "Usage": embeddingUsage{}, "TEIError": teiError{}, "Explain": search.Explain{}, "Key": access.Key{}, "KeySpec": access.Spec{},
		"Facet": search.Facet{}, "FacetCounts": search.FacetCounts{}, "Similar": search.Similar{}, "Explanation": search.Explanation{},
		"Task": search.Task{}, "Snapshot": search.Snapshot{}, "Alias": search.Alias{},
		"Map": search.Map{}, "MapOptions": search.MapOptions{}, "CollectionStats": search.Gauges{},
	} {
		text := strings.Join(section(t, "    "+schema+":"), "\n")
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !regexp.MustCompile(`(?m)^ +`+name+`: `).MatchString(text) && !regexp.MustCompile(`(?m)^        `+name+`:`).MatchString(text) {
				t.Errorf("schema %s lacks %s", schema, name)
			}
		}
	}
}

// itemAnswerOfAPI is the part of itemAnswer that is not the import's alone.
type itemAnswerOfAPI struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Revision uint64 `json:"revision"`
	Passages int    `json:"passages"`
	Error    string `json:"error"`
}
