package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawHTTP2 is a client that sends frames as it likes.
type rawHTTP2 struct {
	conn  *tls.Conn
	f     *http2.Framer
	next  uint32 // stream
	block bytes.Buffer
	enc   *hpack.Encoder
}

// dialHTTP2 returns a client whose answers nobody reads, or an error where the server does not
// speak HTTP/2.
func dialHTTP2(t *testing.T, addr string, c *tls.Config) (*rawHTTP2, error) {
	c = c.Clone()
	c.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", addr, c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.Close() })
	if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
		return nil, fmt.Errorf("the server speaks %q", p)
	}
	r := &rawHTTP2{conn: conn, f: http2.NewFramer(conn, conn), next: 1}
	r.enc = hpack.NewEncoder(&r.block)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, conn)
	return r, r.f.WriteSettings()
}

// ask begins a request and returns its stream.
func (r *rawHTTP2) ask(method, path string, end bool) (stream uint32, err error) {
	r.block.Reset()
	for _, h := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}, {"content-type", "application/json"}} {
		r.enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	stream = r.next
	r.next += 2
	return stream, r.f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: r.block.Bytes(), EndStream: end, EndHeaders: true})
}

// overTLS serves f with HTTP/2 and returns its address, the settings of clients, and a client.
func overTLS(t *testing.T, o Options) (f *fixture, addr string, trusted *tls.Config, client *http.Client) {
	t.Helper()
	pki := httptest.NewTLSServer(nil)
	t.Cleanup(pki.Close)
	o.TLS = &tls.Config{Certificates: pki.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
	f = newFixture(t, o)
	addr, _ = f.serve()
	trusted = pki.Client().Transport.(*http.Transport).TLSClientConfig
	transport := &http.Transport{TLSClientConfig: trusted.Clone(), ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return f, addr, trusted, &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// TestRapidReset has clients that begin requests and take them back at once, again and again. The
// server answers others meanwhile, does not search more at once than it may, and keeps nothing.
func TestRapidReset(t *testing.T) {
	f, addr, trusted, client := overTLS(t, Options{SearchSlots: 2})
	var searching, most atomic.Int64
	f.engine.Hook = func(ctx context.Context, method string) error {
		if method != "Search" {
			return nil
		}
		n := searching.Add(1)
		defer searching.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
			return nil
		}
	}
	before := runtime.NumGoroutine()
	const attackers, answers = 4, 30
	var sent, cut atomic.Int64
	done := make(chan struct{})
	var wait sync.WaitGroup
	for range attackers {
		wait.Go(func() {
			r, err := dialHTTP2(t, addr, trusted)
			for {
				select {
				case <-done:
					if r != nil {
						r.conn.Close()
					}
					return
				default:
				}
				if err != nil { // the server has closed the connection
					cut.Add(1)
					if r != nil {
						r.conn.Close()
					}
					r, err = dialHTTP2(t, addr, trusted)
					continue
				}
				var stream uint32
				if stream, err = r.ask("GET", "/v1/collections/docs/search?q=pancakes", true); err == nil {
					err = r.f.WriteRSTStream(stream, http2.ErrCodeCancel)
				}
				sent.Add(1)
			}
		})
	}
	top := 0
	for range answers {
		top = max(top, runtime.NumGoroutine())
		res, err := client.Get("https://" + addr + "/livez")
		if err != nil || res.StatusCode != 200 || res.ProtoMajor != 2 {
			t.Fatalf("another client: %v", err)
		}
		res.Body.Close()
	}
	close(done)
	wait.Wait()
	t.Logf("%d requests taken back, %d connections closed for it, %d answers to another client, at most %d goroutines", sent.Load(), cut.Load(), answers, top)
	if most.Load() == 0 {
		t.Error("no search has begun")
	}
	if most.Load() > 2 {
		t.Errorf("%d searches at once, allowed: 2", most.Load())
	}
	if limit := before + 100 + attackers*2*100*2; top > limit { // connections that are cut may still end their streams
		t.Errorf("%d goroutines, allowed: %d", top, limit)
	}
	if res, err := client.Get("https://" + addr + "/v1/collections/docs/search?q=pancakes"); err != nil || res.StatusCode != 200 {
		t.Errorf("a search after it: %v", err)
	}
	client.CloseIdleConnections()
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before+20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d are left", before, runtime.NumGoroutine())
		}
	}
}

