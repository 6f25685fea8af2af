package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"searchd/index/hnsw"
	"searchd/index/keyword"
	"searchd/search/backend"
)

// codes names the errors that callers tell apart. An error has the codes of all that it is.
var codes = []struct {
	code string
	is   error
}{
	{"collection_not_found", backend.ErrCollectionNotFound},
	{"collection_exists", backend.ErrCollectionExists},
	{"document_not_found", backend.ErrDocumentNotFound},
	{"outcome_unknown", backend.ErrOutcomeUnknown},
	{"read_only", backend.ErrReadOnly},
	{"closed", backend.ErrClosed},
	{"no_space", backend.ErrNoSpace},
	{"invalid", backend.ErrInvalid},
	{"damaged", backend.ErrDamaged},
	{"replica", backend.ErrReplica},
	{"no_replica", backend.ErrNoReplica},
	{"place_lost", backend.ErrPlaceLost},
	{"unavailable", backend.ErrUnavailable},
	{"claimed", backend.ErrClaimed},
	{"moved", backend.ErrMoved},
	{"placement", backend.ErrPlacement},
	{"shard", backend.ErrShard},
	{"reader", backend.ErrReader},
	{"query", keyword.ErrQuery},
	{"statistics", backend.ErrStatistics},
	{"argument", hnsw.ErrArgument},
	{"dimension", hnsw.ErrDimension},
	{"unsupported", errors.ErrUnsupported},
	{"busy", errBusy},
	{"too_large", errTooLarge},
	{"key", errKey},
	{"forgotten", errForgotten},
	{"canceled", context.Canceled},
	{"deadline_exceeded", context.DeadlineExceeded},
}

// What a handler refuses by itself.
var (
	errBusy      = errors.New("too many requests at once")
	errTooLarge  = errors.New("request too large")
	errKey       = errors.New("the key is missing or wrong")
	errForgotten = errors.New("the set of documents is not remembered")
)

// fault is an error on the wire.
type fault struct {
	Codes   []string       `json:"codes"`
	Message string         `json:"message"`
	Damaged *damagedFault  `json:"damaged,omitempty"`
	Values  *damagedValues `json:"values,omitempty"`
}

type damagedFault struct {
	Collection string `json:"collection"`
	Damage     string `json:"damage"`
	Document   bool   `json:"document"`
}

type damagedValues struct {
	Keys  []text `json:"keys"`
	Cause string `json:"cause"`
}

func faultOf(err error) *fault {
	f := &fault{Message: err.Error()}
	for _, c := range codes {
		if errors.Is(err, c.is) {
			f.Codes = append(f.Codes, c.code)
		}
	}
	if d := (*backend.DamagedError)(nil); errors.As(err, &d) {
		f.Damaged = &damagedFault{d.Collection, d.Damage, d.Document}
	}
	if v := (*backend.ValuesError)(nil); errors.As(err, &v) {
		f.Values = &damagedValues{Keys: textsOf(v.Keys)}
		if v.Err != nil {
			f.Values.Cause = v.Err.Error()
		}
	}
	return f
}

// refusal is an error that a shard answered with: its words, and the errors that it is.
type refusal struct {
	message string
	is      []error
}

func (e *refusal) Error() string { return e.message }

// Unwrap lets errors.Is and errors.As find what it is.
func (e *refusal) Unwrap() []error { return e.is }

func (f *fault) err() error {
	e := &refusal{message: f.Message}
	if f.Damaged != nil {
		e.is = append(e.is, &backend.DamagedError{Collection: f.Damaged.Collection, Damage: f.Damaged.Damage, Document: f.Damaged.Document})
	}
	if f.Values != nil {
		e.is = append(e.is, &backend.ValuesError{Keys: stringsOf(f.Values.Keys), Err: errors.New(f.Values.Cause)})
	}
	for _, name := range f.Codes {
		for _, c := range codes { // one that is not known says nothing
			if c.code == name {
				e.is = append(e.is, c.is)
			}
		}
	}
	return e
}

// refusal reads the error that a shard answered with.
func (s *Shard) refusal(ctx context.Context, status int, body io.Reader) error {
	var f fault
	if err := json.NewDecoder(body).Decode(&f); err != nil {
		return s.unavailable("status %d, and what it says of that cannot be read: %v", status, err)
	}
	err := f.err()
	switch _, bounded := ctx.Deadline(); {
	case errors.Is(err, errKey), errors.Is(err, errBusy):
		return s.unavailable("%v", err)
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%w: shard %s: %w", backend.ErrInvalid, s.url, err)
	case ctx.Err() != nil:
		return fmt.Errorf("shard %s: %w", s.url, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded) && bounded:
		return fmt.Errorf("shard %s: %w", s.url, context.DeadlineExceeded)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // not by the caller: it is shutting down
		return s.unavailable("it gave up: %s", f.Message)
	case errors.Is(err, backend.ErrClosed):
		return s.unavailable("%v", err) // of its folder; this end is open
	}
	return err
}

// statusOf returns the status of an error, for those who read logs; clients read the codes.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errKey):
		return http.StatusUnauthorized
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errBusy), errors.Is(err, backend.ErrClosed), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, backend.ErrInvalid), errors.Is(err, keyword.ErrQuery), errors.Is(err, hnsw.ErrArgument), errors.Is(err, hnsw.ErrDimension):
		return http.StatusBadRequest
	case errors.Is(err, backend.ErrCollectionNotFound), errors.Is(err, backend.ErrDocumentNotFound), errors.Is(err, errForgotten), errors.Is(err, backend.ErrShard):
		return http.StatusNotFound
	case errors.Is(err, backend.ErrClaimed), errors.Is(err, backend.ErrPlacement), errors.Is(err, backend.ErrCollectionExists):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}
