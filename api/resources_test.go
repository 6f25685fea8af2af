package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"example.com/searchd/search"
)

func TestCollections(t *testing.T) {
	f := newFixture(t, Options{})
	var info search.CollectionInfo
	a := f.do("POST", "/v1/collections", `{"name":"new","settings":{"language":"de"}}`).want(201, &info)
	if a.Header().Get("Location") != "/v1/collections/new" || info.Name != "new" || info.Settings.Language != "de" {
		t.Errorf("POST: Location %q, body %+v", a.Header().Get("Location"), info)
	}
	f.do("POST", "/v1/collections", `{"name":"new"}`).problem(409, "collection_exists", "")
	for _, body := range []string{`{}`, `{"name":"a b"}`, `{"name":"` + strings.Repeat("a", 65) + `"}`, `{"name":"` + strings.Repeat("a", 200) + `"}`} {
		p := f.do("POST", "/v1/collections", body).problem(400, "invalid_request", "/name")
		if want := "allowed: 1 to 64 letters, digits, '-' and '_', beginning with a letter or digit"; !strings.HasSuffix(p.Detail, want) {
			t.Errorf("POST %s: detail %q, want one that ends in %q", body, p.Detail, want)
		}
	}

	f.do("PUT", "/v1/collections/put", "").want(201, nil)
	f.do("PUT", "/v1/collections/put", "").want(200, nil)
	f.do("PUT", "/v1/collections/put", `{"settings":{"fields":{"a":{"type":"text","weight":2}}}}`).want(200, &info)
	f.do("PUT", "/v1/collections/put", `{"name":"other"}`).problem(400, "invalid_request", "/name")
	f.do("PUT", "/v1/collections/put", `{"settings":{"fields":{"a":{"type":"blob"}}}}`).problem(400, "invalid_request", "/settings/fields/a/type")

	f.do("PATCH", "/v1/collections/put", `{"settings":{"language":"fr","fields":{"b":{"type":"filter"}}}}`).want(200, &info)
	if got := info.Settings; got.Language != "fr" || got.Fields["a"].Weight != 2 || got.Fields["b"].Type != "filter" {
		t.Errorf("PATCH: settings %+v", got)
	}
	info = search.CollectionInfo{}
	f.do("PATCH", "/v1/collections/put", `{"settings":{"fields":{"a":null}}}`, "Content-Type", "application/merge-patch+json").want(200, &info)
	if _, ok := info.Settings.Fields["a"]; ok || len(info.Settings.Fields) != 1 {
		t.Errorf("PATCH with null: fields %+v", info.Settings.Fields)
	}
	f.do("PATCH", "/v1/collections/put", `{"name":"other"}`).problem(400, "invalid_request", "/name")
	f.do("PATCH", "/v1/collections/none", `{}`).problem(404, "collection_not_found", "")

	var list collectionList
	f.do("GET", "/v1/collections", "").want(200, &list)
	if len(list.Collections) != 3 || list.Collections[0].Name != "docs" || list.Collections[0].Documents != 3 {
		t.Errorf("list: %+v", list)
	}
	info = search.CollectionInfo{}
	if f.do("GET", "/v1/collections/put", "").want(200, &info); info.Name != "put" || info.Settings.Language != "fr" {
		t.Errorf("GET: %+v", info)
	}
	f.do("DELETE", "/v1/collections/put", "").want(204, nil)
	f.do("DELETE", "/v1/collections/put", "").problem(404, "collection_not_found", "")
	f.do("GET", "/v1/collections/put", "").problem(404, "collection_not_found", "")
}

