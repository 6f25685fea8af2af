package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"
)

// catalogue is a file of rows, of which the last alone has a text and the one before it nothing but
// an id.
const catalogue = "id,price,stock,text\nbolt,0.5,true,\nnut,0.2,false,\nnone,,,\nlamp,40,true,A lamp of brushed steel.\n"

// TestRowsWithoutText imports a catalogue, looks at it with the commands, and changes it over REST.
func TestRowsWithoutText(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(file, []byte(catalogue), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := run(t, "", "ingest", "--data", data, file); code != 1 || !strings.Contains(stdout+stderr, "rows.csv:4: no text, number or boolean in any field") {
		t.Errorf("ingest: %d\n%s%s", code, stdout, stderr)
	}
	if out, _ := mustRun(t, "searchd", "query", "--data", data, "--filter", "price < 1", "--sort", "price", ""); !strings.Contains(out, "nut\n    {\"price\":0.2,\"stock\":false}\n") || !strings.Contains(out, "2 results") {
		t.Errorf("query: %s", out)
	}
	mustRun(t, "searchd", "check", "--data", data, "--deep")
	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	base := serve(t, e) + "/v1/collections/docs/"
	ask := func(method, path, body string, want int, parts ...string) {
		t.Helper()
		r, err := http.NewRequest(method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if strings.HasSuffix(path, "import") {
			r.Header.Set("Content-Type", "text/csv")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s %s: %d, want %d: %s, %v", method, path, res.StatusCode, want, got, err)
		}
		for _, part := range parts {
			if !strings.Contains(string(got), part) {
				t.Errorf("%s %s lacks %s: %s", method, path, part, got)
			}
		}
	}
	ask("PATCH", "documents/lamp", `{"text":null}`, 200, `"updated"`)
	ask("GET", "documents/lamp", "", 200, `"price":40`)
	ask("PUT", "documents/pipe", `{"price":7,"tags":["copper"]}`, 201, `"created"`)
	ask("PUT", "documents/empty", `{}`, 400, "at least one field")
	ask("PATCH", "documents/pipe", `{"price":null,"tags":null}`, 400, "at least one field")
	ask("POST", "documents/import", "id,price\nrod,9\n", 200, `"created"`)
	ask("GET", "search?sort=price:desc&facets=stock", "", 200, `"value":5`, `"passages":[]`, `"missing":2`)
	ask("GET", "search?q=copper", "", 200, `"id":"pipe"`, `<mark>copper</mark>`)
	ask("POST", "similar", `{"ids":["pipe"]}`, 400, "/ids/0", "documents with searchable text")
	ask("GET", "explain/nut?q=copper", "", 200, `"no_passages"`)
	ask("GET", "documents/export", "", 200, `"rod"`)
	ask("POST", "documents/delete", `{"filter":"price < 1"}`, 200, `"deleted":2`)
	if problems, err := e.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
}

// TestPageWithoutText shows hits that have no passage: their values, and how the score of what
// words alone have found came about.
func TestPageWithoutText(t *testing.T) {
	longtest.Skip(t)
	e := kitchen(t)
	_, err := e.Ingest(t.Context(), "kitchen", []search.Document{{ID: "bowl", Fields: []byte(`{"price":7,"tags":["pancakes","steel"]}`)}})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, e)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?q=steel+pancakes&filter=price+%3D+7"))
	p.until(t, idle+" && document.querySelector('#results article').getAttribute('aria-label') === 'bowl'")
	if got := eval[string](t, p, "document.querySelector('#results .chips').textContent"); got != "tagspancakestagssteelprice7" {
		t.Errorf("chips %q", got)
	}
	p.js(t, "document.querySelector('#results [data-role=why]').click(); document.querySelector('#results [data-role=text]').click()")
	p.until(t, "document.querySelector('#results .why').textContent.includes('the document has no text to compare') && document.querySelector('#results .text pre')?.textContent.includes('pancakes') === true")
	if off := eval[float64](t, p, "Math.abs(parseFloat(document.querySelector('#results .score .value').textContent.replace(/[^0-9.]/g, '')) - document.querySelector('#results .hit').card.hit.score)"); off > 0.01 {
		t.Errorf("the page is off the score by %v", off)
	}
	p.shoot(t, "textless-1440-light")
	p.clean(t)
}
