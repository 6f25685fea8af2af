package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/api/meilisearch"
	"example.com/searchd/search"
)

// meiliWrite is a handler of a write, answered with the summary of its task.
type meiliWrite func(*http.Request, meilisearch.Request) (*meilisearch.Summary, error)

// meiliRequest returns what the routes of Meilisearch need of a request.
func meiliRequest(r *http.Request) (q meilisearch.Request, err error) {
	q = meilisearch.Request{Index: r.PathValue("collection"), Query: r.URL.Query(), Type: cmp.Or(r.Header.Get("Content-Type"), "application/json")}
	if q.Index != "" {
		if q.Within, err = within(r); err != nil {
			return q, err
		}
	}
	q.Body, err = io.ReadAll(r.Body) // in memory already, and bounded
	return q, err
}

// meiliRead binds a handler that reads.
func meiliRead(f func(*http.Request, meilisearch.Request) (any, error)) handler {
	return value(func(_ http.ResponseWriter, r *http.Request) (any, error) {
		q, err := meiliRequest(r)
		if err != nil {
			return nil, err
		}
		return f(r, q)
	})
}

// meiliTask binds a handler that writes.
func meiliTask(f meiliWrite) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := meiliRequest(r)
		if err != nil {
			return err
		}
		summary, err := f(r, q)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusAccepted, summary)
	}
}

// meiliRoutes returns the routes of Meilisearch's clients; none unless [Options] ask for them.
// Meilisearch describes their bodies, docs/reference/meilisearch.md what differs.
func (s *Server) meiliRoutes() []route {
	m := s.meili
	if m == nil {
		return nil
	}
	const quick = 10 * time.Second
	write, find, encode := s.o.WriteTimeout, s.o.SearchTimeout, s.o.EmbedTimeout
	small, docs := s.o.MaxBody, s.o.MaxDocuments
	const (
		toSearch, toRead, toWrite = access.Search, access.DocumentsRead, access.DocumentsWrite
		toManage, toGrant, anyKey = access.CollectionsAdmin, access.KeysAdmin, access.All
	)
	get := func(f func(context.Context, meilisearch.Request) (any, error)) handler {
		return meiliRead(func(r *http.Request, q meilisearch.Request) (any, error) { return f(r.Context(), q) })
	}
	task := func(f func(context.Context, meilisearch.Request) (*meilisearch.Summary, error)) handler {
		return meiliTask(func(r *http.Request, q meilisearch.Request) (*meilisearch.Summary, error) { return f(r.Context(), q) })
	}
	add := func(update bool) handler {
		return meiliTask(func(r *http.Request, q meilisearch.Request) (*meilisearch.Summary, error) {
			return m.AddDocuments(r.Context(), q, update)
		})
	}
	setting := meiliTask(func(r *http.Request, q meilisearch.Request) (*meilisearch.Summary, error) {
		return m.ChangeSetting(r.Context(), q, r.PathValue("setting"))
	})
	const index = "/indexes/{collection}"
	return []route{
		{"GET", "/health", open, value(func(http.ResponseWriter, *http.Request) (any, error) {
			return map[string]string{"status": "available"}, nil
		}), 0, nil, quick},
		{"GET", "/version", anyKey, value(s.meiliVersion), 0, nil, quick},
		{"GET", "/stats", anyKey, value(s.meiliStats), 0, nil, quick},
		{"POST", "/multi-search", toSearch, value(s.meiliMultiSearch), small, s.searches, write},
		{"POST", "/swap-indexes", toManage, value(func(http.ResponseWriter, *http.Request) (any, error) { return nil, m.SwapIndexes() }), small, nil, quick},

		{"GET", "/indexes", anyKey, value(s.meiliIndexes), 0, nil, quick},
		{"POST", "/indexes", toManage, meiliTask(s.meiliCreateIndex), small, s.writes, write},
		{"GET", index, anyKey, get(m.Index), 0, nil, quick},
		{"PATCH", index, toManage, task(m.UpdateIndex), small, s.writes, write},
		{"DELETE", index, toManage, task(m.DeleteIndex), 0, s.writes, write},
		{"GET", index + "/stats", anyKey, get(m.IndexStats), 0, nil, quick},

		{"GET", index + "/search", toSearch, meiliRead(s.meiliGetSearch), 0, s.searches, find},
		{"POST", index + "/search", toSearch, meiliRead(s.meiliSearch), small, s.searches, find},
		{"POST", index + "/facet-search", toSearch, get(m.FacetSearch), small, s.searches, find},
		{"POST", index + "/similar", toSearch, get(m.Similar), small, s.searches, find},

		{"GET", index + "/documents", toRead, get(m.ListDocuments), 0, s.searches, find},
		{"POST", index + "/documents/fetch", toRead, meiliRead(func(r *http.Request, q meilisearch.Request) (any, error) {
			return m.FetchDocuments(r.Context(), q)
		}), small, s.searches, find},
		{"POST", index + "/documents", toWrite, add(false), docs, s.writes, encode},
		{"PUT", index + "/documents", toWrite, add(true), docs, s.writes, encode},
		{"POST", index + "/documents/delete-batch", toWrite, task(m.DeleteBatch), small, s.writes, write},
		{"POST", index + "/documents/delete", toWrite, task(m.DeleteByFilter), small, s.writes, write},
		{"DELETE", index + "/documents", toWrite, task(m.DeleteAll), 0, s.writes, encode},
		{"GET", index + "/documents/{id}", toRead, meiliRead(func(r *http.Request, q meilisearch.Request) (any, error) {
			return m.Document(r.Context(), q, r.PathValue("id"))
		}), 0, nil, quick},
		{"DELETE", index + "/documents/{id}", toWrite, meiliTask(func(r *http.Request, q meilisearch.Request) (*meilisearch.Summary, error) {
			return m.DeleteDocument(r.Context(), q, r.PathValue("id"))
		}), 0, s.writes, write},

		{"GET", index + "/settings", toManage, get(m.Settings), 0, nil, quick},
		{"PATCH", index + "/settings", toManage, task(m.ChangeSettings), small, s.writes, write},
		{"DELETE", index + "/settings", toManage, task(m.ResetSettings), 0, s.writes, write},
		{"GET", index + "/settings/{setting}", toManage, meiliRead(func(r *http.Request, q meilisearch.Request) (any, error) {
			return m.Setting(r.Context(), q, r.PathValue("setting"))
		}), 0, nil, quick},
		{"PUT", index + "/settings/{setting}", toManage, setting, small, s.writes, write},
		{"PATCH", index + "/settings/{setting}", toManage, setting, small, s.writes, write},
		{"DELETE", index + "/settings/{setting}", toManage, setting, 0, s.writes, write},

		{"GET", "/tasks", toWrite | toManage, value(func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return m.Tasks(r.URL.Query(), meiliAllowed(r))
		}), 0, nil, quick},
		{"GET", "/tasks/{task}", toWrite | toManage, value(func(_ http.ResponseWriter, r *http.Request) (any, error) {
			return m.Task(r.PathValue("task"), meiliAllowed(r))
		}), 0, nil, quick},

		{"GET", "/keys", toGrant, s.withKeyring(value(s.meiliKeys)), 0, nil, quick},
		{"POST", "/keys", toGrant, s.withKeyring(s.meiliCreateKey), small, nil, write},
		{"GET", "/keys/{key}", toGrant, s.withKeyring(value(s.meiliKey)), 0, nil, quick},
		{"PATCH", "/keys/{key}", toGrant, s.withKeyring(s.meiliUpdateKey), small, nil, quick},
		{"DELETE", "/keys/{key}", toGrant, s.withKeyring(empty(s.meiliDeleteKey)), 0, nil, write},
	}
}

