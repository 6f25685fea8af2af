package api

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"searchd/search"
)

// lasting is what one Server of a [Front] hands to the next, whose engine is another: counters, rate limits, and the slots of requests that
// still run.
type lasting struct {
	searches, writes, embeds, tokens, imports, pdfs *gate

	limits  *limits
	limited atomic.Int64 // requests refused by a rate limit
	metrics *metrics
	started time.Time

	serving atomic.Pointer[Server]       // whose engine the gauges read; nil between two
	past    atomic.Pointer[search.Stats] // counters of the engines before
}

// lasting returns what a server goes on with.
func (o Options) lasting() *lasting {
	if o.Front == nil {
		return newLasting(o)
	}
	if o.Front.lasting == nil {
		o.Front.lasting = newLasting(o)
	}
	return o.Front.lasting
}

// newLasting is for servers with the options o, which have their defaults.
func newLasting(o Options) *lasting {
	cores := runtime.GOMAXPROCS(0)
	l := &lasting{
		searches: newGate("search", o.SearchSlots, 64*o.SearchSlots, o.SearchWait, errOverloaded),
		writes:   newGate("write", o.WriteSlots, 4*o.WriteSlots, 2*time.Second, errTooManyWrites),
		embeds:   newGate("embed", o.EmbedSlots, 4*o.EmbedSlots, 2*time.Second, errOverloaded),
		// A vector for each token is much for its request: the engine does not gather such requests, and one per core keeps it busy.
		tokens:  newGate("embed_all", cores, 4*cores, 2*time.Second, errOverloaded),
		imports: newGate("import", 2*o.WriteSlots, 0, 0, errTooManyWrites),
		pdfs:    newGate("pdf", max(1, cores/2), 0, 0, errTooManyWrites),
		limits:  newLimits(o.RateLimit, o.RateBurst),
		started: time.Now(),
	}
	l.metrics = newMetrics(l, o.Logger)
	l.past.Store(&search.Stats{})
	return l
}

// leave keeps the counters of the engine, which is about to be closed.
func (s *Server) leave() {
	s.serving.CompareAndSwap(s, nil)
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTimeout)
	defer cancel()
	stats, err := s.o.Engine.Stats(ctx)
	if err != nil {
		return // they begin again
	}
	stats.Continue(s.past.Load())
	s.past.Store(stats)
}
