package api

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/api/copies"

	"github.com/labstack/echo/v4"
)

// handler answers one request, or returns an error for [Server.writeError].
type handler func(w http.ResponseWriter, r *http.Request) error

// value returns a handler that sends the result of f as JSON.
func value(f func(w http.ResponseWriter, r *http.Request) (any, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := f(w, r)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, v)
	}
}

// empty returns a handler that sends 204.
func empty(f handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := f(w, r); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// route is one line of the route table. Paths are those of openapi.yaml.
type route struct {
	method string
	path   string
	needs  access.Scopes // one of these scopes; open: no key
	handle handler
	body   int64         // bytes that its body may have, read before the gate; 0: it has none, or reads it itself
	gate   *gate         // nil: not bounded
	within time.Duration // 0: none; the route streams and keeps its own time
}

// routes returns the table of all routes. GET routes answer HEAD too.
func (s *Server) routes() []route {
	const quick = 10 * time.Second
	write, find, encode := s.o.WriteTimeout, s.o.SearchTimeout, s.o.EmbedTimeout
	small, docs, item := s.o.MaxBody, s.o.MaxDocuments, int64(s.o.MaxItem)
	const (
		toSearch, toRead, toWrite = access.Search, access.DocumentsRead, access.DocumentsWrite
		toManage, toGrant, any    = access.CollectionsAdmin, access.KeysAdmin, access.All
	)
	copies := copies.Handlers{Copies: s.o.Copies, Decode: decodeBody, Body: bodyOf}
	events := s.events()
	return append(s.meiliRoutes(), []route{
		{"GET", "/v1/collections", any, value(s.listCollections), 0, nil, quick},
		{"POST", "/v1/collections", toManage, s.createCollection, small, s.writes, write},
		{"GET", "/v1/collections/{collection}", any, value(s.collection), 0, nil, quick},
		{"PUT", "/v1/collections/{collection}", toManage, s.putCollection, small, s.writes, write},
		{"PATCH", "/v1/collections/{collection}", toManage, value(s.patchCollection), small, s.writes, write},
		{"DELETE", "/v1/collections/{collection}", toManage, empty(s.dropCollection), 0, s.writes, write},

		{"GET", "/v1/collections/{collection}/stats", any, value(s.collectionStats), 0, nil, quick},
		{"GET", "/v1/collections/{collection}/language", toRead, value(s.collectionLanguage), 0, nil, quick},

		{"GET", "/v1/collections/{collection}/documents", toRead, value(s.listDocuments), 0, nil, quick},
		{"POST", "/v1/collections/{collection}/documents", toWrite, s.once(s.postDocuments), docs, s.writes, encode},
		{"POST", "/v1/collections/{collection}/documents/import", toWrite, s.once(s.importDocuments), 0, nil, 0},
		{"GET", "/v1/collections/{collection}/documents/export", toRead, s.exportDocuments, 0, nil, 0},
		{"POST", "/v1/collections/{collection}/documents/delete", toWrite, value(s.deleteDocuments), small, s.writes, write},
		{"GET", "/v1/collections/{collection}/documents/{id}", toRead, s.document, 0, nil, quick},
		{"PUT", "/v1/collections/{collection}/documents/{id}", toWrite, s.putDocument, item, s.writes, encode},
		{"PATCH", "/v1/collections/{collection}/documents/{id}", toWrite, s.patchDocument, item, s.writes, encode},
		{"DELETE", "/v1/collections/{collection}/documents/{id}", toWrite, empty(s.deleteDocument), 0, s.writes, write},

		{"GET", "/v1/collections/{collection}/versions/{id}", toRead, value(s.versions), 0, nil, quick},
		{"POST", "/v1/collections/{collection}/versions/{id}", toWrite, s.restoreVersion, small, s.writes, encode},
		{"DELETE", "/v1/collections/{collection}/versions/{id}", toManage, empty(s.forgetVersions), 0, s.writes, write},

		{"GET", "/v1/collections/{collection}/search", toSearch, value(s.getSearch), 0, s.searches, find},
		{"POST", "/v1/collections/{collection}/search", toSearch, value(s.postSearch), small, s.searches, find},
		{"POST", "/v1/collections/{collection}/search/batch", toSearch, value(s.batchSearch), small, s.searches, write},
		{"POST", "/v1/collections/{collection}/similar", toSearch, value(s.similar), small, s.searches, find},
		{"GET", "/v1/collections/{collection}/suggest", toSearch, value(s.suggest), 0, s.searches, find},
		{"GET", "/v1/collections/{collection}/explain/{id}", toSearch, value(s.getExplain), 0, s.searches, find},
		{"POST", "/v1/collections/{collection}/explain/{id}", toSearch, value(s.postExplain), small, s.searches, find},

		{"POST", "/v1/collections/{collection}/events", toSearch, empty(events.Add), small, nil, quick},
		{"GET", "/v1/collections/{collection}/events", access.AnalyticsRead, events.List, 0, nil, write},
		{"DELETE", "/v1/collections/{collection}/events", toManage, empty(events.Clear), 0, s.writes, write},
		{"GET", "/v1/collections/{collection}/analytics", access.AnalyticsRead, value(s.report), 0, s.writes, write},

		{"POST", "/v1/search", toSearch, value(s.multiSearch), small, s.searches, write},

		{"GET", "/v1/collections/{collection}/map", toSearch, value(s.getMap), 0, s.embeds, write},
		{"POST", "/v1/collections/{collection}/map", toSearch, value(s.postMap), small, s.embeds, write},

		{"POST", "/v1/collections/{collection}/reembed", toManage, s.reembed, small, s.writes, write},

		{"GET", "/v1/collections/{collection}/copy", toManage, value(copies.Original), 0, nil, quick},
		{"PUT", "/v1/collections/{collection}/copy/{of}", toManage, empty(copies.Begin), small, s.writes, write},
		{"DELETE", "/v1/collections/{collection}/copy/{of}", toManage, empty(copies.End), 0, s.writes, write},
		{"POST", "/v1/collections/{collection}/copy/{of}/documents", toManage, empty(copies.Write), docs, s.writes, write},
		{"POST", "/v1/collections/{collection}/documents/digests", toManage, value(copies.Digests), small, nil, write},
		{"POST", "/v1/collections/{collection}/documents/stored", toManage, copies.Read, small, nil, write},

		{"GET", "/v1/tasks", toManage, value(s.listTasks), 0, nil, quick},
		{"GET", "/v1/tasks/{task}", toManage, value(s.getTask), 0, nil, quick},
		{"DELETE", "/v1/tasks/{task}", toManage, value(s.cancelTask), 0, s.writes, write},

		{"GET", "/v1/snapshots", toManage, wholeServer(value(s.listSnapshots)), 0, nil, quick},
		{"POST", "/v1/snapshots", toManage, wholeServer(s.createSnapshot), 0, s.writes, write},
		{"GET", "/v1/snapshots/{snapshot}", toManage, wholeServer(s.snapshot), 0, nil, 0},
		{"DELETE", "/v1/snapshots/{snapshot}", toManage, wholeServer(empty(s.deleteSnapshot)), 0, s.writes, write},

		{"GET", "/v1/aliases", any, value(s.listAliases), 0, nil, quick},
		{"GET", "/v1/aliases/{alias}", any, value(s.alias), 0, nil, quick},
		{"PUT", "/v1/aliases/{alias}", toManage, s.putAlias, small, s.writes, write},
		{"DELETE", "/v1/aliases/{alias}", toManage, empty(s.deleteAlias), 0, s.writes, write},

		{"POST", "/v1/embeddings", toSearch, value(s.embeddings), docs, s.embeds, encode},
		{"POST", "/v1/completions", toSearch, s.completions, small, nil, 0},
		{"POST", "/v1/chat/completions", toSearch, s.chatCompletions, small, nil, 0},
		{"POST", "/v1/rerank", toSearch, value(s.rerank), docs, s.embeds, encode},
		{"POST", "/v2/rerank", toSearch, value(s.rerank), docs, s.embeds, encode},
		{"POST", "/v1/attention", toSearch, value(s.attention), small, s.embeds, write},
		{"GET", "/v1/models", toSearch, value(s.models), 0, nil, quick},
		{"GET", "/v1/models/{model}", toSearch, value(s.model), 0, nil, quick},

		{"POST", "/embed", toSearch, value(s.teiEmbed), docs, s.embeds, encode},
		{"POST", "/embed_all", toSearch, s.teiEmbedAll, docs, s.tokens, write},
		{"POST", "/embed_sparse", toSearch, value(s.teiEmbedSparse), docs, s.embeds, encode},
		{"POST", "/similarity", toSearch, value(s.teiSimilarity), docs, s.embeds, encode},
		{"POST", "/rerank", toSearch, value(s.teiRerank), docs, s.embeds, encode},
		{"POST", "/tokenize", toSearch, value(s.teiTokenize), small, s.tokenize, write},
		{"POST", "/decode", toSearch, value(s.teiDecode), small, s.tokenize, write},

		{"POST", "/mcp", toSearch | toRead, s.mcp, small, s.searches, find},

		{"GET", "/v1/keys", toGrant, s.withKeyring(value(s.listKeys)), 0, nil, quick},
		{"POST", "/v1/keys", toGrant, s.withKeyring(s.createKey), small, nil, write},
		{"GET", "/v1/keys/{key}", toGrant, s.withKeyring(value(s.key)), 0, nil, quick},
		{"DELETE", "/v1/keys/{key}", toGrant, s.withKeyring(empty(s.revokeKey)), 0, nil, write},

		{"GET", "/v1/cluster", toManage, value(s.clusterStatus), 0, nil, quick},
		{"PUT", "/v1/cluster/nodes/{node}/drain", toManage, wholeServer(empty(s.changeNode("drain"))), 0, nil, write},
		{"DELETE", "/v1/cluster/nodes/{node}/drain", toManage, wholeServer(empty(s.changeNode("undrain"))), 0, nil, write},
		{"DELETE", "/v1/cluster/nodes/{node}", toManage, wholeServer(empty(s.changeNode("remove"))), 0, nil, write},

		{"GET", "/livez", open, value(s.livez), 0, nil, quick},
		{"GET", "/readyz", open, value(s.readyz), 0, nil, quick},
		{"GET", "/healthz", open, value(s.readyz), 0, nil, quick},
		{"GET", "/info", any, value(s.info), 0, nil, quick},
		{"GET", "/metrics", access.MetricsRead, s.metricsText, 0, nil, quick},
		{"GET", "/openapi.yaml", open, s.openAPI, 0, nil, quick},
		{"GET", "/docs", open, s.docs, 0, nil, quick},
		{"GET", "/", open, s.page, 0, nil, quick},
		{"GET", "/ui/{file}", open, s.page, 0, nil, quick},
	}...)
}

// queried are the routes that read the query string and check it themselves.
var queried = map[string]bool{
	"GET /v1/collections/{collection}/documents":         true,
	"GET /v1/collections/{collection}/documents/{id}":    true,
	"POST /v1/collections/{collection}/documents/import": true,
	"GET /v1/collections/{collection}/versions/{id}":     true,
	"GET /v1/collections/{collection}/search":            true,
	"GET /v1/collections/{collection}/suggest":           true,
	"GET /v1/collections/{collection}/explain/{id}":      true,
	"GET /v1/collections/{collection}/map":               true,
	"GET /v1/collections/{collection}/analytics":         true,
	"GET /v1/tasks": true,
}

// checkQuery refuses query parameters that one of our own routes would ignore. Clients of other
// servers may send parameters that we do not need.
func (rt route) checkQuery(r *http.Request) error {
	own := strings.HasPrefix(rt.path, "/v1/") && !openAIPaths[expandPath(rt.path)] && !strings.HasSuffix(rt.path, "/rerank")
	if !own || queried[rt.method+" "+rt.path] {
		return nil
	}
	return queryParams(r).err()
}

// writeGrace is how long sending an answer may take after the deadline of its request.
const writeGrace = 30 * time.Second

// pathParam matches a parameter of a path of the table.
var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// router binds the table to echo.
func (s *Server) router() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect() // X-Forwarded-For is anybody's to write
	e.HTTPErrorHandler = s.writeError
	e.Pre(withoutSlash)
	e.Use(identify, s.observe, s.drain, recovery, s.guard)
	if len(s.o.CORSOrigins) > 0 {
		e.Use(s.cors())
	}
	for _, rt := range s.routes() {
		path := expandPath(rt.path)
		h := s.bind(rt)
		e.Add(rt.method, path, h)
		if rt.method == http.MethodGet {
			e.Add(http.MethodHead, path, h)
		}
	}
	return e
}

