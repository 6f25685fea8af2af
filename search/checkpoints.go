package search

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/semaphore"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/catalog"
	"example.com/searchd/search/fault"
)

// openEncodings loads the checkpoints of all collections that have a name. One that cannot be had
// is told; its collections answer keyword searches.
func (e *Engine) openEncodings(ctx context.Context, names *catalog.Catalog) error {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		name, visible := names.NameOf(c.Name)
		r, err := e.record(c)
		if err != nil {
			return err
		}
		if !visible || len(c.Config.Payload) == 0 {
			continue
		}
		if err := e.encodings.Require(name, r.made()); err != nil {
			e.notice(err.Error())
		} else if err := e.adoptParts(ctx, c, name, r); err != nil {
			e.notice(fmt.Sprintf("collection %s: cannot record the parts of its checkpoint, the next start tries again: %v", name, err))
		}
	}
	return nil
}

// adoptParts notes the parts of the checkpoint of a collection that is older than their sums.
// Nobody else uses the engine yet.
func (e *Engine) adoptParts(ctx context.Context, c backend.Collection, name string, r record) error {
	enc, err := e.encodings.Of(name, r.made())
	if err != nil || c.Damaged != "" || r.Model.Parts != (encoder.Parts{}) {
		return err
	}
	if r.Model.Parts = enc.Embedder.Model().Parts; r.Model.Parts == (encoder.Parts{}) {
		return nil
	}
	config, err := r.config()
	if err != nil {
		return err
	}
	config.FirstSequence = c.Config.FirstSequence
	if err := e.backend.Configure(ctx, backend.ConfigureRequest{Collection: c.Name, Config: config}); err != nil {
		return err
	}
	e.encodings.Add(r.made(), enc)
	return nil
}

// trim forgets what no collection needs any more: checkpoints, and what is kept of collections that
// are gone.
func (e *Engine) trim(ctx context.Context) {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return
	}
	used, there := map[string]bool{}, map[string]bool{}
	for _, c := range list {
		there[c.Name] = true
		if r, err := e.record(c); err == nil {
			used[r.made().Key()] = true
		}
	}
	e.encodings.Keep(used)
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.mu.records, func(stored string, _ cachedRecord) bool { return !there[stored] })
	maps.DeleteFunc(e.mu.writers, func(stored string, l *semaphore.Weighted) bool {
		if there[stored] || !l.TryAcquire(writerSlots) {
			return false
		}
		l.Release(writerSlots) // whoever gets it now sees that it is not the collection's any more
		return true
	})
}

// errNoModel turns the failure to load a checkpoint that a request named into the request's fault.
func errNoModel(name string, err error) error {
	if errors.Is(err, models.ErrNotFound) {
		return fault.Field("model", name, "the name of a checkpoint that the server has; `searchd models list` shows them")
	}
	return err
}
