package api

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/access"
	"example.com/searchd/api/apitest"
	"example.com/searchd/search"

	"github.com/getkin/kin-openapi/openapi3"
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

// operations returns what the description says of each "METHOD /path".
func operations(t *testing.T) map[string]*openapi3.Operation {
	t.Helper()
	c, err := described()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	all := map[string]*openapi3.Operation{}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			all[method+" "+path] = op
		}
	}
	return all
}

// TestOpenAPIHasEveryRoute compares the description with the route table, and the table with what
// echo serves.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	e := apitest.New(t)
	s, err := New(Options{Engine: e, Inference: e})
	if err != nil {
		t.Fatal(err)
	}
	described, served := operations(t), map[string]bool{}
	for _, r := range s.routes() {
		if described[r.method+" "+r.path] == nil {
			t.Errorf("openapi.yaml lacks %s %s", r.method, r.path)
		}
		served[r.method+" "+r.path], served[r.method+" "+expandPath(r.path)] = true, true
	}
	for name := range described {
		if !served[name] {
			t.Errorf("openapi.yaml describes %s, which is not served", name)
		}
	}
	for _, r := range s.router().Routes() {
		if r.Method != http.MethodHead && !served[r.Method+" "+r.Path] {
			t.Errorf("%s %s is served and not in the route table, so nothing says which scope it needs", r.Method, r.Path)
		}
	}
}

// TestOpenAPIHasEveryScope compares what each operation says of its security with the route table.
func TestOpenAPIHasEveryScope(t *testing.T) {
	f := newFixture(t, Options{})
	said := operations(t)
	for _, r := range f.server.routes() {
		want := openapi3.SecurityRequirements{}
		switch r.needs {
		case open:
		case access.All:
			want = append(want, openapi3.SecurityRequirement{"bearer": {}})
		default:
			want = append(want, openapi3.SecurityRequirement{"bearer": r.needs.Names()})
		}
		op := said[r.method+" "+r.path]
		if op == nil || op.Security == nil || !reflect.DeepEqual(*op.Security, want) {
			t.Errorf("%s %s: openapi.yaml does not say security: %v, as the route table", r.method, r.path, want)
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
		"Map": search.Map{}, "MapOptions": search.MapOptions{}, "CollectionStats": search.Gauges{}, "CollectionLanguage": search.Language{},
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
