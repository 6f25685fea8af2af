package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/catalog"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/inference/remote"
	"example.com/searchd/search/settings"
)

// CreateCollection makes a collection. It returns [ErrCollectionExists] if there is one of this
// name, and [ErrTooManyCollections] where there are Options.MaxCollections already.
func (e *Engine) CreateCollection(ctx context.Context, name string, s Settings) (CollectionInfo, error) {
	if err := CheckCollectionName(name); err != nil {
		return CollectionInfo{}, err
	}
	m := e.modelOf(s)
	if err := s.Validate(m.MaxTokens); err != nil {
		return CollectionInfo{}, err
	}
	if err := e.checkVersions(s); err != nil {
		return CollectionInfo{}, err
	}
	s = s.Canonical()
	config, err := record{Settings: s, Model: m, Created: time.Now().UTC()}.config()
	if err != nil {
		return CollectionInfo{}, err
	}
	if err := e.create(ctx, name, config); err != nil {
		return CollectionInfo{}, err
	}
	return e.Collection(ctx, name)
}

// modelOf describes what makes the vectors of a collection with these settings.
func (e *Engine) modelOf(s Settings) ModelInfo {
	if s.GivenVectors() {
		return inference.GivenModel(s.Embedder.Dimension)
	}
	if c := s.RemoteEmbedder(); c != nil {
		return remote.ModelOf(*c)
	}
	return e.inference.Model()
}

// create makes the collection, under another stored name where its own is that of a generation
// which has been kept.
func (e *Engine) create(ctx context.Context, name string, config backend.Config) error {
	c := e.catalog
	done, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if to, ok := c.Target(name); ok {
		return fmt.Errorf("%w: %s is an alias of %s", ErrCollectionExists, name, to)
	}
	stored, free := c.Stored(name)
	if err := c.None(name); errors.Is(err, ErrDamaged) {
		return err
	}
	if free {
		if _, err := e.backend.Open(ctx, backend.OpenRequest{Collection: stored}); err == nil { // Create would wait for a change of its settings
			return fmt.Errorf("%w: %q", backend.ErrCollectionExists, name)
		}
	}
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	if len(list) >= e.most {
		return fmt.Errorf("%w: there are %d, at most %d are allowed; delete one first, or allow more: `searchd serve --max-collections`", ErrTooManyCollections, len(list), e.most)
	}
	if free {
		return e.backend.Configure(ctx, backend.ConfigureRequest{Collection: stored, Create: true, Config: config})
	}
	for n := 2; ; n++ {
		stored = catalog.Generation(name, n)
		err := e.backend.Configure(ctx, backend.ConfigureRequest{Collection: stored, Create: true, Config: config})
		if errors.Is(err, backend.ErrCollectionExists) {
			continue
		}
		if err != nil {
			return err
		}
		return c.Point(ctx, map[string]string{name: stored})
	}
}

// EnsureCollection makes a collection or changes the settings of the one that is there. While that
// holds documents, it takes another index.ef_search, index.target_recall, index.quantize, other
// synonyms and weight of a field, and another type of a field that no document has or that is
// treated so already; a [FieldError] names each setting that cannot change. [Engine.Reembed]
// changes them all.
func (e *Engine) EnsureCollection(ctx context.Context, name string, s Settings) (info CollectionInfo, created bool, err error) {
	info, err = e.CreateCollection(ctx, name, s)
	if !errors.Is(err, ErrCollectionExists) {
		return info, err == nil, err
	}
	info, err = e.ChangeSettings(ctx, name, func(Settings) (Settings, error) { return s, nil })
	return info, false, err
}

