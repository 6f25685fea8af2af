// Package apitest has an engine in memory, small enough to be read in one go, for tests of what stands on [api.Engine].
// It scores like a search engine in outline only: words by tf·idf, meaning by the overlap of letter trigrams.
package apitest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"searchd/search"
)

// Engine is an api.Engine in memory. The zero value is ready and empty; it is safe for concurrent use.
type Engine struct {
	// Hook, where not nil, is called at the beginning of each method that takes a context, with the method's name. Tests
	// block, panic and fail in it.
	Hook func(ctx context.Context, method string) error
	// NotReady is what Ready returns.
	NotReady error

	mu          sync.RWMutex
	collections map[string]*collection
	aliases     map[string]string
	seq         uint64
}

type collection struct {
	info search.CollectionInfo
	docs map[string]*search.StoredDocument
}

func (e *Engine) enter(ctx context.Context, method string) error {
	if e.Hook != nil {
		if err := e.Hook(ctx, method); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Ready implements api.Engine.
func (e *Engine) Ready() error { return e.NotReady }

// ReadOnly implements api.Engine.
func (e *Engine) ReadOnly() error { return nil }

// Model implements api.Engine.
func (e *Engine) Model() search.ModelInfo {
	return search.ModelInfo{Name: "trigrams", SHA256: hex.EncodeToString(make([]byte, 32)), Dimension: dimension, Pooling: "mean", MaxTokens: 256}
}

// Embed implements api.Engine.
func (e *Engine) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if err := e.enter(ctx, "Embed"); err != nil {
		return nil, err
	}
	out := &search.Embeddings{Model: e.Model(), Truncated: make([]bool, len(texts))}
	for _, t := range texts {
		v := embed(t)
		if o.Dimensions > 0 {
			v = v[:o.Dimensions]
		}
		out.Vectors = append(out.Vectors, v)
		out.Tokens += len(words(t)) + 2
	}
	return out, nil
}

func (e *Engine) find(name string) (*collection, error) {
	if to, ok := e.aliases[name]; ok {
		name = to
	}
	c := e.collections[name]
	if c == nil {
		return nil, fmt.Errorf("%w: %q", search.ErrCollectionNotFound, name)
	}
	c.info.Documents, c.info.Passages = len(c.docs), 0
	for _, d := range c.docs {
		c.info.Passages += len(d.Passages)
	}
	return c, nil
}

// CreateCollection implements api.Engine.
func (e *Engine) CreateCollection(ctx context.Context, name string, s search.Settings) (search.CollectionInfo, error) {
	if _, err := e.Collection(ctx, name); err == nil {
		return search.CollectionInfo{}, fmt.Errorf("%w: %q", search.ErrCollectionExists, name)
	}
	info, _, err := e.EnsureCollection(ctx, name, s)
	return info, err
}

// ChangeSettings implements api.Engine.
func (e *Engine) ChangeSettings(ctx context.Context, name string, change func(search.Settings) (search.Settings, error)) (search.CollectionInfo, error) {
	info, err := e.Collection(ctx, name)
	if err != nil {
		return info, err
	}
	s, err := change(info.Settings)
	if err != nil {
		return info, err
	}
	info, _, err = e.EnsureCollection(ctx, name, s)
	return info, err
}

// EnsureCollection implements api.Engine.
func (e *Engine) EnsureCollection(ctx context.Context, name string, s search.Settings) (search.CollectionInfo, bool, error) {
	if err := e.enter(ctx, "EnsureCollection"); err != nil {
		return search.CollectionInfo{}, false, err
	}
	for field, f := range s.Fields {
		if !slices.Contains([]string{"text", "filter", "stored"}, string(f.Type)) {
			return search.CollectionInfo{}, false, &search.FieldError{Field: "settings.fields." + field + ".type", Value: f.Type, Allowed: "text, filter, stored"}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.collections[name]; c != nil {
		c.info.Settings = s
		return c.info, false, nil
	}
	if e.collections == nil {
		e.collections = map[string]*collection{}
	}
	c := &collection{docs: map[string]*search.StoredDocument{}}
	e.seq++
	c.info = search.CollectionInfo{Name: name, Settings: s, Model: e.Model(), Created: time.Unix(1_750_000_000, 0).UTC(), Incarnation: fmt.Sprintf("memory-%d", e.seq)}
	e.collections[name] = c
	return c.info, true, nil
}

// Collection implements api.Engine.
func (e *Engine) Collection(ctx context.Context, name string) (search.CollectionInfo, error) {
	if err := e.enter(ctx, "Collection"); err != nil {
		return search.CollectionInfo{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return search.CollectionInfo{}, err
	}
	return c.info, nil
}

// Collections implements api.Engine.
func (e *Engine) Collections(ctx context.Context) ([]search.CollectionInfo, error) {
	if err := e.enter(ctx, "Collections"); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var infos []search.CollectionInfo
	for name := range e.collections {
		c, _ := e.find(name)
		infos = append(infos, c.info)
	}
	slices.SortFunc(infos, func(a, b search.CollectionInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

// DropCollection implements api.Engine.
func (e *Engine) DropCollection(ctx context.Context, name string) error {
	if err := e.enter(ctx, "DropCollection"); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := e.find(name); err != nil {
		return err
	}
	delete(e.collections, name)
	return nil
}

// Ingest implements api.Engine.
func (e *Engine) Ingest(ctx context.Context, name string, docs []search.Document) ([]search.ItemResult, error) {
	if err := e.enter(ctx, "Ingest"); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return nil, err
	}
	results := make([]search.ItemResult, 0, len(docs))
	for _, d := range docs {
		results = append(results, e.ingest(c, d))
	}
	return results, nil
}

func (e *Engine) ingest(c *collection, d search.Document) search.ItemResult {
	var fields map[string]any
	if err := json.Unmarshal(d.Fields, &fields); err != nil {
		return search.ItemResult{ID: d.ID, Status: search.Failed, Err: &search.FieldError{Field: "document", Value: string(d.Fields), Allowed: "a JSON object"}}
	}
	if d.ID == "" {
		sum := sha256.Sum256(d.Fields)
		d.ID = hex.EncodeToString(sum[:16])
	}
	old := c.docs[d.ID]
	revision := uint64(0)
	if old != nil {
		revision = old.Revision
	}
	if d.IfRevision != nil && *d.IfRevision != revision {
		return search.ItemResult{ID: d.ID, Status: search.Failed, Err: fmt.Errorf("%w: document %q is at revision %d, not %d", search.ErrConflict, d.ID, revision, *d.IfRevision)}
	}
	if old != nil && string(old.Fields) == string(d.Fields) {
		return search.ItemResult{ID: d.ID, Status: search.Unchanged, Revision: revision, Passages: len(old.Passages)}
	}
	e.seq++
	c.info.Sequence = e.seq
	doc := &search.StoredDocument{ID: d.ID, Revision: e.seq, Fields: slices.Clone(d.Fields), Passages: passages(fields)}
	c.docs[d.ID] = doc
	status := search.Created
	if old != nil {
		status = search.Updated
	}
	return search.ItemResult{ID: d.ID, Status: status, Revision: doc.Revision, Passages: len(doc.Passages)}
}

// Document implements api.Engine.
func (e *Engine) Document(ctx context.Context, name, id string) (*search.StoredDocument, error) {
	if err := e.enter(ctx, "Document"); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return nil, err
	}
	d := c.docs[id]
	if d == nil {
		return nil, fmt.Errorf("%w: %q", search.ErrDocumentNotFound, id)
	}
	return d, nil
}

// Documents implements api.Engine. The cursor is the number of documents passed.
func (e *Engine) Documents(ctx context.Context, name, cursor string, limit int) ([]search.StoredDocument, string, error) {
	if err := e.enter(ctx, "Documents"); err != nil {
		return nil, "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return nil, "", err
	}
	from := 0
	if cursor != "" {
		if from, err = strconv.Atoi(cursor); err != nil || from < 0 || from > len(c.docs) {
			return nil, "", &search.FieldError{Field: "cursor", Value: cursor, Allowed: "the cursor of a page before"}
		}
	}
	docs := c.sorted()
	to := min(from+limit, len(docs))
	next := ""
	if to < len(docs) {
		next = strconv.Itoa(to)
	}
	page := []search.StoredDocument{}
	for _, d := range docs[from:to] {
		page = append(page, *d)
	}
	return page, next, nil
}

func (c *collection) sorted() []*search.StoredDocument {
	docs := make([]*search.StoredDocument, 0, len(c.docs))
	for _, d := range c.docs {
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b *search.StoredDocument) int { return cmp.Compare(a.ID, b.ID) })
	return docs
}

// DeleteDocuments implements api.Engine.
func (e *Engine) DeleteDocuments(ctx context.Context, name string, ids []string) ([]search.ItemResult, error) {
	if err := e.enter(ctx, "DeleteDocuments"); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return nil, err
	}
	var results []search.ItemResult
	for _, id := range ids {
		if c.docs[id] == nil {
			results = append(results, search.ItemResult{ID: id, Status: search.Failed, Err: fmt.Errorf("%w: %q", search.ErrDocumentNotFound, id)})
			continue
		}
		delete(c.docs, id)
		results = append(results, search.ItemResult{ID: id, Status: search.Deleted})
	}
	return results, nil
}
