package inference

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func manyTexts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%c", 'a'+i%26) + strings.Repeat("x", 4*100+i) // about a hundred tokens each
	}
	return texts
}

func TestBulkComesInParts(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	texts := manyTexts(100 * cores)
	for name, tt := range map[string]struct {
		searching bool
		least     int // calls
		most      int
	}{
		"nobody searches":   {false, 100 * cores * 100 / (bulkPart * cores), 100*cores*300/(bulkPart*cores) + 1},
		"somebody searches": {true, 100 * cores * 100 / (bulkPartShort * cores), 100 * cores},
	} {
		t.Run(name, func(t *testing.T) {
			var c Throttle
			if tt.searching {
				defer c.Begin()()
			}
			e := &slowEmbedder{}
			vectors, err := c.Embed(t.Context(), NewPace(), e, texts)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(e.batches); n < tt.least || n > tt.most {
				t.Errorf("%d calls, want %d to %d", n, tt.least, tt.most)
			}
			if len(vectors) != len(texts) {
				t.Fatalf("%d vectors of %d texts", len(vectors), len(texts))
			}
			for i, v := range vectors {
				if v[0] != float32(len(texts[i])) || v[1] != float32(texts[i][0]) {
					t.Fatalf("vector %d is that of another text", i)
				}
			}
		})
	}
}

// nothing is an embedder that gives none.
type nothing struct{ slowEmbedder }

func (*nothing) Embed(context.Context, []string, EmbedOptions) (*Embeddings, error) { return nil, nil }

func TestBulkOfNothing(t *testing.T) {
	var c Throttle
	if v, err := c.Embed(t.Context(), NewPace(), &nothing{}, []string{"a"}); err == nil {
		t.Errorf("embed = %v without an error", v)
	}
}

func TestBulkPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Throttle
		const long = time.Hour // a part that took so long is followed by the longest pause
		pause := func(ctx context.Context, took time.Duration) (paused time.Duration, err error) {
			var p bulk
			p.done(took)
			began := time.Now()
			err = c.pause(ctx, &p)
			return time.Since(began), err
		}
		if paused, err := pause(t.Context(), long); err != nil || paused > 0 {
			t.Errorf("nobody searches: paused %s, %v", paused, err)
		}
		end := c.Begin()
		if !c.Wanted() {
			t.Error("a search under way does not count")
		}
		if paused, err := pause(t.Context(), long); err != nil || paused != bulkLongest {
			t.Errorf("somebody searches: paused %s, want %s; %v", paused, bulkLongest, err)
		}
		if paused, _ := pause(t.Context(), 20*time.Millisecond); paused != bulkPause*20*time.Millisecond {
			t.Errorf("after a short part: paused %s, want %s", paused, bulkPause*20*time.Millisecond)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := pause(ctx, long); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		end()
		if !c.Wanted() {
			t.Error("a search that has just ended does not count")
		}
		if paused, _ := pause(t.Context(), 20*time.Millisecond); paused != bulkRest*20*time.Millisecond {
			t.Errorf("between searches: paused %s, want %s", paused, bulkRest*20*time.Millisecond)
		}
		c.last.Store(time.Now().Add(-2 * bulkMemory).UnixNano())
		if c.Wanted() {
			t.Error("a search that ended long ago counts")
		}
	})
}

// Of two parts that end one after the other the longer pause is made.
func TestPartsShareAPause(t *testing.T) {
	var p bulk
	p.done(time.Second)
	p.done(time.Millisecond)
	if _, took := p.owed(); took != time.Second {
		t.Errorf("a short part behind a long one: a pause for %s is owed", took)
	}
	p.mu.end = p.mu.end.Add(-bulkLongest)
	p.done(time.Millisecond)
	if _, took := p.owed(); took != time.Millisecond {
		t.Errorf("when the pause of the long one is over: a pause for %s is owed", took)
	}
}

// A query is encoded while texts have all the calls and a full queue.
func TestQueriesDoNotWaitForTexts(t *testing.T) {
	e := &gated{slowEmbedder: slowEmbedder{}, texts: make(chan struct{})}
	c := newCollector(e)
	c.workers = 2
	done := make(chan error, 6)
	for range 6 {
		go func() {
			_, err := c.Embed(context.Background(), []string{strings.Repeat("y", 400)}, EmbedOptions{})
			done <- err
		}()
	}
	waits(c, 4)
	c.mu.Lock()
	c.mu.queued = maxQueued // as if much more were waiting
	c.mu.Unlock()
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if _, err := c.query(ctx, "a query"); err != nil {
			t.Fatalf("query: %v", err)
		}
		cancel()
	}
	close(e.texts)
	for range 6 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	rests(t, c)
}

// gated lets queries pass and holds texts back.
type gated struct {
	slowEmbedder
	texts chan struct{}
}

func (g *gated) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	if !o.Query {
		select {
		case <-g.texts:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.slowEmbedder.Embed(ctx, texts, o)
}
