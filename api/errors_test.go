package api

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
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
		f.server.Handler().ServeHTTP(brokenWriter{httptest.NewRecorder(), tt.err}, f.request("GET", "/v1/collections/docs/documents/export", nil))
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
