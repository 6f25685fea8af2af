package remote

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"searchd/search/backend"
)

// testTime is how long what must end soon may take.
const testTime = 20 * time.Second

// serve serves h until the test ends and returns its URL.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// exportedErrors returns the names of the variables of a package that begin with Err.
func exportedErrors(dir string) (names []string, err error) {
	packages, err := parser.ParseDir(gotoken.NewFileSet(), dir, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, file := range packages["backend"].Files {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != gotoken.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, name := range s.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names, nil
}

// switched is a handler that can be replaced while it serves.
type switched struct{ h atomic.Pointer[http.Handler] }

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*s.h.Load()).ServeHTTP(w, r) }

func (s *switched) to(h http.Handler) { s.h.Store(&h) }

// TestBadAnswers puts in a shard's place what answers nothing, half, too much or something else: the shard is unavailable, and that is said before the
// context ends.
func TestBadAnswers(t *testing.T) {
	node := openNode(t)
	fill(t, node)
	answer := func(status int, contentType, body string, shard bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if shard {
				w.Header().Set(protocolHeader, "1")
			}
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	hijacked := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				io.WriteString(conn, text)
				conn.Close()
			}
		}
	}
	gone := make(chan struct{})
	for name, h := range map[string]http.Handler{
		"proxy":           answer(http.StatusBadGateway, "text/html", "<html>Bad Gateway</html>", false),
		"page":            answer(http.StatusOK, "text/html", "<html>Welcome</html>", false),
		"right by chance": answer(http.StatusOK, "application/json", "[]", false),
		"redirect":        http.RedirectHandler("/elsewhere", http.StatusFound),
		"page of a shard": answer(http.StatusOK, "text/html", "<html>", true),
		"empty":           answer(http.StatusOK, "application/json", "", true),
		"null error":      answer(http.StatusBadGateway, "application/json", "<", true),
		"half":            answer(http.StatusOK, "application/json", `["", `, true),
		"more":            answer(http.StatusOK, "application/json", `[null] [null]`, true),
		"other":           answer(http.StatusOK, "application/json", `{"documents":[]}`, true),
		"member":          answer(http.StatusOK, "application/json", `[{"ref":1,"future":true}]`, true),
		"too few":         answer(http.StatusOK, "application/json", `[]`, true),
		"too many":        answer(http.StatusOK, "application/json", `[null,null]`, true),
		"hash":            answer(http.StatusOK, "application/json", `[{"ref":1,"hash":"AA=="}]`, true),
		"closed":          hijacked(""),
		"cut off":         hijacked("HTTP/1.1 200 OK\r\nSearchd-Shard: 1\r\nContent-Length: 1000\r\n\r\n[null"),
		"promised":        hijacked("HTTP/1.1 200 OK\r\nSearchd-Shard: 1\r\nContent-Length: 4611686018427387904\r\n\r\n[null"),
		"no HTTP":         hijacked("220 mail.example.org ESMTP\r\n"),
		"hangs":           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-gone }),
	} {
		var at switched
		at.to(Handler(node, HandlerOptions{}))
		server := httptest.NewServer(&at)
		s, err := Dial(t.Context(), server.URL, Options{})
		if err != nil {
			t.Fatal(err)
		}
		at.to(h)
		wait := testTime
		if name == "hangs" {
			wait = 200 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		began := time.Now()
		_, err = s.Fetch(ctx, "docs", []backend.Ref{1})
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), server.URL) || errors.Is(err, context.DeadlineExceeded) != (name == "hangs") {
			t.Errorf("%s: %v, want ErrUnavailable that names the shard", name, err)
		}
		if time.Since(began) > testTime/2 {
			t.Errorf("%s: said after %v", name, time.Since(began))
		}
		if name == "hangs" {
			canceled, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			if _, err = s.Fetch(canceled, "docs", []backend.Ref{1}); !errors.Is(err, context.Canceled) || errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("given up: %v, want Canceled alone", err)
			}
			close(gone)
		}
		cancel()
		s.Close()
		server.Close()
		if _, err := s.Fetch(t.Context(), "docs", nil); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := Dial(t.Context(), "http://"+l.Addr().String(), Options{}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("nobody there: %v, want ErrUnavailable", err)
	}
}

// TestProtocols meets a shard of another version.
func TestProtocols(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(protocolHeader, "9")
		io.WriteString(w, `{"protocol":9,"version":"v9.9.9","identity":{},"more":1}`)
	})
	_, err := Dial(t.Context(), serve(t, h), Options{})
	if err == nil || !strings.Contains(err.Error(), "v9.9.9") || !strings.Contains(err.Error(), "protocol 9") || !strings.Contains(err.Error(), ownVersion()) {
		t.Errorf("%v, want both versions by name", err)
	}
	for _, address := range []string{"", "10.0.0.7:8090", "ftp://a", "http://", "http://a?x=1", "http://user@a", "::"} {
		if _, err := Dial(t.Context(), address, Options{}); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("Dial(%q): %v, want ErrInvalid", address, err)
		}
	}
}

// TestTLS speaks to a shard behind https, and refuses one of another authority.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(Handler(openNode(t), HandlerOptions{}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of who refuses it
	server.StartTLS()
	defer server.Close()
	cas := x509.NewCertPool()
	cas.AddCert(server.Certificate())
	s, err := Dial(t.Context(), server.URL, Options{CAs: cas})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Collections(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := Dial(t.Context(), server.URL, Options{}); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an authority that is not known: %v, want ErrUnavailable that says so", err)
	}
}

