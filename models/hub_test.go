package models

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const testCommit = "0123456789abcdef0123456789abcdef01234567"

// testHub speaks the protocol of the Hugging Face hub for one repository, owner/name, with the
// revisions main, refs/pr/1 and testCommit. Weights are in large file storage and come from a
// second server, by a redirect.
type testHub struct {
	hub, cdn *httptest.Server
	commit   string
	files    map[string][]byte
	oid      map[string]string // digests that the list gives instead of the right ones
	size     map[string]int64  // sizes likewise

	mu struct {
		sync.Mutex
		hubFault, cdnFault func(w http.ResponseWriter, r *http.Request) bool // handle a request instead of the server
		log                []string                                          // "hub PATH" and "cdn PATH RANGE"
		leaked             bool                                              // whether the second server saw a token
		authorized         int                                               // requests to the hub with the right token
	}
}

// newTestHub serves the files of a fixture of the encoder, and some that nobody needs.
func newTestHub(t *testing.T, fixture string) *testHub {
	t.Helper()
	h := &testHub{commit: testCommit, files: fixtureFiles(t, fixture), oid: map[string]string{}, size: map[string]int64{}}
	for _, name := range []string{"README.md", "pytorch_model.bin", "onnx/model.onnx", "modeling.py", "1_Pooling/extra.py", "openvino/config.json"} {
		h.files[name] = []byte("nobody needs " + name)
	}
	h.hub = httptest.NewServer(http.HandlerFunc(h.serveHub))
	h.cdn = httptest.NewServer(http.HandlerFunc(h.serveCDN))
	t.Cleanup(h.hub.Close)
	t.Cleanup(h.cdn.Close)
	return h
}

func fixtureFiles(t *testing.T, fixture string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	fsys := os.DirFS("../encoder/testdata/" + fixture)
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || p == "expected.json" {
			return err
		}
		files[p], err = fs.ReadFile(fsys, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func large(name string) bool { return path.Ext(name) == ".safetensors" || path.Ext(name) == ".bin" }

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func blobHex(b []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(sum[:])
}

func (h *testHub) digest(name string) string {
	if d, ok := h.oid[name]; ok {
		return d
	}
	if large(name) {
		return sha256Hex(h.files[name])
	}
	return blobHex(h.files[name])
}

func (h *testHub) note(f func() func(http.ResponseWriter, *http.Request) bool, w http.ResponseWriter, r *http.Request) bool {
	h.mu.Lock()
	fault := f()
	h.mu.Unlock()
	return fault != nil && fault(w, r)
}

func (h *testHub) serveHub(w http.ResponseWriter, r *http.Request) {
	if h.note(func() func(http.ResponseWriter, *http.Request) bool {
		h.mu.log = append(h.mu.log, "hub "+r.URL.Path)
		if r.Header.Get("Authorization") == "Bearer hf_secret" {
			h.mu.authorized++
		}
		return h.mu.hubFault
	}, w, r) {
		return
	}
	const api, resolve, cached = "/api/models/owner/name/", "/owner/name/resolve/", "/api/resolve-cache/"
	switch p := r.URL.Path; {
	case strings.HasPrefix(p, api+"revision/"):
		rev := strings.TrimPrefix(r.URL.EscapedPath(), api+"revision/")
		if rev != "main" && rev != "refs%2Fpr%2F1" && rev != h.commit {
			w.Header().Set("X-Error-Code", "RevisionNotFound")
			w.Header().Set("X-Error-Message", "Invalid rev id: "+rev)
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "owner/name", "sha": h.commit})
	case p == api+"tree/"+h.commit:
		h.serveTree(w, r)
	case strings.HasPrefix(p, resolve+h.commit+"/"):
		name := strings.TrimPrefix(p, resolve+h.commit+"/")
		if _, ok := h.files[name]; !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("X-Repo-Commit", h.commit)
		w.Header().Set("X-Linked-Etag", `"`+h.digest(name)+`"`)
		if large(name) {
			http.Redirect(w, r, h.cdn.URL+"/"+name+"?signature=key", http.StatusFound)
		} else {
			http.Redirect(w, r, cached+name, http.StatusTemporaryRedirect)
		}
	case strings.HasPrefix(p, cached):
		w.Write(h.files[strings.TrimPrefix(p, cached)])
	default:
		http.NotFound(w, r)
	}
}

// serveTree lists three files a page.
func (h *testHub) serveTree(w http.ResponseWriter, r *http.Request) {
	names := []string{}
	for name := range h.files {
		names = append(names, name)
	}
	slices.Sort(names)
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := min(from+3, len(names))
	entries := []map[string]any{{"type": "directory", "path": "1_Pooling", "oid": h.commit, "size": 0}}
	for _, name := range names[from:to] {
		size := int64(len(h.files[name]))
		if n, ok := h.size[name]; ok {
			size = n
		}
		e := map[string]any{"type": "file", "path": name, "size": size, "oid": h.digest(name)}
		if large(name) {
			e["oid"] = blobHex([]byte("pointer"))
			e["lfs"] = map[string]any{"oid": h.digest(name), "size": size, "pointerSize": 134}
		}
		entries = append(entries, e)
	}
	if to < len(names) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?recursive=true&cursor=%d>; rel="next"`, h.hub.URL, r.URL.Path, to))
	}
	json.NewEncoder(w).Encode(entries)
}

func (h *testHub) serveCDN(w http.ResponseWriter, r *http.Request) {
	if h.note(func() func(http.ResponseWriter, *http.Request) bool {
		h.mu.log = append(h.mu.log, strings.TrimSpace("cdn "+r.URL.Path+" "+r.Header.Get("Range")))
		h.mu.leaked = h.mu.leaked || r.Header.Get("Authorization") != ""
		return h.mu.cdnFault
	}, w, r) {
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	w.Header().Set("ETag", `"`+h.digest(name)+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(h.files[name])))
}

// fault sets what handles requests instead of the servers; nil for nothing.
func (h *testHub) fault(hub, cdn func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.hubFault, h.mu.cdnFault = hub, cdn
}

// took returns the requests since the last call.
func (h *testHub) took() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.mu.log
	h.mu.log = nil
	return log
}

// options pull from the test's hub, with waits that a test can bear.
func (h *testHub) options() PullOptions {
	return PullOptions{Hub: h.hub.URL, Backoff: time.Millisecond, Stall: 5 * time.Second}
}

// useCache gives the test a cache folder of its own.
func useCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(CacheEnv, dir)
	return dir
}

// below lists everything below dir but folders and lock files.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(p) != ".lock" {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
