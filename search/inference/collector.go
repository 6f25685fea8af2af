package inference

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"example.com/searchd/search/fault"
)

// collector gathers the texts of requests that come at the same time into batches, since a batch of
// many short texts costs less than each of them alone.
//
// The rules:
//  1. While fewer calls run than there are cores, a request is encoded at once, by its own
//     goroutine: a lone request waits for nobody.
//  2. Otherwise it joins a queue. Whoever finishes takes from its head as many requests of the same
//     options as fit a token budget, and encodes them together. So batches grow with the load, and
//     no timer is needed.
//  3. Queries of searches have as many calls of their own, and the head of the queue: none waits
//     for the end of a large batch of texts.
//  4. A large request is cut into parts of the budget which queue one after another, so that it
//     does not keep others out.
//  5. Texts that would make the queue longer than maxQueued tokens are refused with [ErrBusy].
//     Queries are not: searches have bounds of their own.
//
// A batch ends early when all its requests have been given up.
type collector struct {
	embedder Embedder
	workers  int

	batchTexts, batchTokens Histogram // of each call of the embedder

	mu struct {
		sync.Mutex
		running int        // calls of the embedder for texts
		urgent  int        // and for queries
		queue   []*pending // waiting, in order
		queued  int        // tokens of the queue
	}
}

// MaxBatchTokens is how many tokens, as estimate sees them, the texts of different requests may
// have to be encoded together.
const MaxBatchTokens = 8192

// Bounds of a part of a request in texts, and of the queue in tokens.
const (
	batchTexts = 1024
	maxQueued  = 64 * MaxBatchTokens
)

// pending is a request, or a part of one, that waits for its batch.
type pending struct {
	texts  []string
	o      EmbedOptions
	tokens int
	urgent bool
	since  time.Time
	done   chan collected // takes one value without blocking
	batch  *batch         // nil while it waits; guarded by collector.mu, like gone
	gone   bool           // given up
}

// batch is some requests that are encoded together.
type batch struct {
	members []*pending
	left    int // members that have not been given up; guarded by collector.mu
	cancel  context.CancelFunc
}

type collected struct {
	r   *Embeddings
	err error
}

func newCollector(e Embedder) *collector {
	return &collector{embedder: e, workers: runtime.GOMAXPROCS(0)}
}

// Embed encodes texts like the Embedder, in parts and together with the texts of other requests.
func (c *collector) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	return c.parts(ctx, texts, o, false)
}

// parts encodes texts part after part; urgent ones go to the head of the queue.
func (c *collector) parts(ctx context.Context, texts []string, o EmbedOptions, urgent bool) (*Embeddings, error) {
	limit := c.embedder.Model().MaxTokens
	out := &Embeddings{Model: c.embedder.Model()}
	for first := true; len(texts) > 0 || first; first = false {
		n, tokens := 0, 0
		for n < len(texts) && n < batchTexts {
			t := estimate(texts[n], limit)
			if n > 0 && tokens+t > MaxBatchTokens {
				break
			}
			tokens += t
			n++
		}
		r, err := c.submit(ctx, &pending{texts: texts[:n], o: o, tokens: tokens, urgent: urgent, done: make(chan collected, 1)})
		if err != nil {
			return nil, err
		}
		if first && n == len(texts) {
			return r, nil
		}
		out.Vectors, out.Counts, out.Truncated = append(out.Vectors, r.Vectors...), append(out.Counts, r.Counts...), append(out.Truncated, r.Truncated...)
		out.Tokens += r.Tokens
		out.Queue += r.Queue
		out.Tokenization += r.Tokenization
		out.Inference += r.Inference
		texts = texts[n:]
	}
	return out, nil
}

// query encodes the query of a search, ahead of what waits.
func (c *collector) query(ctx context.Context, text string) (*Embeddings, error) {
	tokens := estimate(text, c.embedder.Model().MaxTokens)
	return c.submit(ctx, &pending{texts: []string{text}, o: EmbedOptions{Query: true}, tokens: tokens, urgent: true, done: make(chan collected, 1)})
}

// estimate guesses the tokens of a text: counting them would cost as much as a fiftieth of encoding
// it.
func estimate(text string, limit int) int {
	n := len(text)/4 + 2
	if limit > 0 {
		n = min(n, limit)
	}
	return n
}

// submit encodes p at once where a worker is free, and otherwise waits for its batch.
func (c *collector) submit(ctx context.Context, p *pending) (*Embeddings, error) {
	p.since = time.Now()
	c.mu.Lock()
	if calls := c.calls(p.urgent); *calls < c.workers {
		*calls++
		c.mu.Unlock()
		defer c.next(p.urgent)
		return c.alone(ctx, p)
	}
	if !p.urgent && len(c.mu.queue) > 0 && c.mu.queued+p.tokens > maxQueued {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: %d tokens, try again later", fault.ErrBusy, maxQueued)
	}
	at := len(c.mu.queue)
	if p.urgent {
		if i := slices.IndexFunc(c.mu.queue, func(q *pending) bool { return !q.urgent }); i >= 0 {
			at = i
		}
	}
	c.mu.queue = slices.Insert(c.mu.queue, at, p)
	c.mu.queued += p.tokens
	c.mu.Unlock()
	select {
	case got := <-p.done:
		return got.r, got.err
	case <-ctx.Done():
		c.leave(p)
		return nil, context.Cause(ctx)
	}
}