// ChangeSettings gives a collection the settings that change makes of those that it has, as
// EnsureCollection would. change may be called again where others, or the end of a re-embedding,
// have changed them meanwhile; its error is returned as it is. While the collection is re-embedded
// it returns [ErrTaskRunning], unless the task keeps the settings and only synonyms and weights of
// fields change: the new generation gets them, too.
func (e *Engine) ChangeSettings(ctx context.Context, name string, change func(Settings) (Settings, error)) (info CollectionInfo, err error) {
	if info, err = e.Collection(ctx, name); err != nil {
		return info, err
	}
	if _, differ, err := changedSettings(info.Settings, info.Model, change); err != nil || !differ {
		return info, err
	}
	c, r, start, err := e.openAlone(ctx, name)
	if err != nil {
		return info, err
	}
	defer start()
	s, differ, err := changedSettings(r.Settings, r.Model, change)
	if err != nil {
		return info, err
	}
	if !differ {
		return e.Collection(ctx, name)
	}
	if err := errors.Join(e.checkVersions(s), e.mayChange(info.Name, r.Settings, s)); err != nil {
		return info, err
	}
	if err := (settings.Change{Backend: e.backend, Collection: c, Old: r.Settings, New: s}).Check(ctx); err != nil {
		return info, err
	}
	r.Settings = s
	config, err := r.config()
	if err != nil {
		return info, err
	}
	config.FirstSequence = c.Config.FirstSequence
	if err := e.backend.Configure(ctx, backend.ConfigureRequest{Collection: c.Name, Config: config}); err != nil {
		return info, err
	}
	return e.Collection(ctx, name)
}

// mayChange returns [ErrTaskRunning] where a collection is being re-embedded and the change of its
// settings would not be in what comes of that: only what acts on queries alone goes over, and not
// where the task has settings of its own.
func (e *Engine) mayChange(name string, old, new Settings) error {
	for _, j := range e.tasks.Unfinished(name) {
		var q reembedRequest
		if err := json.Unmarshal(j.Resume, &q); err != nil || q.Settings != nil {
			return fmt.Errorf("%w: collection %s is being re-embedded with new settings; change settings when that is done", ErrTaskRunning, name)
		}
		if !reflect.DeepEqual(old.WithQuerySettings(new), new) {
			return fmt.Errorf("%w: collection %s is being re-embedded; until that is done only synonyms and field weights can be changed", ErrTaskRunning, name)
		}
	}
	return nil
}

// changedSettings checks what change makes of settings, and says whether it differs from them.
func changedSettings(old Settings, m ModelInfo, change func(Settings) (Settings, error)) (s Settings, differ bool, err error) {
	if s, err = change(old); err != nil {
		return s, false, err
	}
	if err := s.Validate(m.MaxTokens); err != nil {
		return s, false, err
	}
	s = s.Canonical()
	return s, !reflect.DeepEqual(old, s), nil
}

// Collection describes a collection.
func (e *Engine) Collection(ctx context.Context, name string) (CollectionInfo, error) {
	c, _, err := e.open(ctx, name)
	if err != nil {
		return CollectionInfo{}, err
	}
	return e.info(c)
}

