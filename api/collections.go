package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.com/searchd/search"
)

// collectionBody is the body of POST, PUT and PATCH of a collection.
type collectionBody struct {
	Name     string          `json:"name"`
	Settings search.Settings `json:"settings"`
}

// ParseSettings decodes the settings of a collection as strictly as a request.
func ParseSettings(data []byte) (search.Settings, error) {
	var s *search.Settings
	err := decodeStrict(data, &s)
	if err == nil && s == nil {
		err = &requestError{kind: errMalformed, detail: "body: got null, allowed: an object"}
	}
	if err != nil {
		return search.Settings{}, err
	}
	return *s, nil
}

type collectionList struct {
	Collections []search.CollectionInfo `json:"collections"`
}

func (s *Server) listCollections(_ http.ResponseWriter, r *http.Request) (any, error) {
	infos, err := s.visible(r.Context())
	return collectionList{infos}, err
}

// visible returns the collections that the caller's key allows.
func (s *Server) visible(ctx context.Context) ([]search.CollectionInfo, error) {
	infos, err := s.o.Engine.Collections(ctx)
	hidden := func(info search.CollectionInfo) bool { return callerOf(ctx).mayUse(info.Name) != nil }
	return append([]search.CollectionInfo{}, slices.DeleteFunc(infos, hidden)...), err
}

func (s *Server) createCollection(w http.ResponseWriter, r *http.Request) error {
	var b collectionBody
	if err := decodeBody(r, false, &b); err != nil {
		return err
	}
	if err := search.CheckCollectionName(b.Name); err != nil {
		return err
	}
	if err := callerOf(r.Context()).mayUse(b.Name); err != nil {
		return err
	}
	info, err := s.o.Engine.CreateCollection(r.Context(), b.Name, b.Settings)
	if err != nil {
		return inSettings(err)
	}
	return writeCreated(w, true, "/v1/collections/"+url.PathEscape(info.Name), info)
}

func (s *Server) collection(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.o.Engine.Collection(r.Context(), r.PathValue("collection"))
}

func (s *Server) collectionStats(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.o.Engine.Gauges(r.Context(), r.PathValue("collection"))
}

func (s *Server) collectionLanguage(_ http.ResponseWriter, r *http.Request) (any, error) {
	return s.o.Engine.Language(r.Context(), r.PathValue("collection"))
}

// putCollection creates the collection or replaces its settings.
func (s *Server) putCollection(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("collection")
	b := collectionBody{Name: name}
	if err := decodeBody(r, true, &b); err != nil {
		return err
	}
	if b.Name != name {
		return &search.FieldError{Field: "name", Value: b.Name, Allowed: "the name of the path, or none"}
	}
	info, created, err := s.o.Engine.EnsureCollection(r.Context(), name, b.Settings)
	if err != nil {
		return inSettings(err)
	}
	return writeCreated(w, created, "/v1/collections/"+url.PathEscape(info.Name), info)
}

// patchCollection merges the body's settings (RFC 7396) into the stored ones.
func (s *Server) patchCollection(_ http.ResponseWriter, r *http.Request) (any, error) {
	name := r.PathValue("collection")
	patch, err := bodyOf(r, false, "application/json", "application/merge-patch+json")
	if err != nil {
		return nil, err
	}
	// The merge drops members that are null, so the patch itself is checked for unknown ones.
	if err := decodeStrict(patch, new(collectionBody)); err != nil {
		return nil, err
	}
	info, err := s.o.Engine.ChangeSettings(r.Context(), name, func(old search.Settings) (search.Settings, error) {
		stored, err := json.Marshal(collectionBody{Name: name, Settings: old})
		if err != nil {
			return old, err
		}
		merged, err := mergePatch(stored, patch)
		if err != nil {
			return old, err
		}
		var b collectionBody
		if err := decodeStrict(merged, &b); err != nil {
			return old, err
		}
		if b.Name != name {
			return old, &search.FieldError{Field: "name", Value: b.Name, Allowed: "the name of the path; a collection cannot be renamed"}
		}
		return b.Settings, nil
	})
	return info, inSettings(err)
}

// inSettings prefixes the field of an error in the settings as in the body: "language" becomes
// "settings.language".
func inSettings(err error) error {
	var fe *search.FieldError
	if !errors.As(err, &fe) {
		return err
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		errs := many.Unwrap()
		for i, e := range errs {
			errs[i] = inSettings(e)
		}
		return errors.Join(errs...)
	}
	top := fe.Field
	if i := strings.IndexAny(top, ".["); i > 0 {
		top = top[:i]
	}
	switch top {
	case "fields":
		// The name of a field may have dots, so the member is behind the last one.
		if name, ok := strings.CutPrefix(fe.Field, "fields."); ok && strings.LastIndexByte(name, '.') > 0 {
			i := strings.LastIndexByte(name, '.')
			pointer := pointerTo("settings", "fields", name[:i], name[i+1:])
			return pointedError(pointer, &search.FieldError{Field: "settings." + fe.Field, Value: fe.Value, Allowed: fe.Allowed})
		}
		fallthrough
	case "language", "synonyms", "rules", "passages", "index", "embedder":
		return &search.FieldError{Field: "settings." + fe.Field, Value: fe.Value, Allowed: fe.Allowed}
	}
	return err
}

func (s *Server) dropCollection(_ http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("collection")
	return s.aliased(r, name, s.o.Engine.DropCollection(r.Context(), name))
}

// aliased hides aliases that the caller's key does not allow in an error about them.
func (s *Server) aliased(r *http.Request, name string, err error) error {
	if !errors.Is(err, search.ErrAliased) {
		return err
	}
	list, listErr := s.o.Engine.Aliases(r.Context())
	if listErr != nil {
		return listErr
	}
	own := name
	for _, a := range list {
		if a.Alias == name {
			own = a.Collection
		}
	}
	for _, a := range list {
		if a.Collection == own && callerOf(r.Context()).mayUse(a.Alias) != nil {
			return fmt.Errorf("%w: %s has aliases that this key may not access; delete them or point them elsewhere first", search.ErrAliased, name)
		}
	}
	return err
}
