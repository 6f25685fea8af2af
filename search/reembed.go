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
	Model     string    `json:"model,omitempty"`     // name of the checkpoint; default: the engine's own, with Settings the collection's
	Precision string    `json:"precision,omitempty"` // f32 or int8; default: the engine's, with Settings and without Model the collection's
	Settings  *Settings `json:"settings,omitempty"`  // all of them, in the place of the collection's; nil: as they are
	KeepOld   bool      `json:"keep_old,omitempty"`  // keep the collection as it was under the name COLLECTION-old

	// MayKeep returns why the collection must not be kept under a name; default: any will do. It is
	// not asked after a restart.
	MayKeep func(name string) error `json:"-"`
}

// reembedRequest is stored with the task, so that a later run of the program resumes it.
type reembedRequest struct {
	ReembedOptions
	Source string    `json:"source"` // by which the checkpoint is found again
	Info   ModelInfo `json:"checkpoint"`
	Next   string    `json:"next"` // stored name of the generation that is built
	Kept   string    `json:"kept,omitempty"`
}

// reembedResult is the result of the task.
type reembedResult struct {
	Model     ModelInfo `json:"model"`
	Documents int       `json:"documents"`
	Passages  int       `json:"passages"`
	Reused    int       `json:"reused,omitempty"` // passages that were not encoded, since the program began
	Kept      string    `json:"kept,omitempty"`   // name of the collection as it was
}

// reembedGrace is how long a replaced generation stays, for the requests that use it.
var reembedGrace = 10 * time.Second

const (
	finishChanges = 256         // that are copied while writers wait
	reembedBatch  = 64          // documents that are read and encoded at a time
	catchUps      = 8           // tries to come below finishChanges
	tidyWithin    = time.Minute // for the clean-up after a task; the next opening does the rest
)

// Reembed builds a collection anew with another checkpoint, other settings or both, as a task: in
// the background, while searches use the old generation. Writes go to the old generation and are
// copied from the change log. When both are equal the new generation takes the place of the old in
// one transaction; whatever happens before it, a document that the new settings refuse for
// instance, leaves the old one as it is. Documents keep their ids and fields and get new revisions.
// With other settings and the checkpoint of before, passages whose text stays the same keep their
// vectors. It returns the error of o.MayKeep for the name under which the old one would be kept.
func (e *Engine) Reembed(ctx context.Context, collection string, o ReembedOptions) (Task, error) {
	c, rec, err := e.open(ctx, collection)
	if err != nil {
		return Task{}, err
	}
	name, _ := e.catalog.NameOf(c.Name)
	if o.Settings != nil {
		s := o.Settings.Canonical()
		o.Settings = &s
	}
	q := reembedRequest{ReembedOptions: o, Source: inference.SourceOf(o.Model)}
	var enc *inference.Encoding
	if o.Model == "" && o.Settings != nil {
		enc, q.Source, err = e.encodings.Again(name, rec.made(), o.Precision)
		q.Precision = cmp.Or(o.Precision, rec.Precision)
	} else {
		enc, err = e.encodings.Open(o.Model, o.Precision, "")
	}
	if err != nil {
		return Task{}, errNoModel(o.Model, err)
	}
	if o.Model == "" && o.Settings == nil {
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

// nextGeneration returns a stored name that is not in use.
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

// reembedding returns the work of one re-embedding.
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
	// A change of the settings that has begun before this task is waited for; later ones are
	// refused while there is the task.
	old, rec, start, err := r.engine.openAlone(ctx, r.name)
	if err != nil {
		return nil, err
	}
	if old.Name == r.q.Next { // the program ended between the change and its note
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
	start() // not before: a commit may cut off the log up to itself
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
	if err := r.change(ctx, at); err != nil {
		return nil, err
	}
	return r.result(ctx, r.record.Kept)
}

// release lets the change log of the old generation be trimmed again.
func (r *reembedding) release(ctx context.Context) {
	// Where the collection is gone, so is its log.
	_, _ = r.engine.backend.Changes(context.WithoutCancel(ctx), backend.ChangesRequest{Collection: r.old.Name, Release: true})
}

// prepare makes the next generation, or opens the one that an earlier run has left. begin is where
// the change log of the old one ends.
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
	rec.Model.Parts = now.Parts // the task may be older than they are
	r.record = rec
	config, err := rec.config()
	if err != nil {
		return false, err
	}
	// Revisions of the next generation are larger than any that clients may remember, so that
	// If-Match never takes one for another.
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

// note gives the next generation a config, unless it has it: synonyms, weights, what is known of
// the checkpoint or the name of what is kept may be others since it was made.
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

// complete gives the next generation what is known in the end: the name under which the collection
// is kept and, unless the task has settings of its own, the synonyms and weights that it has by
// now. The collection's writers are kept out, and so is who changes its settings.
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

// revisionGap is more than the writes that may come while a collection is re-embedded. JSON readers
// that know 53 bits of a number can follow two million times.
const revisionGap = 1 << 32

// copyAll brings over every document. What the next generation holds already, of an earlier run, is
// not encoded again.
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

// deleteGone deletes from the next generation what the old one does not hold.
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
				if d == nil { // one that comes again meanwhile is brought over from the change log
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

// drain brings over the changes after a position until few are left, and returns the position that
// it came to.
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

// follow brings over the next changes after a position and returns how far they go; the same
// position where there are none.
func (r *reembedding) follow(ctx context.Context, at uint64) (uint64, error) {
	log, err := r.engine.backend.Changes(ctx, backend.ChangesRequest{Collection: r.old.Name, After: at, Limit: reembedBatch})
	if err != nil {
		return at, err
	}
	return log.Next, r.bring(ctx, log.IDs)
}

// bring makes documents of the next generation what they are in the old one: there or not.
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

// put encodes documents of the old generation and writes them into the next. What is there with the
// same content is passed over.
func (r *reembedding) put(ctx context.Context, docs []*backend.Document) error {
	if len(docs) == 0 {
		return nil
	}
	in := &ingest{engine: r.engine, collection: r.next, record: r.record, encoding: r.enc, pace: r.engine.many, background: true, reuse: r.reuse, seen: map[string]bool{}}
	if err := in.putStored(ctx, docs); err != nil {
		return fmt.Errorf("re-embedding: %w", err)
	}
	return nil
}

// change brings over the last changes while the collection's writers wait, and puts the next
// generation in the place of the old.
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

// result describes the collection as it now is.
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
