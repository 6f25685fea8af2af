// Package connlimit bounds the open connections of a server without letting idle and silent clients
// lock out the others.
package connlimit

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// silence is how long a new connection may be without a request before it can be closed for a new
// one.
const silence = 500 * time.Millisecond

// stall is how long the sender of a body, or the reader of an answer, may pause before its
// connection can be closed for a new one, and how long a body may come at less than minRate bytes
// per second.
const (
	stall   = 2 * time.Second
	minRate = 1 << 10
)

// rest is how long a connection has been idle before it can be closed for a new one: its client may
// be sending the next request, which would fail without an answer.
const rest = 250 * time.Millisecond

// maxPeeks is how many connections are looked at for bytes that have arrived, per attempt.
const maxPeeks = 16

// Listener bounds the open connections of another one. When there are too many it closes one: the
// oldest without a request for longer than silence, else the one idle for longest, if that is
// longer than rest, else the one whose body is awaited for longest, if it has stalled, else one
// whose client has not read for longer than stall. Else it waits. A plain limit would let idle and
// silent clients lock out the others.
type Listener struct {
	net.Listener
	Max int

	mu struct {
		sync.Mutex
		room    sync.Cond // one was released or became idle, one may have been silent for too long, or the listener is closed
		open    map[*counted]bool
		idle    []since          // longest first
		silent  []since          // that have not sent a whole request yet; the same
		reads   []*Body          // of HTTP/1 whose sender is waited for; the same
		streams []*Body          // the same of later versions, which have many requests on a connection
		shared  map[*answer]bool // to requests of later versions
		evicted int64
		closing time.Time // when the last was closed, until one is released
		waits   bool      // Accept waits for room
		closed  bool
	}
}

// since is a connection with the time at which it came to its state.
type since struct {
	net.Conn
	time.Time
}

// Body is the body of a request, whose reads wait for its sender.
type Body struct {
	l    *Listener
	list *[]*Body // that it is in while it is read
	cut  func()   // makes a read fail as one that has taken too long; the request is answered, and its connection closed

	since  time.Time     // when the read under way began; guarded by l.mu, like the others
	waited time.Duration // in earlier reads
	got    int           // bytes, in earlier reads
}

// stalled reports whether the sender pauses for too long, or has sent too little for the time that
// it was waited for.
func (b *Body) stalled(now time.Time) bool {
	pause := now.Sub(b.since)
	waited := b.waited + pause
	return pause >= stall || waited >= stall && float64(b.got) < minRate*waited.Seconds()
}

// New returns a listener with at most max open connections of l.
func New(l net.Listener, max int) *Listener {
	c := &Listener{Listener: l, Max: max}
	c.mu.room.L = &c.mu
	c.mu.open, c.mu.shared = map[*counted]bool{}, map[*answer]bool{}
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
	for len(c.mu.open) >= c.Max && !c.mu.closed {
		c.mu.waits = true
		timer := time.AfterFunc(c.evict(time.Now()), func() {
			c.mu.Lock() // not before the wait has begun
			defer c.mu.Unlock()
			c.mu.room.Broadcast()
		})
		c.mu.room.Wait()
		timer.Stop()
	}
	c.mu.waits = false
	if c.mu.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	opened := &counted{Conn: conn}
	opened.release = sync.OnceFunc(func() { c.release(opened) })
	c.mu.open[opened] = true
	return opened, nil
}

// evict closes a connection if it may, and returns how long to wait before the next attempt. One is
// closed at a time: the next only when it is gone, or does not go.
func (c *Listener) evict(now time.Time) time.Duration {
	if left := c.mu.closing.Add(silence).Sub(now); left > 0 {
		return left
	}
	wait := silence
	first := func(list []since, after time.Duration) net.Conn {
		for i, x := range list {
			if left := after - now.Sub(x.Time); left > 0 {
				wait = min(wait, left)
				break
			} else if i == maxPeeks {
				break
			} else if !pending(x.Conn) { // else it is about to be answered
				return x.Conn
			}
		}
		return nil
	}
	if conn := cmp.Or(first(c.mu.silent, silence), first(c.mu.idle, rest)); conn != nil {
		go conn.Close()
		c.forget(conn)
	} else if cutStalled(&c.mu.reads, now) || cutStalled(&c.mu.streams, now) || c.cutUnread(now) { // whose connection may be idle then
	} else if conn := c.unread(now); conn != nil {
		go conn.Close()
	} else {
		return wait
	}
	c.mu.evicted++
	c.mu.closing = now
	return silence
}

// unread returns a connection whose client has not read for longer than stall, if there is any.
func (c *Listener) unread(now time.Time) net.Conn {
	for conn := range c.mu.open {
		if began := conn.writing.Load(); began != 0 && now.UnixNano()-began >= int64(stall) {
			return conn
		}
	}
	return nil
}

// cutStalled makes the read of the first stalled body of a list fail, if there is any.
func cutStalled(list *[]*Body, now time.Time) bool {
	i := slices.IndexFunc(*list, func(b *Body) bool { return b.stalled(now) })
	if i < 0 {
		return false
	}
	(*list)[i].cut()
	*list = slices.Delete(*list, i, i+1)
	return true
}

// sharedFactor times Max is how many requests of HTTP/2 are answered at once. A connection may have
// [MaxStreams] of them, and each holds a goroutine, also while nothing of its body comes.
const sharedFactor = 4

