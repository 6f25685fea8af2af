package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestDebugServer(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0"} {
		if _, err := debugListener(addr, false); err == nil || !strings.Contains(err.Error(), "--insecure") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	l, err := debugListener("127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveDebug(ctx, l) }()
	for host, want := range map[string]int{"": 200, "evil.example": 403, "localhost:1": 200} {
		r, err := http.NewRequest("GET", "http://"+l.Addr().String()+"/debug/pprof/goroutine?debug=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want || want == 200 && !strings.Contains(string(body), "goroutine profile") {
			t.Errorf("Host %q: status %d, %.80s", host, res.StatusCode, body)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
