package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/encoder"
)

func pullOrFail(t *testing.T, name string, o PullOptions) *Pulled {
	t.Helper()
	got, err := Pull(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func encodeWith(t *testing.T, name string) []float32 {
	t.Helper()
	m, err := Open(name, encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Encode(t.Context(), []string{"A man is playing a guitar."}, encoder.EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Vectors[0]
}

func TestPull(t *testing.T) {
	for _, fixture := range []string{"bert-mean", "modernbert", "qwen3-lasttoken", "cross-xlmr"} {
		t.Run(fixture, func(t *testing.T) {
			cache, h := useCache(t), newTestHub(t, fixture)
			got := pullOrFail(t, "owner/name", h.options())
			if !got.New || got.Commit != testCommit || got.Revision != "main" || got.Dir != filepath.Join(cache, "owner", "name") || got.Dimension == 0 || got.Family == "" {
				t.Errorf("Pull = %+v", got)
			}
			var want []string
			var size int64
			for name, b := range fixtureFiles(t, fixture) {
				want, size = append(want, "owner/name/"+name), size+int64(len(b))
			}
			want = append(want, "owner/name/"+ManifestFile)
			slices.Sort(want)
			if files := below(t, cache); !slices.Equal(files, want) {
				t.Errorf("files in the cache:\n%q\nwant\n%q", files, want)
			}
			if got.Bytes != size {
				t.Errorf("Bytes = %d, want %d", got.Bytes, size)
			}
			for _, f := range got.Files {
				if f.SHA256 != sha256Hex(h.files[f.Path]) {
					t.Errorf("manifest: %s: sha256 %s, want that of the content", f.Path, f.SHA256)
				}
			}
			a, b := encodeWith(t, "owner/name"), encodeWith(t, "../encoder/testdata/"+fixture)
			if !slices.Equal(a, b) {
				t.Error("the pulled checkpoint gives other vectors")
			}
			h.took()
			if again := pullOrFail(t, "owner/name", h.options()); again.New || again.Dir != got.Dir {
				t.Errorf("second Pull = %+v, want the checkpoint that is there", again)
			}
			if log := h.took(); len(log) != 1 {
				t.Errorf("the second pull asked for %q, want the revision only", log)
			}
			pullOrFail(t, "owner/name@"+testCommit, h.options())
			if log := h.took(); len(log) != 0 {
				t.Errorf("the pull of a commit that is there asked for %q", log)
			}
		})
	}
}

// errAny stands for an error that has no name of its own.
var errAny = errors.New("any error")

func TestPullLayouts(t *testing.T) {
	index := func(files map[string][]byte, shard string) {
		files["shard-1.safetensors"] = files["model.safetensors"]
		delete(files, "model.safetensors")
		var tensors map[string]any
		b := files["shard-1.safetensors"]
		n := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		if err := json.Unmarshal(b[8:8+n], &tensors); err != nil {
			panic(err)
		}
		weightMap := map[string]string{}
		for name := range tensors {
			if name != "__metadata__" {
				weightMap[name] = shard
			}
		}
		files["model.safetensors.index.json"], _ = json.Marshal(map[string]any{"weight_map": weightMap})
	}
	modules := func(files map[string][]byte, folder string) {
		files["modules.json"] = fmt.Appendf(nil, `[{"path": "", "type": "a.Transformer"}, {"path": %q, "type": "b.Pooling"}, {"path": "2_Normalize", "type": "c.Normalize"}]`, folder)
	}
	for _, tt := range []struct {
		name   string
		change func(h *testHub)
		want   error // nil: the vectors of the fixture
	}{
		{"shards", func(h *testHub) { index(h.files, "shard-1.safetensors") }, nil},
		{"shard that is missing", func(h *testHub) { index(h.files, "shard-2.safetensors") }, ErrLayout},
		{"shard outside", func(h *testHub) { index(h.files, "../shard-1.safetensors") }, ErrLayout},
		{"shard with a backslash", func(h *testHub) { index(h.files, `..\shard-1.safetensors`) }, ErrLayout},
		{"shard of another kind", func(h *testHub) { index(h.files, "modeling.py") }, ErrLayout},
		{"transformer in a folder", func(h *testHub) {
			for _, name := range []string{"config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json"} {
				h.files["0_Transformer/"+name] = h.files[name]
				delete(h.files, name)
			}
			h.files["modules.json"] = bytes.Replace(h.files["modules.json"], []byte(`"path": ""`), []byte(`"path": "0_Transformer"`), 1)
		}, nil},
		{"module with a slash behind it", func(h *testHub) { modules(h.files, "./1_Pooling/") }, nil},
		{"module outside by a way round", func(h *testHub) { modules(h.files, "1_Pooling/../../x") }, encoder.ErrConfig},
		{"module outside", func(h *testHub) { modules(h.files, "../1_Pooling") }, encoder.ErrConfig},
		{"module at an absolute path", func(h *testHub) { modules(h.files, "/1_Pooling") }, encoder.ErrConfig},
		{"module with a backslash", func(h *testHub) { modules(h.files, `..\1_Pooling`) }, ErrRefused},
		{"module on a drive", func(h *testHub) { modules(h.files, `C:1_Pooling`) }, ErrRefused},
		{"modules of another shape", func(h *testHub) { h.files["modules.json"] = []byte(`{"a": 1}`) }, encoder.ErrConfig},
		{"no modules", func(h *testHub) { h.files["modules.json"] = []byte(`[]`) }, encoder.ErrConfig},
		{"listed path outside", func(h *testHub) { h.files["../../evil.json"] = []byte("{}") }, ErrRefused},
		{"listed absolute path", func(h *testHub) { h.files["/etc/evil.json"] = []byte("{}") }, ErrRefused},
		{"listed path with a backslash", func(h *testHub) { h.files[`..\evil.json`] = []byte("{}") }, nil}, // a name that git allows and nobody wants
		{"pickled weights only", func(h *testHub) { delete(h.files, "model.safetensors") }, ErrLayout},
		{"no weights", func(h *testHub) { delete(h.files, "model.safetensors"); delete(h.files, "pytorch_model.bin") }, ErrLayout},
		{"no tokenizer", func(h *testHub) { delete(h.files, "tokenizer.json") }, ErrLayout},
		{"no config", func(h *testHub) { delete(h.files, "config.json") }, ErrLayout},
		{"no pooling", func(h *testHub) { delete(h.files, "1_Pooling/config.json") }, fs.ErrNotExist},
		{"unknown architecture", func(h *testHub) { h.files["config.json"] = []byte(`{"model_type": "mystery"}`) }, encoder.ErrConfig},
		{"unknown first module", func(h *testHub) { h.files["modules.json"] = []byte(`[{"path": "", "type": "a.CLIPModel"}]`) }, encoder.ErrConfig},
		{"unknown module", func(h *testHub) {
			h.files["modules.json"] = []byte(`[{"path": "", "type": "a.Transformer"}, {"path": "1_Pooling", "type": "b.Pooling"}, {"path": "2_LSTM", "type": "c.LSTM"}]`)
		}, encoder.ErrConfig},
		{"unknown pooling", func(h *testHub) {
			h.files["1_Pooling/config.json"] = []byte(`{"word_embedding_dimension": 48, "pooling_mode": "average"}`)
		}, encoder.ErrConfig},
		{"unknown tokenizer", func(h *testHub) { h.files["tokenizer.json"] = []byte(`{"model": {"type": "Mystery"}}`) }, errAny},
		{"calibration out of range", func(h *testHub) { h.files[CalibrationFile] = []byte(`{"cosine_floor": 7}`) }, errAny},
		{"large config", func(h *testHub) { h.size["config.json"] = maxConfigBytes + 1 }, ErrTooLarge},
		{"large weights", func(h *testHub) { h.size["model.safetensors"] = DefaultMaxBytes }, ErrTooLarge},
		{"negative size", func(h *testHub) { h.size["model.safetensors"] = -1 }, ErrHub},
		{"digest of another form", func(h *testHub) { h.oid["config.json"] = "../../x" }, ErrHub},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cache, h := useCache(t), newTestHub(t, "bert-mean")
			tt.change(h)
			_, err := Pull(t.Context(), "owner/name", h.options())
			if !errors.Is(err, tt.want) && !(tt.want == errAny && err != nil) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if tt.want != nil {
				if _, err := os.Stat(filepath.Join(cache, "owner", "name")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("something is in place after %v", err)
				}
				if log := h.took(); slices.ContainsFunc(log, func(s string) bool { return strings.HasPrefix(s, "cdn") }) {
					t.Errorf("the weights were fetched in vain: %q", log)
				}
				return
			}
			if !slices.Equal(encodeWith(t, "owner/name"), encodeWith(t, "../encoder/testdata/bert-mean")) {
				t.Error("the pulled checkpoint gives other vectors")
			}
			if files := below(t, cache); slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, ".json") && !strings.HasSuffix(f, ".safetensors") }) {
				t.Errorf("files in the cache: %q", files)
			}
		})
	}
}