// withoutSlash ignores a slash at the end of a path.
func withoutSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !trimSlash(c.Echo(), c.Request()) {
			return next(c)
		}
		if c.Request().URL.Path == "/docs" {
			return c.Redirect(http.StatusPermanentRedirect, "../docs") // its links are relative
		}
		return next(c)
	}
}

// trimSlash removes the slash at the end of r's path if what remains is a route. One that ends the
// id of a document is written %2F.
func trimSlash(e *echo.Echo, r *http.Request) bool {
	path := echo.GetPath(r)
	trimmed := strings.TrimSuffix(path, "/")
	if trimmed == path || trimmed == "" {
		return false
	}
	c := e.AcquireContext()
	defer e.ReleaseContext(c)
	e.Router().Find(r.Method, trimmed, c)
	if c.Path() == "" || strings.HasSuffix(c.Path(), "/documents") && r.Method != http.MethodPost {
		return false
	}
	u := *r.URL
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	r.URL = &u
	return true
}

// bind runs a route within its deadline and behind its gate. The answer is sent after the slot was
// released.
func (s *Server) bind(rt route) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, w := c.Request(), c.Response()
		who, err := s.admit(r, rt)
		if err == nil {
			err = rt.readPath(r)
		}
		if name := cmp.Or(r.PathValue("collection"), r.PathValue("alias")); err == nil && name != "" {
			err = who.mayUse(name) // an alias by its own name: whoever created it could use its collection
		}
		if limited := s.limit(rt, who, c.RealIP()); limited != nil {
			err = limited
		}
		c.Set(callerID, who.id())
		if err != nil {
			return err
		}
		if err := rt.checkQuery(r); err != nil {
			return err
		}
		rc := http.NewResponseController(w)
		if r.Body == http.NoBody {
			// The server's read deadline would cancel the context of a handler that streams.
			rc.SetReadDeadline(time.Time{})
		}
		ctx := withCaller(r.Context(), who)
		if rt.within > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, rt.within)
			defer cancel()
			rc.SetWriteDeadline(time.Now().Add(rt.within + writeGrace)) // a recorder of tests has no deadlines
		}
		release := func() {}
		if rt.body > 0 && r.Body != http.NoBody {
			whole, done, err := s.readWhole(w, r, rt.body, 0)
			if err != nil {
				return err
			}
			release = sync.OnceFunc(func() { r.Body = http.NoBody; done() })
			defer release()
			r.Body = whole
		}
		if rt.gate != nil {
			if err := rt.gate.enter(ctx); err != nil {
				return err
			}
			return s.runGated(rt, w, r.WithContext(ctx), release)
		}
		return rt.handle(w, r.WithContext(ctx))
	}
}

// expandPath returns a path of the table in the syntax of echo.
func expandPath(path string) string {
	return pathParam.ReplaceAllStringFunc(path, func(p string) string {
		if name := strings.Trim(p, "{}"); !wholePaths[name] {
			return ":" + name
		}
		return "*"
	})
}
