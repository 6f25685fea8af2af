package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/catalog"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/task"
)

// ReembedOptions are the options of a re-embedding.
type ReembedOptions struct {
	Model     string    `json:"model,omitempty"`     // name of the checkpoint; default: the engine's, or with Settings the collection's
	Precision string    `json:"precision,omitempty"` // f32 or int8; default: the engine's, or with Settings and without Model the collection's
	Settings  *Settings `json:"settings,omitempty"`  // complete new settings; nil keeps the collection's
	KeepOld   bool      `json:"keep_old,omitempty"`  // keep the previous generation under the name COLLECTION-old

	// MayKeep returns an error if the previous generation must not be kept under name; nil allows
	// every name. It is not called when the task resumes after a restart.
	MayKeep func(name string) error `json:"-"`
}

// reembedRequest is stored with the task, so that it resumes after a restart.
type reembedRequest struct {
	ReembedOptions
	Source string    `json:"source"` // where to find the checkpoint again
	Info   ModelInfo `json:"checkpoint"`
	Next   string    `json:"next"` // stored name of the new generation
	Kept   string    `json:"kept,omitempty"`
}

// reembedResult is the result of the task.
type reembedResult struct {
	Model     ModelInfo `json:"model"`
	Documents int       `json:"documents"`
	Passages  int       `json:"passages"`
	Reused    int       `json:"reused,omitempty"` // passages whose vectors were reused since the last start
	Kept      string    `json:"kept,omitempty"`   // name of the previous generation, if it was kept
}

// reembedGrace is how long a replaced generation is kept for requests that still use it.
var reembedGrace = 10 * time.Second

const (
	finishChanges = 256         // changes that may be copied while writers wait
	reembedBatch  = 64          // documents that are read and encoded at a time
	catchUps      = 8           // attempts to get below finishChanges
	tidyWithin    = time.Minute // limit on the clean-up after a task; the next start finishes it
)

// Reembed starts a background task that rebuilds a collection with another checkpoint, other
// settings or both. Meanwhile searches and writes use the old generation, and its change log is
// replayed on the new one. Once the new generation has caught up it replaces the old one in one
// transaction. If the task fails before that, for example because the new settings reject a
// document, the collection is unchanged. Documents keep their ids and fields but get new revisions.
// If only the settings change, passages with unchanged text keep their vectors. Reembed returns the
// error of o.MayKeep if it rejects the name for the old generation.
func (e *Engine) Reembed(ctx context.Context, collection string, o ReembedOptions) (Task, error) {
	c, rec, err := e.open(ctx, collection)
	if err != nil {
		return Task{}, err
	}
	if err := e.alone("re-embedding; migrate the collection to a folder, re-embed it there and migrate it back"); err != nil {
		return Task{}, err
	}
	if err := rec.checkCopied(collection); err != nil {
		return Task{}, err
	}
	name, _ := e.catalog.NameOf(c.Name)
	if o.Settings != nil {
		s := o.Settings.Canonical()
		o.Settings = &s
	}
	q := reembedRequest{ReembedOptions: o, Source: inference.SourceOf(o.Model)}
	var enc *inference.Encoding
	made, err := o.elsewhere(c, rec)
	if err != nil {
		return Task{}, err
	}
	switch {
	case made != nil:
		q.Source = made.Model.Name
		enc, err = e.encodings.Of(name, *made)
	case o.Model == "" && o.Settings != nil && rec.Settings.Embedder == nil:
		enc, q.Source, err = e.encodings.Again(name, rec.made(), o.Precision)
		q.Precision = cmp.Or(o.Precision, rec.Precision)
	default:
		enc, err = e.encodings.Open(o.Model, o.Precision, "")
	}
	if err != nil {
		return Task{}, errNoModel(o.Model, err)
	}
	if o.Model == "" && made == nil && (o.Settings == nil || rec.Settings.Embedder != nil) {
		q.Source = e.encodings.Source
	}
	q.Info = enc.Embedder.Model()
	if o.Settings != nil {
		if err := o.Settings.Validate(q.Info.MaxTokens); err != nil {
			return Task{}, err
		}
	}
	if o.KeepOld {
		if q.Kept, err = e.keptName(ctx, name, o.MayKeep); err != nil {
			return Task{}, err
		}
	}
	if q.Next, err = e.nextGeneration(ctx, name, c.Name); err != nil {
		return Task{}, err
	}
	t, err := task.New(TaskReembed, name, o, q)
	if err != nil {
		return t.Task, err
	}
	if collection != name {
		t.Alias = collection
	}
	return e.tasks.Start(ctx, t, e.reembedding(name, q, enc))
}