// cut answers with the first n bytes from the beginning of the range and then breaks the
// connection.
func (h *testHub) cut(n int) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		b := h.files[strings.TrimPrefix(r.URL.Path, "/")]
		begin := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &begin)
		w.Header().Set("Content-Length", fmt.Sprint(len(b)-begin))
		if begin > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", begin, len(b)-1, len(b)))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(b[begin:min(begin+n, len(b))])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestPullResumes(t *testing.T) {
	cache, h := useCache(t), newTestHub(t, "bert-mean")
	h.fault(nil, h.cut(50_000))
	if _, err := Pull(t.Context(), "owner/name", h.options()); err == nil || !strings.Contains(err.Error(), "tried 5 times") {
		t.Fatalf("a stream that is cut again and again: error %v", err)
	}
	ranges := slices.DeleteFunc(h.took(), func(s string) bool { return strings.HasPrefix(s, "hub") })
	want := []string{"cdn /model.safetensors"}
	for i := 1; i < maxAttempts; i++ {
		want = append(want, fmt.Sprintf("cdn /model.safetensors bytes=%d-", i*50_000))
	}
	if !slices.Equal(ranges, want) {
		t.Errorf("requests %q, want %q", ranges, want)
	}
	if _, err := os.Stat(filepath.Join(cache, "owner", "name")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an incomplete checkpoint is in place")
	}
	h.fault(nil, nil)
	pullOrFail(t, "owner/name", h.options())
	log := h.took()
	if !slices.Contains(log, "cdn /model.safetensors bytes=250000-") || slices.Contains(log, "hub /owner/name/resolve/"+testCommit+"/config.json") {
		t.Errorf("the second pull asked for %q, want only what was missing", log)
	}
	if !slices.Equal(encodeWith(t, "owner/name"), encodeWith(t, "../encoder/testdata/bert-mean")) {
		t.Error("the resumed checkpoint gives other vectors")
	}
}

