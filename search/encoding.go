package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"searchd/encoder"
	"searchd/models"
	"searchd/search/backend"
)

// encoding is a checkpoint at work: with the queue of its requests and what it made of recent texts.
type encoding struct {
	embedder    Embedder
	calibration models.Calibration
	collector   *collector
	queries     *queryCache
	sentences   textCache  // of hits
	passages    tokenCache // tokens of what was compared token by token
	vocabulary  sync.Map   // *lsi.Terms by language
}

func newEncoding(e Embedder) (*encoding, error) {
	c, err := checkEmbedder(e)
	if err != nil {
		return nil, err
	}
	return &encoding{
		embedder: e, calibration: c, collector: newCollector(e), queries: newQueryCache(queryCacheSize),
		sentences: newTextCache(sentencesBudget), passages: newTokenCache(matchBudget),
	}, nil
}

// encodings are the checkpoints that an engine runs: its own, for new collections and for requests that name none, and those of
// collections that were made with another.
type encodings struct {
	own       *encoding
	source    string // by which load finds the engine's own
	precision string // that the engine's own runs with
	folder    bool   // the engine is over a data folder
	load      func(source, precision, pooling string) (Embedder, error)

	mu struct {
		sync.Mutex
		others map[string]*encoding // by key
		why    map[string]error     // why a checkpoint could not be loaded
	}
}

func newEncodings(own Embedder, source, precision string, load func(source, precision, pooling string) (Embedder, error)) (*encodings, error) {
	e, err := newEncoding(own)
	if err != nil {
		return nil, err
	}
	s := &encodings{own: e, source: source, precision: precision, load: load}
	s.mu.others, s.mu.why = map[string]*encoding{}, map[string]error{}
	return s, nil
}

// key tells checkpoints apart: different ones give different vectors. Those of which the weights alone are known go by where they are found, too.
func (r record) key() string {
	source := ""
	if r.Model.Parts == (encoder.Parts{}) {
		source = cmp.Or(r.Source, r.Model.Name)
	}
	return fmt.Sprintf("%s %d %s %v %s %s", r.Model.SHA256, r.Model.Dimension, r.Model.Pooling, r.Model.Parts, r.Precision, source)
}

// loader opens checkpoints as the engine's own was: o with another precision and pooling.
func loader(o encoder.Options) func(source, precision, pooling string) (Embedder, error) {
	return func(source, precision, pooling string) (Embedder, error) {
		o := o
		o.Pooling = pooling
		if precision != "" {
			p, err := encoder.ParsePrecision(precision)
			if err != nil {
				return nil, &FieldError{"precision", precision, "f32, int8"}
			}
			o.Precision = p
		}
		c, err := models.Open(source, o)
		if err != nil {
			return nil, err
		}
		return NewEmbedder(c), nil
	}
}

// sourceOf returns a checkpoint's name so that it can be found from another working directory.
func sourceOf(model string) string {
	if model == "" || model == models.Embedded {
		return models.Embedded
	}
	if _, err := models.ParseRepo(model); err == nil {
		return model
	}
	if abs, err := filepath.Abs(model); err == nil {
		return abs
	}
	return model
}

// same reports whether two checkpoints give the same vectors, as far as is known: a collection may be older than the sums of parts.
func same(a, b ModelInfo) bool { return sameWeights(a, b) && len(changedParts(a, b)) == 0 }

func sameWeights(a, b ModelInfo) bool {
	return a.SHA256 == b.SHA256 && a.Dimension == b.Dimension && a.Pooling == b.Pooling
}

// partNames are what messages call the parts of a checkpoint.
var partNames = map[string]string{"config": "config.json", "tokenizer": "tokenizer", "modules": "modules after the transformer", "prompt": "prompt for documents"}

func changedParts(a, b ModelInfo) (names []string) {
	if a.Parts == (encoder.Parts{}) || b.Parts == (encoder.Parts{}) {
		return nil
	}
	for _, part := range a.Parts.Differ(b.Parts) {
		names = append(names, partNames[part])
	}
	return names
}

