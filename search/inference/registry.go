package inference

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search/fault"
)

// Encoding is a checkpoint at work: with the queue of its requests and what it made of recent
// texts.
type Encoding struct {
	Embedder    Embedder
	Calibration models.Calibration
	collector   *collector
	queries     *queryCache
	sentences   textCache  // of hits
	passages    tokenCache // tokens of what was compared token by token
}

func newEncoding(e Embedder) (*Encoding, error) {
	c, err := checkEmbedder(e)
	if err != nil {
		return nil, err
	}
	return &Encoding{
		Embedder: e, Calibration: c, collector: newCollector(e), queries: newQueryCache(queriesBudget),
		sentences: newTextCache(sentencesBudget), passages: newTokenCache(matchBudget),
	}, nil
}

// Registry are the checkpoints that an engine runs: its own, for new collections and for requests
// that name none, and those of collections that were made with another.
type Registry struct {
	Own       *Encoding
	Source    string // by which load finds the engine's own
	precision string // that the engine's own runs with
	Folder    bool   // the engine is over a data folder
	load      func(source, precision, pooling string) (Embedder, error)

	OpenRemote func(config string) (Embedder, error) // see [Made.Remote]

	mu struct {
		sync.Mutex
		others map[string]*Encoding // by key
		why    map[string]error     // why a checkpoint could not be loaded
	}
}

func NewRegistry(own Embedder, source, precision string, load func(source, precision, pooling string) (Embedder, error)) (*Registry, error) {
	e, err := newEncoding(own)
	if err != nil {
		return nil, err
	}
	s := &Registry{Own: e, Source: source, precision: precision, load: load}
	s.mu.others, s.mu.why = map[string]*Encoding{}, map[string]error{}
	return s, nil
}

// Made says how the vectors of a collection were made.
type Made struct {
	Model         ModelInfo
	Source        string // by which the checkpoint is found; empty: Model.Name
	Precision     string // that it runs with; empty: the engine's
	PassageTokens int    // that a passage may have, special tokens included
	Remote        string // config of the server that encodes; empty: a checkpoint does
}

// Key tells checkpoints apart: different ones give different vectors. Those of which the weights
// alone are known go by where they are found, too.
func (m Made) Key() string {
	source := m.Remote
	if source == "" && m.Model.Parts == (encoder.Parts{}) {
		source = cmp.Or(m.Source, m.Model.Name)
	}
	return fmt.Sprintf("%s %d %s %v %s %s", m.Model.SHA256, m.Model.Dimension, m.Model.Pooling, m.Model.Parts, m.Precision, source)
}

// Loader opens checkpoints as the engine's own was: o with another precision and pooling.
func Loader(o encoder.Options) func(source, precision, pooling string) (Embedder, error) {
	return func(source, precision, pooling string) (Embedder, error) {
		o := o
		o.Pooling = pooling
		if precision != "" {
			p, err := encoder.ParsePrecision(precision)
			if err != nil {
				return nil, fault.Field("precision", precision, "f32, int8")
			}
			o.Precision = p
		}
		c, err := models.OpenTexts(source, o)
		if err != nil {
			return nil, err
		}
		return NewEmbedder(c), nil
	}
}