// TestPullBrokenPart has parts on disk that do not fit.
func TestPullBrokenPart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		part    func(whole []byte) []byte
		ignores bool // the server knows no ranges
	}{
		{"other bytes", func(b []byte) []byte { return make([]byte, 1000) }, false},
		{"other bytes in full", func(b []byte) []byte { return make([]byte, len(b)) }, false},
		{"too long", func(b []byte) []byte { return make([]byte, len(b)+5) }, false},
		{"complete", func(b []byte) []byte { return b }, false},
		{"server without ranges", func(b []byte) []byte { return b[:1000] }, true},
		{"server without ranges, other bytes", func(b []byte) []byte { return make([]byte, 1000) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cache, h := useCache(t), newTestHub(t, "bert-mean")
			dir := filepath.Join(cache, "owner", ".name.pull", "parts")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, h.digest("model.safetensors")), tt.part(h.files["model.safetensors"]), 0o644); err != nil {
				t.Fatal(err)
			}
			if tt.ignores {
				h.fault(nil, func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("Range"); return false })
			}
			pullOrFail(t, "owner/name", h.options())
		})
	}
}

// TestPullOtherCommit has an interrupted pull of one commit, then the pull of another, and replaces
// it by a third.
func TestPullOtherCommit(t *testing.T) {
	cache, h := useCache(t), newTestHub(t, "bert-mean")
	h.files["special_tokens_map.json"] = []byte("{}")
	h.fault(nil, func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusGone); return true })
	if _, err := Pull(t.Context(), "owner/name", h.options()); !errors.Is(err, ErrHub) {
		t.Fatalf("410: error %v", err)
	}
	h.fault(nil, nil)
	delete(h.files, "special_tokens_map.json")
	h.commit = strings.Repeat("b", 40)
	pullOrFail(t, "owner/name", h.options())
	if files := below(t, cache); slices.Contains(files, "owner/name/special_tokens_map.json") {
		t.Error("a file of another commit is in place")
	}
	h.files["config_sentence_transformers.json"] = []byte(`{"prompts": {"query": "q: "}}`)
	h.commit = strings.Repeat("c", 40)
	if got := pullOrFail(t, "owner/name@refs/pr/1", h.options()); !got.New || got.Commit != h.commit || got.Revision != "refs/pr/1" {
		t.Errorf("Pull = %+v", got)
	}
	files := below(t, cache)
	if !slices.Contains(files, "owner/name/config_sentence_transformers.json") || slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, "owner/.") }) {
		t.Errorf("files in the cache: %q", files)
	}
	h.took()
	if got := pullOrFail(t, "owner/name", h.options()); got.New || got.Revision != "main" || len(h.took()) != 1 {
		t.Errorf("Pull = %+v, want the commit that is there, now by the name main", got)
	}
	if _, _, err := Find("owner/name@main"); err != nil {
		t.Error(err)
	}
	pullOrFail(t, "owner/name@refs/pr/1", h.options())
	for name, want := range map[string]error{"owner/name": nil, "owner/name@refs/pr/1": nil, "owner/name@ccccccc": nil, "owner/name@main": ErrNotFound, "owner/name@ccc": ErrNotFound} {
		if _, _, err := Find(name); !errors.Is(err, want) {
			t.Errorf("Find(%s): error %v, want %v", name, err, want)
		}
	}
}