// nextGeneration returns an unused stored name for the next generation.
func (e *Engine) nextGeneration(ctx context.Context, name, stored string) (string, error) {
	for n := catalog.GenerationOf(stored) + 1; ; n++ {
		next := catalog.Generation(name, n)
		if _, err := e.backend.Open(ctx, backend.OpenRequest{Collection: next}); errors.Is(err, backend.ErrCollectionNotFound) {
			return next, nil
		} else if err != nil {
			return "", err
		}
	}
}

// reembedding returns the work of one re-embedding task.
func (e *Engine) reembedding(name string, q reembedRequest, enc *inference.Encoding) task.Work {
	return func(ctx context.Context, report func(done, total int64)) (any, error) {
		r := &reembedding{engine: e, name: name, q: q, enc: enc, report: report}
		result, err := r.run(ctx)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWithin)
		defer cancel()
		if err != nil && !errors.Is(context.Cause(ctx), task.ErrShutdown) && r.next.Name != "" {
			err = errors.Join(err, e.dropReplaced(last, r.next.Name))
		}
		e.trim(last)
		return result, err
	}
}

// reembedding is one run of the task.
type reembedding struct {
	engine *Engine
	name   string
	q      reembedRequest
	enc    *inference.Encoding
	report func(done, total int64)

	old, next backend.Collection
	record    record // of the next generation
	reuse     *reuse // nil: everything is encoded
}

func (r *reembedding) run(ctx context.Context) (any, error) {
	// Wait for a change of the settings that began before this task. Later ones are rejected while
	// the task exists.
	old, rec, start, err := r.engine.openAlone(ctx, r.name)
	if err != nil {
		return nil, err
	}
	if old.Name == r.q.Next { // an earlier run switched generations but did not record the task as done
		start()
		if r.old.Name != "" && rec.Kept == "" {
			r.engine.dropLater(r.old.Name)
		}
		return r.result(ctx, rec.Kept)
	}
	r.old = old
	log, err := r.engine.backend.Changes(ctx, backend.ChangesRequest{Collection: old.Name})
	if err == nil {
		_, err = r.engine.backend.Changes(ctx, backend.ChangesRequest{Collection: old.Name, After: log.End, Keep: true})
	}
	start() // only now, as a commit may trim the log
	if err != nil {
		return nil, err
	}
	begin := log.End
	defer r.release(ctx)
	resumed, err := r.prepare(ctx, rec, begin)
	if err != nil {
		return nil, err
	}
	if err := r.copyAll(ctx); err != nil {
		return nil, err
	}
	if resumed {
		if err := r.deleteGone(ctx); err != nil {
			return nil, err
		}
	}
	at, err := r.drain(ctx, begin)
	if err != nil {
		return nil, err
	}
	if err := r.copyVersions(ctx); err != nil { // most of them, before writers wait
		return nil, err
	}
	if err := r.change(ctx, at); err != nil {
		return nil, err
	}
	return r.result(ctx, r.record.Kept)
}

// release lets the change log of the old generation be trimmed again.
func (r *reembedding) release(ctx context.Context) {
	// The error does not matter: without the collection there is no log.
	_, _ = r.engine.backend.Changes(context.WithoutCancel(ctx), backend.ChangesRequest{Collection: r.old.Name, Release: true})
}

