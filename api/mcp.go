package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"example.com/searchd/access"
	"example.com/searchd/search"
)

// mcp answers one message of an assistant.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) error {
	body, err := bodyOf(r, false, "application/json")
	if err != nil {
		return err
	}
	if err := checkText(body); err != nil {
		return err
	}
	answer, err := s.mcps.Post(r.Context(), r.Header, body)
	if err != nil {
		return err
	}
	if len(answer.JSON) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(answer.Status)
	w.Write(answer.JSON) // an error means that the client has gone
	return nil
}

// toolEngine is the engine with the rights of the key of the request.
type toolEngine struct{ s *Server }

// Collections implements mcp.Engine. A collection that the key allows only by an alias has that
// name.
func (e toolEngine) Collections(ctx context.Context) ([]search.CollectionInfo, error) {
	infos, err := e.s.visible(ctx)
	if err != nil {
		return nil, e.visible(ctx, err)
	}
	aliases, err := e.s.o.Engine.Aliases(ctx)
	if err != nil {
		return nil, e.visible(ctx, err)
	}
	for _, a := range aliases {
		if c := callerOf(ctx); c.mayUse(a.Alias) != nil || c.mayUse(a.Collection) == nil {
			continue
		}
		if info, err := e.s.o.Engine.Collection(ctx, a.Alias); err == nil { // else it leads elsewhere by now, or to what cannot be searched
			info.Name = a.Alias
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// Search implements mcp.Engine.
func (e toolEngine) Search(ctx context.Context, collection string, q search.Query) (*search.Response, error) {
	if err := e.allowed(ctx, access.Search, collection); err != nil {
		return nil, err
	}
	res, err := e.s.o.Engine.Search(ctx, collection, q)
	if err == nil {
		e.s.metrics.observeSearch(res)
	}
	return res, e.visible(ctx, err)
}

// Similar implements mcp.Engine.
func (e toolEngine) Similar(ctx context.Context, collection string, q search.Similar) (*search.Response, error) {
	if err := e.allowed(ctx, access.Search, collection); err != nil {
		return nil, err
	}
	res, err := e.s.o.Engine.Similar(ctx, collection, q)
	if err == nil {
		e.s.metrics.observeSearch(res)
	}
	return res, e.visible(ctx, err)
}

// Document implements mcp.Engine.
func (e toolEngine) Document(ctx context.Context, collection, id string) (*search.StoredDocument, error) {
	if err := e.allowed(ctx, access.DocumentsRead, collection); err != nil {
		return nil, err
	}
	doc, err := e.s.o.Engine.Document(ctx, collection, id)
	return doc, e.visible(ctx, err)
}

// allowed returns an error if the caller's key lacks a scope or does not allow the collection.
func (e toolEngine) allowed(ctx context.Context, needs access.Scopes, collection string) error {
	c := callerOf(ctx)
	if c.key != nil && c.key.Scopes&needs == 0 {
		return fmt.Errorf("the API key %s has the scopes %s, this tool needs %s", c.key.ID, c.key.Scopes, strings.Join(needs.Names(), " or "))
	}
	if err := checkPathName("collection", collection); err != nil {
		return err
	}
	return c.mayUse(collection)
}

// visible returns an error for the assistant. The cause of a server failure is only logged.
func (e toolEngine) visible(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, search.ErrCollectionNotFound) {
		return err
	}
	f := classify(err)
	if f.status >= 500 && f.retry == "" {
		e.s.log.Error("tool failed", "code", f.code, "error", err, "request_id", requestID(ctx))
	}
	if detail := f.detail(err); detail != "" {
		return errors.New(detail)
	}
	return errors.New("internal error; see the server's log for request " + requestID(ctx))
}