func TestDocumentIDsInThePath(t *testing.T) {
	f := newFixture(t, Options{})
	for _, path := range []string{"notes/b%202.md", "notes%2Fb%202.md", "%6Eotes/b%202.md"} {
		var doc search.StoredDocument
		f.do("GET", "/v1/collections/docs/documents/"+path, "").want(200, &doc)
		if doc.ID != "notes/b 2.md" {
			t.Errorf("GET %s: id %q", path, doc.ID)
		}
	}
	var doc search.StoredDocument
	f.do("GET", "/v1/collections/docs/documents/%65xport", "").want(200, &doc)
	if doc.ID != "export" {
		t.Errorf("escaped word of a route: id %q, want export", doc.ID)
	}
	f.do("GET", "/v1/collections/docs/documents/a%252Fb", "").problem(404, "document_not_found", "") // decoded once: a%2Fb
	f.do("PUT", "/v1/collections/docs/documents/import", `{"title":"a word that is a route under POST alone"}`).want(201, nil)
	f.do("GET", "/v1/collections/docs/documents/import", "").want(200, nil)
	f.do("PUT", "/v1/collections/docs/documents/..%2f..%2fetc/passwd", `{"title":"an id is a key, not a path"}`).want(201, nil)
	f.do("GET", "/v1/collections/docs/documents/../../etc/passwd", "").want(200, nil)
}

func TestDocumentLife(t *testing.T) {
	f := newFixture(t, Options{})
	const path = "/v1/collections/docs/documents/x"
	var item itemAnswer
	a := f.do("PUT", path, `{"title":"one","n":{"a":1,"b":2}}`).want(201, &item)
	first := a.Header().Get("ETag")
	if first != etag(item.Revision) || item.Status != search.Created || a.Header().Get("Location") != path {
		t.Errorf("PUT: ETag %q, Location %q, %+v", first, a.Header().Get("Location"), item)
	}
	f.do("PUT", path, `{"title":"one","n":{"a":1,"b":2}}`).want(200, &item)
	if item.Status != search.Unchanged {
		t.Errorf("same PUT again: %q, want unchanged", item.Status)
	}
	f.do("GET", path, "", "If-None-Match", first).want(304, nil)
	f.do("GET", path, "", "If-None-Match", `"0", W/`+first).want(304, nil)
	f.do("GET", path, "", "If-None-Match", `"0"`).want(200, nil)
	f.do("HEAD", path, "").want(200, nil)

	f.do("PUT", path, `{"title":"two"}`, "If-None-Match", "*").problem(412, "revision_conflict", "")
	f.do("PUT", path, `{"title":"two"}`, "If-Match", `"0"`).problem(412, "revision_conflict", "")
	f.do("PUT", path, `{"title":"two"}`, "If-Match", "W/"+first).problem(412, "revision_conflict", "")
	f.do("PUT", path+"y", `{"title":"two"}`, "If-Match", "*").problem(412, "revision_conflict", "")
	f.do("PUT", path, `{"title":"two"}`, "If-None-Match", first).problem(400, "malformed_request", "")
	f.do("PUT", path, `{"id":"other"}`).problem(400, "invalid_request", "/id")

	a = f.do("PATCH", path, `{"n":{"b":null,"c":[3]},"title":"two"}`, "If-Match", first).want(200, nil)
	second := a.Header().Get("ETag")
	var doc search.StoredDocument
	f.do("GET", path, "").want(200, &doc)
	if got, want := string(doc.Fields), `{"n":{"a":1,"c":[3]},"title":"two"}`; got != want {
		t.Errorf("after PATCH: %s, want %s", got, want)
	}
	f.do("PATCH", path, `{"title":"three"}`, "If-Match", first).problem(412, "revision_conflict", "")
	f.do("PATCH", path, `{"id":"other"}`).problem(400, "invalid_request", "/id")
	f.do("PATCH", path+"y", `{}`).problem(404, "document_not_found", "")

	f.do("DELETE", path, "", "If-Match", first).problem(412, "revision_conflict", "")
	f.do("DELETE", path, "", "If-Match", second).want(204, nil)
	f.do("DELETE", path, "").problem(404, "document_not_found", "")
	f.do("GET", path, "").problem(404, "document_not_found", "")
}

func TestPatchMergesAgainAfterAnotherWrite(t *testing.T) {
	f := newFixture(t, Options{})
	reads := 0
	f.engine.Hook = nil
	f.engine.Hook = hookOnce("Ingest", func() {
		reads++
		hook := f.engine.Hook
		f.engine.Hook = nil
		f.do("POST", "/v1/collections/docs/documents", `{"id":"a1","title":"changed meanwhile","text":"kept"}`).want(200, nil)
		f.engine.Hook = hook
	})
	f.do("PATCH", "/v1/collections/docs/documents/a1", `{"title":"patched"}`).want(200, nil)
	var doc search.StoredDocument
	f.do("GET", "/v1/collections/docs/documents/a1", "").want(200, &doc)
	if got, want := string(doc.Fields), `{"text":"kept","title":"patched"}`; got != want || reads != 1 {
		t.Errorf("document %s, want %s", got, want)
	}
}

