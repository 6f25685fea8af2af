package inference

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Throttle makes what is done in bulk (encoding and indexing documents) give way to searches.
//
// The rules:
//  1. While nobody searches, bulk work runs in large parts, one after another, on all cores.
//  2. While somebody searches, it runs in small parts, of about one passage, so that a query does
//     not wait long for a core, and after each it pauses: bulkRest times as long as the part took,
//     so that most searches meet none, and on for as long as somebody searches, at most bulkPause
//     times as long. So bulk work has a quarter of the machine in the gaps between searches, and a
//     tenth where there are none.
//  3. The pause is made before the next part of the same Pace, whoever has that: a single document
//     that is written now and then waits for none, and for no import.
type Throttle struct {
	searches atomic.Int64 // under way
	last     atomic.Int64 // Unix nanoseconds of the end of the last one
}

// Pace is what bulk work of one kind, single documents or many, waits for before its next part.
type Pace struct {
	turn               chan struct{} // one token: what is ingested is encoded one after another, so that it does not fight over the cores
	encoded, committed bulk          // the last ones
}

func NewPace() *Pace { return &Pace{turn: make(chan struct{}, 1)} }

// bulk is a part of bulk work that a pause is owed for.
type bulk struct {
	mu struct {
		sync.Mutex
		end  time.Time
		took time.Duration
	}
}

// done notes a part that ends now; of two the one with the longer pause ahead counts.
func (b *bulk) done(took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); bulkLong(took) >= bulkLong(b.mu.took)-now.Sub(b.mu.end) {
		b.mu.end, b.mu.took = now, took
	}
}

// bulkLong is the longest pause after a part that took so long.
func bulkLong(took time.Duration) time.Duration { return min(bulkPause*took, bulkLongest) }

// owed returns when the part ended, and how long it took.
func (b *bulk) owed() (end time.Time, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.end, b.mu.took
}

// Bounds of parts, in estimated tokens per core, and of pauses.
const (
	bulkPart      = 2048
	bulkPartShort = 64
	bulkPause     = 9
	bulkRest      = 3
	bulkLongest   = 2 * time.Second
	bulkMemory    = 2 * time.Second // so long after a search the next is expected: a large part would keep it waiting
	bulkLook      = time.Millisecond
)

// Begin counts a search until the returned function is called.
func (c *Throttle) Begin() (end func()) {
	c.searches.Add(1)
	return func() {
		c.last.Store(time.Now().UnixNano())
		c.searches.Add(-1)
	}
}

// Wanted reports whether somebody searches, or did just now.
func (c *Throttle) Wanted() bool {
	return c.searches.Load() > 0 || time.Now().UnixNano()-c.last.Load() < int64(bulkMemory)
}

// pause gives way between a part of bulk work and the next.
func (c *Throttle) pause(ctx context.Context, before *bulk) error {
	end, took := before.owed()
	most, least := bulkLong(took), min(bulkRest*took, bulkLongest)
	for {
		if d := time.Since(end); d >= most || c.searches.Load() == 0 && (d >= least || !c.Wanted()) {
			break
		}
		t := time.NewTimer(bulkLook)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// Embed encodes texts like e, in parts between which it gives way.
func (c *Throttle) Embed(ctx context.Context, p *Pace, e Embedder, texts []string) ([][]float32, error) {
	if isRemote(e) {
		r, err := embed(ctx, e, texts, EmbedOptions{})
		if err != nil {
			return nil, err
		}
		return r.Vectors, nil
	}
	limit := e.Model().MaxTokens
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		budget := bulkPart * runtime.GOMAXPROCS(0)
		if c.Wanted() {
			budget = bulkPartShort * runtime.GOMAXPROCS(0)
		}
		n := 0
		for tokens := 0; n < len(texts); n++ {
			if tokens += estimate(texts[n], limit); n > 0 && tokens > budget {
				break
			}
		}
		if err := c.pause(ctx, &p.encoded); err != nil {
			return nil, err
		}
		began := time.Now()
		r, err := embed(ctx, e, texts[:n], EmbedOptions{})
		if err != nil {
			return nil, err
		}
		p.encoded.done(time.Since(began))
		vectors, texts = append(vectors, r.Vectors...), texts[n:]
	}
	return vectors, nil
}

// Turn waits for the turn to encode at a pace, or for the end of ctx.
func (p *Pace) Turn(ctx context.Context) (done func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Commit makes a commit of bulk work, after the pause that is owed for the one before.
func (c *Throttle) Commit(ctx context.Context, p *Pace, commit func() error) error {
	if err := c.pause(ctx, &p.committed); err != nil {
		return err
	}
	began := time.Now()
	if err := commit(); err != nil {
		return err
	}
	p.committed.done(time.Since(began))
	return nil
}

// Searches returns how many searches are under way.
func (c *Throttle) Searches() int64 { return c.searches.Load() }