// calls returns the number of calls under way for queries, or for texts. The caller holds mu.
func (c *collector) calls(urgent bool) *int {
	if urgent {
		return &c.mu.urgent
	}
	return &c.mu.running
}

// leave gives p up: it takes p out of the queue, or stops its batch where p is the last that
// anybody waits for.
func (c *collector) leave(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.gone = true
	if p.batch != nil {
		if p.batch.left--; p.batch.left == 0 {
			p.batch.cancel()
		}
		return
	}
	if i := slices.Index(c.mu.queue, p); i >= 0 {
		c.mu.queue = slices.Delete(c.mu.queue, i, i+1)
		c.mu.queued -= p.tokens
	}
}

// next hands the caller's place to a goroutine that works off the queries, or the texts, of the
// queue, or gives it up where none waits.
func (c *collector) next(urgent bool) {
	ctx, b := c.take(urgent)
	if b == nil {
		return
	}
	go func() {
		for ; b != nil; ctx, b = c.take(urgent) {
			c.run(ctx, b)
			b.cancel()
		}
	}()
}

// take returns the next batch of queries, or of texts, and its context; nil, with one call less,
// where none waits.
func (c *collector) take(urgent bool) (context.Context, *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := slices.IndexFunc(c.mu.queue, func(p *pending) bool { return p.urgent == urgent })
	if first < 0 {
		*c.calls(urgent)--
		return nil, nil
	}
	o, tokens := c.mu.queue[first].o, 0
	b := &batch{}
	c.mu.queue = slices.DeleteFunc(c.mu.queue, func(p *pending) bool {
		if p.urgent != urgent || p.o != o || len(b.members) > 0 && tokens+p.tokens > MaxBatchTokens {
			return false
		}
		tokens += p.tokens
		p.batch = b
		b.members = append(b.members, p)
		return true
	})
	c.mu.queued -= tokens
	b.left = len(b.members)
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	return ctx, b
}

// run encodes a batch and answers its requests. Where it fails, each is tried alone, so that one
// does not fail for another.
func (c *collector) run(ctx context.Context, b *batch) {
	if len(b.members) > 1 && c.together(ctx, b.members) == nil {
		return
	}
	for _, p := range b.members {
		c.mu.Lock()
		gone := p.gone
		c.mu.Unlock()
		if !gone {
			r, err := c.alone(ctx, p)
			p.done <- collected{r, err}
		}
	}
}

// alone encodes one request.
func (c *collector) alone(ctx context.Context, p *pending) (*Embeddings, error) {
	began := time.Now()
	c.count(len(p.texts), p.tokens)
	r, err := c.embed(ctx, p.texts, p.o)
	if err != nil {
		return nil, err
	}
	r.Queue, r.Inference = began.Sub(p.since), time.Since(began)-r.Tokenization
	return r, nil
}

// together encodes several requests and answers all of them, or none.
func (c *collector) together(ctx context.Context, members []*pending) error {
	var texts []string
	tokens := 0
	for _, p := range members {
		texts = append(texts, p.texts...)
		tokens += p.tokens
	}
	c.count(len(texts), tokens)
	began := time.Now()
	all, err := c.embed(ctx, texts, members[0].o)
	if err != nil {
		return err
	}
	took, from := time.Since(began), 0
	for _, p := range members {
		to := from + len(p.texts)
		r := &Embeddings{Vectors: all.Vectors[from:to:to], Model: all.Model, Queue: began.Sub(p.since), Tokenization: all.Tokenization, Inference: took - all.Tokenization}
		if len(all.Truncated) == len(texts) {
			r.Truncated = all.Truncated[from:to:to]
		}
		for j := from; j < to; j++ {
			n := 0
			if len(all.Counts) == len(texts) {
				n = all.Counts[j]
			} else {
				n = c.embedder.CountTokens(texts[j])
			}
			r.Counts = append(r.Counts, n)
			r.Tokens += n
		}
		p.done <- collected{r: r}
		from = to
	}
	return nil
}

// count counts a call of the embedder.
func (c *collector) count(texts, tokens int) {
	c.batchTexts.add(texts)
	c.batchTokens.add(tokens)
}

// embed calls the embedder. It runs in goroutines of the collector's own too, where a panic would
// end the process.
func (c *collector) embed(ctx context.Context, texts []string, o EmbedOptions) (r *Embeddings, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("encoding %d texts: panic: %v", len(texts), v)
		}
	}()
	return embed(ctx, c.embedder, texts, o)
}