// TestStreamsAreBounded has clients that begin many requests on each connection, of whose bodies
// next to nothing comes. They may hold four times as many as there may be connections; others are
// refused with Retry-After and find room once bodies have stalled. Who speaks HTTP/1 is not
// concerned.
func TestStreamsAreBounded(t *testing.T) {
	f, addr, trusted, client := overTLS(t, Options{MaxConns: 8})
	for range 2 {
		r, err := dialHTTP2(t, addr, trusted)
		if err != nil {
			t.Fatal(err)
		}
		var streams []uint32
		for range 60 {
			stream, err := r.ask("POST", "/v1/collections/docs/search", false)
			if err == nil {
				err = r.f.WriteData(stream, false, []byte("{"))
			}
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, stream)
		}
		go func() {
			for err := error(nil); err == nil; time.Sleep(100 * time.Millisecond) {
				for _, s := range streams {
					err = r.f.WriteData(s, false, []byte(" "))
				}
			}
		}()
	}
	for f.server.inFlight.Load() < 32*512 { // all bodies are waited for
		time.Sleep(time.Millisecond)
	}
	if n := f.server.inFlight.Load(); n != 32*512 {
		t.Errorf("%d bytes of bodies are in memory, of 32 bodies at most %d are allowed", n, 32*512)
	}
	search := func() int {
		res, err := client.Get("https://" + addr + "/v1/collections/docs/search?q=pancakes")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 && (res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "overloaded")) {
			t.Fatalf("%d %v %s", res.StatusCode, res.Header, body)
		}
		return res.StatusCode
	}
	if code := search(); code != 503 {
		t.Errorf("a request beyond the limit: %d", code)
	}
	if res, err := client.Get("https://" + addr + "/livez"); err != nil || res.StatusCode != 200 {
		t.Errorf("/livez: %v", err)
	}
	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}, Timeout: 30 * time.Second}
	defer plain.CloseIdleConnections()
	if res, err := plain.Get("https://" + addr + "/v1/collections/docs/search?q=pancakes"); err != nil || res.StatusCode != 200 || res.ProtoMajor != 1 {
		t.Errorf("HTTP/1: %v", err)
	}
	began := time.Now()
	for search() != 200 {
		if time.Since(began) > 25*time.Second { // of 30 until a body has taken too long
			t.Fatal("no body gave way")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestUnreadStreamsAreBounded has clients that begin many requests and let no answer come. Those
// are cut off for others.
func TestUnreadStreamsAreBounded(t *testing.T) {
	f, addr, trusted, client := overTLS(t, Options{MaxConns: 8})
	before := runtime.NumGoroutine()
	for range 4 {
		r, err := dialHTTP2(t, addr, trusted)
		if err == nil {
			err = r.f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		}
		for i := range 100 {
			path := "/v1/collections/docs/search?q=pancakes"
			if i%2 == 0 {
				path = "/openapi.yaml"
			}
			if err == nil {
				_, err = r.ask("GET", path, true)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	codes := map[int]int{}
	for began := time.Now(); codes[200] < 3; time.Sleep(20 * time.Millisecond) {
		res, err := client.Get("https://" + addr + "/v1/collections/docs/search?q=pancakes")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		codes[res.StatusCode]++
		if time.Since(began) > time.Minute { // of 70 seconds until an answer has taken too long
			t.Fatalf("others are not answered: %v", codes)
		}
	}
	for deadline := time.Now().Add(40 * time.Second); runtime.NumGoroutine() > before+32+40; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d for 32 requests that may wait for their clients", before, runtime.NumGoroutine())
		}
	}
	if _, _, evicted := f.server.conns.Load().Counts(); codes[503] == 0 {
		t.Errorf("statuses %v: the limit was not reached, %d gave way", codes, evicted)
	}
}

// TestHTTP2Limit: the server announces how many requests a connection may have.
func TestHTTP2Limit(t *testing.T) {
	_, addr, trusted, _ := overTLS(t, Options{})
	c := trusted.Clone()
	c.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", addr, c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(conn, http2.ClientPreface)
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
			if n, ok := s.Value(http2.SettingMaxConcurrentStreams); !ok || n != 100 {
				t.Errorf("%d requests at once, want 100", n)
			}
			return
		}
	}
}
