package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"example.com/searchd/access"
	"example.com/searchd/api/meilisearch"
	"example.com/searchd/index/filter"
)

// open marks a route that needs no key.
const open access.Scopes = 1 << 7

// caller is the sender of a request.
type caller struct {
	key *access.Key // nil: the server asks for no key
}

// tenantRoutes are the routes that a tenant token may use. Their handlers pass [caller.within] to
// the engine. Every other route may return what belongs to other tenants, or counts of it.
var tenantRoutes = map[string]bool{
	"GET /v1/collections/{collection}/search":        true,
	"POST /v1/collections/{collection}/search":       true,
	"POST /v1/collections/{collection}/search/batch": true,
	"POST /v1/collections/{collection}/similar":      true,
	"GET /v1/collections/{collection}/suggest":       true,
	"GET /v1/collections/{collection}/explain/{id}":  true,
	"POST /v1/collections/{collection}/explain/{id}": true,
	"POST /v1/collections/{collection}/events":       true,

	"POST /v1/search": true,

	"POST /multi-search":                      true,
	"GET /indexes/{collection}/search":        true,
	"POST /indexes/{collection}/search":       true,
	"POST /indexes/{collection}/facet-search": true,
	"POST /indexes/{collection}/similar":      true,
}

// within returns the documents of a collection that the caller may see, nil for all: the filter of
// a tenant token.
func (c caller) within(collection string) (filter.Expr, error) {
	if c.key == nil || c.key.Tenant == nil {
		return nil, nil
	}
	f, ok := c.key.Tenant.Filter(collection)
	if !ok {
		return nil, c.mayUse(collection)
	}
	if f.Meilisearch != nil {
		var err error
		if f.Text, err = meilisearch.Filter(f.Meilisearch); err != nil {
			return nil, badKey(fmt.Errorf("%w: searchRules: %w", access.ErrTenant, err))
		}
	}
	if f.Text == "" {
		return nil, nil
	}
	e, err := filter.Parse(f.Text)
	if err != nil {
		return nil, badKey(fmt.Errorf("%w: %w", access.ErrTenant, err))
	}
	return e, nil
}

// callerID is the key of the id in echo's context, for the log.
const callerID = "key"

func (c caller) id() string {
	if c.key == nil {
		return ""
	}
	return c.key.ID
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// mayUse returns nil if the caller's key allows a collection. bind checks the one in the path,
// handlers any other.
func (c caller) mayUse(collection string) error {
	if c.key == nil || c.key.MayUse(collection) {
		return nil
	}
	if c.key.Tenant != nil {
		return &authError{kind: errCollection, challenge: challengeScope, detail: fmt.Sprintf("the tenant token does not allow the collection %.64q", collection)}
	}
	return &authError{kind: errCollection, challenge: challengeScope,
		detail: fmt.Sprintf("key %s: got collection %.64q, allowed: %s", c.key.ID, collection, strings.Join(c.key.Collections, ", "))}
}

// admit returns the sender of a request, and an error unless its key has one of the scopes of the
// route. A server without keys admits everybody.
func (s *Server) admit(r *http.Request, rt route) (caller, error) {
	if rt.needs == open || s.o.Keys == nil || !s.o.Keys.Guarded() {
		return caller{}, nil
	}
	token := tokenOf(r.Header)
	if token == "" {
		return caller{}, &authError{kind: errNoKey, detail: "this server asks for an API key: Authorization: Bearer KEY, or --key of the commands", challenge: challenge}
	}
	key, err := s.o.Keys.Check(token)
	if err != nil {
		return caller{}, badKey(err)
	}
	c := caller{key}
	if key.Tenant != nil && !tenantRoutes[rt.method+" "+rt.path] {
		return c, &authError{kind: errScope, detail: "a tenant token searches collections, this needs an API key", challenge: challengeScope}
	}
	if key.Scopes&rt.needs == 0 {
		return c, &authError{kind: errScope, detail: fmt.Sprintf("key %s: has the scopes %s, this needs %s", key.ID, key.Scopes, strings.Join(rt.needs.Names(), " or ")),
			challenge: challengeScope + fmt.Sprintf(", scope=%q", strings.Join(rt.needs.Names(), " "))}
	}
	return c, nil
}

func badKey(err error) error {
	detail := "unknown API key; it may have been revoked"
	if errors.Is(err, access.ErrExpired) || errors.Is(err, access.ErrTenant) {
		detail = err.Error()
	}
	return &authError{kind: errBadKey, detail: detail, challenge: challengeToken}
}

// stillAllowed returns an error if the key of a streaming request was revoked or has expired
// meanwhile.
func (s *Server) stillAllowed(ctx context.Context) error {
	key := callerOf(ctx).key
	if key == nil {
		return nil
	}
	if err := s.o.Keys.Recheck(key); err != nil {
		return badKey(err)
	}
	return nil
}

// tokenOf reads the token from Authorization: Bearer, X-Api-Key or Api-Key; never from the query
// string, which is logged.
func tokenOf(h http.Header) string {
	if scheme, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if token := h.Get("X-Api-Key"); token != "" {
		return token
	}
	return h.Get("Api-Key")
}

// The challenges of RFC 6750.
const (
	challenge      = `Bearer realm="searchd"`
	challengeToken = challenge + `, error="invalid_token"`
	challengeScope = challenge + `, error="insufficient_scope"`
)

// authError refuses a request because of its key.
type authError struct {
	kind      error
	detail    string
	challenge string // WWW-Authenticate
}

func (e *authError) Error() string { return e.detail }
func (e *authError) Unwrap() error { return e.kind }
