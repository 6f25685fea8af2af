package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/store"
)

// An engine over the folder of a replica reads. What it holds comes from its primary, through Take; everybody else who writes gets [ErrReplica].

// Marker says what a replica follows.
type Marker = backend.Marker

// leader is a backend that others can follow.
type leader interface {
	News(ctx context.Context, follower string, after map[uint32]uint64, version uint64) (*store.News, error)
	Copy(ctx context.Context, follower string, w io.Writer) (int64, error)
	StoreID() string
	Commits() (n uint64, next <-chan struct{})
	Followers() int
}

// follower is a backend that can follow.
type follower interface {
	Marker() *backend.Marker
	SetMarker(ctx context.Context, m backend.Marker) error
	Stands() map[uint32]uint64
	Take(ctx context.Context, n *store.News) (adopted bool, values []string, err error)
	Gone(n *store.News) ([]store.Collection, error)
	Leave(ctx context.Context, c store.Collection) error
}

func (e *Engine) leader() (leader, error) {
	l, ok := e.backend.(leader)
	if !ok {
		return nil, fmt.Errorf("%w: a server that keeps its documents on shards cannot be followed; back up each shard instead", ErrUnsupported)
	}
	return l, nil
}

// StoreID names what the sequence numbers are of: another after a restore; empty where nobody can follow.
func (e *Engine) StoreID() string {
	if l, ok := e.backend.(leader); ok {
		return l.StoreID()
	}
	return ""
}

// News returns what a follower lacks that has the changes up to after, by collection, and the names and values of a version; what it has not
// asked for stays in the log, as long as it asks once in an hour. It returns [ErrPlaceLost] where the follower needs a copy, and [ErrReplica]
// where this engine follows another itself.
func (e *Engine) News(ctx context.Context, follower string, after map[uint32]uint64, version uint64) (*store.News, error) {
	if err := e.running(); err != nil {
		return nil, err
	}
	l, err := e.leader()
	if err != nil {
		return nil, err
	}
	return l.News(ctx, follower, after, version)
}

// Copy is [Engine.Backup] for a follower that begins: it can go on from there with [Engine.News].
func (e *Engine) Copy(ctx context.Context, follower string, w io.Writer) (int64, error) {
	l, err := e.leader()
	if err != nil {
		return 0, err
	}
	return l.Copy(ctx, follower, w)
}

// Commits counts the commits since the engine was opened. The channel is closed by the next one.
func (e *Engine) Commits() (n uint64, next <-chan struct{}) {
	if l, ok := e.backend.(leader); ok {
		return l.Commits()
	}
	return 0, nil
}

// Followers is how many follow this engine.
func (e *Engine) Followers() int {
	if l, ok := e.backend.(leader); ok {
		return l.Followers()
	}
	return 0
}

// Marker says what this engine follows; nil: it is no replica.
func (e *Engine) Marker() *Marker {
	if f, ok := e.backend.(follower); ok {
		return f.Marker()
	}
	return nil
}

// SetMarker changes what a replica's marker says.
func (e *Engine) SetMarker(ctx context.Context, m Marker) error {
	f, ok := e.backend.(follower)
	if !ok || f.Marker() == nil {
		return ErrUnsupported
	}
	return f.SetMarker(ctx, m)
}

// Stands are the sequence numbers of a replica's collections, by their numbers.
func (e *Engine) Stands() map[uint32]uint64 { return e.backend.(follower).Stands() }

// Take writes what a primary has sent, in an order in which no name leads to what is not there: collections and their changes; when all of them
// are there, values; then it drops what is gone. News may come in parts, the last of which has All. keys says that API keys have changed. After an error the replica is as it was before the step that failed, and can ask again.
func (e *Engine) Take(ctx context.Context, n *store.News) (keys bool, err error) {
	f, ok := e.backend.(follower)
	if !ok || f.Marker() == nil {
		return false, ErrUnsupported
	}
	adopted, changed, err := f.Take(ctx, n)
	if adopted {
		e.stale.Store(true)
	}
	if err != nil || n.All == nil || n.Behind > 0 {
		return false, err
	}
	under := func(prefix string) bool {
		return slices.ContainsFunc(changed, func(key string) bool { return strings.HasPrefix(key, prefix) })
	}
	keys = under(accessKey)
	if under(currentKey) || under(aliasKey) {
		e.stale.Store(true)
	}
	if e.stale.Load() {
		if err := e.renew(ctx); err != nil {
			return keys, err
		}
		e.stale.Store(false)
		defer e.trim(ctx)
	}
	gone, err := f.Gone(n)
	for _, c := range gone {
		err = errors.Join(err, e.leave(ctx, f, c))
	}
	return keys, err
}

// leave drops a collection that is gone at the primary; a generation that was replaced, when the requests that began with it have had time to end.
func (e *Engine) leave(ctx context.Context, f follower, c store.Collection) error {
	if _, visible := e.catalog.nameOf(c.Name); visible {
		return f.Leave(ctx, c)
	}
	if _, soon := e.leaving.LoadOrStore(c.ID, true); soon {
		return nil
	}
	e.tasks.beside(func(closing context.Context) {
		defer e.leaving.Delete(c.ID)
		select {
		case <-time.After(reembedGrace):
			if err := f.Leave(closing, c); err != nil {
				e.notice(fmt.Sprintf("dropping a generation that has been replaced, the next opening tries again: %v", err))
			}
			e.trim(closing)
		case <-closing.Done():
		}
	})
	return nil
}

// accessKey is what the keys of API keys begin with.
const accessKey = "key/"

// localValues are those that a replica has of its own.
type localValues struct{ all backend.Values }

const localKey = "local/"

func (l localValues) Values(prefix string) (map[string][]byte, error) {
	values, err := l.all.Values(localKey + prefix)
	own := make(map[string][]byte, len(values))
	for key, v := range values {
		own[strings.TrimPrefix(key, localKey)] = v
	}
	return own, err
}

func (l localValues) SetValues(ctx context.Context, values map[string][]byte) error {
	own := make(map[string][]byte, len(values))
	for key, v := range values {
		own[localKey+key] = v
	}
	return l.all.SetValues(ctx, own)
}

// FetchCopy makes a copy of a primary from what [Engine.Copy] wrote, beside what the folder holds, and returns how many bytes and collections it has;
// [InstallCopy] puts it in its place. damaged is told of each damaged value in it.
func FetchCopy(ctx context.Context, r io.Reader, dir string, m Marker, damaged func(text string)) (bytes int64, collections int, err error) {
	return embedded.FetchCopy(ctx, r, dir, m, damaged)
}

// InstallCopy puts a copy in the place of what the folder of a replica holds, which no engine has open.
func InstallCopy(dir string) error { return embedded.InstallCopy(dir) }

// OpenReplica returns the marker of a folder that is about to follow a primary, nil where it is empty. Where it holds anything of its own the error
// is [ErrNoReplica].
func OpenReplica(dir string) (*Marker, error) { return embedded.OpenReplica(dir) }