func TestPullWrongContent(t *testing.T) {
	wrong := func(b []byte) []byte {
		b = bytes.Clone(b)
		b[len(b)/2] ^= 1
		return b
	}
	for _, tt := range []struct {
		name  string
		fault func(h *testHub)
		want  error
	}{
		{"other weights", func(h *testHub) {
			right := h.digest("model.safetensors")
			h.files["model.safetensors"], h.oid["model.safetensors"] = wrong(h.files["model.safetensors"]), right
		}, ErrMismatch},
		{"other weights, in pieces", func(h *testHub) { // each time in two answers: only one is made good by another download
			right := h.digest("model.safetensors")
			h.files["model.safetensors"], h.oid["model.safetensors"] = wrong(h.files["model.safetensors"]), right
			h.fault(nil, h.cut(300_000))
		}, ErrMismatch},
		{"other tokenizer", func(h *testHub) {
			right := h.digest("tokenizer.json")
			h.files["tokenizer.json"], h.oid["tokenizer.json"] = wrong(h.files["tokenizer.json"]), right
		}, ErrMismatch},
		{"longer, said so", func(h *testHub) { h.size["model.safetensors"] = int64(len(h.files["model.safetensors"])) - 1 }, ErrMismatch},
		{"longer, not said", func(h *testHub) {
			h.fault(nil, func(w http.ResponseWriter, _ *http.Request) bool {
				w.(http.Flusher).Flush() // chunked: no length
				w.Write(append(h.files["model.safetensors"], 0))
				return true
			})
		}, ErrTooLarge},
		{"list and file disagree", func(h *testHub) {
			h.fault(func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, testCommit+"/config.json") {
					w.Header().Set("X-Linked-Etag", `"`+strings.Repeat("a", 40)+`"`)
					w.Write(h.files["config.json"])
					return true
				}
				return false
			}, nil)
		}, ErrMismatch},
		{"range of another place", func(h *testHub) {
			h.fault(nil, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") == "" {
					return h.cut(1000)(w, r)
				}
				w.Header().Set("Content-Range", "bytes 5000-9999/10000")
				w.WriteHeader(http.StatusPartialContent)
				return true
			})
		}, ErrMismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cache, h := useCache(t), newTestHub(t, "bert-mean")
			tt.fault(h)
			if _, err := Pull(t.Context(), "owner/name", h.options()); !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if _, err := os.Stat(filepath.Join(cache, "owner", "name")); !errors.Is(err, fs.ErrNotExist) {
				t.Error("something is in place")
			}
			if _, _, err := Find("owner/name"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "searchd models pull owner/name") {
				t.Errorf("Find: error %v, want one that says how to pull", err)
			}
		})
	}
}

