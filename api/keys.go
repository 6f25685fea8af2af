package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"searchd/access"
	"searchd/search"
)

// keyAnswer is a key; with its token only where it was just made.
type keyAnswer struct {
	access.Key
	Token string `json:"key,omitempty"`
}

type keyList struct {
	Keys []access.Key `json:"keys"`
}

// keyring returns the server's keys.
func (s *Server) keyring() (*access.Keyring, error) {
	if s.o.Keys == nil {
		return nil, fmt.Errorf("%w: the server was started without a place for API keys", search.ErrUnsupported)
	}
	return s.o.Keys, nil
}

// visible reports whether the caller may see and revoke a key: its own, and those that may do no
// more than itself.
func (c caller) visible(k access.Key) bool {
	return c.key == nil || c.key.ID == k.ID || c.key.Covers(k.Spec) == nil
}

func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) error {
	ring, err := s.keyring()
	if err != nil {
		return err
	}
	list := keyList{Keys: []access.Key{}}
	for _, k := range ring.Keys() {
		if callerOf(r.Context()).visible(k) {
			list.Keys = append(list.Keys, k)
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// createKey makes a key. The first one of a server must be able to make others: from then on each
// request needs a key.
func (s *Server) createKey(w http.ResponseWriter, r *http.Request) error {
	ring, err := s.keyring()
	if err != nil {
		return err
	}
	var spec access.Spec
	if err := decodeBody(r, false, &spec); err != nil {
		return keyError(err)
	}
	who := callerOf(r.Context())
	if who.key == nil && !spec.Scopes.Has(access.KeysAdmin) {
		return &search.FieldError{Field: "scopes", Value: spec.Scopes, Allowed: "scopes with keys:admin for the first key, since from then on keys cannot be made without one"}
	}
	if who.key != nil {
		who.key.Limit(&spec)
		asked := spec
		if len(asked.Collections) == 0 {
			asked.Collections = []string{"*"}
		}
		if err := who.key.Covers(asked); err != nil {
			return keyError(err)
		}
	}
	key, token, err := ring.CreateBy(r.Context(), who.key, spec)
	if err != nil {
		return keyError(err)
	}
	s.log.Info("key made", "id", key.ID, "name", key.Name, "scopes", key.Scopes.String(), "by", who.id(), "request_id", requestID(r.Context()))
	w.Header().Set("Location", "/v1/keys/"+url.PathEscape(key.ID))
	return writeJSON(w, http.StatusCreated, keyAnswer{key, token})
}

// visibleKey returns the key that the path names. One that the caller may not see is unknown to it.
func (s *Server) visibleKey(r *http.Request) (*access.Keyring, access.Key, error) {
	ring, err := s.keyring()
	if err != nil {
		return nil, access.Key{}, err
	}
	raw, _ := strings.CutPrefix(r.URL.EscapedPath(), "/v1/keys/")
	id, err := pathValue("key", raw, 64)
	if err != nil {
		return nil, access.Key{}, err
	}
	key, err := ring.Key(id)
	if err == nil && !callerOf(r.Context()).visible(key) {
		err = fmt.Errorf("%w: %.40q", access.ErrUnknown, id)
	}
	return ring, key, err
}

func (s *Server) key(w http.ResponseWriter, r *http.Request) error {
	_, key, err := s.visibleKey(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, key)
}

func (s *Server) revokeKey(w http.ResponseWriter, r *http.Request) error {
	ring, key, err := s.visibleKey(r)
	if err != nil {
		return err
	}
	if err := ring.Revoke(r.Context(), key.ID); err != nil {
		return err
	}
	s.log.Info("key revoked", "id", key.ID, "name", key.Name, "by", callerOf(r.Context()).id(), "request_id", requestID(r.Context()))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// keyError gives the keyring's errors about a request the engine's shape.
func keyError(err error) error {
	var fe *access.FieldError
	if errors.As(err, &fe) {
		return &search.FieldError{Field: fe.Field, Value: fe.Value, Allowed: fe.Allowed}
	}
	return err
}
