package api

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// status asks url once on a connection of its own.
func status(t *testing.T, url string) (code int, body string) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestFrontAnswersProbesBeforeThereIsAServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	front := NewListener(l, Options{Logger: slog.New(slog.DiscardHandler)})
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/v1/collections": 503, "/": 503} {
		code, body := status(t, url+path)
		if code != want || want == 503 && (!strings.Contains(body, `"code":"not_ready"`) || !strings.Contains(body, "opening the data folder")) {
			t.Errorf("%s while opening: %d %s, want %d", path, code, body, want)
		}
	}
	kept, err := net.Dial("tcp", l.Addr().String()) // a connection of before is the server's later
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	ask := func() string {
		fmt.Fprint(kept, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(kept), nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.Status
	}
	if got := ask(); !strings.HasPrefix(got, "503") {
		t.Errorf("on a connection that stays: %s", got)
	}
	f := newFixture(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.server.ServeListener(ctx, front) }()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if code, _ := status(t, url+"/readyz"); code == 200 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("never ready")
		}
	}
	if got := ask(); !strings.HasPrefix(got, "200") {
		t.Errorf("on a connection of before: %s", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
		t.Error("the listener is still open")
	}
}

func TestDrainGrace(t *testing.T) {
	const grace = 2 * time.Second // two requests are answered in it on a busy machine, too
	f := newFixture(t, Options{DrainGrace: grace})
	addr, stop := f.serve()
	if code, _ := status(t, "http://"+addr+"/readyz"); code != 200 {
		t.Fatalf("/readyz is %d", code)
	}
	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for !f.server.draining.Load() {
		time.Sleep(time.Millisecond)
	}
	if code, body := status(t, "http://"+addr+"/readyz"); code != 503 || !strings.Contains(body, "shutting down") {
		t.Errorf("/readyz while draining: %d %s", code, body)
	}
	if code, _ := status(t, "http://"+addr+"/v1/collections/docs/search?q=pancakes"); code != 200 {
		t.Errorf("a search while draining: %d", code)
	}
	if err := <-stopped; err != nil || time.Since(began) < grace {
		t.Errorf("Serve = %v after %v", err, time.Since(began))
	}
}

func TestIdleConnectionsGiveWay(t *testing.T) {
	f := newFixture(t, Options{MaxConns: 4})
	addr, _ := f.serve()
	var idle []net.Conn
	for range 12 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("connection %d is not answered: %v", len(idle), err)
		}
		res.Body.Close()
		idle = append(idle, c)
	}
	if code, _ := status(t, "http://"+addr+"/readyz"); code != 200 {
		t.Errorf("/readyz is %d", code)
	}
	if open, _, evicted := f.server.conns.Load().Counts(); open > 4 || evicted < 8 {
		t.Errorf("%d connections are open, %d gave way", open, evicted)
	}
	last := idle[len(idle)-1] // the one that has been idle for the shortest time is still there
	fmt.Fprint(last, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReader(last), nil); err != nil {
		t.Errorf("the newest connection gave way: %v", err)
	}
}

// TestSilentConnectionsGiveWay has many that send nothing, or the beginning of a request, before
// one that asks.
func TestSilentConnectionsGiveWay(t *testing.T) {
	f := newFixture(t, Options{MaxConns: 4})
	addr, _ := f.serve()
	for n := range 12 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n%2 == 1 {
			fmt.Fprint(c, "GET /livez HTTP/1.1\r\n")
		}
	}
	began := time.Now()
	if code, _ := status(t, "http://"+addr+"/readyz"); code != 200 || time.Since(began) > 4*time.Second {
		t.Errorf("/readyz is %d after %v", code, time.Since(began))
	}
	if _, _, evicted := f.server.conns.Load().Counts(); evicted < 8 {
		t.Errorf("%d connections gave way", evicted)
	}
}

