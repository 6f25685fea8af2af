package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// brokenWriter answers nothing: each write has the same error.
type brokenWriter struct {
	*httptest.ResponseRecorder
	err error
}

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// A client that leaves is no failure of the server; anything else that cuts an answer off is.
func TestClientLeaves(t *testing.T) {
	f := newFixture(t, Options{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		err   error
		level string
	}{
		{"closed connection", &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, "INFO"},
		{"another fault", errors.New("fault"), "ERROR"},
	} {
		f.log.b.Reset()
		func() {
			defer func() {
				if v := recover(); v != http.ErrAbortHandler {
					t.Errorf("%s: the handler ends with %v, want the connection closed", tt.name, v)
				}
			}()
			f.server.Handler().ServeHTTP(brokenWriter{httptest.NewRecorder(), tt.err}, f.request("GET", "/v1/collections/docs/documents/export", nil))
		}()
		line, _, _ := strings.Cut(f.log.String(), "\n")
		if !strings.Contains(line, `"level":"`+tt.level+`"`) || !strings.Contains(line, tt.err.Error()) {
			t.Errorf("%s: logged %s, want level %s", tt.name, line, tt.level)
		}
	}
	r := f.request("GET", "/", nil).WithContext(gone)
	for err, want := range map[error]bool{gone.Err(): true, errors.New("panic: a bug"): false} {
		if got := clientLeft(err, r); got != want {
			t.Errorf("clientLeft(%v) of a canceled request = %v, want %v", err, got, want)
		}
	}
}

// TestPanicInAStream: what has begun and cannot be ended as it should is cut off, so that nobody
// takes it for all.
func TestPanicInAStream(t *testing.T) {
	f := newFixture(t, Options{})
	for i := range 300 {
		f.do("PUT", fmt.Sprintf("/v1/collections/docs/documents/n%d", i), `{"text":"x"}`).want(201, nil)
	}
	var pages atomic.Int32
	f.engine.Hook = func(_ context.Context, method string) error {
		if method == "Documents" {
			if pages.Add(1) == 2 {
				panic("second page")
			}
		}
		return nil
	}
	addr, _ := f.serve()
	for _, coding := range []string{"gzip", "identity"} {
		pages.Store(0)
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+"/v1/collections/docs/documents/export", nil)
		r.Header.Set("Accept-Encoding", coding)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err == nil {
			t.Errorf("%s: an export of half the documents ends as if it were whole", coding)
		}
	}
}