// meiliAllowed reports whether the key of a request is for an index.
func meiliAllowed(r *http.Request) func(index string) bool {
	return func(index string) bool { return callerOf(r.Context()).mayUse(index) == nil }
}

func (s *Server) meiliVersion(http.ResponseWriter, *http.Request) (any, error) {
	return map[string]string{"commitSha": cmp.Or(s.o.Revision, "unknown"), "commitDate": "unknown", "pkgVersion": s.o.Version}, nil
}

func (s *Server) meiliStats(_ http.ResponseWriter, r *http.Request) (any, error) {
	infos, err := s.visible(r.Context())
	if err != nil {
		return nil, err
	}
	return s.meili.Stats(infos), nil
}

func (s *Server) meiliIndexes(_ http.ResponseWriter, r *http.Request) (any, error) {
	infos, err := s.visible(r.Context())
	if err != nil {
		return nil, err
	}
	return s.meili.Indexes(r.Context(), r.URL.Query(), infos)
}

func (s *Server) meiliCreateIndex(r *http.Request, q meilisearch.Request) (*meilisearch.Summary, error) {
	name, err := meilisearch.IndexOf(q.Body)
	if err == nil {
		err = callerOf(r.Context()).mayUse(name)
	}
	if err != nil {
		return nil, err
	}
	return s.meili.CreateIndex(r.Context(), q)
}

func (s *Server) meiliSearch(r *http.Request, q meilisearch.Request) (any, error) {
	query, err := meilisearch.SearchQuery(q.Body)
	if err != nil {
		return nil, err
	}
	return s.meili.Search(r.Context(), q, query)
}

func (s *Server) meiliGetSearch(r *http.Request, q meilisearch.Request) (any, error) {
	query, err := meilisearch.SearchParams(q.Query)
	if err != nil {
		return nil, err
	}
	return s.meili.Search(r.Context(), q, query)
}