// TestBlocks sends the structure of a text with it: it is checked, kept, returned, exported, and
// kept by a patch that leaves the text alone.
func TestBlocks(t *testing.T) {
	f := newFixture(t, Options{})
	const path, blocks = "/v1/collections/docs/documents", `"blocks":{"text":[{"kind":"heading","level":1,"start":0,"end":3},{"kind":"paragraph","start":4,"end":8}]}`
	f.do("PUT", path+"/s", `{"document":{"text":"# A\nword","n":1},`+blocks+`}`).want(201, nil)
	has := func(when string, want bool) {
		t.Helper()
		if got := f.do("GET", path+"/s", "").want(200, nil).Body.String(); strings.Contains(got, blocks) != want {
			t.Errorf("%s: %s", when, got)
		}
		if got := f.do("GET", path+"/export", "").want(200, nil).Body.String(); strings.Contains(got, blocks) != want {
			t.Errorf("%s: export %s", when, got)
		}
	}
	has("put", true)
	f.do("PATCH", path+"/s", `{"n":2}`).want(200, nil)
	has("patched beside the text", true)
	f.do("PATCH", path+"/s", `{"text":"# B\nword"}`).want(200, nil)
	has("patched", false)
	for body, want := range map[string]string{
		`{"document":{"text":"word"},"blocks":{"text":[{"kind":"paragraph","start":0,"end":5}]}}`:                              "blocks.text[0].end: got 5",
		`{"document":{"text":"word"},"blocks":{"body":[{"kind":"paragraph","start":0,"end":4}]}}`:                              `blocks: got \"body\"`,
		`{"document":{"text":"word"},"blocks":{"text":[{"kind":"poem","start":0,"end":4}]}}`:                                   `got \"poem\", allowed: paragraph`,
		`{"document":{"text":"word"},"blocks":{"text":[{"kind":"code","start":0,"end":2},{"kind":"code","start":1,"end":4}]}}`: "blocks.text[1].start: got 1",
		`{"document":{"text":"word"},"blocks":[]}`:                                                                             "an object of lists of blocks",
	} {
		if got := f.do("PUT", path+"/wrong", body).want(400, nil).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// TestManyWriters has 32 clients patch and put one document at once: none of them is refused, and
// no patch is lost.
func TestManyWriters(t *testing.T) {
	f := newFixture(t, Options{WriteSlots: 4})
	const path, writers = "/v1/collections/docs/documents/many", 32
	f.do("PUT", path, `{"title":"many"}`).want(201, nil)
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			for i := range 3 {
				if a := f.do("PATCH", path, fmt.Sprintf(`{"by%d":%d}`, n, i)); a.Code != 200 {
					t.Errorf("PATCH: %d %s", a.Code, a.Body)
				}
				if a := f.do("PUT", fmt.Sprint(path, n), fmt.Sprintf(`{"title":"%d"}`, i)); a.Code != 200 && a.Code != 201 {
					t.Errorf("PUT: %d %s", a.Code, a.Body)
				}
			}
		})
	}
	group.Wait()
	var doc search.StoredDocument
	f.do("GET", path, "").want(200, &doc)
	for n := range writers {
		if want := fmt.Sprintf(`"by%d":2`, n); !strings.Contains(string(doc.Fields), want) {
			t.Errorf("the document lacks %s: %s", want, doc.Fields)
		}
	}
	stop := make(chan struct{})
	for range 4 { // overwrite it as fast as they can
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f.do("PUT", path, fmt.Sprintf(`{"title":"%d"}`, i))
				}
			}
		})
	}
	for i := range 20 {
		if a := f.do("PATCH", path, fmt.Sprintf(`{"n":%d}`, i)); a.Code != 200 {
			t.Errorf("PATCH among writers: %d %s", a.Code, a.Body)
		}
	}
	close(stop)
	group.Wait()
}

