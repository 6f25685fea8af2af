package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/access"
	"example.com/searchd/api/apitest"
	"example.com/searchd/api/meilisearch"
)

// newMeili is newTenants on a server with the routes of Meilisearch.
func newMeili(t *testing.T) tenants {
	t.Helper()
	return newTenantsWith(t, Options{Meilisearch: &apitest.Vault{}})
}

// meiliPath fills in the parameters of a path.
func meiliPath(t *testing.T, path, key string) string {
	t.Helper()
	at := strings.NewReplacer("{collection}", "both", "{id}", "nocturne-1", "{setting}", "synonyms", "{task}", "1", "{key}", key).Replace(path)
	if strings.Contains(at, "{") {
		t.Fatalf("%s: this test does not know what to put in", path)
	}
	return at
}

// TestMeilisearchScopes: each route refuses keys without its scope and keys for other indexes, with
// an error that Meilisearch's clients understand.
func TestMeilisearchScopes(t *testing.T) {
	f := newMeili(t)
	make := func(scopes access.Scopes, collections ...string) string {
		_, token, err := f.ring.Create(t.Context(), access.Spec{Name: "test", Scopes: scopes, Collections: collections})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	stranger := make(access.All, "other")
	for _, rt := range f.server.meiliRoutes() {
		if rt.needs == open {
			continue
		}
		name, at := rt.method+" "+rt.path, meiliPath(t, rt.path, f.id)
		ask := func(token string) (int, meilisearch.Problem) {
			var header []string
			if token != "" {
				header = []string{"Authorization", "Bearer " + token}
			}
			a := f.do(rt.method, at, "", header...)
			var p meilisearch.Problem
			json.Unmarshal(a.Body.Bytes(), &p)
			return a.Code, p
		}
		if status, p := ask(""); status != 401 || p.Code != "missing_authorization_header" || p.Type != "auth" {
			t.Errorf("%s without a key: %d %+v", name, status, p)
		}
		if without := access.All &^ rt.needs; without != 0 {
			if status, p := ask(make(without)); status != 403 || p.Code != "invalid_api_key" {
				t.Errorf("%s without its scope: %d %+v", name, status, p)
			}
		}
		if status, p := ask(stranger); strings.Contains(rt.path, "{collection}") && (status != 403 || p.Code != "invalid_api_key") {
			t.Errorf("%s with a key for other indexes: %d %+v", name, status, p)
		}
		if tenantRoutes[name] {
			continue
		}
		if status, p := ask(f.token(`,"filter":"tenant = 'tenant-a'"`)); status != 403 || p.Code != "invalid_api_key" {
			t.Errorf("%s with a tenant token: %d %+v", name, status, p)
		}
	}
	for name := range tenantRoutes {
		_, path, _ := strings.Cut(name, " ")
		if strings.HasPrefix(path, "/v1/") {
			continue
		}
		if !slices.ContainsFunc(f.server.meiliRoutes(), func(rt route) bool { return rt.method+" "+rt.path == name }) {
			t.Errorf("%s: tenants may use it, and there is no such route", name)
		}
	}
}

// TestMeilisearchTenants: with a tenant token the routes of Meilisearch show nothing of others.
func TestMeilisearchTenants(t *testing.T) {
	f := newMeili(t)
	token := f.token(`,"filter":"tenant = 'tenant-a'","collections":["both"]`)
	rules := f.meiliToken(`{"both":{"filter":["tenant = tenant-a"]}}`)
	for _, token := range []string{token, rules} {
		for _, attack := range []struct{ method, path, body string }{
			{"POST", "/indexes/both/search", `{"q":"pancakes bread","facets":["tenant","kind"],"showRankingScoreDetails":true,"limit":100}`},
			{"POST", "/indexes/both/search", `{"q":"","filter":"tenant != tenant-a OR tenant = 'tenant-a' OR kind = z","facets":["kind"]}`},
			{"POST", "/indexes/both/search", `{"q":"","filter":["kind = x) OR (kind = z"]}`},
			{"POST", "/indexes/both/search", `{"q":"pancakes","hybrid":{"embedder":"e","semanticRatio":1},"distinct":"kind"}`},
			{"GET", "/indexes/both/search?q=bread&facets=tenant&limit=100", ""},
			{"POST", "/indexes/both/facet-search", `{"facetName":"kind","facetQuery":""}`},
			{"POST", "/indexes/both/similar", `{"id":"a1","embedder":"e"}`},
			{"POST", "/multi-search", `{"queries":[{"indexUid":"both","q":"bread","facets":["tenant"]},{"indexUid":"both"}]}`},
		} {
			a := f.do(attack.method, attack.path, attack.body, "Authorization", "Bearer "+token)
			if found := leaks(a.Body.String()); len(found) > 0 || a.Code != 200 && a.Code != 400 {
				t.Errorf("%s %s: status %d, %q in %s", attack.path, attack.body, a.Code, found, a.Body)
			}
		}
		for path, body := range map[string]string{"/indexes/both/similar": `{"id":"nocturne-1","embedder":"e"}`, "/multi-search": `{"queries":[{"indexUid":"alone"}]}`, "/indexes/alone/search": `{}`} {
			if a := f.do("POST", path, body, "Authorization", "Bearer "+token); a.Code != 404 && a.Code != 403 {
				t.Errorf("%s %s: status %d: %s", path, body, a.Code, a.Body)
			}
		}
	}
	if a := f.do("POST", "/indexes/both/search", `{}`, "Authorization", "Bearer "+f.meiliToken(`{"both":{"filter":"tenant >"}}`)); a.Code != 403 {
		t.Errorf("a rule that is none: status %d: %s", a.Code, a.Body)
	}
}

// TestMeilisearchErrors: bad input is an error with a code, never a failure of the server.
func TestMeilisearchErrors(t *testing.T) {
	f := newMeili(t)
	admin := []string{"Authorization", "Bearer " + f.secret}
	for _, tc := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/indexes/both/search", `{"q":`, 400, "bad_request"},
		{"POST", "/indexes/both/search", `{"nonsense":1}`, 400, "bad_request"},
		{"POST", "/indexes/both/search", `{"offset":-1}`, 400, "invalid_search_offset"},
		{"POST", "/indexes/both/search", `{"page":-1}`, 400, "invalid_search_page"},
		{"POST", "/indexes/both/search", `{"vector":[1]}`, 400, "missing_search_hybrid"},
		{"POST", "/indexes/both/search", `{"vector":[1],"hybrid":{"embedder":"e"}}`, 400, "invalid_search_vector"},
		{"GET", "/indexes/both/search?vector=1,x&hybridEmbedder=e", "", 400, "invalid_search_vector"},
		{"POST", "/indexes/both/search", `{"retrieveVectors":true}`, 400, "invalid_search_retrieve_vectors"},
		{"POST", "/indexes/both/similar", `{"id":"a1","retrieveVectors":true}`, 400, "invalid_similar_retrieve_vectors"},
		{"GET", "/indexes/both/documents?retrieveVectors=true", "", 400, "invalid_document_retrieve_vectors"},
		{"POST", "/indexes/both/search", `{"hybrid":{"semanticRatio":2}}`, 400, "invalid_search_semantic_ratio"},
		{"POST", "/indexes/both/search", `{"sort":["kind"]}`, 400, "invalid_search_sort"},
		{"POST", "/indexes/both/search", `{"matchingStrategy":"some"}`, 400, "invalid_search_matching_strategy"},
		{"POST", "/indexes/both/search", `{"attributesToCrop":["text:x"]}`, 400, "invalid_search_attributes_to_crop"},
		{"GET", "/indexes/both/search?limit=x", "", 400, "bad_request"},
		{"POST", "/indexes/nowhere/search", `{}`, 404, "index_not_found"},
		{"POST", "/indexes", `{"uid":"a b"}`, 400, "invalid_index_uid"},
		{"POST", "/multi-search", `{"queries":[{"indexUid":"both","filter":"x"}]}`, 400, "invalid_search_filter"},
		{"POST", "/multi-search", `{"queries":[{"indexUid":""}]}`, 400, "bad_request"},
		{"POST", "/indexes/both/documents", `[1]`, 400, "malformed_payload"},
		{"GET", "/indexes/both/documents/nowhere", "", 404, "document_not_found"},
		{"GET", "/indexes/both/settings/nonsense", "", 404, "not_found"},
		{"PATCH", "/indexes/both/settings", `{"nonsense":1}`, 400, "bad_request"},
		{"GET", "/tasks/x", "", 400, "invalid_task_uids"},
		{"GET", "/tasks/1", "", 404, "task_not_found"},
		{"GET", "/keys/nowhere", "", 404, "api_key_not_found"},
		{"POST", "/keys", `{"actions":["nonsense"],"indexes":["*"],"expiresAt":null}`, 400, "invalid_api_key_actions"},
		{"PATCH", "/keys/" + f.id, `{"name":"x"}`, 501, "not_implemented"},
		{"POST", "/swap-indexes", `[]`, 501, "not_implemented"},
	} {
		a := f.do(tc.method, tc.path, tc.body, admin...)
		var p meilisearch.Problem
		if err := json.Unmarshal(a.Body.Bytes(), &p); err != nil || a.Code != tc.status || p.Code != tc.code || p.Message == "" {
			t.Errorf("%s %s %s: status %d, %+v, want %d %s", tc.method, tc.path, tc.body, a.Code, p, tc.status, tc.code)
		}
	}
	if a := f.do("POST", "/indexes/both/documents", "a,b", "Authorization", "Bearer "+f.secret, "Content-Type", "text/plain"); a.Code != http.StatusUnsupportedMediaType {
		t.Errorf("a media type that is not known: %d %s", a.Code, a.Body)
	}
	// Wrong settings and documents are tasks that fail.
	for _, tc := range [][2]string{
		{"settings", `{"synonyms":{"a":["b,c"]}}`},
		{"settings/pagination", `{"maxTotalHits":-1}`},
		{"settings/searchable-attributes", `"x"`},
		{"settings/embedders", `{"e":{"source":"userProvided"}}`},
		{"settings/embedders", `{"e":{"source":"userProvided","dimensions":9000}}`},
		{"settings/embedders", `{"e":{"source":"userProvided","dimensions":3}}`}, // documents have other vectors
		{"settings/embedders", `{"e":{"source":"userProvided","dimensions":3},"f":{"source":"userProvided","dimensions":3}}`},
		{"documents", `[{"id":"a","_vectors":{"e":[1]}}]`},
	} {
		method := "PATCH"
		if strings.Contains(tc[0], "searchable") || tc[0] == "documents" {
			method = "PUT"
		}
		task := f.meiliTask(method, "/indexes/both/"+tc[0], tc[1])
		if task.Status != "failed" || task.Error == nil || !strings.HasPrefix(task.Error.Code, "invalid_settings") && task.Error.Code != "vector_embedding_error" {
			t.Errorf("%s: %+v", tc, task)
		}
	}
}

