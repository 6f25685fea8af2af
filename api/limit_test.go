package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/search"
)

func TestRateLimits(t *testing.T) {
	own := &access.Key{ID: "own", Spec: access.Spec{Rate: 2, Burst: 3}}
	plain, other := &access.Key{ID: "plain"}, &access.Key{ID: "other"}
	admin := &access.Key{ID: access.AdminID}
	for name, tt := range map[string]struct {
		rate  float64
		burst int
		key   *access.Key
		first int           // requests of one moment that are answered
		wait  time.Duration // what the next one is told
	}{
		"none":                 {0, 0, plain, 1000, 0},
		"address without":      {0, 0, nil, 1000, 0},
		"address":              {4, 0, nil, 4, time.Second / 4},
		"default":              {0.5, 0, plain, 1, 2 * time.Second},
		"default with a burst": {0.5, 5, plain, 5, 2 * time.Second},
		"own":                  {100, 0, own, 3, time.Second / 2},
		"own without default":  {0, 0, own, 3, time.Second / 2},
		"admin":                {1, 1, admin, 1000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l, now := newLimits(tt.rate, tt.burst), time.Now()
			for i := range tt.first {
				if wait := l.take(tt.key, "192.0.2.1", now); wait != 0 {
					t.Fatalf("request %d waits %s", i, wait)
				}
			}
			for range 3 { // a refused request costs nothing
				if wait := l.take(tt.key, "192.0.2.1", now); wait != tt.wait {
					t.Fatalf("request %d waits %s, want %s", tt.first, wait, tt.wait)
				}
			}
			if tt.wait > 0 {
				if wait := l.take(tt.key, "192.0.2.1", now.Add(tt.wait)); wait != 0 {
					t.Errorf("after the wait: %s", wait)
				}
			}
			if wait := l.take(other, "192.0.2.2", now); wait != 0 {
				t.Errorf("another key waits %s", wait)
			}
			if wait := l.take(nil, "192.0.2.3", now); wait != 0 {
				t.Errorf("another address waits %s", wait)
			}
		})
	}
}

// TestRateOfManyAtOnce: requests that come side by side, or with their times out of order, get the
// rate together, no more and no less.
func TestRateOfManyAtOnce(t *testing.T) {
	maker := access.Rate{Key: "maker", PerSecond: 1e6, Burst: 1000}
	own := access.Rate{Key: "own", PerSecond: 1000, Burst: 100}
	l, began := newLimits(0, 0), time.Now()
	const lasts, step = 300 * time.Millisecond, 5 * time.Microsecond
	var clock, answered atomic.Int64 // the requests come one step after another, whatever the machine does meanwhile
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for {
				at := time.Duration(clock.Add(int64(step)))
				if at > lasts {
					return
				}
				late := time.Duration(at/step%2) * 20 * time.Millisecond // every other one
				if l.keys.takeAll([]access.Rate{own, maker}, began.Add(at-late)) == 0 {
					answered.Add(1)
				}
			}
		})
	}
	wg.Wait()
	most := own.PerSecond*lasts.Seconds() + float64(own.Burst) + 1
	if n := float64(answered.Load()); n > most || n < most-10 {
		t.Errorf("%v requests are answered, want about %.0f", n, most)
	}
	now := began.Add(time.Hour)
	for l.keys.takeAll([]access.Rate{own}, now) == 0 {
	}
	for range 5 {
		for _, at := range []time.Time{now.Add(-time.Second), now} {
			if wait := l.keys.takeAll([]access.Rate{own}, at); wait == 0 {
				t.Error("an empty bucket fills up for the same second again")
			}
		}
	}
}

func TestCallersAreBounded(t *testing.T) {
	l, now := newLimits(1, 1), time.Now()
	for i := range 2 * maxBuckets {
		l.take(nil, fmt.Sprintf("192.0.2.%d", i), now)
	}
	b := &l.addresses
	if n, m := b.mu.order.Len(), len(b.mu.byWho); n != maxBuckets || m != maxBuckets {
		t.Errorf("%d and %d callers are remembered, want %d", n, m, maxBuckets)
	}
	if wait := l.take(nil, fmt.Sprintf("192.0.2.%d", 2*maxBuckets-1), now); wait == 0 {
		t.Error("the last caller was forgotten")
	}
}

