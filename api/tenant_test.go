package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/api/apitest"
	"example.com/searchd/search"
)

// tenants is a server with documents of two tenants in one collection, those of b with words, ids
// and fields of their own, and with a second collection that has those of a alone.
type tenants struct {
	*fixture
	ring   *access.Keyring
	id     string // of the key that signs
	secret string
}

// secrets are what a reader of a's documents must not see.
var secrets = []string{"zanzibar", "Zanzibar", "nocturne", "tenant-b", "4711"}

func newTenants(t *testing.T) tenants {
	t.Helper()
	return newTenantsWith(t, Options{})
}

func newTenantsWith(t *testing.T, o Options) tenants {
	t.Helper()
	ring, err := access.Open(&apitest.Vault{}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Keys = ring
	f := overEngine(t, o)
	own := []string{
		`{"id":"a1","tenant":"tenant-a","kind":"x","title":"Pancakes","text":"How to flip pancakes in a pan, zebra."}`,
		`{"id":"a2","tenant":"tenant-a","kind":"x","title":"Bread","text":"Let the dough of the bread rise twice."}`,
		`{"id":"a3","tenant":"tenant-a","kind":"y","title":"Bicycles","text":"How to fix the puncture of a bicycle."}`,
	}
	others := []string{
		`{"id":"nocturne-1","tenant":"tenant-b","kind":"x","title":"Zanzibar pancakes","text":"Pancakes of zanzibar, nocturne, cost 4711."}`,
		`{"id":"nocturne-2","tenant":"tenant-b","kind":"z","title":"Zanzibar bread","text":"Bread of zanzibar and bicyclez, nocturne.","4711":true}`,
	}
	for name, docs := range map[string][]string{"both": slices.Concat(others, own), "alone": own} {
		f.do("PUT", "/v1/collections/"+name, `{}`).want(201, nil)
		f.do("POST", "/v1/collections/"+name+"/documents", "["+strings.Join(docs, ",")+"]").want(200, nil)
	}
	key, secret, err := ring.Create(t.Context(), access.Spec{Name: "signs", Scopes: access.All})
	if err != nil {
		t.Fatal(err)
	}
	return tenants{f, ring, key.ID, secret}
}

// token signs a token with claims beside the key and an end.
func (f tenants) token(claims string) string {
	return f.sign(fmt.Sprintf(`{"key":%q,"exp":%d%s}`, f.id, time.Now().Add(time.Hour).Unix(), claims))
}

// meiliToken signs a token of Meilisearch with rules.
func (f tenants) meiliToken(rules string) string {
	return f.sign(fmt.Sprintf(`{"apiKeyUid":%q,"exp":%d,"searchRules":%s}`, access.UUID(f.id), time.Now().Add(time.Hour).Unix(), rules))
}

func (f tenants) sign(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	signed := part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(claims))
	mac := hmac.New(sha256.New, []byte(f.secret))
	mac.Write([]byte(signed))
	return signed + "." + part(mac.Sum(nil))
}

// leaks returns the secrets in a text.
func leaks(text string) (out []string) {
	for _, s := range secrets {
		if strings.Contains(text, s) {
			out = append(out, s)
		}
	}
	return out
}

