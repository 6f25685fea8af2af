package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"searchd/client"
	"searchd/search"
	"searchd/search/mapping"
	"searchd/store"
)

// document is what goes into a sink.
type document struct {
	id     string
	fields json.RawMessage
	source string
	line   int
	offset int64 // bytes of the file that had been read with it
}

// failed is the status of a document that was not taken, updated of one that took the place of
// another, read of one of a dry run.
const (
	updated = "updated"
	read    = "read"
	failed  = "error"
)

// result says what became of one document; why is empty unless status is failed, warning unless it
// is not.
type result struct {
	status  string
	why     string
	warning string
}

// sink is where documents go.
type sink interface {
	put(ctx context.Context, docs []document) ([]result, error)  // one result per document
	remove(ctx context.Context, ids []string) (n int, err error) // n: how many there were
	state(ctx context.Context) (collectionState, error)          // of the collection
	close() error
}

// openSink opens the sink that the flags name.
func openSink(ctx context.Context, f flags, language newLanguage, notice func(string)) (sink, error) {
	switch {
	case f.data != "" && f.server != "":
		return nil, errors.New("--data and --server: name one of them")
	case f.dryRun:
		return drySink{}, nil
	case f.data != "":
		return openFolder(ctx, f, language, notice)
	case f.server != "":
		return openServer(ctx, f, language, notice)
	}
	return nil, errors.New("where to? name --data DIR or --server URL")
}

// drySink keeps nothing, and takes what a collection without settings of its own would take.
type drySink struct{}

func (drySink) put(_ context.Context, docs []document) ([]result, error) {
	out := make([]result, len(docs))
	for i, d := range docs {
		out[i].status = read
		if _, err := mapping.Mapping(nil).Split(d.fields); err != nil {
			out[i] = result{status: failed, why: err.Error()}
		}
	}
	return out, nil
}

func (drySink) remove(context.Context, []string) (int, error)  { return 0, nil }
func (drySink) state(context.Context) (collectionState, error) { return collectionState{}, nil }
func (drySink) close() error                                   { return nil }

// folderSink is a data folder that this process opens.
type folderSink struct {
	engine     *search.Engine
	collection string
}

