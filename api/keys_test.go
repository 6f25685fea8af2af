package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/api/apitest"
	"example.com/searchd/search"
)

// guarded is a fixture whose server keeps keys.
type guarded struct {
	*fixture
	ring *access.Keyring
}

func newGuarded(t *testing.T, o Options) guarded {
	t.Helper()
	ring, err := access.Open(&apitest.Vault{}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Keys = ring
	return guarded{newFixture(t, o), ring}
}

// token makes a key for all collections, or for those named.
func (g guarded) token(scopes access.Scopes, collections ...string) string {
	g.t.Helper()
	_, token, err := g.ring.Create(g.t.Context(), access.Spec{Name: "test", Scopes: scopes, Collections: collections})
	if err != nil {
		g.t.Fatal(err)
	}
	return token
}

// pathOf fills in the parameters of a route's path.
func pathOf(t *testing.T, rt route) string {
	t.Helper()
	path := strings.NewReplacer("{collection}", "docs", "{id}", "a1", "{file}", "app.js", "{key}", "aaaaaaaaaaaa", "{model}", "m", "{alias}", "live", "{task}", "t", "{snapshot}", "s", "{node}", "n1", "{of}", "o").Replace(rt.path)
	if strings.Contains(path, "{") {
		t.Fatalf("%s %s: this test does not know what to put in", rt.method, rt.path)
	}
	return path
}

// TestAuthorisationMatrix sends every route of the table with every kind of key. The engine behind
// it does nothing, so that what is admitted fails there or in its empty body, and never with 401 or
// 403.
func TestAuthorisationMatrix(t *testing.T) {
	g := newGuarded(t, Options{})
	g.engine.Hook = func(context.Context, string) error { return search.ErrClosed }
	tokens := map[string]string{}
	for i, name := range access.ScopeNames() {
		tokens[name] = g.token(1 << i)
	}
	stranger := g.token(access.All, "team-*", "docs-*")
	expired := func() string {
		at := time.Now().Add(1100 * time.Millisecond) // keys expire at full seconds
		_, token, err := g.ring.Create(t.Context(), access.Spec{Name: "expired", Scopes: access.All, Expires: &at})
		if err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
			if _, err := g.ring.Check(token); errors.Is(err, access.ErrExpired) {
				return token
			}
		}
		t.Fatal("the key does not expire")
		return ""
	}()
	revoked, doomed, err := g.ring.Create(t.Context(), access.Spec{Name: "revoked", Scopes: access.All})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.ring.Revoke(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	for _, rt := range g.server.routes() {
		name := rt.method + " " + rt.path
		if rt.needs == 0 || rt.needs != open && rt.needs&^access.All != 0 {
			t.Errorf("%s: the route table does not say which scope it needs", name)
			continue
		}
		ask := func(kind, token string) answer {
			var header []string
			if token != "" {
				header = []string{"Authorization", "Bearer " + token}
			}
			a := g.do(rt.method, pathOf(t, rt), "", header...)
			if challenged := a.Header().Get("WWW-Authenticate") != ""; challenged != (a.Code == 401 || a.Code == 403) {
				t.Errorf("%s with %s: status %d, WWW-Authenticate %q", name, kind, a.Code, a.Header().Get("WWW-Authenticate"))
			}
			return a
		}
		for kind, token := range map[string]string{"no key": "", "an unknown key": tokens["search"] + "x", "an expired key": expired, "a revoked key": doomed} {
			if a := ask(kind, token); (a.Code == 401) != (rt.needs != open) {
				t.Errorf("%s with %s: status %d", name, kind, a.Code)
			}
		}
		for i, scope := range access.ScopeNames() {
			a := ask(scope, tokens[scope])
			if admitted := rt.needs == open || rt.needs.Has(1<<i); admitted != (a.Code != 401 && a.Code != 403) || !admitted && a.Code != 403 {
				t.Errorf("%s with the scope %s: status %d: %s", name, scope, a.Code, a.Body)
			} else if !admitted && !strings.Contains(a.Body.String(), rt.needs.Names()[0]) {
				t.Errorf("%s with the scope %s: the answer does not name what is missing: %s", name, scope, a.Body)
			}
		}
		if a := ask("a key for other collections", stranger); (a.Code == 403) != (strings.Contains(rt.path, "{collection}") || strings.Contains(rt.path, "{alias}") || strings.HasPrefix(rt.path, "/v1/snapshots") || strings.HasPrefix(rt.path, "/v1/cluster/nodes")) {
			t.Errorf("%s with a key for other collections: status %d", name, a.Code)
		}
	}
}

func TestErrorsOfKeysHaveTheShapeOfTheRoute(t *testing.T) {
	g := newGuarded(t, Options{})
	reader := g.token(access.DocumentsRead)
	p := g.do("GET", "/v1/collections", "").problem(401, "missing_api_key", "")
	if strings.Contains(p.Detail, "sd_") {
		t.Errorf("detail %q", p.Detail)
	}
	g.do("GET", "/v1/collections", "", "Authorization", "Bearer nonsense").problem(401, "invalid_api_key", "")
	a := g.do("POST", "/v1/collections/docs/search", `{"q":"x"}`, "X-Api-Key", reader)
	a.problem(403, "insufficient_scope", "")
	if got, want := a.Header().Get("WWW-Authenticate"), `Bearer realm="searchd", error="insufficient_scope", scope="search"`; got != want {
		t.Errorf("WWW-Authenticate = %s, want %s", got, want)
	}
	var openAI struct {
		Error struct{ Message, Type, Code string }
	}
	g.do("POST", "/v1/embeddings", `{"input":"x"}`).want(401, &openAI)
	if openAI.Error.Code != "missing_api_key" || openAI.Error.Type != "invalid_request_error" {
		t.Errorf("/v1/embeddings: %+v", openAI)
	}
	var tei teiError
	if g.do("POST", "/embed", `{"inputs":"x"}`, "Api-Key", reader).want(403, &tei); tei.Code != "insufficient_scope" || tei.Error == "" {
		t.Errorf("/embed: %+v", tei)
	}
}

func TestWhereTheTokenIsRead(t *testing.T) {
	g := newGuarded(t, Options{})
	token := g.token(access.Search)
	for name, tt := range map[string]struct {
		header []string
		want   int
	}{
		"bearer":           {[]string{"Authorization", "Bearer " + token}, 200},
		"lower case":       {[]string{"Authorization", "bearer " + token}, 200},
		"X-Api-Key":        {[]string{"X-Api-Key", token}, 200},
		"api-key":          {[]string{"api-key", token}, 200},
		"proxy's password": {[]string{"Authorization", "Basic Zm9vOmJhcg==", "X-Api-Key", token}, 200},
		"basic":            {[]string{"Authorization", "Basic " + token}, 401},
		"bearer wins":      {[]string{"Authorization", "Bearer wrong", "X-Api-Key", token}, 401},
		"nothing behind":   {[]string{"Authorization", "Bearer"}, 401},
	} {
		if a := g.do("GET", "/v1/collections", "", tt.header...); a.Code != tt.want {
			t.Errorf("%s: status %d, want %d", name, a.Code, tt.want)
		}
	}
	g.do("GET", "/v1/collections?api_key="+token, "").want(401, nil)
	if strings.Contains(g.log.String(), token) {
		t.Error("the log holds a token")
	}
}

func TestKeysOverHTTP(t *testing.T) {
	g := newGuarded(t, Options{})
	g.do("POST", "/v1/keys", `{"name":"first","scopes":["search"]}`).problem(400, "invalid_request", "/scopes")
	g.do("GET", "/v1/collections", "", "Authorization", "Bearer whatever a client is set to").want(200, nil)
	var root, narrow keyAnswer
	a := g.do("POST", "/v1/keys", `{"name":"root","scopes":["search","documents:read","documents:write","collections:admin","keys:admin"]}`).want(201, &root)
	if root.Token == "" || root.ID == "" || a.Header().Get("Location") != "/v1/keys/"+root.ID || strings.Join(root.Collections, " ") != "*" {
		t.Fatalf("made: %s", a.Body)
	}
	g.do("GET", "/v1/collections", "").problem(401, "missing_api_key", "")
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	g.do("POST", "/v1/keys", `{"name":"team","scopes":["keys:admin","search"],"collections":["team-*"],"expires":"2999-01-01T00:00:00Z"}`, as(root.Token)...).want(201, &narrow)

	for name, tt := range map[string]struct {
		token, body, code, pointer string
		status                     int
	}{
		"no name":           {root.Token, `{"scopes":["search"]}`, "invalid_request", "/name", 400},
		"unknown scope":     {root.Token, `{"name":"a","scopes":["fly"]}`, "invalid_request", "/scopes", 400},
		"scopes as text":    {root.Token, `{"name":"a","scopes":"search"}`, "invalid_request", "/scopes", 400},
		"unknown member":    {root.Token, `{"name":"a","scopes":["search"],"admin":true}`, "invalid_request", "/admin", 400},
		"own hash":          {root.Token, `{"name":"a","scopes":["search"],"hash":"00"}`, "invalid_request", "/hash", 400},
		"past":              {root.Token, `{"name":"a","scopes":["search"],"expires":"2001-01-01T00:00:00Z"}`, "invalid_request", "/expires", 400},
		"no time":           {root.Token, `{"name":"a","scopes":["search"],"expires":"tomorrow"}`, "invalid_request", "/expires", 400},
		"bad pattern":       {root.Token, `{"name":"a","scopes":["search"],"collections":["a b"]}`, "invalid_request", "/collections/0", 400},
		"scope not held":    {root.Token, `{"name":"a","scopes":["metrics:read"]}`, "exceeds_key", "", 403},
		"wider collections": {narrow.Token, `{"name":"a","scopes":["search"],"expires":"2998-01-01T00:00:00Z"}`, "exceeds_key", "", 403},
		"later":             {narrow.Token, `{"name":"a","scopes":["search"],"collections":["team-a"]}`, "exceeds_key", "", 403},
	} {
		t.Run(name, func(t *testing.T) {
			answer{g.do("POST", "/v1/keys", tt.body, as(tt.token)...).ResponseRecorder, t}.problem(tt.status, tt.code, tt.pointer)
		})
	}

	var list keyList
	a = g.do("GET", "/v1/keys", "", as(root.Token)...).want(200, &list)
	if len(list.Keys) != 2 || list.Keys[0].LastUsed == nil || strings.Contains(a.Body.String(), root.Token) || strings.Contains(a.Body.String(), "hash") {
		t.Errorf("list: %s", a.Body)
	}
	g.do("GET", "/v1/keys", "", as(narrow.Token)...).want(200, &list)
	if len(list.Keys) != 1 || list.Keys[0].ID != narrow.ID {
		t.Errorf("list of a narrow key: %+v", list)
	}
	g.do("DELETE", "/v1/keys/"+root.ID, "", as(narrow.Token)...).problem(404, "key_not_found", "")
	g.do("GET", "/v1/keys/"+root.ID, "", as(narrow.Token)...).problem(404, "key_not_found", "")
	var one access.Key
	if g.do("GET", "/v1/keys/"+narrow.ID, "", as(root.Token)...).want(200, &one); one.Name != "team" {
		t.Errorf("one: %+v", one)
	}
	g.do("DELETE", "/v1/keys/"+narrow.ID, "", as(root.Token)...).want(204, nil)
	g.do("GET", "/v1/keys", "", as(narrow.Token)...).problem(401, "invalid_api_key", "")
	g.do("DELETE", "/v1/keys/"+root.ID, "", as(root.Token)...).want(204, nil)
	g.do("GET", "/v1/collections", "").problem(401, "missing_api_key", "")
}

// TestKeysOfALimitedKey: keys:admin is no way around the rate of a key.
func TestKeysOfALimitedKey(t *testing.T) {
	g := newGuarded(t, Options{})
	maker, token, err := g.ring.Create(t.Context(), access.Spec{Name: "limited", Scopes: access.Search | access.KeysAdmin, Rate: 0.001, Burst: 50})
	if err != nil {
		t.Fatal(err)
	}
	as := []string{"Authorization", "Bearer " + token}
	for _, more := range []string{`"rate_limit":1000000`, `"rate_limit":0.002`, `"rate_burst":51`} {
		p := g.do("POST", "/v1/keys", `{"name":"a","scopes":["search"],`+more+`}`, as...).problem(403, "exceeds_key", "")
		if !strings.Contains(p.Detail, "rate_") {
			t.Errorf("%s: detail %q", more, p.Detail)
		}
	}
	var made keyAnswer
	if g.do("POST", "/v1/keys", `{"name":"a","scopes":["search"]}`, as...).want(201, &made); made.Rate != 0.001 || made.Burst != 50 {
		t.Errorf("made without a rate: %v per second, %d at once, want those of the key that made it", made.Rate, made.Burst)
	}
	var shown access.Key
	if g.do("GET", "/v1/keys/"+made.ID, "", as...).want(200, &shown); shown.MadeBy != maker.ID || maker.MadeBy != "" {
		t.Errorf("made by %q, want %q; the maker by %q, want nobody", shown.MadeBy, maker.ID, maker.MadeBy)
	}
	g.do("DELETE", "/v1/keys/"+made.ID, "", as...).want(204, nil)
}

// TestKeysShareTheirMakersRate: however many keys a key makes, and they make, all of them together
// send no more than it may.
func TestKeysShareTheirMakersRate(t *testing.T) {
	g := newGuarded(t, Options{})
	_, root, err := g.ring.Create(t.Context(), access.Spec{Name: "limited", Scopes: access.Search | access.KeysAdmin, Rate: 0.001, Burst: 12})
	if err != nil {
		t.Fatal(err)
	}
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	tokens := []string{root}
	for i, by := range []int{0, 0, 1} {
		var made keyAnswer
		g.do("POST", "/v1/keys", fmt.Sprintf(`{"name":"k%d","scopes":["search","keys:admin"],"rate_burst":5}`, i), as(tokens[by])...).want(201, &made)
		tokens = append(tokens, made.Token)
	}
	answered := 3
	spend := func(token string) (n int) {
		for n < 50 && g.do("GET", "/v1/models", "", as(token)...).Code == 200 {
			n++
		}
		answered += n
		return n
	}
	if n := spend(tokens[3]); n != 4 { // its maker has made it with one of its five
		t.Errorf("a key made by one of five at once that has sent one sends %d, want 4", n)
	}
	g.do("GET", "/v1/models", "", as(tokens[1])...).want(429, nil)
	if n := spend(tokens[2]); n != 5 {
		t.Errorf("another key sends %d, want its own 5, whatever was refused to others", n)
	}
	if spend(root); answered != 12 {
		t.Errorf("all keys together send %d, want 12", answered)
	}
}

func TestCollectionsThatAKeyMaySee(t *testing.T) {
	g := newGuarded(t, Options{})
	for _, name := range []string{"team-a", "team-b"} {
		if _, err := g.engine.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	token := "Bearer " + g.token(access.All, "team-*")
	var list collectionList
	g.do("GET", "/v1/collections", "", "Authorization", token).want(200, &list)
	if len(list.Collections) != 2 || list.Collections[0].Name != "team-a" || list.Collections[1].Name != "team-b" {
		t.Errorf("collections: %+v", list)
	}
	g.do("POST", "/v1/collections", `{"name":"others"}`, "Authorization", token).problem(403, "collection_not_allowed", "")
	g.do("POST", "/v1/collections", `{}`, "Authorization", token).problem(400, "invalid_request", "/name")
	g.do("POST", "/v1/collections", `{"name":"team-c"}`, "Authorization", token).want(201, nil)
	g.do("PUT", "/v1/aliases/team-x", `{"collection":"docs"}`, "Authorization", token).problem(403, "collection_not_allowed", "")
	g.do("PUT", "/v1/aliases/x", `{"collection":"team-a"}`, "Authorization", token).problem(403, "collection_not_allowed", "")
	g.do("PUT", "/v1/aliases/team-x", `{"collection":"team-a"}`, "Authorization", token).want(201, nil)
	if _, err := g.engine.SetAlias(t.Context(), "live", "docs"); err != nil {
		t.Fatal(err)
	}
	var aliases aliasList
	if g.do("GET", "/v1/aliases", "", "Authorization", token).want(200, &aliases); len(aliases.Aliases) != 1 || aliases.Aliases[0].Alias != "team-x" {
		t.Errorf("aliases: %+v", aliases)
	}
	g.do("GET", "/v1/collections/nothing", "", "Authorization", token).problem(403, "collection_not_allowed", "") // does not tell that there is none
}

func TestWithoutAPlaceForKeys(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("GET", "/v1/keys", "").problem(422, "not_supported", "")
	f.do("POST", "/v1/keys", `{"name":"a","scopes":["keys:admin"]}`).problem(422, "not_supported", "")
}

func TestLogNamesTheKey(t *testing.T) {
	g := newGuarded(t, Options{})
	key, token, err := g.ring.Create(t.Context(), access.Spec{Name: "a", Scopes: access.Search})
	if err != nil {
		t.Fatal(err)
	}
	g.do("GET", "/v1/models", "", "Authorization", "Bearer "+token).want(http.StatusOK, nil)
	var line struct{ Key string }
	lines := strings.Split(strings.TrimSpace(g.log.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil || line.Key != key.ID {
		t.Errorf("log line %s, want key %s", lines[len(lines)-1], key.ID)
	}
}

// TestRevokedWhileItStreams revokes a key while a request of it is under way: what streams goes no
// further.
func TestRevokedWhileItStreams(t *testing.T) {
	for _, tt := range []struct{ method, path, engine string }{
		{"POST", importPath, "Ingest"},
		{"GET", "/v1/collections/docs/documents/export", "Documents"},
	} {
		g := newGuarded(t, Options{})
		key, token, err := g.ring.Create(t.Context(), access.Spec{Name: "test", Scopes: access.All})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		g.engine.Hook = func(ctx context.Context, method string) error {
			if method != tt.engine {
				return nil
			}
			if calls++; calls > 1 {
				return nil
			}
			return g.ring.Revoke(context.WithoutCancel(ctx), key.ID)
		}
		var body strings.Builder
		for i := range importBatchDocs + 1 {
			fmt.Fprintf(&body, "{\"id\":\"n%d\"}\n", i)
		}
		a := g.do(tt.method, tt.path, body.String(), "Content-Type", "application/x-ndjson", "Authorization", "Bearer "+token)
		if tt.engine != "Ingest" {
			a.problem(401, "invalid_api_key", "")
			continue
		}
		lines := importLines(t, a)
		if last := lines[len(lines)-1]; calls != 1 || len(lines) != importBatchDocs+1 || !last.Stopped || last.Error.Code != "invalid_api_key" {
			t.Errorf("import: %d batches, %d lines, the last one %+v", calls, len(lines), last)
		}
	}
}