// TestStalledBodiesGiveWay has many that send the beginning of a body, before one that asks.
func TestStalledBodiesGiveWay(t *testing.T) {
	f := newFixture(t, Options{MaxConns: 4})
	addr, _ := f.serve()
	var stalled []net.Conn
	for range 4 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "POST /v1/collections/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		stalled = append(stalled, c)
	}
	for f.server.inFlight.Load() < 4*512 { // all bodies are waited for
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	if code, _ := status(t, "http://"+addr+"/readyz"); code != 200 || time.Since(began) > 10*time.Second {
		t.Errorf("/readyz is %d after %v", code, time.Since(began))
	}
	cut := 0
	for _, c := range stalled {
		c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && res.StatusCode == 408 {
			cut++
		}
	}
	if _, _, evicted := f.server.conns.Load().Counts(); cut == 0 || int64(cut) != evicted {
		t.Errorf("%d bodies were answered 408, %d connections gave way", cut, evicted)
	}
	// Those who go on sending are heard.
	for _, c := range stalled {
		fmt.Fprintf(c, "%-99s", `"q":"pancakes"}`)
	}
	heard := 0
	for _, c := range stalled {
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && res.StatusCode == 200 {
			heard++
		}
	}
	if cut+heard != len(stalled) {
		t.Errorf("%d of %d gave way, %d were answered", cut, len(stalled), heard)
	}
}

// TestTricklingBodiesGiveWay has as many senders as there may be connections, who send a byte of
// their bodies now and then, and never pause.
func TestTricklingBodiesGiveWay(t *testing.T) {
	f := newFixture(t, Options{MaxConns: 4})
	addr, _ := f.serve()
	for range 4 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "POST /v1/collections/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
		go func() {
			for err := error(nil); err == nil; time.Sleep(50 * time.Millisecond) {
				_, err = c.Write([]byte(" "))
			}
		}()
	}
	for f.server.inFlight.Load() < 4*512 { // all bodies are waited for
		time.Sleep(time.Millisecond)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second)) // of 30 until a body has taken too long
	fmt.Fprint(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
		t.Errorf("a fifth connection is not answered: %v", err)
	}
}

// TestBusyConnectionsStay has every connection wait for an answer: the next one waits, and is
// answered when one ends.
func TestBusyConnectionsStay(t *testing.T) {
	f := newFixture(t, Options{MaxConns: 2, SearchTimeout: time.Minute})
	entered, release := make(chan struct{}, 2), make(chan struct{})
	f.engine.Hook = func(ctx context.Context, method string) error {
		if method == "Search" {
			entered <- struct{}{}
			<-release
		}
		return nil
	}
	addr, _ := f.serve()
	codes := make(chan int, 2)
	for range 2 {
		go func() {
			code, _ := status(t, "http://"+addr+"/v1/collections/docs/search?q=pancakes")
			codes <- code
		}()
		<-entered
	}
	third := make(chan int, 1)
	go func() {
		code, _ := status(t, "http://"+addr+"/livez")
		third <- code
	}()
	select {
	case <-third:
		t.Error("a third connection was answered beside two busy ones")
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	for range 2 {
		if code := <-codes; code != 200 {
			t.Errorf("a busy connection got %d", code)
		}
	}
	if code := <-third; code != 200 {
		t.Errorf("the third connection got %d", code)
	}
}

// TestTLS has one who speaks plain HTTP told so, and bounds the connections of those who do not.
func TestTLS(t *testing.T) {
	pki := httptest.NewTLSServer(nil)
	defer pki.Close()
	f := newFixture(t, Options{MaxConns: 4, TLS: &tls.Config{Certificates: pki.TLS.Certificates}})
	addr, _ := f.serve()
	if code, body := status(t, "http://"+addr+"/readyz"); code != 400 || !strings.Contains(body, "HTTPS server") {
		t.Errorf("plain HTTP: %d %q", code, body)
	}
	trusted := pki.Client().Transport.(*http.Transport).TLSClientConfig
	for n := range 12 {
		c, err := tls.Dial("tcp", addr, trusted)
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(c, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("connection %d is not answered: %v", n, err)
		}
		res.Body.Close()
	}
	if open, _, evicted := f.server.conns.Load().Counts(); open > 4 || evicted < 8 {
		t.Errorf("%d connections are open, %d gave way", open, evicted)
	}
}
