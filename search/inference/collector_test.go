package inference

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/models"
	"example.com/searchd/search/fault"
)

// slowEmbedder gives each text a vector of its own, and each call its number; calls wait until they
// are let go.
type slowEmbedder struct {
	mu      sync.Mutex
	batches [][]string
	entered chan []string
	let     chan struct{} // nil: calls do not wait
	refuse  string        // a text that fails

	tokenization time.Duration // of a call
}

func (s *slowEmbedder) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	s.mu.Lock()
	s.batches = append(s.batches, slices.Clone(texts))
	s.mu.Unlock()
	if s.let != nil {
		s.entered <- texts
		select {
		case <-s.let:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.refuse != "" && slices.Contains(texts, s.refuse) {
		if s.refuse == "panic" {
			panic("in the embedder")
		}
		return nil, errors.New("refused " + s.refuse)
	}
	r := &Embeddings{Truncated: make([]bool, len(texts)), Tokenization: s.tokenization}
	time.Sleep(s.tokenization)
	for _, t := range texts {
		r.Vectors = append(r.Vectors, []float32{float32(len(t)), float32(t[0])})
		r.Counts = append(r.Counts, len(t))
		r.Tokens += len(t)
	}
	return r, nil
}

func (s *slowEmbedder) CountTokens(text string) int     { return len(text) }
func (s *slowEmbedder) Model() ModelInfo                { return ModelInfo{MaxTokens: 512, Dimension: 2} }
func (s *slowEmbedder) Calibration() models.Calibration { return models.Calibration{} }

func newSlow() *slowEmbedder {
	return &slowEmbedder{entered: make(chan []string, 100), let: make(chan struct{})}
}

// waits returns when n requests are in the queue.
func waits(c *collector, n int) {
	for {
		c.mu.Lock()
		got := len(c.mu.queue)
		c.mu.Unlock()
		if got == n {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

func TestCollectorGathersWhatWaits(t *testing.T) {
	s := newSlow()
	c := newCollector(s)
	c.workers = 1
	var wg sync.WaitGroup
	ask := func(text string, o EmbedOptions) {
		wg.Go(func() {
			r, err := c.Embed(t.Context(), []string{text, text + "!"}, o)
			if err != nil || len(r.Vectors) != 2 || r.Vectors[1][0] != float32(len(text)+1) || r.Vectors[0][1] != float32(text[0]) || r.Tokens != 2*len(text)+1 {
				t.Errorf("Embed(%s) = %+v, %v", text, r, err)
			}
		})
	}
	ask("first", EmbedOptions{})
	<-s.entered
	for i := range 8 {
		ask(fmt.Sprint("text", strings.Repeat("x", i)), EmbedOptions{})
	}
	ask("other", EmbedOptions{Prompt: "other"})
	waits(c, 9)
	for i := range 3 { // the first has a call of its own, the others wait for it
		wg.Go(func() {
			if _, err := c.query(t.Context(), "query"); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			<-s.entered
		} else {
			waits(c, 9+i)
		}
	}
	close(s.let)
	wg.Wait()
	var sizes []int
	for _, b := range s.batches[2:] {
		sizes = append(sizes, len(b))
		if b[0] == "query" && len(b) != 2 || b[0] != "query" && slices.Contains(b, "query") {
			t.Errorf("batch %q: want the two queries that waited together, and nothing else", b)
		}
	}
	slices.Sort(sizes)
	if got := fmt.Sprint(len(s.batches[0]), s.batches[1], sizes); got != "2 [query] [2 2 16]" {
		t.Errorf("batches %v: want the first alone, a query beside it, and then the eight, the one with other options, and the two queries together", s.batches)
	}
	rests(t, c)
	if c.mu.queued != 0 {
		t.Errorf("%d tokens are queued after all is done", c.mu.queued)
	}
}

// rests returns when no call is under way and none waits: the answers of a batch are there before
// its goroutine has ended.
func rests(t *testing.T, c *collector) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Microsecond) {
		c.mu.Lock()
		running, urgent, waiting := c.mu.running, c.mu.urgent, len(c.mu.queue)
		c.mu.Unlock()
		if running+urgent+waiting == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("afterwards: %d and %d calls, %d waiting", running, urgent, waiting)
		}
	}
}

// A lone request is encoded by its own goroutine at once.
func TestCollectorDoesNotDelayALoneRequest(t *testing.T) {
	c := newCollector(&slowEmbedder{})
	best := time.Hour
	for range 20 { // the best of many, for a busy machine delays as well
		began := time.Now()
		for range 10 {
			if _, err := c.Embed(t.Context(), []string{"x"}, EmbedOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		best = min(best, time.Since(began))
	}
	if best > 10*time.Millisecond {
		t.Errorf("10 requests one after another took %v", best)
	}
}

func TestCollectorSplitsLargeRequests(t *testing.T) {
	s := &slowEmbedder{}
	c := newCollector(s)
	texts := make([]string, 3*batchTexts)
	for i := range texts {
		texts[i] = strings.Repeat("y", 1+i%7)
	}
	texts[5] = strings.Repeat("long ", 1<<16) // counts as what the checkpoint takes
	r, err := c.Embed(t.Context(), texts, EmbedOptions{})
	if err != nil || len(r.Vectors) != len(texts) || len(r.Truncated) != len(texts) {
		t.Fatalf("Embed: %v", err)
	}
	for i, v := range r.Vectors {
		if int(v[0]) != len(texts[i]) {
			t.Fatalf("vector %d is that of another text", i)
		}
	}
	if len(s.batches) < 3 || r.Tokens == 0 {
		t.Errorf("%d calls for %d texts", len(s.batches), len(texts))
	}
	if r, err := c.Embed(t.Context(), nil, EmbedOptions{}); err != nil || len(r.Vectors) != 0 {
		t.Errorf("no texts: %v, %v", r, err)
	}
}

func TestCollectorRefusesWhenFull(t *testing.T) {
	s := newSlow()
	c := newCollector(s)
	c.workers = 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go c.Embed(ctx, []string{"first"}, EmbedOptions{})
	<-s.entered
	big := slices.Repeat([]string{strings.Repeat("z", 4*510)}, 16)
	for range maxQueued / MaxBatchTokens {
		go c.Embed(ctx, big, EmbedOptions{})
	}
	waits(c, maxQueued/MaxBatchTokens)
	late, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if _, err := c.Embed(late, big, EmbedOptions{}); !errors.Is(err, fault.ErrBusy) {
		t.Fatalf("a full queue: %v, want fault.ErrBusy", err)
	}
	cancel()
	waits(c, 0)
}

func TestCollectorLetsGo(t *testing.T) {
	s := newSlow()
	c := newCollector(s)
	c.workers = 1
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := c.Embed(ctx, []string{"first"}, EmbedOptions{}); first <- err }()
	<-s.entered
	var gone sync.WaitGroup
	for range 3 {
		gone.Go(func() {
			if _, err := c.Embed(ctx, []string{"waits"}, EmbedOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("a request that was given up: %v", err)
			}
		})
	}
	waits(c, 3)
	cancel()
	gone.Wait()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the running one: %v", err)
	}
	close(s.let)
	if _, err := c.Embed(t.Context(), []string{"after"}, EmbedOptions{}); err != nil {
		t.Errorf("after that: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.batches); n > 3 || fmt.Sprint(s.batches[n-1]) != "[after]" {
		t.Errorf("batches %v: want none for each that was given up", s.batches)
	}
}

func TestCollectorOneFailureIsNotAll(t *testing.T) {
	for _, bad := range []string{"bad", "panic"} {
		s := newSlow()
		s.refuse = bad
		c := newCollector(s)
		c.workers = 1
		var wg sync.WaitGroup
		ask := func(text string) {
			wg.Go(func() {
				if _, err := c.Embed(t.Context(), []string{text}, EmbedOptions{}); (err != nil) != (text == bad) {
					t.Errorf("Embed(%s): %v", text, err)
				}
			})
		}
		ask("first")
		<-s.entered
		ask("good")
		ask(bad)
		ask("fine")
		waits(c, 3)
		close(s.let)
		wg.Wait()
	}
}

// TestCollectorTimes: what the texts took to become tokens is summed over the parts of a request,
// shared by those that are encoded together, and no part of the rest.
func TestCollectorTimes(t *testing.T) {
	const each = 20 * time.Millisecond
	s := newSlow()
	s.tokenization = each
	c := newCollector(s)
	c.workers = 1
	type answer struct {
		r   *Embeddings
		err error
	}
	answers := make(chan answer, 3)
	ask := func(text string) {
		r, err := c.Embed(t.Context(), []string{text}, EmbedOptions{})
		answers <- answer{r, err}
	}
	go ask("alone")
	<-s.entered
	go ask("one of two")
	waits(c, 1)
	go ask("two of two")
	waits(c, 2)
	close(s.let)
	for range 3 {
		if a := <-answers; a.err != nil || a.r.Tokenization != each || a.r.Inference < 0 {
			t.Errorf("%+v, %v", a.r, a.err)
		}
	}
	if len(s.batches) != 2 {
		t.Fatalf("batches %v", s.batches)
	}
	began := time.Now()
	r, err := c.Embed(t.Context(), slices.Repeat([]string{"part"}, 3*batchTexts), EmbedOptions{})
	if err != nil || r.Tokenization != 3*each || r.Tokenization+r.Inference > time.Since(began) {
		t.Errorf("three parts: %v and %v of %v, %v", r.Tokenization, r.Inference, time.Since(began), err)
	}
}