func TestNetworks(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "::ffff:192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "": "", "pipe": "pipe",
	} {
		if got := network(address); got != want {
			t.Errorf("network(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	g := newGuarded(t, Options{RateLimit: 0.001, RateBurst: 2})
	g.engine.Hook = func(context.Context, string) error { return search.ErrClosed }
	token := g.token(access.All)
	as := []string{"Authorization", "Bearer " + token}
	for range 2 {
		g.do("GET", "/v1/collections", "", as...).want(503, nil)
	}
	a := g.do("GET", "/v1/collections", "", as...)
	a.problem(429, "rate_limited", "")
	if n, err := strconv.Atoi(a.Header().Get("Retry-After")); err != nil || n < 900 || n > 1000 {
		t.Errorf("Retry-After = %q, want about 1000", a.Header().Get("Retry-After"))
	}
	var openAI struct{ Error struct{ Type, Code string } }
	if g.do("POST", "/v1/embeddings", `{"input":"x"}`, as...).want(429, &openAI); openAI.Error.Code != "rate_limited" || openAI.Error.Type != "rate_limit_error" {
		t.Errorf("/v1/embeddings: %+v", openAI)
	}
	for range 2 {
		g.do("GET", "/v1/collections", "").want(401, nil)
	}
	g.do("GET", "/v1/collections", "").problem(429, "rate_limited", "") // whoever tries keys is slowed down too
	for range 5 {
		g.do("GET", "/livez", "").want(200, nil)
	}
}

func TestCORS(t *testing.T) {
	const app, other = "https://app.example.com", "https://other.example.com"
	preflight := func(f *fixture, origin string) answer {
		return f.do("OPTIONS", "/v1/collections/docs/search", "", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
	}
	post := func(f *fixture, origin string) answer {
		return f.do("POST", "/v1/collections/docs/search", `{"q":"pancakes"}`, "Origin", origin, "Sec-Fetch-Site", "cross-site")
	}
	for name, tt := range map[string]struct {
		allowed []string
		origin  string
		want    string // Access-Control-Allow-Origin
		status  int    // of a POST
	}{
		"off":         {nil, app, "", 403},
		"listed":      {[]string{"https://a.example.com", app}, app, app, 200},
		"not listed":  {[]string{app}, other, "", 403},
		"all":         {[]string{"*"}, other, "*", 200},
		"a null page": {[]string{app}, "null", "", 403},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{CORSOrigins: tt.allowed})
			pre, a := preflight(f, tt.origin), post(f, tt.origin)
			for kind, h := range map[string]answer{"preflight": pre, "request": a} {
				if got := h.Header().Get("Access-Control-Allow-Origin"); got != tt.want {
					t.Errorf("%s: Access-Control-Allow-Origin = %q, want %q", kind, got, tt.want)
				}
				if h.Header().Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s allows credentials", kind)
				}
			}
			if a.Code != tt.status {
				t.Errorf("POST: status %d, want %d", a.Code, tt.status)
			}
			if tt.want != "" && (pre.Code != 204 || !strings.Contains(pre.Header().Get("Access-Control-Allow-Headers"), "Authorization") || !strings.Contains(a.Header().Get("Access-Control-Expose-Headers"), "Retry-After")) {
				t.Errorf("preflight %d %v, request %v", pre.Code, pre.Header(), a.Header())
			}
			f.server.local.Store(true)
			r := f.request("GET", "/v1/collections", nil, "Origin", tt.origin)
			r.Host = "evil.example"
			f.send(r).problem(403, "host_not_allowed", "") // whatever pages are allowed
		})
	}
}

func TestWrongLimitsAndOrigins(t *testing.T) {
	for _, origin := range []string{"", "app.example.com", "https://app.example.com/", "https://*.example.com", "HTTPS://app.example.com", "ftp://x", "https://a@b"} {
		if _, err := New(Options{CORSOrigins: []string{origin}}); err == nil || !strings.Contains(err.Error(), "CORSOrigins") {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
	for _, rate := range []float64{-1, 1e7} {
		if _, err := New(Options{RateLimit: rate}); err == nil || !strings.Contains(err.Error(), "RateLimit") {
			t.Errorf("rate %v: %v", rate, err)
		}
	}
}
