package api

import (
	"net"
	"net/http"
	"sync"
)

// conns is a listener that bounds its open connections. One more than there may be makes the one that has been idle for longest
// give way; where none is idle it waits until one ends.
type conns struct {
	net.Listener
	max int

	mu struct {
		sync.Mutex
		room    sync.Cond // one was released or became idle, or the listener is closed
		open    int
		idle    []net.Conn // longest first
		evicted int64
		closed  bool
	}
}

func newConns(l net.Listener, max int) *conns {
	c := &conns{Listener: l, max: max}
	c.mu.room.L = &c.mu
	return c
}

// Accept implements net.Listener.
func (c *conns) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.mu.open >= c.max && !c.mu.closed {
		if len(c.mu.idle) > 0 {
			c.mu.evicted++
			oldest := c.mu.idle[0]
			c.mu.idle = c.mu.idle[1:]
			go oldest.Close()
		}
		c.mu.room.Wait()
	}
	if c.mu.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	c.mu.open++
	return &counted{Conn: conn, release: sync.OnceFunc(c.release)}, nil
}

// Close implements net.Listener.
func (c *conns) Close() error {
	c.mu.Lock()
	c.mu.closed = true
	c.mu.room.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

func (c *conns) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.open--
	c.mu.room.Broadcast()
}

// state is http.Server.ConnState.
func (c *conns) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.mu.idle {
		if x == conn {
			c.mu.idle = append(c.mu.idle[:i], c.mu.idle[i+1:]...)
			break
		}
	}
	if s == http.StateIdle {
		c.mu.idle = append(c.mu.idle, conn)
		c.mu.room.Broadcast()
	}
}

// counts returns how many connections are open, how many of them idle, and how many have given way.
func (c *conns) counts() (open, idle int, evicted int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.open, len(c.mu.idle), c.mu.evicted
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