// meiliTask sends a write and returns its task.
func (f tenants) meiliTask(method, path, body string) (task meilisearch.Task) {
	f.t.Helper()
	var sum meilisearch.Summary
	admin := []string{"Authorization", "Bearer " + f.secret}
	f.do(method, path, body, admin...).want(202, &sum)
	f.do("GET", fmt.Sprintf("/tasks/%d", sum.TaskUID), "", admin...).want(200, &task)
	return task
}

// TestMeilisearchVectors: an embedder userProvided makes an index one of given vectors, whether it
// is new or has no documents yet; documents bring theirs in all forms, and searches too.
func TestMeilisearchVectors(t *testing.T) {
	f := newMeili(t)
	write := func(method, path, body, fault string) {
		t.Helper()
		if task := f.meiliTask(method, path, body); (task.Error == nil) != (fault == "") || task.Error != nil && !strings.Contains(task.Error.Message, fault) {
			t.Errorf("%s %s %s: %+v %+v, want %q", method, path, body, task, task.Error, fault)
		}
	}
	write("PATCH", "/indexes/new/settings/embedders", `{"mine":{"source":"userProvided","dimensions":2}}`, "")
	write("POST", "/indexes", `{"uid":"empty","primaryKey":"id"}`, "")
	write("PATCH", "/indexes/empty/settings", `{"embedders":{"mine":{"source":"userProvided","dimensions":"2"}},"searchableAttributes":["text"]}`, "")
	for _, name := range []string{"new", "empty"} {
		at := "/indexes/" + name
		write("POST", at+"/documents", `[{"id":1,"text":"east","_vectors":{"mine":[1,0]}},{"id":2,"text":"north","_vectors":{"mine":{"embeddings":[0,2],"regenerate":false}}},
			{"id":3,"text":"west and south","_vectors":{"mine":{"embeddings":[[-1,0],[0,-1]]}}},{"id":4,"text":"nowhere","_vectors":{"mine":null}}]`, "")
		write("PUT", at+"/documents", `[{"id":2,"up":true}]`, "") // keeps its vector
		write("PUT", at+"/documents", `[{"id":5,"_vectors":{"mine":[1]}}]`, "1 numbers")
		write("PUT", at+"/documents", `[{"id":5,"_vectors":{"other":[1,0]}}]`, `allowed: "mine"`)
		write("PUT", at+"/documents", `[{"id":5,"_vectors":[1,0]}]`, "an object with a vector")
		write("PUT", at+"/documents", `[{"id":5,"_vectors":{"mine":{"embeddings":[1,0],"regenerate":true}}}]`, "regenerate: false")
		write("PATCH", at+"/settings/embedders", `{}`, "")
		write("PATCH", at+"/settings/embedders", `{"mine":{"source":"userProvided","dimensions":3}}`, "have other vectors")
		admin := []string{"Authorization", "Bearer " + f.secret}
		for _, tc := range []struct{ query, want string }{
			{`{"q":"","vector":[0.1,0.9],"hybrid":{"embedder":"mine","semanticRatio":1},"limit":1,"retrieveVectors":true}`, `"up":true`},
			{`{"q":"","vector":[0.1,0.9],"hybrid":{"embedder":"mine","semanticRatio":1},"limit":1,"retrieveVectors":true}`, `"_vectors":{"mine":{"embeddings":[[0,1]],"regenerate":false}}`},
			{`{"vector":[-0.1,-0.9],"hybrid":{"embedder":"mine"},"limit":1,"retrieveVectors":true}`, `"embeddings":[[-1,0],[0,-1]]`},
			{`{"q":"east","vector":[0,1],"hybrid":{"embedder":"mine","semanticRatio":0},"limit":1}`, `"id":1`},
			{`{"q":"nowhere","limit":1}`, `"id":4`},
			{`{"vector":[0,1],"hybrid":{"embedder":"other"}}`, `"invalid_search_embedder"`},
		} {
			if a := f.do("POST", at+"/search", tc.query, admin...); !strings.Contains(a.Body.String(), tc.want) {
				t.Errorf("%s %s: %s, want %s", name, tc.query, a.Body, tc.want)
			}
		}
		for path, want := range map[string]string{
			"/search?vector=0.1,0.9&hybridEmbedder=mine&hybridSemanticRatio=1&limit=1": `"text":"north"`,
			"/documents/1?retrieveVectors=true":                                        `"embeddings":[[1,0]]`,
			"/documents?retrieveVectors=true":                                          `"embeddings":[[-1,0],[0,-1]]`,
		} {
			if a := f.do("GET", at+path, "", admin...); !strings.Contains(a.Body.String(), want) {
				t.Errorf("%s%s: %s, want %s", name, path, a.Body, want)
			}
		}
		f.do("POST", at+"/similar", `{"id":2,"embedder":"mine","limit":1,"retrieveVectors":true}`, admin...).want(200, nil)
	}
}
