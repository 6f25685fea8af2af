package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"searchd/search/backend"
)

// cluster is a backend of shards as the engine uses it. It is safe for concurrent use.
//
// The rules:
//  1. How the shards are is asked every watchEvery. Readiness, read-only and metrics are told from the last answer, without a call.
//  2. The list of collections is kept for keptFor, or until this engine writes. What each request asks for, one collection as it stands, the backend keeps.
//  3. While a shard hangs, one that takes a request and says nothing, requests fail at once instead of waiting for it until their time is up.
//  4. When a shard has said that somebody else claimed it, no write is tried any more. Reads go on with what the shards hold, so that what is read of
//     documents is what others have written; names, aliases, API keys and checkpoints are as they were. The engine is not ready, so that requests go
//     elsewhere.
//  5. Where another engine writes, all that is kept is forgotten by each Refresh.
//  6. Whether the shards are being filled by [Spread] is asked every watchEvery, too: an engine that was there before that began would answer from a part of
//     the documents. Requests fail until the copy is complete.
type cluster struct {
	backend.Cluster
	notice, alarm func(text string)

	states     atomic.Pointer[[]backend.ShardState] // nil: not known yet
	hangs      atomic.Pointer[error]                // not nil: of a shard that did not answer in time when it was last asked
	claimed    atomic.Pointer[error]                // nil: writes are tried
	unfinished atomic.Pointer[error]                // of a copy that the shards are being filled with when they were last asked
	stop       context.CancelFunc
	watched    sync.WaitGroup

	mu struct {
		sync.Mutex
		writes uint64               // that have ended
		all    []backend.Collection // nil: not known
		allAt  time.Time
	}
}

// Bounds of what is known of shards without asking them.
const (
	watchEvery = 2 * time.Second
	watchWait  = 2 * time.Second // for an answer, until a shard counts as one that gives none
	keptFor    = time.Second
)

// newCluster watches b until it is closed.
func newCluster(b backend.Cluster, notice, alarm func(text string)) *cluster {
	c := &cluster{Cluster: b, notice: notice, alarm: alarm}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	for _, look := range []func(ctx context.Context){c.look, c.lookAtCopy} { // each by itself: values are asked for without a time of ours
		c.watched.Go(func() {
			for ctx.Err() == nil {
				look(ctx)
				select {
				case <-time.After(watchEvery):
				case <-ctx.Done():
				}
			}
		})
	}
	return c
}

// Close implements backend.Backend.
func (c *cluster) Close() error {
	c.stop()
	c.watched.Wait()
	return c.Cluster.Close()
}

// look asks how the shards are, and tells what has changed.
func (c *cluster) look(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, watchWait)
	defer cancel()
	now := c.Cluster.States(within, false)
	if ctx.Err() != nil {
		return
	}
	var hangs error
	if i := slices.IndexFunc(now, away); i >= 0 && within.Err() != nil {
		hangs = &ShardError{Shard: now[i].Name, Err: now[i].Err}
	}
	c.hangs.Store(&hangs)
	was := c.states.Swap(&now)
	for i, s := range now {
		c.note(s.Err)
		before := was != nil && away((*was)[i])
		switch {
		case away(s) && !before:
			c.alarm(fmt.Sprintf("shard %s does not answer, and what needs it fails until it does: %v", s.Name, s.Err))
		case before && !away(s):
			c.notice(fmt.Sprintf("shard %s answers again", s.Name))
		}
	}
}

// lookAtCopy asks whether the shards are being filled with a copy. Where they do not say, what they said before holds.
func (c *cluster) lookAtCopy(context.Context) {
	err := complete(c.Cluster)
	if err != nil && !errors.Is(err, ErrUnfinished) {
		return
	}
	switch was := c.unfinished.Swap(&err); {
	case err != nil && (was == nil || *was == nil):
		c.alarm("the shards are being filled, and requests are refused until that has ended: " + err.Error())
	case err == nil && was != nil && *was != nil:
		c.notice("the copy that the shards were filled with is complete")
	}
}

// away says whether a shard does not answer.
func away(s backend.ShardState) bool { return s.Err != nil && !errors.Is(s.Err, backend.ErrClaimed) }

// last returns how the shards were when they were last asked; none before that.
func (c *cluster) last() []backend.ShardState {
	if s := c.states.Load(); s != nil {
		return *s
	}
	return nil
}

// note takes note where an error says that somebody else has claimed a shard, or where its documents have moved since.
func (c *cluster) note(err error) {
	was := c.claimed.Load()
	moved := errors.Is(err, backend.ErrMoved)
	if !errors.Is(err, backend.ErrClaimed) || was != nil && (!moved || errors.Is(*was, backend.ErrMoved)) || !c.claimed.CompareAndSwap(was, &err) {
		return
	}
	if moved {
		c.alarm(fmt.Sprintf("this server writes no more: stop it: %v", err))
		return
	}
	c.alarm(fmt.Sprintf("another server has taken over the shards, and this one writes no more: stop it, or start it again to take them back: %v", err))
}