// Collections describes all collections, by name.
func (e *Engine) Collections(ctx context.Context) ([]CollectionInfo, error) {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]CollectionInfo, 0, len(list))
	for _, c := range list {
		if _, visible := e.catalog.NameOf(c.Name); !visible {
			continue
		}
		info, err := e.info(c)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	for _, name := range e.catalog.LostNames() {
		if damaged := (*DamagedError)(nil); errors.As(e.catalog.None(name), &damaged) { // else it leads somewhere again
			out = append(out, CollectionInfo{Name: name, Damaged: damaged.Damage})
		}
	}
	slices.SortFunc(out, func(a, b CollectionInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// DropCollection removes a collection with everything in it. It returns [ErrAliased] while an alias
// leads to it.
func (e *Engine) DropCollection(ctx context.Context, name string) error {
	c := e.catalog
	stored, ok := c.Stored(name)
	if !ok {
		return c.None(name)
	}
	own, _ := c.NameOf(stored)
	if len(c.AliasesOf(own)) == 0 {
		for _, j := range e.tasks.Unfinished(own) {
			if err := e.tasks.Cancel(ctx, j.Task); err != nil && !errors.Is(err, ErrTaskFinished) {
				return err
			}
		}
	}
	done, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if stored, ok = c.Stored(own); !ok {
		return c.None(name)
	}
	if aliases := c.AliasesOf(own); len(aliases) > 0 {
		return fmt.Errorf("%w: %s has the alias %s; delete it or point it elsewhere first", ErrAliased, own, strings.Join(aliases, ", "))
	}
	if err := e.dropHidden(ctx, own, stored); err != nil {
		return err
	}
	if stored != own { // the name first: what no name leads to is removed by the next opening
		if err := c.Point(ctx, map[string]string{own: ""}); err != nil {
			return err
		}
	}
	defer e.trim(ctx)
	return e.drop(ctx, stored)
}

// dropHidden drops the generations of a name that it has been led away from. The first of them has
// the name itself: it would be seen under it once the name leads nowhere.
func (e *Engine) dropHidden(ctx context.Context, name, current string) error {
	list, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		base, _, _ := strings.Cut(c.Name, "~")
		if _, visible := e.catalog.NameOf(c.Name); base != name || c.Name == current || visible {
			continue
		}
		if key := e.catalog.Doubt(); key != "" {
			return &DamagedError{Collection: name, Damage: fmt.Sprintf("the unreadable value %q may belong to one of its generations", key)}
		}
		if err := e.backend.Drop(ctx, c.Name); err != nil && !errors.Is(err, backend.ErrCollectionNotFound) {
			return err
		}
	}
	return nil
}

func (e *Engine) info(c backend.Collection) (CollectionInfo, error) {
	r, err := e.record(c)
	if err != nil {
		return CollectionInfo{}, err
	}
	name, _ := e.catalog.NameOf(c.Name)
	return CollectionInfo{
		Name: name, Settings: r.Settings, Model: r.Model,
		Documents: c.Documents, Passages: c.Passages, Sequence: c.Sequence, Created: r.Created,
		Incarnation: incarnation(c.Origin, r.Created), Damaged: c.Damaged, DamagedDocuments: c.DamagedDocuments, CopyOf: r.CopyOf,
	}, nil
}

// incarnation names the collection that was made at a time in what keeps it. Its generations have
// one name.
func incarnation(origin string, created time.Time) string {
	sum := sha256.Sum256([]byte(origin + " " + created.UTC().Format(time.RFC3339Nano)))
	return hex.EncodeToString(sum[:12])
}

// record reads the engine's own part of a collection's config, parsed once per change.
func (e *Engine) record(c backend.Collection) (record, error) {
	e.mu.Lock()
	cached, ok := e.mu.records[c.Name]
	e.mu.Unlock()
	if ok && bytes.Equal(cached.payload, c.Config.Payload) { // at once where they are the same bytes
		return cached.record, nil
	}
	if c.Damaged != "" && len(c.Config.Payload) == 0 {
		return record{}, nil // it went with the value that is damaged
	}
	r, err := readRecord(c.Config)
	if err != nil {
		return r, fmt.Errorf("collection %s: %w", c.Name, err)
	}
	e.mu.Lock()
	e.mu.records[c.Name] = cachedRecord{c.Config.Payload, r}
	e.mu.Unlock()
	return r, nil
}

// open returns the collection that a name or an alias leads to, under the name that it is stored
// by, and its record.
func (e *Engine) open(ctx context.Context, name string) (backend.Collection, record, error) {
	if err := e.Ready(); err != nil {
		return backend.Collection{}, record{}, err
	}
	stored, ok := e.catalog.Stored(name)
	if !ok {
		return backend.Collection{}, record{}, e.catalog.None(name)
	}
	opened, err := e.backend.Open(ctx, backend.OpenRequest{Collection: stored})
	c := opened.Collection
	if errors.Is(err, backend.ErrCollectionNotFound) {
		err = fmt.Errorf("%w: %s", backend.ErrCollectionNotFound, fault.Quote(name))
	}
	if err != nil {
		return c, record{}, err
	}
	r, err := e.record(c)
	return c, r, err
}

// named returns the name that clients know a stored collection by.
func (e *Engine) named(stored string) string {
	name, _ := e.catalog.NameOf(stored)
	return name
}
