package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"searchd/encoder"
	"searchd/models"
	"searchd/search/backend"
	"searchd/search/embedded"
)

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Model    string            // name or folder of the checkpoint; default: the embedded one. Ignored with Embedder
	Encoder  encoder.Options   // how the checkpoint runs. Ignored with Embedder
	Embedder Embedder          // default: the checkpoint that Model names
	Backend  backend.Backend   // default: the embedded one in the data folder; closed with the engine
	Reranker Reranker          // default: none, and queries that ask for re-ranking are refused
	Sparse   SparseEncoder     // default: the checkpoint, where it gives sparse vectors
	Notice   func(text string) // told of repairs and rebuilds, from any goroutine; default: nobody
}

// Engine is the search engine over one data folder. It is safe for concurrent use.
type Engine struct {
	embedder  Embedder
	collector *collector    // the embedder for requests, which it gathers into batches
	reranker  Reranker      // nil: none
	sparse    SparseEncoder // nil: none
	backend   backend.Backend
	queries   *queryCache
	ingests   chan struct{} // one token: ingests encode one after another, so that they do not fight over the cores

	mu struct {
		sync.Mutex
		closed  bool
		records map[string]cachedRecord
	}
}

type cachedRecord struct {
	payload string
	record  record
}

// queryCacheSize is how many query vectors are kept: at 384 dimensions about 6 MB.
const queryCacheSize = 4096

// Open opens the data folder dir, made if it is missing, and loads the checkpoint.
// The folder is locked for this process until [Engine.Close].
func Open(dir string, o Options) (*Engine, error) {
	e := &Engine{embedder: o.Embedder, reranker: o.Reranker, sparse: o.Sparse, backend: o.Backend, queries: newQueryCache(queryCacheSize), ingests: make(chan struct{}, 1)}
	e.mu.records = map[string]cachedRecord{}
	if e.embedder == nil {
		c, err := models.Open(o.Model, o.Encoder)
		if err != nil {
			return nil, err
		}
		e.embedder = NewEmbedder(c)
	}
	if c, ok := e.embedder.(checkpointEmbedder); ok && e.sparse == nil && c.checkpoint.Info().Sparse {
		e.sparse = c.checkpoint
	}
	e.collector = newCollector(e.embedder)
	if e.backend == nil {
		b, err := embedded.Open(dir, embedded.Options{Notice: o.Notice})
		if err != nil {
			return nil, err
		}
		e.backend = b
	}
	return e, nil
}

// Close writes what makes the next opening fast and releases the data folder. Calls after the first do nothing.
func (e *Engine) Close() error {
	e.mu.Lock()
	closed := e.mu.closed
	e.mu.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	return e.backend.Close()
}

// Ready returns nil when the engine answers, and otherwise why it does not.
func (e *Engine) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed {
		return ErrClosed
	}
	return nil
}

// Model describes the checkpoint that encodes.
func (e *Engine) Model() ModelInfo { return e.embedder.Model() }

// CreateCollection makes a collection. It returns [ErrCollectionExists] if there is one of this name.
func (e *Engine) CreateCollection(ctx context.Context, name string, s Settings) (CollectionInfo, error) {
	if err := checkCollectionName(name); err != nil {
		return CollectionInfo{}, err
	}
	m := e.embedder.Model()
	if err := s.Validate(m.MaxTokens); err != nil {
		return CollectionInfo{}, err
	}
	config, err := record{Settings: s, Model: m, Created: time.Now().UTC()}.config()
	if err != nil {
		return CollectionInfo{}, err
	}
	if err := e.backend.Create(ctx, name, config); err != nil {
		return CollectionInfo{}, translate(err)
	}
	return e.Collection(ctx, name)
}

// EnsureCollection makes a collection or changes the settings of the one that is there. Settings that would need another
// index (language, fields, passages, index.m, index.ef_construction) can be changed only while the collection is empty.
func (e *Engine) EnsureCollection(ctx context.Context, name string, s Settings) (info CollectionInfo, created bool, err error) {
	info, err = e.CreateCollection(ctx, name, s)
	if !errors.Is(err, ErrCollectionExists) {
		return info, err == nil, err
	}
	if info, err = e.Collection(ctx, name); err != nil {
		return info, false, err
	}
	if err := s.Validate(e.embedder.Model().MaxTokens); err != nil {
		return info, false, err
	}
	if !sameIndex(info.Settings, s) && info.Documents > 0 {
		return info, false, &FieldError{"settings", name, fmt.Sprintf("the collection's present settings with another index.ef_search or index.quantize, as it holds %d documents; make a new collection for others", info.Documents)}
	}
	config, err := record{Settings: s, Model: info.Model, Created: info.Created}.config()
	if err != nil {
		return info, false, err
	}
	if err := e.backend.Update(ctx, name, config); err != nil {
		return info, false, translate(err)
	}
	info, err = e.Collection(ctx, name)
	return info, false, err
}

