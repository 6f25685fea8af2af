package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms says which other rooms the packages of a room may import. Arrows point down only:
//
//	cmd -> api -> search -> { models, generate -> encoder -> pooling, index, store } -> internal
//	cmd -> api -> access, analytics
//	cmd -> api -> mcp -> search
//
// A layer may be skipped. Inside a room packages are free.
var rooms = map[string]struct {
	may []string
	why string
}{
	"cmd":       {[]string{"api", "access", "analytics", "mcp", "search", "models", "generate", "encoder", "pooling", "index", "store", "extract", "client", "trace", "internal"}, "commands put everything together"},
	"api":       {[]string{"access", "analytics", "mcp", "search", "models", "generate", "encoder", "pooling", "index", "store", "extract", "trace", "internal"}, "the API serves the engine; bodies are its only files, which it reads as ingest does, and it does not talk to itself over HTTP"},
	"mcp":       {[]string{"search", "index", "internal"}, "what assistants may ask is the same over a pipe and over HTTP, of an engine and of a server far away"},
	"search":    {[]string{"models", "generate", "encoder", "pooling", "index", "store", "trace", "internal"}, "the engine must work without a server"},
	"models":    {[]string{"encoder", "pooling", "internal"}, "finding and loading checkpoints knows nothing of indexes or storage"},
	"generate":  {[]string{"encoder", "internal"}, "producing text knows nothing of indexes, storage and where checkpoints come from"},
	"encoder":   {[]string{"pooling", "internal"}, "the encoder is of use without an index"},
	"pooling":   {[]string{"internal"}, "pooling is arithmetic"},
	"index":     {[]string{"internal"}, "indexes are derived and disposable: they see ids, vectors and words, and never the store or the encoder"},
	"store":     {[]string{"internal"}, "the store sees ids, bytes and []float32, so that it can be checked and repaired without a model or an index"},
	"analytics": {[]string{"internal"}, "the log of searches sees texts and ids, never the engine or HTTP"},
	"access":    {nil, "who may do what is decided without the engine, the store and HTTP, so that it can be tested alone"},
	"trace":     {nil, "spans are recorded without knowing of what"},
	"extract":   {nil, "extract stands on the ground, so that it can be used and fuzzed alone"},
	"examples":  {[]string{"search", "client"}, "an example shows what a program outside can do"},
	"client":    {nil, "the client stands on the ground: whoever imports it must not get the engine with it"},
	"internal":  {nil, "what everybody may import must not import anybody"},
}

// closets are packages inside a room that may import less than it: these packages of ours, and what
// is below them.
var closets = map[string]struct {
	may []string
	why string
}{
	"search/inference":  {[]string{"search/inference", "search/embedder", "search/fault", "search/passage", "models", "encoder", "pooling", "index", "internal"}, "turning texts into vectors knows nothing of collections, storage and queries"},
	"search/passage":    {nil, "cutting texts is of use without an index, a checkpoint or an engine"},
	"search/catalog":    {[]string{"search/backend", "search/fault"}, "what a name means is decided without documents, queries and checkpoints"},
	"search/projection": {[]string{"search/backend", "search/fault", "search/mapping", "search/passage", "internal/simd"}, "a map shows stored vectors; the engine encodes its query"},
	"search/fusion":     {nil, "fusion is arithmetic"},
	"search/highlight":  {[]string{"search/backend", "search/mapping", "search/passage", "search/querytext", "index/keyword"}, "marking texts needs terms and passages, not the engine"},
	"search/query":      {[]string{"index/filter", "search/backend", "search/fault", "search/fusion", "search/querytext"}, "requests and responses are plain data"},
	"search/querytext":  {[]string{"search/backend", "search/mapping", "search/passage", "index/keyword", "internal/edits"}, "reading a query needs the dictionary of terms, not the engine"},
	"search/embedder":   {[]string{"search/fault"}, "settings are read without asking anybody"},
	"search/settings":   {[]string{"search/backend", "search/embedder", "search/fault", "search/mapping", "index"}, "settings are checked without documents, queries and checkpoints"},
	"search/snapshot":   {[]string{"search/fault", "internal/disk"}, "a snapshot is a file; the engine writes and reads it"},
	"search/backups":    {[]string{"internal/objectstore"}, "when backups are due and which are deleted is decided without the engine"},
	"search/wire":       {[]string{"search/backend", "search/passage"}, "the form of a document on its way is the same for a log and a copy"},
	"search/task":       {[]string{"search/backend", "search/fault"}, "running an operation in the background needs no knowledge of it"},
	"search/fault":      {[]string{"search/backend", "search/mapping"}, "whoever reports what is wrong with a request must not get the engine with it"},
	"search/backend":    {[]string{"search/backend", "search/mapping", "search/passage", "index", "internal"}, "what a storage engine must offer is stated without one, so that there can be several"},
}

// everything may be imported by packages that hold tests and tools of the whole.
var wholePackages = []string{"internal/e2e"}

// owners are the packages that alone may import a module, so that it can be replaced at one place.
var owners = []struct {
	module, owner, why string
}{
	{"go.etcd.io/bbolt", "store", "bbolt is the only source of truth and its rules (open safely, copy what leaves a transaction) are kept in one place"},
	{"github.com/nats-io", "search/cluster", "the log, the catalogue and the calls between nodes are kept in one place, so that the rest of the engine does not know whether it runs in a cluster"},
	{"github.com/minio/minio-go", "internal/objectstore", "what a storage answers is explained in one place, and no other package links its client"},
	{"github.com/labstack/echo", "api", "handlers are thin, so that the web framework can be changed"},
	{"github.com/modelcontextprotocol", "mcp", "the protocol changes from year to year; nobody else sees its types"},
	{"github.com/klippa-app/go-pdfium", "extract/pdf", "PDFium is started once, in one place, with limits"},
	{"github.com/blevesearch", "index/keyword", "bleve is an implementation of the keyword index, and its query syntax must never see a user's text"},
	{"go.opentelemetry.io", "trace", "spans are made in one place, which sees to it that they hold nothing that a user wrote and that no tracer costs nothing"},
	{"log", "cmd api internal/e2e", "libraries return errors and do not log"},
	{"log/slog", "cmd api internal/e2e", "libraries return errors and do not log"},
	{"C", "", "the binary is static and pure Go"},
	{"net/http/pprof", "cmd/searchd", "importing it adds handlers to http.DefaultServeMux for everybody; the server's debug listener has a mux of its own, and nothing serves the default one"},
}

