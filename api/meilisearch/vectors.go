package meilisearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"example.com/searchd/search"
	"example.com/searchd/search/given"
	engine "example.com/searchd/search/settings"
)

const (
	vectorsMember = "_vectors"     // of a document: its vectors by embedder
	userProvided  = "userProvided" // source of an embedder whose vectors the client makes
)

// providedEmbedder returns the name and the dimension of the embedder whose vectors clients
// provide; an empty name: there is none.
func (s *settings) providedEmbedder() (name string, dimension int, err error) {
	for _, n := range slices.Sorted(maps.Keys(s.Embedders)) {
		raw := s.Embedders[n]
		var e struct {
			Source     string          `json:"source"`
			Dimensions json.RawMessage `json:"dimensions"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return "", 0, bad("invalid_settings_embedders", "embedders.%.40s: allowed: an object", n)
		}
		if e.Source != userProvided {
			continue
		}
		if name != "" {
			return "", 0, bad("invalid_settings_embedders", "embedders: %.40s and %.40s are %s, allowed: one of them; make an index for each", name, n, userProvided)
		}
		d, err := strconv.Atoi(string(bytes.Trim(e.Dimensions, `"`)))
		if err != nil || d < 1 || d > engine.MaxDimension {
			got := string(e.Dimensions)
			if got == "" {
				got = "none"
			}
			return "", 0, bad("invalid_settings_embedders", "embedders.%.40s.dimensions: got %.40s, allowed: 1 to %d", n, got, engine.MaxDimension)
		}
		name, dimension = n, d
	}
	return name, dimension, nil
}

// provide makes the vectors of an index ones that clients provide, with so many dimensions. The
// index is made if there is none; one with documents stays as it is, and must have such vectors.
func (s *Server) provide(ctx context.Context, name string, dimension int) error {
	e := &engine.Embedder{Source: engine.Given, Dimension: dimension}
	if err := s.ensure(ctx, name, search.Settings{Embedder: e}); err != nil {
		return err
	}
	info, err := s.engine.Collection(ctx, name)
	if err != nil {
		return err
	}
	had := info.Settings
	switch {
	case had.Embedder != nil && *had.Embedder == *e:
		return nil
	case info.Documents > 0:
		return bad("invalid_settings_embedders", "embedders: the %d documents of index `%s` have other vectors; make a new index and add them with theirs", info.Documents, name)
	}
	next := search.Settings{Language: had.Language, Fields: had.Fields, Synonyms: had.Synonyms, Rules: had.Rules, Embedder: e}
	task, err := s.engine.Reembed(ctx, name, search.ReembedOptions{Settings: &next})
	for err == nil && !task.Ended() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
			task, err = s.engine.Task(ctx, task.ID)
		}
	}
	if err == nil && task.State != search.TaskSucceeded {
		err = fmt.Errorf("embedders: task %s, which makes the index one of other vectors: %s", task.ID, task.State)
	}
	return err
}

// embedderName returns the name that the vectors of an index have for clients.
func (x *index) embedderName() string {
	if name, _, _ := x.settings.providedEmbedder(); name != "" {
		return name
	}
	return "default"
}

// checkEmbedder refuses the name of an embedder whose vectors are not those of the index.
func (x *index) checkEmbedder(code, at, name string) error {
	if has, _, _ := x.settings.providedEmbedder(); has != "" && name != has {
		return bad(code, "%s: got %.40q, allowed: %q, the embedder of index `%s`", at, name, has, x.info.Name)
	}
	return nil
}

// takeVectors takes the vectors off a document, as members that the engine reads.
func (x *index) takeVectors(id string, doc object) (m given.Members, err error) {
	raw, ok := doc[vectorsMember]
	if !ok {
		return m, nil
	}
	wrong := func(at, got, allowed string) error {
		return bad("vector_embedding_error", "document %q: %s%s: %s, allowed: %s", id, vectorsMember, at, got, allowed)
	}
	if !x.info.Settings.GivenVectors() {
		return m, wrong("", "given", "none; the collection's own model encodes texts, unless its embedder is "+userProvided)
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(raw, &named); err != nil {
		return m, wrong("", fmt.Sprintf("got %.40s", raw), "an object with a vector for an embedder")
	}
	for name, v := range named {
		if err := x.checkEmbedder("vector_embedding_error", fmt.Sprintf("document %q: %s", id, vectorsMember), name); err != nil {
			return m, err
		}
		if len(named) > 1 {
			return m, wrong("", fmt.Sprintf("%d embedders", len(named)), "one")
		}
		if v[0] == '{' {
			var o struct {
				Embeddings json.RawMessage `json:"embeddings"`
				Regenerate bool            `json:"regenerate"`
			}
			if err := json.Unmarshal(v, &o); err != nil || o.Regenerate {
				return m, wrong("."+name, fmt.Sprintf("got %.40s", v), "a list of numbers, or an object with embeddings and regenerate: false")
			}
			if v = o.Embeddings; v == nil {
				v = json.RawMessage("null")
			}
		}
		if rest := bytes.TrimLeft(v[1:], " \t\r\n"); v[0] == '[' && len(rest) > 0 && rest[0] == '[' {
			m.Vectors = v
		} else {
			m.Vector = v
		}
	}
	delete(doc, vectorsMember)
	return m, nil
}

// setVectors sets the vectors of a document that is shown.
func (s *Server) setVectors(ctx context.Context, x *index, id string, shown json.RawMessage) (json.RawMessage, error) {
	doc, err := s.engine.Document(ctx, x.info.Name, id)
	if err != nil {
		return nil, err
	}
	list := [][]float32{}
	if doc.Vector != nil {
		list = append(list, doc.Vector)
	}
	for _, v := range doc.Vectors {
		list = append(list, v.Vector)
	}
	var out object
	if err := json.Unmarshal(shown, &out); err != nil {
		return nil, err
	}
	if out[vectorsMember], err = encoded(map[string]any{x.embedderName(): map[string]any{"embeddings": list, "regenerate": false}}); err != nil {
		return nil, err
	}
	return encoded(out)
}

// setHitVectors sets the vectors of hits, where the settings of the index allow it.
func (s *Server) setHitVectors(ctx context.Context, x *index, show shown, hits []search.Hit, out []json.RawMessage) (err error) {
	if show.displayed != nil && !slices.Contains(show.displayed, vectorsMember) {
		return nil
	}
	for i, h := range hits {
		if out[i], err = s.setVectors(ctx, x, h.ID, out[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkRetrieval refuses retrieveVectors where there are none to show.
func (x *index) checkRetrieval(code string, wanted bool) error {
	if wanted && !x.info.Settings.GivenVectors() {
		return bad(code, "retrieveVectors: got true, allowed: false; the vectors of this index are the server's own")
	}
	return nil
}