// MaxStreams is how many requests at once a connection of HTTP/2 should be allowed.
const MaxStreams = 100

// answer is the answer to a request of HTTP/2, whose client may not read it.
type answer struct {
	http.ResponseWriter
	writing atomic.Int64 // as in counted

	mu    sync.Mutex
	ended bool // the handler has; guarded by mu
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements io.Writer.
func (a *answer) Write(b []byte) (int, error) {
	a.writing.Store(time.Now().UnixNano())
	defer a.writing.Store(0)
	return a.ResponseWriter.Write(b)
}

// FlushError sends what was written. The server calls it at the end, too, so that a request counts
// until its client has read the answer.
func (a *answer) FlushError() error {
	a.writing.Store(time.Now().UnixNano())
	defer a.writing.Store(0)
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = a.FlushError() }

// cut makes the write under way fail.
func (a *answer) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
	}
}

// cutUnread ends an answer that its client has not read for longer than stall, if there is any.
func (c *Listener) cutUnread(now time.Time) bool {
	for a := range c.mu.shared {
		if began := a.writing.Load(); began != 0 && now.UnixNano()-began >= int64(stall) {
			a.writing.Store(0)
			go a.cut() // which waits for the connection, and that for State
			return true
		}
	}
	return false
}

// Handler returns next with the limit on requests of HTTP/2. Those beyond it are for refuse, and a
// body or an answer that has stalled is cut off for the next. Where a new connection waits for room
// that no silent one will make, answers say that their connection ends with them.
func (c *Listener) Handler(next, refuse http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		ends, full := c.mu.waits && len(c.mu.silent) == 0, false
		var a *answer
		if r.ProtoMajor > 1 {
			if full = len(c.mu.shared) >= sharedFactor*c.Max; full {
				now := time.Now()
				_ = cutStalled(&c.mu.streams, now) || c.cutUnread(now)
			} else {
				a = &answer{ResponseWriter: w}
				c.mu.shared[a] = true
			}
		}
		c.mu.Unlock()
		if ends {
			w.Header().Set("Connection", "close")
		}
		switch {
		case full:
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(stall)) // it is counted nowhere
			refuse.ServeHTTP(w, r)
		case a != nil:
			defer c.leave(a)
			next.ServeHTTP(a, r)
			a.Flush()
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (c *Listener) leave(a *answer) {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.shared, a)
}

// Close implements net.Listener.
func (c *Listener) Close() error {
	c.mu.Lock()
	c.mu.closed = true
	c.mu.room.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

func (c *Listener) release(conn *counted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.open, conn)
	c.mu.closing = time.Time{}
	c.mu.room.Broadcast()
}

// Body returns the body of r, a request on one of the connections. cut makes the read under way
// fail, and is called during one alone.
func (c *Listener) Body(r *http.Request, cut func()) *Body {
	b := &Body{l: c, cut: cut, list: &c.mu.reads}
	if r.ProtoMajor > 1 {
		b.list = &c.mu.streams
	}
	return b
}

// Read calls read, which waits for the sender and returns how many bytes came.
func (b *Body) Read(read func() (int, error)) (int, error) {
	n := 0
	b.begin()
	defer func() { b.end(n) }()
	var err error
	n, err = read()
	return n, err
}

func (b *Body) begin() {
	c := b.l
	c.mu.Lock()
	defer c.mu.Unlock()
	b.since = time.Now()
	*b.list = append(*b.list, b)
}

func (b *Body) end(n int) {
	c := b.l
	c.mu.Lock()
	defer c.mu.Unlock()
	b.waited += time.Since(b.since)
	b.got += n
	*b.list = slices.DeleteFunc(*b.list, func(x *Body) bool { return x == b })
}

// State is http.Server.ConnState.
func (c *Listener) State(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	switch s {
	case http.StateNew:
		c.mu.silent = append(c.mu.silent, since{conn, time.Now()})
	case http.StateIdle:
		c.mu.idle = append(c.mu.idle, since{conn, time.Now()})
		c.mu.room.Broadcast()
	}
}

// forget takes conn out of the lists. The caller holds mu.
func (c *Listener) forget(conn net.Conn) {
	is := func(x since) bool { return x.Conn == conn }
	c.mu.idle, c.mu.silent = slices.DeleteFunc(c.mu.idle, is), slices.DeleteFunc(c.mu.silent, is)
}

// Counts returns the connections that are open, those of them that are idle, and how many were
// closed for new ones.
func (c *Listener) Counts() (open, idle int, evicted int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.open), len(c.mu.idle), c.mu.evicted
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	release func()
	writing atomic.Int64 // when the write under way began, in nanoseconds since 1970; 0: none is
}

// writePart is how much is written at once, so that a client who reads slowly is not taken for one
// who does not read.
const writePart = 4 << 10

// Write implements io.Writer.
func (c *counted) Write(b []byte) (n int, err error) {
	defer c.writing.Store(0)
	for first := true; err == nil && (first || n < len(b)); first = false {
		var m int
		c.writing.Store(time.Now().UnixNano())
		m, err = c.Conn.Write(b[n:min(len(b), n+writePart)])
		n += m
	}
	return n, err
}

// NetConn returns the connection below.
func (c *counted) NetConn() net.Conn { return c.Conn }

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
