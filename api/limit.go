package api

import (
	"container/list"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"example.com/searchd/access"

	"golang.org/x/time/rate"
)

// limits bounds the requests per second of each caller: of a key by its own rate and those of its
// makers, or the default; of an address without a valid key by the default. The admin key of the
// environment is unlimited.
type limits struct {
	rate      float64 // requests per second; 0: none
	burst     int
	keys      buckets
	addresses buckets
}

// maxBuckets bounds the callers of each kind that are remembered. A forgotten one starts with a
// full bucket.
const maxBuckets = 10_000

func newLimits(perSecond float64, burst int) *limits {
	l := &limits{rate: perSecond, burst: burst}
	l.keys.init()
	l.addresses.init()
	return l
}

// take counts a request of key, or of the address if key is nil. It returns how long to wait, 0 if
// the request is allowed.
func (l *limits) take(key *access.Key, address string, now time.Time) time.Duration {
	switch {
	case key == nil:
		if l.rate == 0 {
			return 0
		}
		return l.addresses.take(network(address), l.rate, access.Burst(l.rate, l.burst), now)
	case key.ID == access.AdminID:
		return 0
	case key.Rate > 0:
		return l.keys.takeAll(key.Rates(), now)
	case l.rate > 0:
		return l.keys.take(key.ID, l.rate, access.Burst(l.rate, l.burst), now)
	}
	return 0
}

// network returns what counts as one caller: an IPv4 address, or the 64-bit prefix of an IPv6
// address.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Unmap().Is4() {
		return address
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}

// buckets are the token buckets of callers; the least recently used is forgotten first.
type buckets struct {
	mu struct {
		sync.Mutex
		order *list.List // of *bucket, most recent first
		byWho map[string]*list.Element
		now   time.Time // the latest
	}
}

// bucket is the token bucket of a caller.
type bucket struct {
	who     string
	limiter *rate.Limiter
}

func (b *buckets) init() {
	b.mu.order, b.mu.byWho = list.New(), map[string]*list.Element{}
}

// take takes a token from the bucket of who, or returns the wait for the next one.
func (b *buckets) take(who string, perSecond float64, burst int, now time.Time) time.Duration {
	return b.takeAll([]access.Rate{{Key: who, PerSecond: perSecond, Burst: burst}}, now)
}

// takeAll takes a token from each of several buckets. If one is empty it takes none and returns the
// wait.
func (b *buckets) takeAll(rates []access.Rate, now time.Time) (wait time.Duration) {
	b.mu.Lock() // for all of it: what is taken and given back again is missed by requests in between
	defer b.mu.Unlock()
	if now.Before(b.mu.now) {
		now = b.mu.now // a limiter that is asked of an earlier time fills up for the time in between once more
	}
	b.mu.now = now
	limiters := make([]*rate.Limiter, len(rates))
	for i, r := range rates {
		limiters[i] = b.bucket(r)
		const longest = 1e9 // seconds, which a Duration holds
		if wait = time.Duration(min((1-limiters[i].TokensAt(now))/r.PerSecond, longest) * float64(time.Second)); wait > 0 {
			return wait
		}
	}
	for _, l := range limiters {
		l.ReserveN(now, 1)
	}
	return 0
}

// bucket returns the bucket of a caller, a full one if it has none. The caller holds the lock.
func (b *buckets) bucket(r access.Rate) *rate.Limiter {
	el := b.mu.byWho[r.Key]
	if el == nil {
		el = b.mu.order.PushFront(&bucket{r.Key, rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)})
		b.mu.byWho[r.Key] = el
		if b.mu.order.Len() > maxBuckets {
			last := b.mu.order.Remove(b.mu.order.Back()).(*bucket)
			delete(b.mu.byWho, last.who)
		}
	} else {
		b.mu.order.MoveToFront(el)
	}
	return el.Value.(*bucket).limiter
}

// rateError refuses a request that came too soon.
type rateError struct{ wait time.Duration }

func (e *rateError) Error() string {
	return "rate limit exceeded, the next request is accepted in " + retrySeconds(e.wait) + " s"
}
func (e *rateError) Unwrap() error { return errRate }

// retrySeconds is the Retry-After of a wait, rounded up.
func retrySeconds(wait time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Ceil(wait.Seconds()))), 10)
}

// limit counts a request, also one that was refused for its key, and returns a rateError if its
// caller sends too many.
func (s *Server) limit(rt route, who caller, address string) error {
	if rt.needs == open {
		return nil
	}
	if wait := s.limits.take(who.key, address, time.Now()); wait > 0 {
		s.limited.Add(1)
		return &rateError{wait}
	}
	return nil
}

func setRetryAfter(h http.Header, f failure, err *rateError) {
	switch {
	case err != nil:
		h.Set("Retry-After", retrySeconds(err.wait))
	case f.retry != "":
		h.Set("Retry-After", f.retry)
	}
}