// changed says what has changed in a checkpoint since it made the collection; empty: its vectors are the same.
func (r record) changed(m ModelInfo) string {
	if !sameWeights(r.Model, m) {
		return fmt.Sprintf("sha256 %.12s (%d dimensions, pooling %s)", m.SHA256, m.Dimension, m.Pooling)
	}
	names := changedParts(r.Model, m)
	if n := r.passageTokens(); m.MaxTokens < n {
		names = append(names, fmt.Sprintf("maximal length (%d tokens, a passage has %d)", m.MaxTokens, n))
	}
	return strings.Join(names, ", ")
}

// passageTokens is how many tokens a passage may have, special tokens included.
func (r record) passageTokens() int {
	if n := cmp.Or(r.Settings.Passages.MaxTokens, r.Model.PassageTokens); n > 0 {
		return min(n, r.Model.MaxTokens)
	}
	return r.Model.MaxTokens
}

// specialTokens is what a checkpoint adds to a text at most: one in front, one behind, and one for safety's sake.
const specialTokens = 3

// budget is how many tokens a passage may have, its title included and special tokens not.
func (r record) budget() int { return max(r.passageTokens()-specialTokens, 1) }

// of returns the checkpoint of a collection, or [ErrModelMismatch] where it is not loaded.
func (s *encodings) of(collection string, r record) (*encoding, error) {
	own := s.own.embedder.Model()
	changed := r.changed(own)
	if changed == "" && (r.Precision == "" || r.Precision == s.precision) {
		return s.own, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.mu.others[r.key()]; e != nil {
		return e, nil
	}
	err := s.mu.why[r.key()]
	if changed != "" && sameWeights(r.Model, own) {
		err = &changedError{own.Name, changed}
	}
	if c, ok := err.(*changedError); ok {
		return nil, fmt.Errorf("%w: %s has changed since it made the vectors of collection %s (%d dimensions, pooling %s, sha256 %.12s): %s. Start with the files of before, or re-embed the collection with these: %s with --model %s. Keyword searches work meanwhile",
			ErrModelMismatch, c.source, collection, r.Model.Dimension, r.Model.Pooling, r.Model.SHA256, c.what, s.reembedded(collection), c.source)
	}
	why := ""
	if err != nil {
		why = fmt.Sprintf(", and it cannot be loaded: %v", err)
	}
	return nil, fmt.Errorf("%w: collection %s holds vectors of %s (%d dimensions, pooling %s, sha256 %.12s)%s; this is %s (%d, %s, %.12s). Start with --model %s, or re-embed the collection with this checkpoint: %s. Keyword searches work meanwhile",
		ErrModelMismatch, collection, r.Model.Name, r.Model.Dimension, r.Model.Pooling, r.Model.SHA256, why, own.Name, own.Dimension, own.Pooling, own.SHA256, cmp.Or(r.Source, r.Model.Name), s.reembedded(collection))
}

// reembedded says how a collection is re-embedded. The folder is not named: clients of a server read it, too.
func (s *encodings) reembedded(collection string) string {
	if s.folder {
		return fmt.Sprintf("`searchd reembed --data DIR --collection %s`", collection)
	}
	return fmt.Sprintf("POST /v1/collections/%s/reembed to a server", collection)
}

// changedError is why a checkpoint is not the one that made a collection.
type changedError struct{ source, what string }

func (e *changedError) Error() string { return e.source + " has changed: " + e.what }

// again returns the checkpoint of a collection, with another precision where one is given, and the name by which it is found; [ErrModelMismatch]
// where it is not loaded.
func (s *encodings) again(collection string, r record, precision string) (e *encoding, source string, err error) {
	if e, err = s.of(collection, r); err != nil {
		return nil, "", err
	}
	if source = s.source; e != s.own {
		source = cmp.Or(r.Source, r.Model.Name)
	}
	if precision != "" && precision != r.Precision {
		e, err = s.open(source, precision, r.Model.Pooling)
	}
	return e, source, err
}

// open loads a checkpoint by name; an empty name means the engine's own, no pooling that of the checkpoint, or what the engine's own runs with.
func (s *encodings) open(source, precision, pooling string) (*encoding, error) {
	if (source == "" || source == s.source) && (precision == "" || precision == s.precision) && (pooling == "" || pooling == s.own.embedder.Model().Pooling) {
		return s.own, nil
	}
	if s.load == nil {
		return nil, fmt.Errorf("%w: this engine runs one checkpoint", ErrUnsupported)
	}
	if source == "" {
		source = s.source
	}
	e, err := s.load(source, precision, pooling)
	if err != nil {
		return nil, err
	}
	return newEncoding(e)
}

// require loads the checkpoint of a collection where it is not loaded yet; a failure is remembered for [encodings.of].
func (s *encodings) require(collection string, r record) error {
	if _, err := s.of(collection, r); err == nil {
		return nil
	}
	source := cmp.Or(r.Source, r.Model.Name)
	if r.Source == "" && r.Model.SHA256 == s.own.embedder.Model().SHA256 {
		source = s.source // a folder's name does not find it
	}
	e, err := s.open(source, r.Precision, r.Model.Pooling)
	if err == nil {
		if changed := r.changed(e.embedder.Model()); changed != "" {
			err = &changedError{source, changed}
		}
	}
	if err != nil {
		s.mu.Lock()
		s.mu.why[r.key()] = err
		s.mu.Unlock()
		_, err = s.of(collection, r)
		return err
	}
	s.add(r, e)
	return nil
}

// add keeps a loaded checkpoint for the collections of a record.
func (s *encodings) add(r record, e *encoding) {
	if e == s.own {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.why, r.key())
	if s.mu.others[r.key()] == nil {
		s.mu.others[r.key()] = e
	}
}

// keep forgets the checkpoints that are not in use, and why they could not be loaded.
func (s *encodings) keep(used map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.mu.others, func(key string, _ *encoding) bool { return !used[key] })
	maps.DeleteFunc(s.mu.why, func(key string, _ error) bool { return !used[key] })
}