// SourceOf returns a checkpoint's name so that it can be found from another working directory.
func SourceOf(model string) string {
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

// Same reports whether two checkpoints give the same vectors, as far as is known: a collection may
// be older than the sums of parts.
func Same(a, b ModelInfo) bool { return sameWeights(a, b) && len(changedParts(a, b)) == 0 }

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

// Changed says what has changed in a checkpoint since it made the collection; empty: its vectors
// are the same.
func (m Made) Changed(now ModelInfo) string {
	if !sameWeights(m.Model, now) {
		return fmt.Sprintf("sha256 %.12s (%d dimensions, pooling %s)", now.SHA256, now.Dimension, now.Pooling)
	}
	names := changedParts(m.Model, now)
	if n := m.PassageTokens; now.MaxTokens < n {
		names = append(names, fmt.Sprintf("maximal length (%d tokens, a passage has %d)", now.MaxTokens, n))
	}
	return strings.Join(names, ", ")
}

// Of returns the checkpoint of a collection, or [ErrModelMismatch] where it is not loaded.
func (s *Registry) Of(collection string, m Made) (*Encoding, error) {
	if m.Model.Given() || m.Remote != "" {
		return s.elsewhere(collection, m)
	}
	own := s.Own.Embedder.Model()
	changed := m.Changed(own)
	if changed == "" && (m.Precision == "" || m.Precision == s.precision) {
		return s.Own, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.mu.others[m.Key()]; e != nil {
		return e, nil
	}
	err := s.mu.why[m.Key()]
	if changed != "" && sameWeights(m.Model, own) {
		err = &changedError{own.Name, changed}
	}
	if c, ok := err.(*changedError); ok {
		return nil, fmt.Errorf("%w: %s has changed since it made the vectors of collection %s (%d dimensions, pooling %s, sha256 %.12s): %s. Start with the files of before, or re-embed the collection with these: %s with --model %s. Keyword searches work meanwhile",
			fault.ErrModelMismatch, c.source, collection, m.Model.Dimension, m.Model.Pooling, m.Model.SHA256, c.what, s.reembedded(collection), c.source)
	}
	why := ""
	if err != nil {
		why = fmt.Sprintf(", and it cannot be loaded: %v", err)
	}
	return nil, fmt.Errorf("%w: collection %s holds vectors of %s (%d dimensions, pooling %s, sha256 %.12s)%s; this is %s (%d, %s, %.12s). Start with --model %s, or re-embed the collection with this checkpoint: %s. Keyword searches work meanwhile",
		fault.ErrModelMismatch, collection, m.Model.Name, m.Model.Dimension, m.Model.Pooling, m.Model.SHA256, why, own.Name, own.Dimension, own.Pooling, own.SHA256, cmp.Or(m.Source, m.Model.Name), s.reembedded(collection))
}

// elsewhere returns the encoding of a collection whose vectors come with its documents or from
// another server.
func (s *Registry) elsewhere(collection string, m Made) (*Encoding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := m.Key()
	if e := s.mu.others[key]; e != nil {
		return e, nil
	}
	var embedder Embedder = given{m.Model.Dimension}
	if m.Remote != "" {
		var err error
		if embedder, err = s.OpenRemote(m.Remote); err != nil {
			return nil, fmt.Errorf("%w: the embedder of collection %s cannot be used: %w. Keyword searches work meanwhile", fault.ErrModelMismatch, collection, err)
		}
	}
	e, err := newEncoding(embedder)
	if err == nil {
		s.mu.others[key] = e
	}
	return e, err
}

// reembedded says how a collection is re-embedded. The folder is not named: clients of a server
// read it, too.
func (s *Registry) reembedded(collection string) string {
	if s.Folder {
		return fmt.Sprintf("`searchd reembed --data DIR --collection %s`", collection)
	}
	return fmt.Sprintf("POST /v1/collections/%s/reembed to a server", collection)
}

// changedError is why a checkpoint is not the one that made a collection.
type changedError struct{ source, what string }

func (e *changedError) Error() string { return e.source + " has changed: " + e.what }

// Again returns the checkpoint of a collection, with another precision where one is given, and the
// name by which it is found; [ErrModelMismatch] where it is not loaded.
func (s *Registry) Again(collection string, m Made, precision string) (e *Encoding, source string, err error) {
	if e, err = s.Of(collection, m); err != nil {
		return nil, "", err
	}
	if source = s.Source; e != s.Own {
		source = cmp.Or(m.Source, m.Model.Name)
	}
	if precision != "" && precision != m.Precision {
		e, err = s.Open(source, precision, m.Model.Pooling)
	}
	return e, source, err
}

// Open loads a checkpoint by name; an empty name means the engine's own, no pooling that of the
// checkpoint, or what the engine's own runs with.
func (s *Registry) Open(source, precision, pooling string) (*Encoding, error) {
	if (source == "" || source == s.Source) && (precision == "" || precision == s.precision) && (pooling == "" || pooling == s.Own.Embedder.Model().Pooling) {
		return s.Own, nil
	}
	if s.load == nil {
		return nil, fmt.Errorf("%w: this engine runs one checkpoint", fault.ErrUnsupported)
	}
	if source == "" {
		source = s.Source
	}
	e, err := s.load(source, precision, pooling)
	if err != nil {
		return nil, err
	}
	return newEncoding(e)
}

// Require loads the checkpoint of a collection where it is not loaded yet; a failure is remembered
// for [Registry.Of].
func (s *Registry) Require(collection string, m Made) error {
	if _, err := s.Of(collection, m); err == nil || m.Remote != "" {
		return err
	}
	source := cmp.Or(m.Source, m.Model.Name)
	if m.Source == "" && m.Model.SHA256 == s.Own.Embedder.Model().SHA256 {
		source = s.Source // a folder's name does not find it
	}
	e, err := s.Open(source, m.Precision, m.Model.Pooling)
	if err == nil {
		if changed := m.Changed(e.Embedder.Model()); changed != "" {
			err = &changedError{source, changed}
		}
	}
	if err != nil {
		s.mu.Lock()
		s.mu.why[m.Key()] = err
		s.mu.Unlock()
		_, err = s.Of(collection, m)
		return err
	}
	s.Add(m, e)
	return nil
}

// Add keeps a loaded checkpoint for the collections of a record.
func (s *Registry) Add(m Made, e *Encoding) {
	if e == s.Own {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.why, m.Key())
	if s.mu.others[m.Key()] == nil {
		s.mu.others[m.Key()] = e
	}
}

// Keep forgets the checkpoints that are not in use, and why they could not be loaded.
func (s *Registry) Keep(used map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.mu.others, func(key string, _ *Encoding) bool { return !used[key] })
	maps.DeleteFunc(s.mu.why, func(key string, _ error) bool { return !used[key] })
}
