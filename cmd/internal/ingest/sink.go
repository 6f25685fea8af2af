package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/extract"
	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
	"example.com/searchd/store"
)

// textField is the field that the blocks of a document belong to.
const textField = "text"

// document is a document for a sink.
type document struct {
	id     string
	fields json.RawMessage
	blocks []extract.Block // of the field text
	source string
	line   int
	offset int64 // bytes of the file that were read until its end
}

// Statuses of documents: refused, new, replaced an earlier one, only read (in a dry run).
const (
	failed  = "error"
	created = "created"
	updated = "updated"
	read    = "read"
)

// result is the outcome of one document.
type result struct {
	status  string
	why     string // of failed
	warning string
}

// sink is where documents go.
type sink interface {
	put(ctx context.Context, docs []document) ([]result, error)  // one result per document
	remove(ctx context.Context, ids []string) (n int, err error) // n: how many existed
	state(ctx context.Context) (collectionState, error)          // of the collection
	close() error
}

// openSink opens the sink that the flags name.
func openSink(ctx context.Context, f flags, language languageChoice, notice func(string)) (sink, error) {
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

// drySink stores nothing, and refuses what a new collection would refuse.
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

func openFolder(ctx context.Context, f flags, language languageChoice, notice func(string)) (sink, error) {
	if err := command.CheckDataFolder(f.data); err != nil {
		return nil, err
	}
	if absent(f.data) {
		if err := language.requirePath(); err != nil {
			return nil, err
		}
	}
	e, err := search.OpenContext(ctx, f.data, search.Options{Model: f.model, Notice: notice})
	if errors.Is(err, store.ErrLocked) {
		return nil, fmt.Errorf("%w; one program at a time: if it is a server, use --server, such as --server 127.0.0.1:8080", err)
	}
	if err != nil {
		return nil, err
	}
	c, err := e.Collection(ctx, f.collection)
	if errors.Is(err, search.ErrCollectionNotFound) {
		if err := language.requirePath(); err != nil {
			return nil, errors.Join(err, e.Close())
		}
		c, err = e.CreateCollection(ctx, f.collection, f.newSettings(language.choose(ctx, f.collection)))
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
		for _, b := range d.blocks {
			if in[i].Blocks == nil {
				in[i].Blocks = map[string][]passage.Block{}
			}
			in[i].Blocks[textField] = append(in[i].Blocks[textField], passage.Block{Kind: passage.Kind(b.Kind), Level: b.Level, Start: b.Start, End: b.End, Head: b.Head, Language: b.Language, Page: b.Page})
		}
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

func openServer(ctx context.Context, f flags, language languageChoice, notice func(string)) (sink, error) {
	n := &retryNotice{notice: notice}
	c, err := client.New(f.server, client.Options{Key: f.key, Again: n.again})
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	// First look for the collection: a key that may only write documents cannot make one.
	found, err := c.Collection(ctx, f.collection)
	if errors.Is(err, client.ErrNotFound) {
		if err := language.requirePath(); err != nil {
			return nil, err
		}
		var s client.Settings
		if err := convert(f.newSettings(language.choose(ctx, f.collection)), &s); err != nil {
			return nil, err
		}
		found, err = c.CreateCollection(ctx, f.collection, s)
		if errors.Is(err, client.ErrExists) { // another client was quicker
			found, err = c.Collection(ctx, f.collection)
		}
	}
	if err == nil {
		err = language.check(f.collection, found.Settings.Language, fmt.Sprintf("POST /v1/collections/%s/reembed", f.collection))
	}
	if err == nil && f.rules != nil && !slices.Equal(f.rules, found.Settings.Synonyms) {
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
			doc := client.Document{ID: d.id, Fields: d.fields}
			for _, b := range d.blocks {
				if doc.Blocks == nil {
					doc.Blocks = map[string][]client.Block{}
				}
				doc.Blocks[textField] = append(doc.Blocks[textField], client.Block{Kind: b.Kind.String(), Level: b.Level, Start: b.Start, End: b.End, Head: b.Head, Language: b.Language, Page: b.Page})
			}
			if !yield(doc, nil) {
				return
			}
		}
	}, func(n int, r client.Result) error {
		out[n].status, out[n].warning = r.Status, r.Warning
		if w := extract.DateWarning(docs[n].fields, nil); w != "" && strings.HasSuffix(r.Warning, w) { // which the file's own report counts
			out[n].warning = strings.TrimSuffix(strings.TrimSuffix(r.Warning, w), "; ")
		}
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
		results, err = s.client.DeleteDocuments(ctx, s.collection, ids) // documents that are gone count as deleted
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

// retryNotice reports requests that will be sent again, at most one in ten seconds.
type retryNotice struct {
	notice func(string)

	mu   sync.Mutex
	last time.Time
}

func (n *retryNotice) again(err error) {
	why := err.Error()
	if e := (*client.Error)(nil); errors.Is(err, client.ErrBusy) && errors.As(err, &e) {
		why = fmt.Sprintf("the server is busy (%d %s)", e.Status, http.StatusText(e.Status))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.last) >= progress.Interval {
		n.last = time.Now()
		n.notice(why + "; trying again")
	}
}

func (s *serverSink) close() error { return nil }