// Collection describes a collection.
func (e *Engine) Collection(ctx context.Context, name string) (CollectionInfo, error) {
	c, err := e.backend.Collection(ctx, name)
	if err != nil {
		return CollectionInfo{}, translate(err)
	}
	return e.info(c)
}

// Collections describes all collections, by name.
func (e *Engine) Collections(ctx context.Context) ([]CollectionInfo, error) {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return nil, translate(err)
	}
	out := make([]CollectionInfo, len(list))
	for i, c := range list {
		if out[i], err = e.info(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// DropCollection removes a collection with everything in it.
func (e *Engine) DropCollection(ctx context.Context, name string) error {
	return translate(e.backend.Drop(ctx, name))
}

// Check looks for faults: differences between what is stored and what is indexed; with deep also every stored byte.
func (e *Engine) Check(ctx context.Context, deep bool) ([]backend.Problem, error) {
	return e.backend.Check(ctx, deep)
}

func (e *Engine) info(c backend.Collection) (CollectionInfo, error) {
	r, err := e.record(c)
	if err != nil {
		return CollectionInfo{}, err
	}
	return CollectionInfo{
		Name: c.Name, Settings: r.Settings, Model: r.Model,
		Documents: c.Documents, Passages: c.Passages, Sequence: c.Sequence, Created: r.Created,
	}, nil
}

// record reads the engine's own part of a collection's config, parsed once per change.
func (e *Engine) record(c backend.Collection) (record, error) {
	payload := string(c.Config.Payload)
	e.mu.Lock()
	cached, ok := e.mu.records[c.Name]
	e.mu.Unlock()
	if ok && cached.payload == payload {
		return cached.record, nil
	}
	r, err := readRecord(c.Config)
	if err != nil {
		return r, fmt.Errorf("collection %s: %w", c.Name, err)
	}
	e.mu.Lock()
	e.mu.records[c.Name] = cachedRecord{payload, r}
	e.mu.Unlock()
	return r, nil
}

// open returns the collection and its record.
func (e *Engine) open(ctx context.Context, name string) (backend.Collection, record, error) {
	if err := e.Ready(); err != nil {
		return backend.Collection{}, record{}, err
	}
	c, err := e.backend.Collection(ctx, name)
	if err != nil {
		return c, record{}, translate(err)
	}
	r, err := e.record(c)
	return c, r, err
}

// sameModel returns ErrModelMismatch when the collection's vectors come from another checkpoint.
func (e *Engine) sameModel(collection string, r record) error {
	m := e.embedder.Model()
	if r.Model.SHA256 != m.SHA256 || r.Model.Dimension != m.Dimension || r.Model.Pooling != m.Pooling {
		return fmt.Errorf("%w: collection %s holds vectors of %s (%d dimensions, pooling %s, sha256 %.12s), this is %s (%d, %s, %.12s); start with --model %s, or ingest into a new collection",
			ErrModelMismatch, collection, r.Model.Name, r.Model.Dimension, r.Model.Pooling, r.Model.SHA256, m.Name, m.Dimension, m.Pooling, m.SHA256, r.Model.Name)
	}
	return nil
}

// translate gives the backend's errors the engine's names.
func translate(err error) error {
	for _, pair := range [...]struct{ from, to error }{
		{backend.ErrCollectionNotFound, ErrCollectionNotFound},
		{backend.ErrCollectionExists, ErrCollectionExists},
		{backend.ErrDocumentNotFound, ErrDocumentNotFound},
		{backend.ErrReadOnly, ErrReadOnly},
		{backend.ErrNoSpace, ErrNoSpace},
		{backend.ErrInvalid, ErrInvalid},
	} {
		if errors.Is(err, pair.from) {
			return translated{err, pair.to}
		}
	}
	return err
}

// translated is an error that also matches the engine's name for it.
type translated struct {
	error
	is error
}

func (t translated) Unwrap() []error { return []error{t.error, t.is} }