func TestPullStatus(t *testing.T) {
	status := func(code int, header ...string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	for _, tt := range []struct {
		name     string
		fault    func(w http.ResponseWriter, r *http.Request) bool
		want     error
		text     string
		requests int
	}{
		{"401", status(401, "X-Error-Message", "Invalid username"), ErrAccess, "HF_TOKEN", 1},
		{"403", status(403), ErrAccess, "conditions", 1},
		{"404", status(404), ErrNotFound, "no such repository", 1},
		{"400", status(400), ErrHub, "400", 1},
		{"429", status(429), ErrHub, "429", maxAttempts},
		{"429 with a wait that is too long", status(429, "Retry-After", "3600"), ErrHub, "1h", 1},
		{"500", status(500), ErrHub, "500", maxAttempts},
		{"503", status(503, "Retry-After", "0"), ErrHub, "503", maxAttempts},
		{"no JSON", func(w http.ResponseWriter, r *http.Request) bool { w.Write([]byte("<html>")); return true }, ErrHub, "", 1},
		{"no commit", func(w http.ResponseWriter, r *http.Request) bool { w.Write([]byte(`{"sha": "../x"}`)); return true }, ErrHub, "40 hex", 1},
		{"endless redirects", status(302, "Location", "/api/models/owner/name/revision/main"), ErrRefused, "redirects", maxRedirects + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			useCache(t)
			h := newTestHub(t, "bert-mean")
			h.fault(tt.fault, nil)
			_, err := Pull(t.Context(), "owner/name", h.options())
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want %v with %q", err, tt.want, tt.text)
			}
			if n := len(h.took()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

func TestPullTriesAgain(t *testing.T) {
	useCache(t)
	h := newTestHub(t, "bert-mean")
	var mu sync.Mutex
	seen := map[string]bool{}
	once := func(code int) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			key := r.Host + r.URL.String()
			if seen[key] {
				return false
			}
			seen[key] = true
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(code)
			return true
		}
	}
	h.fault(once(429), once(503))
	o := h.options()
	waits := 0
	o.Progress = func(p Progress) {
		if p.Retry != nil {
			waits++
		}
	}
	pullOrFail(t, "owner/name", o)
	if waits == 0 {
		t.Error("no retry was told")
	}
}

func TestPullStall(t *testing.T) {
	useCache(t)
	h := newTestHub(t, "bert-mean")
	stalled := 0
	h.fault(nil, func(w http.ResponseWriter, r *http.Request) bool {
		if stalled++; stalled > 1 {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(h.files["model.safetensors"])))
		w.Write(h.files["model.safetensors"][:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	})
	o := h.options()
	o.Stall = 300 * time.Millisecond
	pullOrFail(t, "owner/name", o)
	if log := h.took(); !slices.Contains(log, "cdn /model.safetensors bytes=1000-") {
		t.Errorf("requests %q, want one from byte 1000 on", log)
	}
}

// TestPullSlow takes longer than Stall altogether, but something arrives all the time.
func TestPullSlow(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, "bert-mean")
	h.fault(nil, func(w http.ResponseWriter, r *http.Request) bool {
		b := h.files["model.safetensors"]
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		for part := range slices.Chunk(b, len(b)/5+1) {
			time.Sleep(300 * time.Millisecond)
			w.Write(part)
			w.(http.Flusher).Flush()
		}
		return true
	})
	o := h.options()
	o.Into, o.Stall = filepath.Join(t.TempDir(), "checkpoint"), time.Second
	o.Progress = func(p Progress) {
		if p.Retry != nil {
			t.Errorf("tried again: %v", p.Retry)
		}
	}
	pullOrFail(t, "owner/name", o)
}

func TestPullCancelled(t *testing.T) {
	useCache(t)
	h := newTestHub(t, "bert-mean")
	ctx, cancel := context.WithCancel(t.Context())
	h.fault(nil, func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(len(h.files["model.safetensors"])))
		w.Write(h.files["model.safetensors"][:1000])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
		return true
	})
	if _, err := Pull(ctx, "owner/name", h.options()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if _, err := Pull(ctx, "owner/name", h.options()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
}

func TestPullsAtOnce(t *testing.T) {
	cache, h := useCache(t), newTestHub(t, "bert-mean")
	const n = 4
	var wg sync.WaitGroup
	got, errs := make([]*Pulled, n), make([]error, n)
	for i := range n {
		wg.Go(func() { got[i], errs[i] = Pull(t.Context(), "owner/name", h.options()) })
	}
	wg.Wait()
	fresh := 0
	for i := range n {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if got[i].New {
			fresh++
		}
	}
	weights := slices.DeleteFunc(h.took(), func(s string) bool { return !strings.HasPrefix(s, "cdn") })
	if fresh != 1 || len(weights) != 1 {
		t.Errorf("%d of %d pulls put it in place and the weights were fetched %d times, want once", fresh, n, len(weights))
	}
	if files := below(t, cache); slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, "owner/.") }) {
		t.Errorf("left over: %q", files)
	}
}

func TestPullInto(t *testing.T) {
	useCache(t)
	h := newTestHub(t, "bert-mean")
	for _, tt := range []struct {
		name    string
		prepare func(dir string) error
		ok      bool
	}{
		{"new", func(string) error { return nil }, true},
		{"empty", func(dir string) error { return os.Mkdir(dir, 0o755) }, true},
		{"file", func(dir string) error { return os.WriteFile(dir, nil, 0o644) }, false},
		{"folder of somebody", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			o := h.options()
			o.Into = filepath.Join(parent, "checkpoint")
			if err := tt.prepare(o.Into); err != nil {
				t.Fatal(err)
			}
			before := below(t, parent)
			got, err := Pull(t.Context(), "owner/name", o)
			if !tt.ok {
				if err == nil || !slices.Equal(below(t, parent), before) {
					t.Errorf("error %v, files %q, want an error and %q", err, below(t, parent), before)
				}
				return
			}
			if err != nil || got.Dir != o.Into {
				t.Fatalf("Pull = %+v, %v", got, err)
			}
			encodeWith(t, o.Into)
		})
	}
}
