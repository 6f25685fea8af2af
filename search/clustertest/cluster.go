// Package clustertest has a cluster for tests of what stands on backend.Cluster: one shard in this process, whose calls can be watched, held up and failed
// as those to another machine may be.
package clustertest

import (
	"context"
	"maps"
	"sync"
	"testing"

	"searchd/search/backend"
	"searchd/search/embedded"
)

// Name is that of the shard.
const Name = "http://10.0.0.7:8090"

// Cluster is a backend.Cluster, and nothing else. It is safe for concurrent use; the hooks are set before it is used; those that change take care of
// that themselves.
type Cluster struct {
	// Hook, where not nil, is called at the beginning of each call to the shard. Tests count, wait and fail in it.
	Hook func(ctx context.Context, method string) error
	// Lose, where not nil, is called when a call has been carried out; its error is the caller's in the place of the answer.
	Lose func(method string) error
	// Reads says that somebody else writes.
	Reads bool

	shard *embedded.Backend
	mu    struct {
		sync.Mutex
		calls   map[string]int
		rounds  int // calls that began while there was no other
		running int
	}
}

var _ backend.Cluster = (*Cluster)(nil)

// New opens a cluster over a folder. Whoever uses it closes it.
func New(t testing.TB, dir string) *Cluster {
	t.Helper()
	b, err := embedded.OpenContext(t.Context(), dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{shard: b}
	c.mu.calls = map[string]int{}
	return c
}

// Close implements backend.Backend.
func (c *Cluster) Close() error { return c.shard.Close() }

// Name implements backend.Cluster.
func (c *Cluster) Name() string { return "cluster" }

// Reader implements backend.Cluster.
func (c *Cluster) Reader() bool { return c.Reads }

// Analyze implements backend.Backend. It asks no shard: a cluster knows the language itself.
func (c *Cluster) Analyze(ctx context.Context, collection, text string, wanted func(term string) bool) ([]backend.Token, error) {
	return c.shard.Analyze(ctx, collection, text, wanted)
}

// Expand implements backend.Backend. It asks no shard: what is known of the words came with Opened.
func (c *Cluster) Expand(ctx context.Context, collection string, q backend.Words) ([]backend.Expansion, error) {
	return c.shard.Expand(ctx, collection, q)
}

// Stands implements backend.Cluster. It asks no shard: what is known of the words came with Opened.
func (c *Cluster) Stands(ctx context.Context, collection string, q backend.Words, word string) (bool, error) {
	near, err := c.shard.Near(ctx, collection, word, 0, nil)
	return near.Stands, err
}

// States implements backend.Cluster. What the hook says of it is said of the shard.
func (c *Cluster) States(ctx context.Context, counted bool) []backend.ShardState {
	s := backend.ShardState{Name: Name}
	if s.Err = c.enter(ctx, "States"); s.Err != nil {
		return []backend.ShardState{s}
	}
	if s.StoreBytes, s.Err = c.shard.StoreSize(); counted && s.Err == nil {
		var list []backend.Collection
		list, s.Err = c.shard.Collections(ctx)
		for _, x := range list {
			s.Documents += x.Documents
		}
	}
	return []backend.ShardState{s}
}

// Calls returns how often each method was called since the last time that it was asked, and in how many rounds: calls side by side are one. The watch of the
// engine does not count.
func (c *Cluster) Calls() (calls map[string]int, rounds int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls, rounds = maps.Clone(c.mu.calls), c.mu.rounds
	clear(c.mu.calls)
	c.mu.rounds = 0
	return calls, rounds
}

func (c *Cluster) enter(ctx context.Context, method string) error {
	if c.Hook != nil {
		if err := c.Hook(ctx, method); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// begin counts a call until the returned function is called.
func (c *Cluster) begin(method string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.running == 0 {
		c.mu.rounds++
	}
	c.mu.running++
	c.mu.calls[method]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.running--
	}
}

// hooked calls f when the hook has been called.
func hooked[T any](ctx context.Context, c *Cluster, method string, f func() (T, error)) (result T, err error) {
	defer c.begin(method)()
	if err := c.enter(ctx, method); err != nil {
		return result, err
	}
	if result, err = f(); err == nil && c.Lose != nil {
		err = c.Lose(method)
	}
	return result, err
}

func hooked0(ctx context.Context, c *Cluster, method string, f func() error) error {
	_, err := hooked(ctx, c, method, func() (struct{}, error) { return struct{}{}, f() })
	return err
}