func TestPostDocuments(t *testing.T) {
	f := newFixture(t, Options{MaxItem: 1000})
	const path = "/v1/collections/docs/documents"
	var item itemAnswer
	a := f.do("POST", path, `{"title":"without an id"}`).want(201, &item)
	if item.ID == "" || a.Header().Get("Location") != path+"/"+item.ID {
		t.Errorf("POST without id: %+v, Location %q", item, a.Header().Get("Location"))
	}
	f.do("POST", path, `{"id":"a/b","document":{"title":"enveloped"}}`).want(201, nil)
	f.do("POST", path, `{"id":7,"fields":{"title":"enveloped"}}`).want(201, nil)
	for id, want := range map[string]string{"a%2Fb": `{"title":"enveloped"}`, "7": `{"title":"enveloped"}`} {
		var doc search.StoredDocument
		f.do("GET", path+"/"+id, "").want(200, &doc)
		if string(doc.Fields) != want {
			t.Errorf("%s: fields %s, want %s", id, doc.Fields, want)
		}
	}
	var list itemList
	f.do("POST", path, `[{"id":"l1","title":"x"}, 5, {"id":"a1","title":"y"},{"id":true}, {"id":"big","text":"`+strings.Repeat("x", 2000)+`"} ,{"title":"z"}]`).want(200, &list)
	var got []string
	for _, r := range list.Results {
		got = append(got, r.ID+" "+string(r.Status))
	}
	if s := strings.Join(got[:5], ", "); s != "l1 created,  error, a1 updated,  error,  error" || list.Failed != 3 || list.Results[5].Status != search.Created {
		t.Errorf("array: %s, failed %d", s, list.Failed)
	}
	if c := list.Results[4].Error.Code; c != "too_large" {
		t.Errorf("long document: code %q, want too_large", c)
	}
	f.do("POST", path, "["+strings.Repeat(`{"a":1},`, maxItems)+`{"a":1}]`).problem(413, "too_large", "")
	f.do("POST", path, `[{"a":1}`).problem(400, "malformed_request", "")
	f.do("POST", path, `[{"a":1}] x`).problem(400, "malformed_request", "")
	f.do("POST", path, `[]`).want(200, &list)

	f.do("POST", path+"/delete", `{"ids":["a1","none"]}`).want(200, &list)
	if list.Failed != 1 || list.Results[0].Status != search.Deleted || list.Results[1].Error.Code != "document_not_found" {
		t.Errorf("delete: %+v", list)
	}
	f.do("POST", path+"/delete", `{"ids":[]}`).problem(400, "invalid_request", "/ids")
	f.do("POST", path+"/delete", `{"ids":["ok","b\u0000d"]}`).problem(400, "invalid_request", "/ids/1")
}

func TestListAndExport(t *testing.T) {
	f := newFixture(t, Options{})
	var list documentList
	var ids []string
	for cursor := ""; ; cursor = list.Next {
		list = documentList{}
		f.do("GET", "/v1/collections/docs/documents?limit=2&cursor="+cursor, "").want(200, &list)
		for _, d := range list.Documents {
			ids = append(ids, d.ID)
		}
		if list.Next == "" {
			break
		}
	}
	if got := strings.Join(ids, "|"); got != "a1|notes/b 2.md|export" {
		t.Errorf("ids %s", got)
	}
	for query, pointer := range map[string]string{"limit=0": "/limit", "limit=1001": "/limit", "limit=x": "/limit", "cursor=zz": "/cursor", "what=1": "/what"} {
		f.do("GET", "/v1/collections/docs/documents?"+query, "").problem(400, "invalid_request", pointer)
	}
	a := f.do("GET", "/v1/collections/docs/documents/export", "").want(200, nil)
	lines := strings.Split(strings.TrimSpace(a.Body.String()), "\n")
	if len(lines) != 3 || a.Header().Get("Content-Type") != "application/x-ndjson" || !strings.Contains(lines[1], "<twice>") {
		t.Fatalf("export: %q", lines)
	}
	f.do("PUT", "/v1/collections/copy", "").want(201, nil)
	out := f.do("POST", "/v1/collections/copy/documents/import", a.Body.String(), "Content-Type", "application/x-ndjson").want(200, nil)
	if strings.Count(out.Body.String(), `"created"`) != 3 {
		t.Errorf("an export cannot be imported: %s", out.Body)
	}
	f.do("GET", "/v1/collections/none/documents/export", "").problem(404, "collection_not_found", "")
}