// openEncodings loads the checkpoints of all collections that have a name. One that cannot be had is told; its collections answer keyword searches.
func (e *Engine) openEncodings(ctx context.Context, names *catalog) error {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		name, visible := names.nameOf(c.Name)
		r, err := e.record(c)
		if err != nil {
			return err
		}
		if !visible || len(c.Config.Payload) == 0 {
			continue
		}
		if err := e.encodings.require(name, r); err != nil {
			e.notice(err.Error())
		} else if err := e.adoptParts(ctx, c, name, r); err != nil {
			e.notice(fmt.Sprintf("collection %s: noting the parts of its checkpoint, the next opening tries again: %v", name, err))
		}
	}
	return nil
}

// adoptParts notes the parts of the checkpoint of a collection that is older than their sums. Nobody else uses the engine yet.
func (e *Engine) adoptParts(ctx context.Context, c backend.Collection, name string, r record) error {
	enc, err := e.encodings.of(name, r)
	if err != nil || c.Damaged != "" || r.Model.Parts != (encoder.Parts{}) {
		return err
	}
	if r.Model.Parts = enc.embedder.Model().Parts; r.Model.Parts == (encoder.Parts{}) {
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
	e.encodings.add(r, enc)
	return nil
}

// trim forgets what no collection needs any more: checkpoints, and what is kept of collections that are gone.
func (e *Engine) trim(ctx context.Context) {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return
	}
	used, there := map[string]bool{}, map[string]bool{}
	for _, c := range list {
		there[c.Name] = true
		if r, err := e.record(c); err == nil {
			used[r.key()] = true
		}
	}
	e.encodings.keep(used)
	e.lessons.keep(there)
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
		return &FieldError{"model", name, "the name of a checkpoint that the server has; `searchd models list` shows them"}
	}
	return err
}