// counting counts the calls of a shard.
type counting struct {
	Node
	reads, writes atomic.Int64
}

func (c *counting) Collection(ctx context.Context, name string) (backend.Collection, error) {
	c.reads.Add(1)
	return c.Node.Collection(ctx, name)
}

func (c *counting) SetValues(ctx context.Context, values map[string][]byte) error {
	c.writes.Add(1)
	return c.Node.SetValues(ctx, values)
}

// TestClosedConnections closes the connections that are kept between calls: reads go on, and no write is carried out twice.
func TestClosedConnections(t *testing.T) {
	node := &counting{Node: openNode(t)}
	fill(t, node)
	server := httptest.NewServer(Handler(node, HandlerOptions{}))
	defer server.Close()
	s, err := Dial(t.Context(), server.URL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 50 {
		server.CloseClientConnections()
		if _, err := s.Collection(t.Context(), "docs"); err != nil {
			t.Fatalf("read %d: %v", i, err)
		}
		server.CloseClientConnections()
		if err := s.SetValues(t.Context(), map[string][]byte{"x/y": {byte(i)}}); err != nil && !errors.Is(err, backend.ErrUnavailable) {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	if n := node.writes.Load(); n > 50 {
		t.Errorf("%d writes were carried out, 50 were asked for", n)
	}
}

// TestLostAnswers loses the answer to a write that was carried out: whoever asked is told that it may have been, and it is not sent again.
func TestLostAnswers(t *testing.T) {
	node := &counting{Node: openNode(t)}
	inner := Handler(node, HandlerOptions{})
	var lose atomic.Bool
	s := dialHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lose.Load() {
			inner.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		inner.ServeHTTP(w, r)
	}))
	for range 3 { // a connection that was used before, and others
		if err := s.SetValues(t.Context(), map[string][]byte{"x/y": {1}}); err != nil {
			t.Fatal(err)
		}
	}
	lose.Store(true)
	if err := s.SetValues(t.Context(), map[string][]byte{"x/y": {2}}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	if n := node.writes.Load(); n != 4 {
		t.Errorf("%d writes were carried out, want 4", n)
	}
}

// TestSilentShard asks without an end: a shard that neither answers nor lives is given up, one that only takes long is not.
func TestSilentShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := openNode(t)
		fill(t, node)
		inner := Handler(node, HandlerOptions{})
		var slow, dead atomic.Bool
		gone := make(chan struct{})
		s := dialPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if dead.Load() {
				<-gone
			} else if slow.Load() && r.URL.Path != "/livez" {
				time.Sleep(12 * silence)
			}
			inner.ServeHTTP(w, r)
		}))
		t.Cleanup(func() { close(gone) }) // before the server's, which waits
		slow.Store(true)
		if _, err := s.Collection(context.Background(), "docs"); err != nil {
			t.Errorf("a shard that takes long: %v", err)
		}
		dead.Store(true)
		began := time.Now()
		if _, err := s.Collection(context.Background(), "docs"); !errors.Is(err, backend.ErrUnavailable) || errors.Is(err, context.Canceled) {
			t.Errorf("a dead shard: %v, want ErrUnavailable", err)
		}
		if took := time.Since(began); took != silence+probes*probeWait {
			t.Errorf("given up after %v, want %v", took, silence+probes*probeWait)
		}
	})
}

// TestBackup streams a backup, and breaks one off.
func TestBackup(t *testing.T) {
	node := openNode(t)
	fill(t, node)
	var far, near bytes.Buffer
	n, err := dial(t, node).Backup(t.Context(), &far)
	if err != nil || n != int64(far.Len()) || n == 0 {
		t.Fatalf("Backup = %d, %v, and %d bytes", n, err, far.Len())
	}
	if _, err := node.Backup(t.Context(), &near); err != nil || near.Len() != far.Len() {
		t.Errorf("the shard's own has %d bytes, this %d, %v", near.Len(), far.Len(), err)
	}
	if _, err := dial(t, struct{ Node }{node}).Backup(t.Context(), io.Discard); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of a shard without: %v, want ErrUnsupported", err)
	}
	for _, written := range []int{0, 100, 1 << 20} {
		_, err := dial(t, brokenBackup{node, written}).Backup(t.Context(), io.Discard)
		if err == nil || errors.Is(err, backend.ErrNoSpace) != (written == 0) || errors.Is(err, backend.ErrUnavailable) != (written > 0) {
			t.Errorf("broken off after %d bytes: %v", written, err)
		}
	}
	if _, err := dial(t, node).Backup(t.Context(), fullWriter{}); err == nil || errors.Is(err, backend.ErrUnavailable) || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("into a full disk: %v", err)
	}
}

type brokenBackup struct {
	Node
	written int
}

func (b brokenBackup) Backup(_ context.Context, w io.Writer) (int64, error) {
	if b.written > 0 {
		w.Write(make([]byte, b.written))
	}
	return 0, fmt.Errorf("%w: in the middle", backend.ErrNoSpace)
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestManyCallers asks from many goroutines at once, each for something of its own.
func TestManyCallers(t *testing.T) {
	node := openNode(t)
	fill(t, node)
	s := dial(t, node)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for range 20 {
				id := fmt.Sprintf("d%d", i)
				docs, err := s.Lookup(context.Background(), "docs", []string{id})
				if err != nil || docs[0] == nil || docs[0].ID != id {
					t.Errorf("Lookup(%s) = %v, %v", id, docs, err)
				}
				if err := s.ReadOnly(); err != nil {
					t.Errorf("ReadOnly: %v", err)
				}
			}
		})
	}
	wg.Wait()
}