// answers returns an error where a shard hangs, as who waits for it takes the place of others, or where the shards do not have all documents yet.
func (c *cluster) answers() error {
	for _, p := range []*atomic.Pointer[error]{&c.hangs, &c.unfinished} {
		if err := p.Load(); err != nil && *err != nil {
			return *err
		}
	}
	return nil
}

// replaced returns why nothing is written any more; nil: writes are tried.
func (c *cluster) replaced() error {
	if err := c.claimed.Load(); err != nil {
		return *err
	}
	return nil
}

// ready returns why requests should go elsewhere, or nil.
func (c *cluster) ready() error {
	if err := c.replaced(); err != nil {
		return err
	}
	for _, s := range c.last() {
		if away(s) {
			return &ShardError{Shard: s.Name, Err: s.Err}
		}
	}
	if err := c.unfinished.Load(); err != nil {
		return *err
	}
	return nil
}

// ReadOnly implements backend.Gauges, as of the last answers.
func (c *cluster) ReadOnly() error {
	if err := c.replaced(); err != nil {
		return err
	}
	for _, s := range c.last() {
		if s.ReadOnly != nil {
			return &ShardError{Shard: s.Name, Err: s.ReadOnly}
		}
	}
	return nil
}

// StoreSize implements backend.Gauges, as of the last answers.
func (c *cluster) StoreSize() (n int64, err error) {
	for _, s := range c.last() {
		n += s.StoreBytes
	}
	return n, nil
}

// write carries out a write.
func (c *cluster) write(do func() error) error {
	if err := c.replaced(); err != nil {
		return err
	}
	err := do()
	c.note(err)
	c.forget() // also after an error: some of it may be there
	return err
}

// forget forgets what a write may have changed.
func (c *cluster) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.writes++
	c.mu.all = nil
}

// Create implements backend.Catalog.
func (c *cluster) Create(ctx context.Context, name string, config backend.Config) error {
	return c.write(func() error { return c.Cluster.Create(ctx, name, config) })
}

// Update implements backend.Catalog.
func (c *cluster) Update(ctx context.Context, name string, config backend.Config) error {
	return c.write(func() error { return c.Cluster.Update(ctx, name, config) })
}

// Drop implements backend.Catalog.
func (c *cluster) Drop(ctx context.Context, name string) error {
	return c.write(func() error { return c.Cluster.Drop(ctx, name) })
}

// Apply implements backend.Documents.
func (c *cluster) Apply(ctx context.Context, name string, writes []backend.Write) (out []backend.Outcome, err error) {
	err = c.write(func() error {
		out, err = c.Cluster.Apply(ctx, name, writes)
		return err
	})
	return out, err
}

// SetValues implements backend.Values.
func (c *cluster) SetValues(ctx context.Context, values map[string][]byte) error {
	return c.write(func() error { return c.Cluster.SetValues(ctx, values) })
}

// Collections implements backend.Catalog.
func (c *cluster) Collections(ctx context.Context) ([]backend.Collection, error) {
	c.mu.Lock()
	all, at, writes := c.mu.all, c.mu.allAt, c.mu.writes
	c.mu.Unlock()
	if all != nil && time.Since(at) < keptFor {
		return slices.Clone(all), ctx.Err()
	}
	at = time.Now()
	all, err := c.Cluster.Collections(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.writes == writes {
		c.mu.all, c.mu.allAt = slices.Clone(all), at
	}
	return all, nil
}

// ShardError says of which shard an error is.
type ShardError = backend.ShardError

// ShardInfo describes a shard.
type ShardInfo struct {
	Name       string `json:"name"`
	Up         bool   `json:"up"`              // it answers; else the rest is not known
	Error      string `json:"error,omitempty"` // why it does not, or that another server has claimed it
	ReadOnly   bool   `json:"read_only"`       // it takes no writes after a failed commit, until its next start
	Documents  int    `json:"documents"`       // of all collections, generations that are being built included
	StoreBytes int64  `json:"store_bytes"`
}

// Cluster names the shards that the backend is made of; empty where it is not.
func (e *Engine) Cluster() string {
	if e.cluster == nil {
		return ""
	}
	return e.cluster.Name()
}

// Shards describes the shards of the backend as they are now; none where it is not made of any.
func (e *Engine) Shards(ctx context.Context) ([]ShardInfo, error) {
	if err := errors.Join(ctx.Err(), e.running()); err != nil {
		return nil, err
	}
	if e.cluster == nil {
		return []ShardInfo{}, nil
	}
	within, cancel := context.WithTimeout(ctx, watchWait)
	defer cancel()
	return shardInfos(e.cluster.States(within, true)), nil
}

// KnownShards describes them as of two seconds ago, without what they hold and without a call; none where the backend is not made of any.
func (e *Engine) KnownShards() []ShardInfo {
	if e.cluster == nil {
		return nil
	}
	return shardInfos(e.cluster.last())
}

func shardInfos(states []backend.ShardState) []ShardInfo {
	out := make([]ShardInfo, len(states))
	for i, s := range states {
		out[i] = ShardInfo{Name: s.Name, Up: !away(s), ReadOnly: s.ReadOnly != nil, Documents: s.Documents, StoreBytes: s.StoreBytes}
		if s.Err != nil {
			out[i].Error = s.Err.Error()
		}
	}
	return out
}