func TestSearchByGetIsSearchByPost(t *testing.T) {
	f := newFixture(t, Options{})
	var get, post search.Response
	f.do("GET", "/v1/collections/docs/search?q=flip+pancakes&mode=hybrid&alpha=0.3&limit=2&passages=2&explain=true&highlight=1", "").want(200, &get)
	f.do("POST", "/v1/collections/docs/search", `{"q":"flip pancakes","mode":"hybrid","alpha":0.3,"limit":2,"passages":2,"explain":true,"highlight":true}`).want(200, &post)
	if get.RequestID == "" || get.RequestID == post.RequestID {
		t.Errorf("request ids %q and %q", get.RequestID, post.RequestID)
	}
	g, _ := json.Marshal(get.Hits)
	p, _ := json.Marshal(post.Hits)
	if string(g) != string(p) || len(get.Hits) == 0 || get.Hits[0].ID != "a1" || get.Hits[0].Explain == nil {
		t.Errorf("GET %s\nPOST %s", g, p)
	}
}

func TestQueryOfReadsEveryMember(t *testing.T) {
	f := newFixture(t, Options{})
	r := f.request("GET", "/x?q=a&mode=keyword&alpha=0.25&fusion=rrf&window=50&filter=b&fields=title%5E2,text&operator=and&limit=3&offset=4&passages=5&min_similarity=0.5&highlight=false&explain=1", nil)
	q, err := queryOf(queryParams(r))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(q)
	want := `{"q":"a","mode":"keyword","alpha":0.25,"fusion":"rrf","window":50,"filter":"b","fields":["title^2","text"],"operator":"and","limit":3,"offset":4,"passages":5,"min_similarity":0.5,"highlight":false,"explain":true}`
	if string(got) != want {
		t.Errorf("queryOf = %s\nwant      %s", got, want)
	}
}

