// Package meilisearch answers the requests of Meilisearch's clients with the engine.
//
// It translates: an index is a collection, its filters, settings and answers take the form that
// the clients expect. Requests come decoded from HTTP but for their bodies; package api binds the
// routes and checks keys. docs/reference/meilisearch.md lists what differs.
//
// Writes are carried out before they are answered. Their tasks, which clients wait for, have ended
// by then and are kept in memory.
package meilisearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"example.com/searchd/index/filter"
	"example.com/searchd/search"
)

// Engine is what the routes need of an engine.
type Engine interface {
	Search(ctx context.Context, collection string, q search.Query) (*search.Response, error)
	Similar(ctx context.Context, collection string, q search.Similar) (*search.Response, error)

	Collection(ctx context.Context, name string) (search.CollectionInfo, error)
	CreateCollection(ctx context.Context, name string, s search.Settings) (search.CollectionInfo, error)
	ChangeSettings(ctx context.Context, name string, change func(search.Settings) (search.Settings, error)) (search.CollectionInfo, error)
	DropCollection(ctx context.Context, name string) error
	Reembed(ctx context.Context, collection string, o search.ReembedOptions) (search.Task, error)
	Task(ctx context.Context, id string) (search.Task, error)

	Ingest(ctx context.Context, collection string, docs []search.Document) ([]search.ItemResult, error)
	Document(ctx context.Context, collection, id string) (*search.StoredDocument, error)
	Documents(ctx context.Context, collection, cursor string, limit int) (docs []search.StoredDocument, next string, err error)
	DeleteDocuments(ctx context.Context, collection string, ids []string) ([]search.ItemResult, error)
	DeleteByFilter(ctx context.Context, collection, filter string, dryRun bool) (search.Deletion, error)
}

// Vault stores the settings of indexes that collections do not have. [search.Vault] is one.
type Vault interface {
	Values(prefix string) (map[string][]byte, error)
	SetValues(ctx context.Context, values map[string][]byte) error
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	engine Engine
	vault  Vault
	max    int // bytes of a document
	tasks  tasks
	write  sync.Mutex // held while the state of an index is changed
}

// New returns a server for an engine whose documents have at most maxDocument bytes.
func New(e Engine, v Vault, maxDocument int) *Server {
	s := &Server{engine: e, vault: v, max: maxDocument}
	s.tasks.init(time.Now())
	return s
}

// Request is what a route needs of a request.
type Request struct {
	Index  string      // of the path
	Within filter.Expr // documents that the sender may see; nil: all
	Query  url.Values
	Body   []byte
	Type   string // media type of Body
}

// Error is an error of a request in Meilisearch's terms.
type Error struct {
	Status  int
	Code    string
	Message string
}

func (e *Error) Error() string { return e.Message }

func bad(code, format string, args ...any) error {
	return &Error{400, code, fmt.Sprintf(format, args...)}
}

// vaultPrefix begins the names of the states of indexes.
const vaultPrefix = "meilisearch/"

// state is what an index has beside its collection.
type state struct {
	Incarnation string                     `json:"incarnation"` // of the collection: another one's state does not count
	PrimaryKey  string                     `json:"primary_key,omitempty"`
	Updated     time.Time                  `json:"updated"`
	Settings    map[string]json.RawMessage `json:"settings,omitempty"` // those that were set
}

// index is an index with its collection.
type index struct {
	info search.CollectionInfo
	state
	settings settings
}

// open returns an index.
func (s *Server) open(ctx context.Context, name string) (*index, error) {
	info, err := s.engine.Collection(ctx, name)
	if err != nil {
		return nil, err
	}
	x := &index{info: info, state: state{Incarnation: info.Incarnation, Updated: info.Created}}
	values, err := s.vault.Values(vaultPrefix + info.Name)
	if err != nil {
		return nil, err
	}
	if b := values[vaultPrefix+info.Name]; b != nil {
		var st state
		if err := json.Unmarshal(b, &st); err != nil {
			return nil, fmt.Errorf("meilisearch: state of index %s: %w", info.Name, err)
		}
		if st.Incarnation == info.Incarnation {
			x.state = st
		}
	}
	x.settings, err = readSettings(x.Settings)
	return x, err
}

// change changes the state of an index.
func (s *Server) change(ctx context.Context, name string, f func(*index) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	x, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	if err := f(x); err != nil {
		return err
	}
	x.Updated = time.Now().UTC()
	b, err := json.Marshal(x.state)
	if err != nil {
		return err
	}
	return s.vault.SetValues(ctx, map[string][]byte{vaultPrefix + x.info.Name: b})
}

// ensure makes an index if there is none.
func (s *Server) ensure(ctx context.Context, name string, with search.Settings) error {
	_, err := s.engine.Collection(ctx, name)
	if errors.Is(err, search.ErrCollectionNotFound) {
		if _, err = s.engine.CreateCollection(ctx, name, with); errors.Is(err, search.ErrCollectionExists) {
			err = nil
		}
	}
	return err
}
