package search

import (
	"context"
	"errors"
	"fmt"
	"sync"

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
	catalog   *catalog
	queries   *queryCache
	sentences *textCache // of hits
	maps      mapCache
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
	e := &Engine{embedder: o.Embedder, reranker: o.Reranker, sparse: o.Sparse, backend: o.Backend, queries: newQueryCache(queryCacheSize), sentences: newTextCache(sentencesBudget), ingests: make(chan struct{}, 1)}
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
	var err error
	if e.catalog, err = openCatalog(e.backend); err != nil {
		return nil, errors.Join(err, e.backend.Close())
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

// Check looks for faults: differences between what is stored and what is indexed; with deep also every stored byte.
func (e *Engine) Check(ctx context.Context, deep bool) ([]backend.Problem, error) {
	return e.backend.Check(ctx, deep)
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
