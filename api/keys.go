package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"example.com/searchd/access"
	"example.com/searchd/search"
)

// keyAnswer is a key, with its token only when it was just created.
type keyAnswer struct {
	access.Key
	Token string `json:"key,omitempty"`
}

type keyList struct {
	Keys []access.Key `json:"keys"`
}

// withKeyring refuses the routes of keys on a server without a keyring.
func (s *Server) withKeyring(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.o.Keys == nil {
			return fmt.Errorf("%w: the server was started without storage for API keys", search.ErrUnsupported)
		}
		return h(w, r)
	}
}

// visible reports whether the caller may see and revoke a key: its own, and those with no more
// rights.
func (c caller) visible(k access.Key) bool {
	return c.key == nil || c.key.ID == k.ID || c.key.Covers(k.Spec) == nil
}

func (s *Server) listKeys(_ http.ResponseWriter, r *http.Request) (any, error) {
	hidden := func(k access.Key) bool { return !callerOf(r.Context()).visible(k) }
	return keyList{slices.DeleteFunc(s.o.Keys.Keys(), hidden)}, nil
}

// createKey creates a key. The first one must be able to create others, since every request needs a
// key from then on.
func (s *Server) createKey(w http.ResponseWriter, r *http.Request) error {
	var spec access.Spec
	if err := decodeBody(r, false, &spec); err != nil {
		return keyError(err)
	}
	key, token, err := s.makeKey(r, spec)
	if err != nil {
		return err
	}
	return writeCreated(w, true, "/v1/keys/"+url.PathEscape(key.ID), keyAnswer{key, token})
}

// makeKey creates a key with no more rights than the sender of a request has.
func (s *Server) makeKey(r *http.Request, spec access.Spec) (key access.Key, token string, err error) {
	who := callerOf(r.Context())
	if who.key == nil && !spec.Scopes.Has(access.KeysAdmin) {
		return key, "", &search.FieldError{Field: "scopes", Value: spec.Scopes, Allowed: "scopes with keys:admin for the first key, since from then on keys cannot be made without one"}
	}
	if who.key != nil {
		who.key.Limit(&spec)
		asked := spec
		if len(asked.Collections) == 0 {
			asked.Collections = []string{"*"}
		}
		if err := who.key.Covers(asked); err != nil {
			return key, "", keyError(err)
		}
	}
	key, token, err = s.o.Keys.CreateBy(r.Context(), who.key, spec)
	if err != nil {
		return key, "", keyError(err)
	}
	s.log.Info("key made", "id", key.ID, "name", key.Name, "scopes", key.Scopes.String(), "by", who.id(), "request_id", requestID(r.Context()))
	return key, token, nil
}

// visibleKey returns the key in the path. One that the caller may not see does not exist for it.
func (s *Server) visibleKey(r *http.Request) (access.Key, error) {
	id := r.PathValue("key")
	key, err := s.o.Keys.Key(id)
	if err == nil && !callerOf(r.Context()).visible(key) {
		err = fmt.Errorf("%w: %.40q", access.ErrUnknown, id)
	}
	return key, err
}

func (s *Server) key(_ http.ResponseWriter, r *http.Request) (any, error) { return s.visibleKey(r) }

func (s *Server) revokeKey(_ http.ResponseWriter, r *http.Request) error {
	key, err := s.visibleKey(r)
	if err == nil {
		err = s.o.Keys.Revoke(r.Context(), key.ID)
	}
	if err != nil {
		return err
	}
	s.log.Info("key revoked", "id", key.ID, "name", key.Name, "by", callerOf(r.Context()).id(), "request_id", requestID(r.Context()))
	return nil
}

// keyError converts an error of package access about a request.
func keyError(err error) error {
	var fe *access.FieldError
	if errors.As(err, &fe) {
		return &search.FieldError{Field: fe.Field, Value: fe.Value, Allowed: fe.Allowed}
	}
	return err
}