// prepare creates the next generation, or opens the one that an earlier run left behind. begin is
// the end of the old generation's change log.
func (r *reembedding) prepare(ctx context.Context, rec record, begin uint64) (resumed bool, err error) {
	r.reuse = newReuse(r.engine, r.old, rec, r.q, r.enc)
	rec.Model, rec.Source, rec.Precision, rec.Kept = r.q.Info, r.q.Source, r.q.Precision, r.q.Kept
	if r.q.Settings != nil {
		rec.Settings = *r.q.Settings
	}
	rec.Settings.Passages.MaxTokens = min(rec.Settings.Passages.MaxTokens, r.q.Info.MaxTokens)
	now := r.enc.Embedder.Model()
	if changed := (record{Model: r.q.Info}).made().Changed(now); changed != "" {
		return false, fmt.Errorf("%w: %s has changed since the task began: %s; start it again", ErrModelMismatch, r.q.Source, changed)
	}
	rec.Model.Parts = now.Parts // a task of an older version has none
	r.record = rec
	config, err := rec.config()
	if err != nil {
		return false, err
	}
	// Revisions of the next generation are larger than any that clients may remember, so that
	// If-Match never matches the wrong one.
	config.FirstSequence = begin + revisionGap
	err = r.engine.backend.Configure(ctx, backend.ConfigureRequest{Collection: r.q.Next, Create: true, Config: config})
	resumed = errors.Is(err, backend.ErrCollectionExists)
	if err != nil && !resumed {
		return false, err
	}
	next, err := r.engine.backend.Open(ctx, backend.OpenRequest{Collection: r.q.Next})
	if err != nil {
		return resumed, err
	}
	r.next = next.Collection
	return resumed, r.note(ctx, config)
}

// note updates the config of the next generation if it differs. Synonyms, weights, facts about the
// checkpoint and the kept name may have changed since the generation was created.
func (r *reembedding) note(ctx context.Context, config backend.Config) error {
	if bytes.Equal(config.Payload, r.next.Config.Payload) {
		return nil
	}
	config.FirstSequence = r.next.Config.FirstSequence
	if err := r.engine.backend.Configure(ctx, backend.ConfigureRequest{Collection: r.q.Next, Config: config}); err != nil {
		return err
	}
	r.next.Config = config
	return nil
}

// complete updates the config of the next generation before the switch: the kept name and, unless
// the task brings its own settings, the collection's current synonyms and weights. The caller has
// stopped writes and changes of settings.
func (r *reembedding) complete(ctx context.Context) error {
	if r.q.Settings == nil {
		old, err := r.engine.backend.Open(ctx, backend.OpenRequest{Collection: r.old.Name})
		if err != nil {
			return err
		}
		now, err := r.engine.record(old.Collection)
		if err != nil {
			return err
		}
		r.record.Settings = r.record.Settings.WithQuerySettings(now.Settings)
	}
	config, err := r.record.config()
	if err != nil {
		return err
	}
	return r.note(ctx, config)
}

// revisionGap exceeds the number of writes during one re-embedding. Revisions stay below 2^53, the
// limit of JavaScript's numbers, for two million re-embeddings.
const revisionGap = 1 << 32

// copyAll copies all documents to the next generation. Those that an earlier run has copied are not
// encoded again.
func (r *reembedding) copyAll(ctx context.Context) error {
	total := int64(r.old.Documents)
	r.report(0, total)
	done := int64(0)
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := r.engine.backend.List(ctx, backend.ListRequest{Collection: r.old.Name, Cursor: cursor, Limit: reembedBatch})
		if err != nil {
			return err
		}
		if err := r.put(ctx, page.Documents); err != nil {
			return err
		}
		done += int64(len(page.Documents))
		r.report(done, max(done, total))
		cursor = page.Next
	}
	return nil
}