func TestEmbeddings(t *testing.T) {
	f := newFixture(t, Options{MaxEmbedTexts: 4})
	type item struct {
		Index     int             `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	}
	var list struct {
		Object, Model string
		Data          []item
		Usage         embeddingUsage
	}
	f.do("POST", "/v1/embeddings", `{"input":["a cat","a dog"],"model":"text-embedding-3-small","user":"u"}`).want(200, &list)
	var floats []float32
	if err := json.Unmarshal(list.Data[1].Embedding, &floats); err != nil || len(floats) != 48 || list.Data[1].Index != 1 || list.Object != "list" || list.Model != "bert-mean" || list.Usage.TotalTokens != 8 {
		t.Fatalf("embeddings: %v, %+v", err, list)
	}
	f.do("POST", "/v1/embeddings", `{"input":["a cat","a dog"],"encoding_format":"base64"}`).want(200, &list)
	var text string
	json.Unmarshal(list.Data[1].Embedding, &text)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 4*48 {
		t.Fatalf("base64: %d bytes, %v", len(b), err)
	}
	for i, want := range floats {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])); got != want {
			t.Fatalf("base64 component %d = %v, want %v", i, got, want)
		}
	}
	f.do("POST", "/v1/embeddings", `{"input":"a dog","dimensions":16}`).want(200, &list)
	if floats = nil; json.Unmarshal(list.Data[0].Embedding, &floats) != nil || len(floats) != 16 || len(list.Data) != 1 {
		t.Errorf("dimensions 16: %d in %d items", len(floats), len(list.Data))
	}
	for body, param := range map[string]string{
		`{}`:                                  "input",
		`{"input":null}`:                      "input",
		`{"input":""}`:                        "input",
		`{"input":[]}`:                        "input",
		`{"input":["a",""]}`:                  "input/1",
		`{"input":[1,1000]}`:                  "input/1",
		`{"input":[1,2.5]}`:                   "input/1",
		`{"input":[-1]}`:                      "input/0",
		`{"input":[[1],[2,"a"]]}`:             "input/1/1",
		`{"input":[[1],[]]}`:                  "input/1",
		`{"input":[[1],"a"]}`:                 "input/1",
		`{"input":["a",1]}`:                   "input/1",
		`{"input":[1,"a"]}`:                   "input/1",
		`{"input":[[[1]]]}`:                   "input/0/0",
		`{"input":"a","output_dtype":"int4"}`: "output_dtype",
		`{"input":"a","embedding_types":[]}`:  "embedding_types",
		`{"input":"a","embedding_types":["float","float"]}`:                         "embedding_types/1",
		`{"input":"a","embedding_types":["float"],"output_dtype":"int8"}`:           "embedding_types",
		`{"input":"a","ranges":[[1],[2]]}`:                                          "ranges",
		`{"input":"a","dimensions":2,"output_dtype":"int8","ranges":[[0,0],[1,0]]}`: "ranges/1/1",
		`{"input":{"a":1}}`:                      "input/0",
		`{"input":true}`:                         "input/0",
		`{"input":["a","b","c","d","e"]}`:        "input",
		`{"input":"a","dimensions":0}`:           "dimensions",
		`{"input":"a","dimensions":65}`:          "dimensions",
		`{"input":"a","dimensions":"16"}`:        "dimensions",
		`{"input":"a","encoding_format":"int8"}`: "encoding_format",
		`{"input":"a","input_type":"passage"}`:   "input_type",
		`{"input":"a","temperature":1}`:          "temperature",
		`{"input":"a"} {}`:                       "",
		`{"input":"a`:                            "",
	} {
		var e struct {
			Error struct {
				Message, Type, Code string
				Param               *string
			}
		}
		f.do("POST", "/v1/embeddings", body).want(400, &e)
		got := ""
		if e.Error.Param != nil {
			got = *e.Error.Param
		}
		if got != param || e.Error.Type != "invalid_request_error" || e.Error.Message == "" || e.Error.Code == "" {
			t.Errorf("%s: %+v, param %q, want %q", body, e, got, param)
		}
	}
	var models modelList
	f.do("GET", "/v1/models", "").want(200, &models)
	if models.Data[0].ID != "bert-mean" || models.Data[0].Object != "model" {
		t.Errorf("models: %+v", models)
	}
}

func TestRootRoutes(t *testing.T) {
	f := newFixture(t, Options{Version: "1.2.3"})
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		f.do("GET", path, "").want(200, nil)
	}
	var i info
	f.do("GET", "/info", "").want(200, &i)
	if i.Version != "1.2.3" || i.Model.Name != "bert-mean" || i.MaxInputLength != 64 {
		t.Errorf("info: %+v", i)
	}
	f.engine.NotReady = fmt.Errorf("loading the index: 40%%")
	p := f.do("GET", "/readyz", "").problem(503, "not_ready", "")
	if !strings.Contains(p.Detail, "40%") {
		t.Errorf("readyz does not tell the reason: %q", p.Detail)
	}
	f.do("GET", "/livez", "").want(200, nil)
	a := f.do("GET", "/", "").want(200, nil)
	if got := a.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'self'") {
		t.Errorf("page's policy %q", got)
	}
	tag := a.Header().Get("ETag")
	f.do("GET", "/", "", "If-None-Match", tag).want(304, nil)
	f.do("GET", "/ui/app.js", "").want(200, nil)
	a = f.do("GET", "/docs", "").want(200, nil)
	if got := a.Header().Get("Content-Security-Policy"); got != pageCSP {
		t.Errorf("policy of the page of the API %q", got)
	}
	f.do("GET", "/docs", "", "If-None-Match", a.Header().Get("ETag")).want(304, nil)
	for _, path := range []string{"/ui/none.js", "/ui/", "/ui/..%2fserver.go", "/ui/../server.go", "/ui/ui.go"} {
		f.do("GET", path, "").problem(404, "route_not_found", "")
	}
}