func imports(f *file) (out []string) {
	if f.test() {
		return nil
	}
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the compiler will say so
		}
		at := f.at(spec.Pos())
		if target, ours := strings.CutPrefix(p, module+"/"); ours {
			if v := checkDirection(f, target); v != "" {
				out = append(out, at+v)
			}
			continue
		}
		for _, o := range owners {
			if !within(p, o.module) || p == "log/slog" && o.module == "log" {
				continue
			}
			if !slices.ContainsFunc(strings.Fields(o.owner), func(owner string) bool { return within(f.pkg(), owner) }) {
				if o.owner == "" {
					out = append(out, fmt.Sprintf("%s%s must not be imported: %s", at, p, o.why))
				} else {
					out = append(out, fmt.Sprintf("%sonly %s may import %s: %s", at, o.owner, p, o.why))
				}
			}
		}
	}
	return out
}

func checkDirection(f *file, target string) string {
	if slices.Contains(wholePackages, f.pkg()) {
		return ""
	}
	rule, known := rooms[f.room()]
	if !known {
		return fmt.Sprintf("package %s belongs to no room; say in internal/lint what it may import", f.pkg())
	}
	if closet, ok := closets[f.pkg()]; ok {
		if slices.ContainsFunc(closet.may, func(dir string) bool { return within(target, dir) }) {
			return ""
		}
		return fmt.Sprintf("%s must not import %s: %s", f.pkg(), target, closet.why)
	}
	to, _, _ := strings.Cut(target, "/")
	if to == f.room() && !slices.Contains(wholePackages, target) || slices.Contains(rule.may, to) && !slices.Contains(wholePackages, target) {
		return ""
	}
	return fmt.Sprintf("%s must not import %s: %s", f.pkg(), target, rule.why)
}

// within reports whether path is dir or below it, or a later version of it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func TestImports(t *testing.T) {
	each(t, imports)
}

func TestImportsCanFail(t *testing.T) {
	for _, tt := range []struct {
		path, imp string
		want      int
	}{
		{"store/open.go", "go.etcd.io/bbolt", 0},
		{"store/open.go", "example.com/searchd/internal/simd", 0},
		{"store/open.go", "example.com/searchd/index/hnsw", 1},
		{"store/open.go", "example.com/searchd/encoder", 1},
		{"search/a.go", "go.etcd.io/bbolt/errors", 1},
		{"search/a.go", "example.com/searchd/index/hnsw", 0},
		{"search/a.go", "example.com/searchd/api", 1},
		{"search/backend/a.go", "example.com/searchd/search/mapping", 0},
		{"search/backend/a.go", "example.com/searchd/index/keyword", 0},
		{"search/backend/a.go", "example.com/searchd/search/embedded", 1},
		{"search/backend/a.go", "example.com/searchd/search", 1},
		{"search/backend/a.go", "example.com/searchd/store", 1},
		{"api/ui/a.go", "github.com/labstack/echo/v4", 0},
		{"cmd/searchd/a.go", "github.com/labstack/echo/v4/middleware", 1},
		{"index/keyword/a.go", "github.com/blevesearch/bleve/v2", 0},
		{"index/keyword/a.go", "example.com/searchd/index/filter", 0},
		{"index/hnsw/a.go", "github.com/blevesearch/bleve/v2/search", 1},
		{"encoder/tokenizer/a.go", "example.com/searchd/models", 1},
		{"models/a.go", "example.com/searchd/encoder/tokenizer", 0},
		{"extract/a.go", "example.com/searchd/internal/simd", 1},
		{"client/a.go", "example.com/searchd/api", 1},
		{"mcp/a.go", "example.com/searchd/search/mapping", 0},
		{"mcp/a.go", "example.com/searchd/access", 1},
		{"search/a.go", "example.com/searchd/mcp", 1},
		{"api/a.go", "github.com/modelcontextprotocol/go-sdk/mcp", 1},
		{"access/a.go", "example.com/searchd/store", 1},
		{"search/a.go", "example.com/searchd/access", 1},
		{"api/a.go", "example.com/searchd/access", 0},
		{"cmd/ingest/a.go", "example.com/searchd/client", 0},
		{"internal/eval/a.go", "example.com/searchd/encoder", 1},
		{"internal/e2e/a.go", "example.com/searchd/api", 0},
		{"search/a.go", "example.com/searchd/internal/e2e", 1},
		{"attic/a.go", "example.com/searchd/search", 1},
		{"encoder/a.go", "log", 1},
		{"encoder/a.go", "log/slog", 1},
		{"encoder/a.go", "C", 1},
		{"api/a.go", "log/slog", 0},
		{"api/a.go", "net/http/pprof", 1},
		{"cmd/searchd/a.go", "net/http/pprof", 0},
		{"extract/a_test.go", "example.com/searchd/internal/simd", 0},
	} {
		violations(t, imports, tt.path, fmt.Sprintf("package p\n\nimport _ %q\n", tt.imp), tt.want)
	}
}
