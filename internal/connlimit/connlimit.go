// Package connlimit bounds the open connections of a server without letting idle and silent clients
// lock out the others.
package connlimit

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// silence is how long a new connection may be without a request before it can be closed for a new
// one.
const silence = 500 * time.Millisecond

// stall is how long the sender of a body may pause before its connection can be closed for a new
// one.
const stall = 2 * time.Second

// Listener bounds the open connections of another one. When there are too many it closes one: the
// oldest without a request for longer than silence, else the one idle for longest, else the one
// whose body is awaited for longest, if that is longer than stall. Else it waits. A plain limit
// would let idle and silent clients lock out the others.
type Listener struct {
	net.Listener
	Max int

	mu struct {
		sync.Mutex
		room    sync.Cond // one was released or became idle, one may have been silent for too long, or the listener is closed
		open    int
		idle    []net.Conn // longest first
		silent  []silent   // the same
		reads   []*read    // the same
		evicted int64
		closed  bool
	}
}

// silent is a connection that has not sent a whole request yet.
type silent struct {
	net.Conn
	since time.Time
}

// read is a read of a body that waits for its sender.
type read struct {
	since time.Time
	cut   func() // makes it fail as one that has taken too long; the request is answered, and its connection closed
}

// New returns a listener with at most max open connections of l.
func New(l net.Listener, max int) *Listener {
	c := &Listener{Listener: l, Max: max}
	c.mu.room.L = &c.mu
	return c
}

// Accept implements net.Listener.
func (c *Listener) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.mu.open >= c.Max && !c.mu.closed {
		timer := time.AfterFunc(c.evict(time.Now()), func() {
			c.mu.Lock() // not before the wait has begun
			defer c.mu.Unlock()
			c.mu.room.Broadcast()
		})
		c.mu.room.Wait()
		timer.Stop()
	}
	if c.mu.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	c.mu.open++
	return &counted{Conn: conn, release: sync.OnceFunc(c.release)}, nil
}

// evict closes a connection if it may, and returns how long to wait before the next attempt.
func (c *Listener) evict(now time.Time) time.Duration {
	wait := silence
	if len(c.mu.silent) > 0 {
		wait = max(0, c.mu.silent[0].since.Add(silence).Sub(now))
	}
	switch {
	case len(c.mu.silent) > 0 && wait == 0:
		go c.mu.silent[0].Close()
		c.mu.silent = c.mu.silent[1:]
		wait = silence
	case len(c.mu.idle) > 0:
		go c.mu.idle[0].Close()
		c.mu.idle = c.mu.idle[1:]
	case len(c.mu.reads) > 0 && now.Sub(c.mu.reads[0].since) >= stall:
		c.mu.reads[0].cut()
		c.mu.reads = c.mu.reads[1:]
		wait = silence
	default:
		return wait
	}
	c.mu.evicted++
	return wait
}

// Close implements net.Listener.
func (c *Listener) Close() error {
	c.mu.Lock()
	c.mu.closed = true
	c.mu.room.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

func (c *Listener) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.open--
	c.mu.room.Broadcast()
}

// Reading registers a read of a body until over is called. cut is called at most once, and not
// after over has returned.
func (c *Listener) Reading(cut func()) (over func()) {
	r := &read{time.Now(), cut}
	c.mu.Lock()
	c.mu.reads = append(c.mu.reads, r)
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		c.mu.reads = slices.DeleteFunc(c.mu.reads, func(x *read) bool { return x == r })
		c.mu.Unlock()
	}
}

// State is http.Server.ConnState.
func (c *Listener) State(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.idle = slices.DeleteFunc(c.mu.idle, func(x net.Conn) bool { return x == conn })
	c.mu.silent = slices.DeleteFunc(c.mu.silent, func(x silent) bool { return x.Conn == conn })
	switch s {
	case http.StateNew:
		c.mu.silent = append(c.mu.silent, silent{conn, time.Now()})
	case http.StateIdle:
		c.mu.idle = append(c.mu.idle, conn)
		c.mu.room.Broadcast()
	}
}

// Counts returns the connections that are open, those of them that are idle, and how many were
// closed for new ones.
func (c *Listener) Counts() (open, idle int, evicted int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.open, len(c.mu.idle), c.mu.evicted
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