func (s *Server) meiliMultiSearch(_ http.ResponseWriter, r *http.Request) (any, error) {
	q, err := meiliRequest(r)
	if err != nil {
		return nil, err
	}
	who := callerOf(r.Context())
	return s.meili.MultiSearch(r.Context(), q.Body, func(index string) (meilisearch.Request, error) {
		if err := checkPathName("indexUid", index); err != nil {
			return meilisearch.Request{}, err
		}
		if err := who.mayUse(index); err != nil {
			return meilisearch.Request{}, err
		}
		visible, err := who.within(index)
		return meilisearch.Request{Index: index, Within: visible}, err
	})
}

func (s *Server) meiliKeys(_ http.ResponseWriter, r *http.Request) (any, error) {
	out := meilisearch.Page[meilisearch.Key]{Results: []meilisearch.Key{}, Limit: 20}
	for _, k := range s.o.Keys.Keys() {
		if callerOf(r.Context()).visible(k) {
			out.Results = append(out.Results, meilisearch.KeyOf(k, ""))
		}
	}
	out.Total, out.Limit = len(out.Results), max(20, len(out.Results))
	return out, nil
}

// meiliVisibleKey returns the key in the path: by its UUID, its id or the key itself.
func (s *Server) meiliVisibleKey(r *http.Request) (access.Key, error) {
	name := r.PathValue("key")
	if id, ok := access.IDOfUUID(name); ok {
		name = id
	} else if key, err := s.o.Keys.Check(name); err == nil && key.Tenant == nil {
		name = key.ID
	}
	r.SetPathValue("key", name)
	key, err := s.visibleKey(r)
	if errors.Is(err, access.ErrUnknown) {
		err = &meilisearch.Error{Status: 404, Code: "api_key_not_found", Message: "API key not found."}
	}
	return key, err
}

func (s *Server) meiliKey(_ http.ResponseWriter, r *http.Request) (any, error) {
	key, err := s.meiliVisibleKey(r)
	return meilisearch.KeyOf(key, ""), err
}

func (s *Server) meiliCreateKey(w http.ResponseWriter, r *http.Request) error {
	var b struct {
		Name        *string  `json:"name"`
		Description *string  `json:"description"`
		UID         *string  `json:"uid"`
		Actions     []string `json:"actions"`
		Indexes     []string `json:"indexes"`
		ExpiresAt   *string  `json:"expiresAt"`
	}
	if err := decodeBody(r, false, &b); err != nil {
		return err
	}
	if b.UID != nil {
		return &meilisearch.Error{Status: 400, Code: "invalid_api_key_uid", Message: "uid: given, allowed: none; the server chooses it"}
	}
	spec := access.Spec{Name: "key", Collections: b.Indexes}
	for _, name := range []*string{b.Description, b.Name} {
		if name != nil && *name != "" {
			spec.Name = *name
		}
	}
	var err error
	if spec.Scopes, err = meilisearch.Scopes(b.Actions); err != nil {
		return err
	}
	if b.ExpiresAt != nil {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
			if at, err := time.Parse(layout, *b.ExpiresAt); err == nil {
				spec.Expires = &at
			}
		}
		if spec.Expires == nil {
			return &meilisearch.Error{Status: 400, Code: "invalid_api_key_expires_at", Message: fmt.Sprintf("expiresAt: got %.40q, allowed: a time such as 2030-01-31T12:00:00Z, or null", *b.ExpiresAt)}
		}
	}
	key, token, err := s.makeKey(r, spec)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, meilisearch.KeyOf(key, token))
}

func (s *Server) meiliUpdateKey(http.ResponseWriter, *http.Request) error {
	return &meilisearch.Error{Status: 501, Code: "not_implemented", Message: "keys: cannot be changed; make another one and delete this one"}
}

func (s *Server) meiliDeleteKey(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.meiliVisibleKey(r); err != nil {
		return err
	}
	return s.revokeKey(w, r)
}

// writeMeiliError answers an error as clients of Meilisearch expect it.
func writeMeiliError(w http.ResponseWriter, r *http.Request, err error, p problem) {
	body, status := meilisearch.Describe(err)
	switch {
	case p.Code == "missing_api_key":
		body, status = meilisearch.ProblemOf(401, "missing_authorization_header", p.message()), 401
	case p.Code == "invalid_api_key" || p.Code == "insufficient_scope" || p.Code == "collection_not_allowed":
		body, status = meilisearch.ProblemOf(403, "invalid_api_key", p.message()), 403
	case status == 500 && p.Status != 500:
		body, status = meilisearch.ProblemOf(p.Status, p.Code, p.message()), p.Status
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(status)
		return
	}
	writeJSON(w, status, body)
}

var _ meilisearch.Vault = search.Vault{}