func openFolder(ctx context.Context, f flags, language newLanguage, notice func(string)) (sink, error) {
	if absent(f.data) {
		if err := language.sensible(); err != nil {
			return nil, err
		}
	}
	e, err := search.OpenContext(ctx, f.data, search.Options{Model: f.model, Notice: notice})
	if errors.Is(err, store.ErrLocked) {
		return nil, fmt.Errorf("%w; one program at a time: if it is a server, send to it with --server URL", err)
	}
	if err != nil {
		return nil, err
	}
	c, err := e.Collection(ctx, f.collection)
	if errors.Is(err, search.ErrCollectionNotFound) {
		if err := language.sensible(); err != nil {
			return nil, errors.Join(err, e.Close())
		}
		c, err = e.CreateCollection(ctx, f.collection, search.Settings{Language: language.choose(ctx, f.collection), Synonyms: f.rules})
	}
	if err == nil {
		err = language.check(f.collection, c.Settings.Language, fmt.Sprintf("`searchd reembed --data %s --collection %s --settings FILE`", f.data, f.collection))
	}
	if err == nil && f.rules != nil {
		_, err = e.ChangeSettings(ctx, f.collection, func(s search.Settings) (search.Settings, error) {
			s.Synonyms = f.rules
			return s, nil
		})
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &folderSink{e, f.collection}, nil
}

func (s *folderSink) put(ctx context.Context, docs []document) ([]result, error) {
	in := make([]search.Document, len(docs))
	for i, d := range docs {
		in[i] = search.Document{ID: d.id, Fields: d.fields}
	}
	items, err := s.engine.Ingest(ctx, s.collection, in)
	if err != nil {
		return nil, err
	}
	out := make([]result, len(items))
	for i, it := range items {
		out[i].status, out[i].warning = string(it.Status), it.Warning
		if it.Err != nil {
			out[i].why = it.Err.Error()
		}
	}
	return out, nil
}

func (s *folderSink) remove(ctx context.Context, ids []string) (int, error) {
	items, err := s.engine.DeleteDocuments(ctx, s.collection, ids)
	n := 0
	for _, it := range items {
		switch {
		case it.Status == search.Deleted:
			n++
		case it.Err != nil && !errors.Is(it.Err, search.ErrDocumentNotFound):
			err = errors.Join(err, it.Err)
		}
	}
	return n, err
}

func (s *folderSink) state(ctx context.Context) (collectionState, error) {
	c, err := s.engine.Collection(ctx, s.collection)
	return collectionState{c.Created, c.Incarnation, c.Sequence, c.Documents}, err
}

func (s *folderSink) close() error { return s.engine.Close() }

// serverSink is a running server.
type serverSink struct {
	client     *client.Client
	collection string
}

func openServer(ctx context.Context, f flags, language newLanguage, notice func(string)) (sink, error) {
	n := &noticing{notice: notice}
	c, err := client.New(f.server, client.Options{Key: f.key, Again: n.again})
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	// A key that may only write documents cannot make collections, and need not where there is one.
	there, err := c.Collection(ctx, f.collection)
	if errors.Is(err, client.ErrNotFound) {
		if err := language.sensible(); err != nil {
			return nil, err
		}
		there, err = c.CreateCollection(ctx, f.collection, client.Settings{Language: language.choose(ctx, f.collection), Synonyms: f.rules})
		if errors.Is(err, client.ErrExists) { // somebody else was quicker
			there, err = c.Collection(ctx, f.collection)
		}
	}
	if err == nil {
		err = language.check(f.collection, there.Settings.Language, fmt.Sprintf("POST /v1/collections/%s/reembed", f.collection))
	}
	if err == nil && f.rules != nil && !slices.Equal(f.rules, there.Settings.Synonyms) {
		_, err = c.PatchCollection(ctx, f.collection, client.Settings{Synonyms: f.rules})
	}
	if err != nil {
		return nil, err
	}
	return &serverSink{c, f.collection}, nil
}

func (s *serverSink) put(ctx context.Context, docs []document) ([]result, error) {
	out := make([]result, len(docs))
	_, err := s.client.Import(ctx, s.collection, func(yield func(client.Document, error) bool) {
		for _, d := range docs {
			if !yield(client.Document{ID: d.id, Fields: d.fields}, nil) {
				return
			}
		}
	}, func(n int, r client.Result) error {
		out[n].status, out[n].warning = r.Status, r.Warning
		if r.Error != nil {
			out[n].why = r.Error.Detail
		}
		return nil
	})
	return out, err
}

func (s *serverSink) remove(ctx context.Context, ids []string) (int, error) {
	results, err := s.client.DeleteDocuments(ctx, s.collection, ids)
	if errors.Is(err, client.ErrOutcomeUnknown) {
		results, err = s.client.DeleteDocuments(ctx, s.collection, ids) // what is gone already is not missed
	}
	n := 0
	for _, r := range results {
		switch {
		case r.Status == client.Deleted:
			n++
		case r.Error != nil && r.Error.Code != "document_not_found":
			err = errors.Join(err, r.Error)
		}
	}
	return n, err
}

func (s *serverSink) state(ctx context.Context) (collectionState, error) {
	c, err := s.client.Collection(ctx, s.collection)
	if err != nil {
		return collectionState{}, err
	}
	return collectionState{c.Created, c.Incarnation, c.Sequence, c.Documents}, nil
}

// noticing tells of requests that will be sent again, now and then, so that nobody wonders why
// nothing moves.
type noticing struct {
	notice func(string)

	mu   sync.Mutex
	told time.Time
}

func (n *noticing) again(err error) {
	why := err.Error()
	if e := (*client.Error)(nil); errors.Is(err, client.ErrBusy) && errors.As(err, &e) {
		why = fmt.Sprintf("the server is busy (%d %s)", e.Status, http.StatusText(e.Status))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.told) >= tellEvery {
		n.told = time.Now()
		n.notice(why + "; trying again")
	}
}

func (s *serverSink) close() error { return nil }

func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
