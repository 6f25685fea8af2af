package connlimit

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"
)

// limited returns a listener with at most max connections, and a function that opens one and
// returns both its ends. The server's end is idle.
func limited(t *testing.T, max int) (*Listener, func() (client, server net.Conn)) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(inner, max)
	t.Cleanup(func() { l.Close() })
	return l, func() (client, server net.Conn) {
		t.Helper()
		client, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		server, err = l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		l.State(server, http.StateNew)
		l.State(server, http.StateIdle)
		return client, server
	}
}

// rested makes all idle connections of l as old as they must be to give way.
func (l *Listener) rested() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.mu.idle {
		l.mu.idle[i].Time = time.Now().Add(-rest)
	}
}

// closed reports whether the other end has closed the connection.
func closed(t *testing.T, c net.Conn, within time.Duration) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

// TestOneGivesWay opens a connection where four are idle: the one idle for longest gives way, and
// no other.
func TestOneGivesWay(t *testing.T) {
	l, open := limited(t, 4)
	var clients []net.Conn
	for range 4 {
		c, _ := open()
		clients = append(clients, c)
	}
	l.rested()
	open()
	if !closed(t, clients[0], 10*time.Second) {
		t.Error("the connection idle for longest is still open")
	}
	if _, idle, evicted := l.Counts(); evicted != 1 || idle != 4 {
		t.Errorf("%d gave way, %d are idle", evicted, idle)
	}
}

// TestUnreadRequestStays has a request on the connection idle for longest that nobody has read yet:
// another one gives way.
func TestUnreadRequestStays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("what has arrived cannot be seen here: not tested")
		return
	}
	l, open := limited(t, 2)
	asks, server := open()
	other, _ := open()
	if _, err := asks.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	for !pending(server) {
		time.Sleep(time.Millisecond)
	}
	l.rested()
	open()
	if !closed(t, other, 10*time.Second) {
		t.Error("the connection without a request is still open")
	}
	if closed(t, asks, 10*time.Millisecond) {
		t.Error("the connection with a request was closed")
	}
}

// TestAnswersEndConnections: while a connection waits for room that nobody makes, answers end
// theirs.
func TestAnswersEndConnections(t *testing.T) {
	l, open := limited(t, 1)
	h := l.Handler(http.NotFoundHandler(), nil)
	ends := func() bool {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Header().Get("Connection") == "close"
	}
	_, busy := open()
	l.State(busy, http.StateActive)
	if ends() {
		t.Error("nobody waits yet")
	}
	accepted := make(chan error, 1)
	if _, err := net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	go func() { _, err := l.Accept(); accepted <- err }()
	for !ends() {
		time.Sleep(time.Millisecond)
	}
	l.State(busy, http.StateNew)
	if ends() {
		t.Error("a silent connection will make room")
	}
	busy.Close()
	if err := <-accepted; err != nil || ends() {
		t.Errorf("after a connection was closed: %v", err)
	}
}

// TestUnreadAnswersGiveWay: a client who reads nothing of its answer gives way.
func TestUnreadAnswersGiveWay(t *testing.T) {
	l, open := limited(t, 1)
	_, busy := open()
	l.State(busy, http.StateActive)
	failed := make(chan error, 1)
	go func() {
		for err := error(nil); ; {
			if _, err = busy.Write(make([]byte, 1<<20)); err != nil {
				busy.Close()
				failed <- err
				return
			}
		}
	}()
	client, server := open() // waits for room
	if err := <-failed; err == nil {
		t.Error("the answer was written")
	}
	l.State(server, http.StateActive)
	sent := make([]byte, 3*writePart+1)
	for i := range sent {
		sent[i] = byte(i % 251)
	}
	go func() { server.Write(sent); server.Close() }()
	if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrived of %d: %v", len(got), len(sent), err)
	}
}

func TestStalled(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		pause, waited time.Duration
		got           int
		want          bool
	}{
		"has just begun":         {time.Second, 0, 0, false},
		"sends nothing":          {stall, 0, 0, true},
		"pauses after much":      {stall, time.Minute, 1 << 30, true},
		"a byte each 100 ms":     {100 * time.Millisecond, 3 * time.Second, 30, true},
		"the same, not for long": {100 * time.Millisecond, time.Second, 10, false},
		"2 KiB each second":      {time.Second, 9 * time.Second, 20 << 10, false},
	} {
		b := Body{since: now.Add(-tt.pause), waited: tt.waited, got: tt.got}
		if got := b.stalled(now); got != tt.want {
			t.Errorf("%s: stalled %v, want %v", name, got, tt.want)
		}
	}
}
