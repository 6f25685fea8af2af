package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

const importPath = "/v1/collections/docs/documents/import"

func importLines(t *testing.T, a answer) []itemAnswer {
	t.Helper()
	a.want(200, nil)
	var out []itemAnswer
	for line := range strings.Lines(a.Body.String()) {
		var i itemAnswer
		if err := json.Unmarshal([]byte(line), &i); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		out = append(out, i)
	}
	return out
}

func summary(items []itemAnswer) string {
	var parts []string
	for _, i := range items {
		s := fmt.Sprintf("%d:%s:%s", i.Line, i.ID, i.Status)
		if i.Error != nil {
			s += ":" + i.Error.Code
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestImport(t *testing.T) {
	same := `{"id":"a1","title":"Pancakes","text":"How to flip pancakes in the air."}`
	long := `{"id":"long","text":"` + strings.Repeat("x", 3000) + `"}`
	for _, tt := range []struct{ name, media, body, want string }{
		{"lines", "application/x-ndjson", `{"id":"n1","title":"x"}` + "\n\n  " + same + "\r\n" + `{"id":"a1","title":"y"}`, "1:n1:created 3:a1:unchanged 4:a1:updated"},
		{"byte order mark", "application/jsonl", "\ufeff" + `{"id":"n1","title":"x"}`, "1:n1:created"},
		{"bad lines", "application/x-ndjson", "{\"id\":\"n1\",\"text\":\"x\"}\nnonsense\n[1]\n{\"id\":\"b\\u0000d\"}\n{\"id\":\"\"}\n{\"id\":\"n2\",\"text\":\"x\"} {}\n{\"a\":1,\"a\":2}\n{\"id\":\"n3\",\"text\":\"x\"}",
			"1:n1:created 2::error:malformed_request 3::error:malformed_request 4:b\x00d:error:invalid_request 5::error:invalid_request 6::error:malformed_request 7::error:malformed_request 8:n3:created"},
		{"long line", "application/x-ndjson", "{\"id\":\"n1\",\"text\":\"x\"}\n" + long + "\n{\"id\":\"n2\",\"text\":\"x\"}\n" + long, "1:n1:created 2::error:too_large 3:n2:created 4::error:too_large"},
		{"deep line", "application/x-ndjson", strings.Repeat("[", 500) + "\n{\"id\":\"n1\",\"text\":\"x\"}", "1::error:malformed_request 2:n1:created"},
		{"not UTF-8", "application/x-ndjson", "{\"id\":\"n1\",\"t\":\"\xff\"}\n{\"id\":\"n2\",\"text\":\"x\"}", "1::error:malformed_request 2:n2:created"},
		{"empty", "application/x-ndjson", "", ""},
		{"blank", "application/x-ndjson", "\n \n", ""},
		{"array", "application/json", ` [ {"id":"n1","t":"],[\"}"} , ` + same + "\n,7,{\"id\":\"n2\",\"text\":\"x\"}]\n", "1:n1:created 2:a1:unchanged 3::error:malformed_request 4:n2:created"},
		{"long element", "application/json", `[` + long + `,{"id":"n2","text":"x"}]`, "1::error:too_large 2:n2:created"},
		{"empty array", "application/json", ` [ ] `, ""},
		{"array cut off", "application/json", `[{"id":"n1","text":"x"},{"id":"n2"`, "1:n1:created 2::error:malformed_request"},
		{"array with garbage behind", "application/json", `[{"id":"n1","text":"x"}] 5`, "1:n1:created 1::error:malformed_request"},
		{"array without commas", "application/json", `[{"id":"n1","text":"x"} {"id":"n2","text":"x"}]`, "1::error:malformed_request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, Options{MaxItem: 2000})
			var body io.Reader = strings.NewReader(tt.body)
			got := summary(importLines(t, f.send(f.request("POST", importPath, body, "Content-Type", tt.media))))
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A server takes the documents that a data folder takes.
func TestImportLargest(t *testing.T) {
	f := newFixture(t, Options{})
	line := func(id string, size int) string {
		return `{"id":"` + id + `","title":"` + strings.Repeat("x", size) + `"}` + "\n"
	}
	body := strings.NewReader(line("n1", mapping.MaxDocument-100) + line("n2", mapping.MaxDocument) + line("n3", 1))
	got := summary(importLines(t, f.send(f.request("POST", importPath, body, "Content-Type", "application/x-ndjson"))))
	if want := "1:n1:created 2::error:too_large 3:n3:created"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestImportThatCannotBegin(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("POST", "/v1/collections/none/documents/import", `{}`, "Content-Type", "application/x-ndjson").problem(404, "collection_not_found", "")
	f.do("POST", importPath, `{"id":"n1"}`).problem(400, "malformed_request", "") // no array
	f.engine.Hook = func(_ context.Context, m string) error {
		if m == "Ingest" {
			return search.ErrNoSpace
		}
		return nil
	}
	f.do("POST", importPath, `{"id":"n1"}`, "Content-Type", "application/x-ndjson").problem(507, "no_space", "")
}

func TestImportThatFailsMidway(t *testing.T) {
	f := newFixture(t, Options{})
	batches := 0
	f.engine.Hook = func(_ context.Context, m string) error {
		if m == "Ingest" {
			if batches++; batches == 2 {
				return fmt.Errorf("disk: %w", search.ErrNoSpace)
			}
		}
		return nil
	}
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "{\"id\":\"n%d\"}\n", i)
	}
	items := importLines(t, f.do("POST", importPath, b.String(), "Content-Type", "application/x-ndjson"))
	last := items[len(items)-1]
	if len(items) != importBatchDocs+1 || last.Line != importBatchDocs+1 || last.Error == nil || last.Error.Code != "no_space" {
		t.Errorf("%d answers, last %+v", len(items), last)
	}
}

// An answer comes as soon as its batch is committed, while the client still sends.
func TestImportAnswersWhileItReads(t *testing.T) {
	f := newFixture(t, Options{})
	addr, _ := f.serve()
	pr, pw := io.Pipe()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+importPath, pr)
	req.Header.Set("Content-Type", "application/x-ndjson")
	go func() {
		for i := range importBatchDocs {
			fmt.Fprintf(pw, "{\"id\":\"n%d\"}\n", i)
		}
	}()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewScanner(res.Body)
	for i := range importBatchDocs {
		if !in.Scan() {
			t.Fatalf("answer %d: %v", i+1, in.Err())
		}
	}
	fmt.Fprintf(pw, "{\"id\":\"late\"}\n")
	pw.Close()
	if !in.Scan() || !strings.Contains(in.Text(), `"late"`) {
		t.Errorf("answer to the last document: %q", in.Text())
	}
}

// A client that sends everything before it reads anything must not come to a standstill.
func TestImportOfAClientThatReadsLate(t *testing.T) {
	f := newFixture(t, Options{})
	addr, _ := f.serve()
	const n = 30_000
	id := strings.Repeat("x", 400) // answers of 14 MB, more than sockets buffer
	pr, pw := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(pw, 1<<20)
		for i := range n {
			fmt.Fprintf(w, "{\"id\":\"%s%d\"}\n", id, i)
		}
		err := w.Flush()
		pw.Close()
		sent <- err
	}()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+importPath, pr)
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Accept-Encoding", "identity") // compressed they would fit
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	select {
	case err := <-sent:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not take the body while nobody reads its answers")
	}
	in, lines := bufio.NewScanner(res.Body), 0
	for in.Scan() {
		lines++
	}
	if lines != n {
		t.Errorf("%d answers, want %d (%v)", lines, n, in.Err())
	}
}

func TestTooManyImports(t *testing.T) {
	f := newFixture(t, Options{WriteSlots: 1})
	f.server.imports.queue = 1
	entered, release := f.hold("Ingest")
	defer release()
	done := make(chan int, 3)
	for range 3 {
		go func() {
			done <- f.do("POST", importPath, `{"id":"n1"}`, "Content-Type", "application/x-ndjson").Code
		}()
	}
	<-entered
	for len(f.server.imports.slots) < 2 || f.server.imports.waiting.Load() < 1 { // and one in the queue
		time.Sleep(time.Millisecond)
	}
	a := f.do("POST", importPath, `{"id":"n1"}`, "Content-Type", "application/x-ndjson")
	a.problem(429, "too_many_writes", "")
	if a.Header().Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	release()
	for range 3 {
		if got := <-done; got != 200 {
			t.Errorf("import in progress or in the queue: %d, want 200", got)
		}
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, s := range []string{`{"id":"a","title":"x"}`, `{"id":1,"document":{}}`, `{"fields":{"a":[1]},"revision":3}`, `{"a":{"b":null}}`, `[`, `{"id":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := parseDocument(data)
		if err != nil {
			return
		}
		if !json.Valid(doc.Fields) || doc.Fields[0] != '{' {
			t.Fatalf("parseDocument(%q): fields %q are no object", data, doc.Fields)
		}
		if _, err := mergePatch(doc.Fields, doc.Fields); err != nil {
			t.Fatalf("mergePatch of %q: %v", doc.Fields, err)
		}
	})
}

func FuzzArrayItems(f *testing.F) {
	for _, s := range []string{`[{"id":"a"},{"b":"]"}]`, `[]`, `[,]`, `[1 2]`, ` [ "\"" , [ ] ]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var raw []json.RawMessage
		valid := json.Unmarshal(data, &raw) == nil && raw != nil
		it := newArrayItems(strings.NewReader(string(data)), 1<<20)
		n := 0
		for it.next() {
			if valid && strings.TrimSpace(string(it.buf)) != strings.TrimSpace(string(raw[n])) {
				t.Fatalf("element %d of %q is %q, want %q", n, data, it.buf, raw[n])
			}
			n++
		}
		if valid && (it.err != nil || n != len(raw)) {
			t.Fatalf("%q: %d elements and %v, want %d", data, n, it.err, len(raw))
		}
	})
}

func TestImportCSV(t *testing.T) {
	f := newFixture(t, Options{})
	body := "id;title;text;year\nc1;Moon;The moon has phases;2024\nc2;Too;many;2024;fields\nc3;\"Quoted; yes\";\"Two\nlines\";2023\n"
	got := summary(importLines(t, f.do("POST", importPath, body, "Content-Type", "text/csv; charset=utf-8")))
	if want := "2:c1:created 3::error:malformed_request 4:c3:created"; got != want {
		t.Errorf("import: %s, want %s", got, want)
	}
	var d struct {
		Document struct {
			Title, Text string
			Year        int
		}
	}
	if f.do("GET", "/v1/collections/docs/documents/c3", "").want(200, &d); d.Document.Title != "Quoted; yes" || d.Document.Text != "Two\nlines" || d.Document.Year != 2023 {
		t.Errorf("document = %+v", d.Document)
	}
	lines := importLines(t, f.do("POST", importPath, "1,2\n3,4\n", "Content-Type", "text/csv"))
	if got := summary(lines); got != "1::error:malformed_request" {
		t.Errorf("without names of the columns: %s", got)
	}
}

// TestSlowImports sends lines a few bytes at a time: a slow link is waited for, a sender who only
// keeps the import's slot is not.
func TestSlowImports(t *testing.T) {
	line := `{"id":"a","text":"` + strings.Repeat("x", 500<<10) + "\"}\n"
	for _, tt := range []struct {
		name  string
		size  int
		every time.Duration
		want  string // what it is refused with
	}{
		{"a mobile link", 5000, time.Second, ""},
		{"one that comes and goes", 100_000, 25 * time.Second, ""},
		{"a byte at a time", 1, 29 * time.Second, "body: 3 bytes came in 87 s, allowed: 1024 or more per second"},
		{"a hundred bytes at a time", 100, time.Second, "body: 6000 bytes came in 60 s, allowed: 1024 or more per second"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, Options{})
			a := f.send(f.request("POST", importPath, &drip{strings.NewReader(line), tt.size, tt.every}, "Content-Type", "application/x-ndjson"))
			if tt.want == "" {
				a.want(200, nil)
				return
			}
			if p := a.problem(408, "body_too_slow", ""); !strings.HasSuffix(p.Detail, tt.want) {
				t.Errorf("%s: %s, want %s", tt.name, p.Detail, tt.want)
			}
		})
	}
}