// deleteGone deletes the documents of the next generation that the old one no longer contains.
func (r *reembedding) deleteGone(ctx context.Context) error {
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := r.engine.backend.List(ctx, backend.ListRequest{Collection: r.q.Next, Cursor: cursor, Limit: maxList, NoFields: true})
		if err != nil {
			return err
		}
		ids := make([]string, len(page.Documents))
		for i, d := range page.Documents {
			ids[i] = d.ID
		}
		var gone []string
		there := backend.LookupRequest{Collection: r.old.Name, IDs: ids, NoFields: true}
		err = backend.LookupPages(ctx, r.engine.backend, there, func(ids []string, docs []*backend.Document) error {
			for i, d := range docs {
				if d == nil { // if it is written again meanwhile, the change log brings it back
					gone = append(gone, ids[i])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := r.delete(ctx, gone); err != nil {
			return err
		}
		cursor = page.Next
	}
	return nil
}

// drain replays the changes after position at until few are left, and returns the position that it
// reached.
func (r *reembedding) drain(ctx context.Context, at uint64) (uint64, error) {
	for range catchUps {
		log, err := r.engine.backend.Changes(ctx, backend.ChangesRequest{Collection: r.old.Name})
		if err != nil {
			return at, err
		}
		n := log.End - at
		for at < log.End {
			if at, err = r.follow(ctx, at); err != nil {
				return at, err
			}
		}
		if n <= finishChanges {
			break
		}
	}
	return at, nil
}

// follow replays the next changes after position at. It returns the position of the last one, or at
// if there are none.
func (r *reembedding) follow(ctx context.Context, at uint64) (uint64, error) {
	log, err := r.engine.backend.Changes(ctx, backend.ChangesRequest{Collection: r.old.Name, After: at, Limit: reembedBatch})
	if err != nil {
		return at, err
	}
	return log.Next, r.bring(ctx, log.IDs)
}

// bring copies the given documents from the old generation to the next, and deletes those that the
// old one does not contain.
func (r *reembedding) bring(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return backend.LookupPages(ctx, r.engine.backend, backend.LookupRequest{Collection: r.old.Name, IDs: ids}, func(ids []string, docs []*backend.Document) error {
		var there []*backend.Document
		var gone []string
		for i, d := range docs {
			if d != nil {
				there = append(there, d)
			} else {
				gone = append(gone, ids[i])
			}
		}
		if err := r.delete(ctx, gone); err != nil {
			return err
		}
		return r.put(ctx, there)
	})
}

// delete deletes documents of the next generation.
func (r *reembedding) delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	writes := make([]backend.Write, len(ids))
	for i, id := range ids {
		writes[i] = backend.Write{ID: id, Delete: true}
	}
	_, err := r.engine.backend.Apply(ctx, backend.ApplyRequest{Collection: r.q.Next, Writes: writes})
	return err
}

// put encodes documents of the old generation and writes them to the next, except those that it
// contains already with the same content.
func (r *reembedding) put(ctx context.Context, docs []*backend.Document) error {
	if len(docs) == 0 {
		return nil
	}
	in := &ingest{engine: r.engine, collection: r.next, record: r.record, encoding: r.enc, pace: r.engine.many, background: true, reuse: r.reuse, from: r.old.Name, seen: map[string]bool{}}
	if err := in.putStored(ctx, docs); err != nil {
		return fmt.Errorf("re-embedding: %w", err)
	}
	return nil
}

// change replays the last changes while writers wait, and replaces the old generation by the next.
func (r *reembedding) change(ctx context.Context, at uint64) error {
	e := r.engine
	start, err := e.stopWriters(ctx, r.old.Name)
	if err != nil {
		return err
	}
	defer start()
	for {
		next, err := r.follow(ctx, at)
		if err != nil {
			return err
		}
		if next == at {
			break
		}
		at = next
	}
	c := e.catalog
	done, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	current := map[string]string{r.name: r.q.Next}
	if r.record.Kept != "" {
		taken, err := e.taken(ctx, r.record.Kept)
		if taken { // meanwhile, by another
			r.record.Kept, err = e.keptName(ctx, r.name, r.q.MayKeep)
		}
		if err != nil {
			return err
		}
		current[r.record.Kept] = r.old.Name
	}
	if err := r.complete(ctx); err != nil {
		return err
	}
	if err := r.copyVersions(ctx); err != nil {
		return err
	}
	e.encodings.Add(r.record.made(), r.enc)
	if err := c.Point(ctx, current); err != nil {
		return err
	}
	r.next.Name = "" // no failure drops it any more
	if r.record.Kept == "" {
		e.dropLater(r.old.Name)
	}
	return nil
}

// result describes the collection after the task.
func (r *reembedding) result(ctx context.Context, kept string) (any, error) {
	c, rec, err := r.engine.open(ctx, r.name)
	if err != nil {
		return nil, err
	}
	result := reembedResult{Model: rec.Model, Documents: c.Documents, Passages: c.Passages, Kept: kept}
	if r.reuse != nil {
		result.Reused = r.reuse.passages
	}
	return result, nil
}
