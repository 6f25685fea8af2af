package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// routes returns the methods and paths of api/openapi.yaml.
func routes(t *testing.T) (out [][2]string) {
	t.Helper()
	f, err := os.Open(filepath.Join(root, "api", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	isPath, isMethod := regexp.MustCompile(`^  (/\S*):`), regexp.MustCompile(`^    (get|put|post|patch|delete):`)
	path := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if m := isPath.FindStringSubmatch(lines.Text()); m != nil {
			path = m[1]
		} else if m := isMethod.FindStringSubmatch(lines.Text()); m != nil && path != "" {
			out = append(out, [2]string{strings.ToUpper(m[1]), path})
		}
	}
	if len(out) < 60 {
		t.Fatalf("%d routes in openapi.yaml", len(out))
	}
	return out
}

// Markers that must not be seen where they do not belong.
const (
	adminKey   = "markeradminkey0123456789abcdef"
	queryMark  = "markerquerytext"
	cookieMark = "markercookie"
)

// TestSecrets sends every route a key and the words of a query, in right and wrong requests, kills
// the server with a dump of its goroutines, and looks for both in the log, the metrics, the dump,
// the backup and the data folder; and for the keys in every answer but the one that makes it.
func TestSecrets(t *testing.T) {
	s := newServer(t, memory(t))
	s.env = []string{"SEARCHD_ADMIN_KEY=" + adminKey}
	s.start()
	admin := []string{"Authorization", "Bearer " + adminKey, "Cookie", cookieMark}
	if status, _ := s.do("PUT", docs, "{}"); status != 401 {
		t.Fatalf("without a key: %d", status)
	}
	s.do("PUT", docs, "{}", admin...)
	s.do("PUT", docs+"/documents/a", `{"text":"a pancake"}`, admin...)
	status, answer := s.do("POST", "/v1/keys", `{"name":"reader","scopes":["search"],"collections":["docs"]}`, admin...)
	m := regexp.MustCompile(`"key":"([^"]+)"`).FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("no key was made: %d %.300s", status, answer)
	}
	made := m[1]
	fill := strings.NewReplacer("{collection}", "docs", "{id}", "a", "{task}", queryMark, "{snapshot}", "x", "{alias}", "al", "{model}", "m", "{key}", "k", "{file}", "x.js")
	bodies := []string{
		fmt.Sprintf(`{"q":%q,"input":%q,"inputs":%q,"query":%q,"text":%q,"documents":[%q],"texts":[%q]}`, queryMark, queryMark, queryMark, queryMark, queryMark, queryMark, queryMark),
		fmt.Sprintf(`{"q":%q,"mode":%q,"filter":"%s = ="}`, queryMark, queryMark, queryMark), `{"` + queryMark, `[` + `"` + queryMark + `"]`, "",
	}
	var leaks []string
	sent := 0
	for _, r := range routes(t) {
		if r[0] == "DELETE" || strings.HasSuffix(r[1], "/reembed") || r[1] == "/v1/snapshots" && r[0] == "POST" {
			continue
		}
		for _, key := range []string{adminKey, made, "wrong" + adminKey} {
			for _, body := range bodies {
				path := fill.Replace(r[1])
				if r[0] == "GET" {
					path += "?q=" + queryMark + "&filter=" + queryMark
				}
				_, answer := s.do(r[0], path, body, "Authorization", "Bearer "+key, "X-API-Key", key, "Cookie", cookieMark)
				sent++
				if strings.Contains(answer, adminKey) || strings.Contains(answer, made) || strings.Contains(answer, cookieMark) {
					leaks = append(leaks, fmt.Sprintf("the answer of %s %s: %.200s", r[0], path, answer))
				}
			}
		}
	}
	_, metrics := s.do("GET", "/metrics", "", admin...)
	_, task := s.do("POST", "/v1/snapshots", "", admin...)
	for strings.Contains(task, `"queued"`) || strings.Contains(task, `"running"`) {
		id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(task)
		_, task = s.do("GET", "/v1/tasks/"+id[1], "", admin...)
	}
	s.stop(syscall.SIGQUIT) // which writes what every goroutine does
	for what, text := range map[string]string{"metrics": metrics, "log and dump": s.log.String()} {
		for _, mark := range []string{adminKey, made, queryMark, cookieMark} {
			if i := strings.Index(text, mark); i >= 0 && mark != queryMark || i >= 0 && !strings.Contains(line(text, i), "/v1/tasks/") {
				leaks = append(leaks, fmt.Sprintf("%s: %q in %.300s", what, mark, line(text, i)))
			}
		}
	}
	if !strings.Contains(s.log.String(), "goroutine ") {
		t.Error("there is no dump of goroutines")
	}
	files := 0
	err := filepath.WalkDir(s.data, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(p)
		for _, mark := range []string{adminKey, made, cookieMark} {
			if strings.Contains(string(b), mark) {
				leaks = append(leaks, fmt.Sprintf("%s holds %q", p, mark))
			}
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
	slices.Sort(leaks)
	for _, l := range slices.Compact(leaks) {
		t.Error(l)
	}
	t.Logf("%d requests to %d routes, %d files", sent, len(routes(t)), files)
}

// line returns the line of a text around an offset.
func line(text string, i int) string {
	start := strings.LastIndexByte(text[:i], '\n') + 1
	if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
		return text[start : i+end]
	}
	return text[start:]
}

// TestForeignPages: a page of another site reaches nothing of a server on loopback, neither by its
// own name for the address nor by a request from the browser.
func TestForeignPages(t *testing.T) {
	s := newServer(t, memory(t))
	s.start()
	s.want("PUT", docs, "{}", 201)
	port := s.url[strings.LastIndexByte(s.url, ':'):]
	for _, tt := range []struct {
		method string
		header []string
	}{
		{"GET", []string{"Host", "evil.example" + port}},
		{"GET", []string{"Host", "evil.example"}},
		{"GET", []string{"Host", "127.0.0.1.evil.example" + port}},
		{"GET", []string{"Host", "localhost.evil.example"}},
		{"PUT", []string{"Origin", "https://evil.example"}},
		{"PUT", []string{"Sec-Fetch-Site", "cross-site"}},
		{"PUT", []string{"Origin", "null"}},
		{"PUT", []string{"Origin", "http://localhost:1"}},
	} {
		body := ""
		if tt.method == "PUT" {
			body = "{}"
		}
		if status, answer := s.do(tt.method, docs, body, tt.header...); status != 403 && status != 421 && status != 400 {
			t.Errorf("%s with %s: %d %.200s", tt.method, tt.header, status, answer)
		} else if status == 0 || strings.Contains(answer, `"documents"`) {
			t.Errorf("%s with %s: %d %.200s", tt.method, tt.header, status, answer)
		}
	}
	s.want("GET", docs, "", 200) // nothing of this came through
}