// drip gives at most size bytes at a time, each time after a wait.
type drip struct {
	io.Reader
	size  int
	every time.Duration
}

func (d *drip) Read(p []byte) (int, error) {
	time.Sleep(d.every)
	return d.Reader.Read(p[:min(len(p), d.size)])
}

// warningEngine warns of every document.
type warningEngine struct{ Engine }

func (e warningEngine) Ingest(ctx context.Context, collection string, docs []search.Document) ([]search.ItemResult, error) {
	res, err := e.Engine.Ingest(ctx, collection, docs)
	for i := range res {
		res[i].Warning = "no text"
	}
	return res, err
}

// TestWarningsOfDocuments stand in the answer of every write.
func TestWarningsOfDocuments(t *testing.T) {
	f := newFixture(t, Options{})
	var err error
	if f.server, err = New(Options{Engine: warningEngine{f.engine}, Inference: f.engine, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	const docs = "/v1/collections/docs/documents"
	for _, a := range []answer{
		f.do("PUT", docs+"/w1", `{"title":5}`), f.do("PATCH", docs+"/w1", `{"title":6}`), f.do("POST", docs, `{"id":"w2","title":5}`),
		f.do("POST", docs, `[{"id":"w3","title":5}]`), f.do("POST", importPath, `[{"id":"w4","title":5}]`),
	} {
		if a.Code/100 != 2 || strings.Count(a.Body.String(), `"warning":"no text"`) != 1 {
			t.Errorf("%d %s, want the warning", a.Code, a.Body)
		}
	}
}

// TestListTakenForADocument is of those who send their documents as a member of an object.
func TestListTakenForADocument(t *testing.T) {
	f := newFixture(t, Options{})
	const docs, list = "/v1/collections/docs/documents", `{"documents": [ {"title":"Bread"},{"title":"Butter"}]}`
	const warning = `"warning":"stored as one document, whose only field is documents;`
	for _, a := range []answer{f.do("POST", docs, list), f.do("POST", docs, `[`+list+`]`), f.do("POST", importPath, list, "Content-Type", "application/x-ndjson")} {
		if a.Code/100 != 2 || strings.Count(a.Body.String(), warning) != 1 {
			t.Errorf("%d %s, want a warning", a.Code, a.Body)
		}
	}
	for _, a := range []answer{
		f.do("PUT", docs+"/w1", list), f.do("POST", docs, `{"documents":["Bread"]}`), f.do("POST", docs, `{"title":"Meal","documents":[{"title":"Bread"}]}`),
		f.do("POST", docs, `{"id":"w2","documents":[{"title":"Bread"}]}`),
	} {
		if a.Code/100 != 2 || strings.Contains(a.Body.String(), "warning") {
			t.Errorf("%d %s, want no warning", a.Code, a.Body)
		}
	}
}

// TestDatesThatAreNone: a text in a field for dates that filters do not read as one is reported.
func TestDatesThatAreNone(t *testing.T) {
	f := newFixture(t, Options{})
	const docs = "/v1/collections/docs/documents"
	for _, tc := range []struct{ method, path, body, field string }{
		{"PUT", "/d1", `{"text":"x","created":"soon"}`, "created"}, {"PATCH", "/d1", `{"created":"2024-02-30"}`, "created"},
		{"PUT", "/d2", `{"text":"x","publishDate":"15.03.2024"}`, "publishDate"}, {"POST", "", `{"id":"d3","text":"x","due_at":"March"}`, "due_at"},
		{"POST", "", `[{"id":"d4","text":"x","date":"2024-13-01T00:00:00"}]`, "date"}, {"PUT", "/d5", `{"text":"x","timestamp":"1710513000"}`, "timestamp"},
		{"PUT", "/d1", `{"text":"x","created":"2024-01-01 00:00:00"}`, ""}, {"PATCH", "/d1", `{"created":"2024-01-01T00:00:00+0100"}`, ""},
		{"PUT", "/d6", `{"text":"soon","update":"soon","dates":"soon","created":["soon"],"date":""}`, ""},
	} {
		got := f.do(tc.method, docs+tc.path, tc.body).Body.String()
		if want := fmt.Sprintf(`"warning":"field \"%s\": \"`, tc.field); strings.Contains(got, "warning") != (tc.field != "") || tc.field != "" && !strings.Contains(got, want) {
			t.Errorf("%s %s: %s, want a warning of the field %q", tc.method, tc.body, got, tc.field)
		}
	}
}

// An import names each field whose values are no dates once, at the first of them.
func TestImportNamesDates(t *testing.T) {
	f := newFixture(t, Options{})
	for media, body := range map[string]string{
		"application/x-ndjson": `{"id":"i1","created":"2024-01-01"}` + "\n" + `{"id":"i2","created":"soon"}` + "\n" + `{"id":"i3","created":"later","due":"now"}` + "\n" + `{"id":"i4","due":{"created":"x"}}` + "\n",
		"application/json":     `[{"id":"j1","text":"x"},{"id":"j2","created":"soon"},{"id":"j3","created":"later","due":"now"},{"id":"j4","due":7}]`,
	} {
		got := ""
		for _, l := range imported(t, f, "", media, body) {
			field, _, _ := strings.Cut(l.Warning, ": ")
			got += fmt.Sprintf("%d %s|", l.Line, field)
		}
		if want := `1 |2 field "created"|3 field "due"|4 |`; got != want {
			t.Errorf("%s: %s, want %s", media, got, want)
		}
	}
	rows := "id,text,created\n"
	for i := range 2 * importBatchDocs {
		rows += fmt.Sprintf("r%d,words,soon\n", i)
	}
	lines := imported(t, f, "", "text/csv", rows)
	if last := lines[len(lines)-1]; len(lines) != 2*importBatchDocs || !strings.Contains(last.Warning, `field "created": 256 of 256`) {
		t.Errorf("%d lines, the last is %+v", len(lines), last)
	}
}

// What is encoded may take longer than other writes: a slow checkpoint, a large document or many
// searches are no reason to throw the work away.
func TestWritesThatEncodeForLong(t *testing.T) {
	f := newFixture(t, Options{WriteTimeout: 50 * time.Millisecond})
	f.engine.Hook = func(ctx context.Context, m string) error {
		if m != "Ingest" && m != "Patch" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
			return nil
		}
	}
	items := importLines(t, f.do("POST", importPath, `{"id":"n1","text":"x"}`, "Content-Type", "application/x-ndjson"))
	if len(items) != 1 || items[0].Status != search.Created {
		t.Errorf("import: %+v", items)
	}
	f.do("POST", "/v1/collections/docs/documents", `[{"id":"n2","text":"x"}]`).want(200, nil)
	f.do("PUT", "/v1/collections/docs/documents/n3", `{"document":{"text":"x"}}`).want(201, nil)
	f.do("PATCH", "/v1/collections/docs/documents/n3", `{"text":"y"}`).want(200, nil)
}
