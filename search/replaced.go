package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/task"
)

// dropLater drops a replaced generation after reembedGrace, when the requests that use it have had
// time to end. Closing the engine does not wait for it: the next start drops hidden generations.
func (e *Engine) dropLater(stored string) {
	e.tasks.Background(func(closing context.Context) {
		select {
		case <-time.After(reembedGrace):
			ctx, cancel := context.WithTimeout(context.WithoutCancel(closing), tidyWithin)
			defer cancel()
			if err := e.dropReplaced(ctx, stored); err != nil {
				e.notice(fmt.Sprintf("cannot drop a replaced generation, will try again at the next start: %v", err))
			}
			e.trim(ctx)
		case <-closing.Done():
		}
	})
}

// dropReplaced drops a generation if it exists and no name resolves to it.
func (e *Engine) dropReplaced(ctx context.Context, stored string) error {
	done, err := e.catalog.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if _, visible := e.catalog.NameOf(stored); visible {
		return nil
	}
	if err := e.drop(ctx, stored); !errors.Is(err, backend.ErrCollectionNotFound) {
		return err
	}
	return nil
}

// drop drops a stored collection and the placeholder that hid it under its own name. The caller
// holds the lock of [catalog.Catalog.Begin].
func (e *Engine) drop(ctx context.Context, stored string) error {
	if err := e.backend.Drop(ctx, stored); err != nil || !e.catalog.Hides(stored) {
		return err
	}
	return e.catalog.Point(ctx, map[string]string{stored: ""})
}

// resume resumes the re-embeddings that an earlier run did not finish, marks other open tasks as
// interrupted, and drops generations that neither a name nor a task refers to.
func (e *Engine) resume(ctx context.Context, open []task.Record) error {
	building := map[string]bool{}
	for _, t := range open {
		if t.Kind != TaskReembed {
			e.tasks.Interrupt(t.ID, interrupted)
			continue
		}
		var q reembedRequest
		err := json.Unmarshal(t.Resume, &q)
		var enc *inference.Encoding
		if err == nil {
			enc, err = e.openAgain(t.Collection, q)
		}
		if err == nil {
			_, err = e.tasks.Start(ctx, t, e.reembedding(t.Collection, q, enc))
		}
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err()) // the next start resumes them
		}
		if err != nil {
			e.tasks.Interrupt(t.ID, "cannot resume after a restart: "+err.Error())
			continue
		}
		building[q.Next] = true
		e.notice(fmt.Sprintf("collection %s: re-embedding resumes", t.Collection))
	}
	if e.catalog.Doubt() != "" {
		return nil // a hidden generation may be the current one of the damaged name
	}
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if _, visible := e.catalog.NameOf(c.Name); visible || building[c.Name] {
			continue
		}
		e.notice(fmt.Sprintf("dropping %s, an unused generation", c.Name))
		if err := e.dropReplaced(ctx, c.Name); err != nil {
			return err
		}
	}
	return nil
}

// openAgain opens the checkpoint of a re-embedding.
func (e *Engine) openAgain(collection string, q reembedRequest) (*inference.Encoding, error) {
	if q.Settings != nil && q.Settings.Embedder != nil {
		return e.encodings.Of(collection, record{Settings: *q.Settings, Model: q.Info}.made())
	}
	return e.encodings.Open(q.Source, q.Precision, q.Info.Pooling)
}

// keptName returns the first free name for the previous generation: NAME-old, NAME-old2 and so on.
// It returns the error of may if that rejects the name.
func (e *Engine) keptName(ctx context.Context, name string, may func(string) error) (string, error) {
	for n := 1; ; n++ {
		suffix := "-old"
		if n > 1 {
			suffix += strconv.Itoa(n)
		}
		kept := name[:min(len(name), maxCollectionName-len(suffix))] + suffix
		taken, err := e.taken(ctx, kept)
		if !taken && err == nil && may != nil {
			err = may(kept)
		}
		if !taken || err != nil {
			return kept, err
		}
	}
}

// taken reports whether a name resolves to a collection.
func (e *Engine) taken(ctx context.Context, name string) (bool, error) {
	_, err := e.Collection(ctx, name)
	if errors.Is(err, ErrCollectionNotFound) {
		return false, nil
	}
	return err == nil, err
}