// attacks are requests that try to see more than a's documents. None may have a secret but those
// that it sends itself.
var attacks = []struct{ path, body string }{
	{"search", `{"q":"pancakes bread","explain":true,"facets":["tenant","kind","4711"],"limit":100,"passages":100,"sentences":true,"less_relevant":100}`},
	{"search", `{"q":"pancakes","mode":"keyword","facets":["tenant",{"field":"kind","limit":1000}],"sort":["tenant:desc"],"limit":100}`},
	{"search", `{"q":"pancakes","mode":"semantic","window":10000,"min_similarity":-1,"limit":100}`},
	{"search", `{"q":"","facets":["tenant","kind"],"limit":100}`},
	{"search", `{"q":"pancakes","filter":"tenant EXISTS","limit":100}`},
	{"search", `{"q":"","filter":"NOT tenant = 'tenant-a'"}`},
	{"search", `{"q":"","filter":"kind = 'x' OR kind = 'z' OR NOT kind = 'x'"}`},
	{"search", `{"q":"bread","group":"tenant"}`},
	{"search", `{"q":"bread","group":"kind","facets":["kind"]}`},
	{"search", `{"q":"bread","boosts":[{"filter":"kind = 'z'","weight":10}],"explain":true}`},
	{"search", `{"q":"zanzibaz"}`},
	{"search", `{"q":"bicyclez"}`},
	{"search", `{"q":"zan","unfinished":true}`},
	{"search", `{"q":"bicyc","unfinished":true,"mode":"keyword"}`},
	{"search", `{"q":"\"pancakes of\""}`},
	{"search", `{"q":"bread -twice"}`},
	{"search", `{"q":"bread","cutoff":"auto","less_relevant":100}`},
	{"search", `{"q":"bread","diversity":1}`},
	{"search/batch", `{"searches":[{"q":"bread","limit":100},{"q":"","facets":["tenant"]},{"q":"x","filter":"tenant = "}]}`},
	{"similar", `{"ids":["a1"],"facets":["tenant"],"limit":100}`},
	{"similar", `{"text":"pancakes of the island","limit":100,"explain":true}`},
	{"explain/a1", `{"q":"pancakes bread"}`},
	{"explain/a3", `{"q":"pancakes","mode":"keyword"}`},
}

// comparable is what an answer with a's token has in common with that of a collection without b's
// documents: everything but scores, which come from the statistics of the whole collection, and the
// order that they make.
func comparable(t *testing.T, body []byte) string {
	t.Helper()
	var answer any
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	var clean func(any) any
	clean = func(x any) any {
		switch x := x.(type) {
		case map[string]any:
			for _, name := range []string{"score", "took_ms", "timings_ms", "request_id", "explain", "instance", "sentence", "rank"} {
				delete(x, name)
			}
			for name := range x {
				x[name] = clean(x[name])
			}
		case []any:
			texts := map[string]any{}
			for i := range x {
				x[i] = clean(x[i])
				b, _ := json.Marshal(x[i])
				texts[string(b)] = x[i]
			}
			slices.SortFunc(x, func(a, b any) int {
				m, _ := json.Marshal(a)
				n, _ := json.Marshal(b)
				return strings.Compare(string(m), string(n))
			})
		}
		return x
	}
	b, err := json.MarshalIndent(clean(answer), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTenantsAreAlone(t *testing.T) {
	f := newTenants(t)
	token := f.token(`,"filter":"tenant = 'tenant-a'","collections":["both"]`)
	alone := f.token(`,"filter":"tenant = 'tenant-a'","collections":["alone"]`)
	for _, attack := range attacks {
		a := f.do("POST", "/v1/collections/both/"+attack.path, attack.body, "Authorization", "Bearer "+token).want(200, nil)
		if found := leaks(a.Body.String()); slices.ContainsFunc(found, func(s string) bool { return !strings.Contains(attack.body, s) }) {
			t.Errorf("%s %s: %q in %s", attack.path, attack.body, found, a.Body)
		}
		want := f.do("POST", "/v1/collections/alone/"+attack.path, attack.body, "Authorization", "Bearer "+alone).want(200, nil)
		if got, want := comparable(t, a.Body.Bytes()), comparable(t, want.Body.Bytes()); got != want {
			t.Errorf("%s %s: with b's documents %s\nwithout %s", attack.path, attack.body, got, want)
		}
	}
	// Suggestions are titles and phrases of a's documents alone, though b's begin so too.
	for typed, want := range map[string]string{"pan": `"Pancakes"`, "zan": "", "bread": "", "zanzibar bred": ""} {
		for path, token := range map[string]string{"both": token, "alone": alone} {
			a := f.suggest(path, typed, "Authorization", "Bearer "+token)
			if found := leaks(a); len(found) > 0 || strings.Contains(a, `"text"`) != (want != "") || !strings.Contains(a, want) {
				t.Errorf("%s: suggestions for %q: %s, want %q alone", path, typed, a, want)
			}
		}
	}
	// A phrase that a has in one document is none, though b has it in others.
	admin := []string{"Authorization", "Bearer " + f.secret}
	for i, tenant := range []string{"tenant-a", "tenant-b", "tenant-b"} {
		f.do("POST", "/v1/collections", `{"name":"phrases"}`, admin...)
		f.do("PUT", fmt.Sprintf("/v1/collections/phrases/documents/p%d", i), fmt.Sprintf(`{"tenant":%q,"text":"A pedestrian crossing."}`, tenant), admin...).want(201, nil)
	}
	if a := f.suggest("phrases", "pedes", admin...); !strings.Contains(a, "pedestrian crossing") {
		t.Errorf("suggestions for all: %s", a)
	}
	if a := f.suggest("phrases", "pedes", "Authorization", "Bearer "+f.token(`,"filter":"tenant = 'tenant-a'"`)); strings.Contains(a, "crossing") {
		t.Errorf("suggestions show a tenant that others have a phrase: %s", a)
	}
	for _, get := range []string{"search?q=pancakes&facets=tenant,kind&limit=100", "search?q=&filter=tenant+%3D+'tenant-b'+OR+tenant+%3D+'tenant-b'", "explain/a1?q=pancakes"} {
		a := f.do("GET", "/v1/collections/both/"+get, "", "Authorization", "Bearer "+token).want(200, nil)
		if found := leaks(a.Body.String()); len(found) > 0 {
			t.Errorf("%s: %q in %s", get, found, a.Body)
		}
	}
	var x search.Explanation
	f.do("POST", "/v1/collections/both/explain/a1", `{"q":"pancakes","mode":"keyword"}`, "Authorization", "Bearer "+token).want(200, &x)
	if terms := x.Hit.Explain.Keyword.Terms; len(terms) == 0 || terms[0].DF != 0 || terms[0].IDF != 0 {
		t.Errorf("the explanation counts the documents of others: %+v", terms)
	}
	// A document of another tenant is answered like one that does not exist.
	for path, body := range map[string]string{"explain/nocturne-1": `{"q":"pancakes"}`, "similar": `{"ids":["nocturne-1"]}`} {
		p := f.do("POST", "/v1/collections/both/"+path, body, "Authorization", "Bearer "+token).problem(404, "document_not_found", "")
		absent := f.do("POST", "/v1/collections/both/"+strings.Replace(path, "nocturne-1", "nowhere", 1), strings.Replace(body, "nocturne-1", "nowhere", 1), "Authorization", "Bearer "+token).problem(404, "document_not_found", "")
		if strings.ReplaceAll(p.Detail, "nocturne-1", "nowhere") != absent.Detail {
			t.Errorf("%s: %q, of an absent document %q", path, p.Detail, absent.Detail)
		}
	}
	f.do("POST", "/v1/collections/both/similar", `{"ids":["a1"],"negative_ids":["nocturne-2"]}`, "Authorization", "Bearer "+token).problem(404, "document_not_found", "")
	f.do("POST", "/v1/collections/alone/search", `{"q":"x"}`, "Authorization", "Bearer "+token).problem(403, "collection_not_allowed", "")
}

// TestTenantTokensOnEveryRoute walks openapi.yaml with a tenant token. An operation that needs a
// key refuses it, or is one whose answers TestTenantsAreAlone checks.
func TestTenantTokensOnEveryRoute(t *testing.T) {
	f := newTenants(t)
	token := f.token(`,"filter":"tenant = 'tenant-a'"`)
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]bool{"/v1/search": true, "suggest": true, "events": true} // by TestMultiSearchOfKeys, TestTenantsAreAlone and TestTenantsAndAnalytics
	for _, a := range attacks {
		path, _, _ := strings.Cut(a.path, "/a")
		checked[path] = true
	}
	for path, item := range doc.doc.Paths.Map() {
		for method, op := range item.Operations() {
			public := op.Security != nil && len(*op.Security) == 0
			name := method + " " + path
			at := strings.NewReplacer("{collection}", "both", "{id}", "nocturne-1", "{file}", "app.js", "{key}", f.id, "{model}", "m", "{alias}", "both", "{task}", "t", "{snapshot}", "s", "{node}", "n1", "{of}", "o").Replace(path)
			if strings.Contains(at, "{") {
				t.Fatalf("%s: this test does not know what to put in", name)
			}
			send := ""
			if op.RequestBody != nil {
				send = `{"q":"zanzibar pancakes","ids":["nocturne-1"],"searches":[{"q":"zanzibar"}]}`
			}
			a := f.do(method, at, send, "Authorization", "Bearer "+token)
			body := strings.NewReplacer("nocturne-1", "", path, "").Replace(a.Body.String())
			if found := leaks(body); len(found) > 0 {
				t.Errorf("%s: status %d, %q in %s", name, a.Code, found, body)
			}
			searched := strings.TrimPrefix(strings.TrimPrefix(path, "/v1/collections/{collection}/"), "/{id}")
			searched = strings.TrimSuffix(searched, "/{id}")
			switch {
			case tenantRoutes[name] && !checked[searched]:
				t.Errorf("%s: tenants may use it, and no attack tries it", name)
			case tenantRoutes[name] || public:
			case a.Code != http.StatusForbidden:
				t.Errorf("%s: status %d, want 403: %s", name, a.Code, a.Body)
			}
		}
	}
	for name := range tenantRoutes {
		method, path, _ := strings.Cut(name, " ")
		if !strings.HasPrefix(path, "/v1/") {
			continue // of Meilisearch, see TestMeilisearchScopes
		}
		if item := doc.doc.Paths.Find(path); item == nil || item.GetOperation(method) == nil {
			t.Errorf("%s: tenants may use it, and openapi.yaml has no such operation", name)
		}
	}
}

func TestTenantTokensThatAreWrong(t *testing.T) {
	f := newTenants(t)
	ask := func(token string) answer {
		return f.do("POST", "/v1/collections/both/search", `{"q":"bread"}`, "Authorization", "Bearer "+token)
	}
	if p := ask(f.token(`,"filter":"tenant = "`)).problem(401, "invalid_api_key", ""); !strings.Contains(p.Detail, "filter: at byte") {
		t.Errorf("a filter that is none: %q", p.Detail)
	}
	if p := ask(f.token(`,"fliter":"x"`)).problem(401, "invalid_api_key", ""); !strings.Contains(p.Detail, "fliter") {
		t.Errorf("a misspelled claim: %q", p.Detail)
	}
	ask(f.token("")+"x").problem(401, "invalid_api_key", "")
	// A field without values in the index would let a negation through.
	good := f.token(`,"filter":"NOT tenant = 'tenant-b'"`)
	ask(good).want(200, nil)
	f.do("PUT", "/v1/collections/kept", `{"settings":{"fields":{"tenant":{"type":"stored"}}}}`, "Authorization", "Bearer "+f.secret).want(201, nil)
	f.do("POST", "/v1/collections/kept/search", `{"q":"bread"}`, "Authorization", "Bearer "+good).problem(422, "not_supported", "")
	if err := f.ring.Revoke(context.Background(), f.id); err != nil {
		t.Fatal(err)
	}
	ask(good).problem(401, "invalid_api_key", "")
}

// TestTenantsAndRules: a rule pins no document that a tenant may not see.
func TestTenantsAndRules(t *testing.T) {
	f := newTenants(t)
	f.do("PATCH", "/v1/collections/both", `{"settings":{"rules":[{"id":"r","queries":["pancakes"],"pin":["nocturne-2","a3"]}]}}`, "Authorization", "Bearer "+f.secret).want(200, nil)
	token := f.token(`,"filter":"tenant = 'tenant-a'"`)
	var res search.Response
	a := f.do("POST", "/v1/collections/both/search", `{"q":"pancakes","mode":"keyword"}`, "Authorization", "Bearer "+token).want(200, &res)
	if found := leaks(a.Body.String()); len(found) > 0 || len(res.Hits) != 2 || res.Hits[0].ID != "a3" || res.Total.Value != 2 {
		t.Errorf("%q in %s", found, a.Body)
	}
}
