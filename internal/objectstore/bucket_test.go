package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/internal/objectstore/s3test"
)

// storage starts a storage and returns it with a prefix in its bucket, with small parts.
func storage(t *testing.T) (*s3test.Server, *bucket) {
	t.Helper()
	s := s3test.New()
	t.Cleanup(s.Close)
	for k, v := range s.Environment() {
		t.Setenv(k, v)
	}
	p, err := At("s3://" + s3test.Bucket + "/a/b/")
	if err != nil {
		t.Fatal(err)
	}
	b := p.(*bucket)
	b.partSize = 1000
	return s, b
}

func content(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef\n"), n/17+1)[:n] }

func filler(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for piece := range slices.Chunk(b, 333) {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestPlaces writes, reads, lists and removes objects of all sizes around that of a part, in a
// bucket and in a folder.
func TestPlaces(t *testing.T) {
	s, b := storage(t)
	for name, p := range map[string]Place{"bucket": b, "folder": folder{filepath.Join(t.TempDir(), "new")}} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 999, 1000, 1001, 2000, 12345} {
				o, err := Write(t.Context(), p, fmt.Sprintf("%05d.x", n), int64(n), filler(content(n)))
				if err != nil || o.Bytes != int64(n) {
					t.Fatalf("Write of %d bytes: %+v, %v", n, o, err)
				}
				r, _, err := p.Open(t.Context(), o.Name)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				if r.Close(); err != nil || !bytes.Equal(got, content(n)) {
					t.Errorf("%d bytes come back as %d: %v", n, len(got), err)
				}
			}
			list, err := p.List(t.Context())
			if err != nil || len(list) != 7 || list[6].Name != "12345.x" || list[6].Bytes != 12345 || time.Since(list[6].Created) > time.Hour {
				t.Errorf("List: %+v, %v", list, err)
			}
			if err := p.Remove(t.Context(), "00000.x"); err != nil {
				t.Error(err)
			}
			for what, err := range map[string]error{
				"Stat":              func() error { _, err := p.Stat(t.Context(), "00000.x"); return err }(),
				"Open of a removed": func() error { _, _, err := p.Open(t.Context(), "00000.x"); return err }(),
			} {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("%s: %v, want %v", what, err, ErrNotFound)
				}
			}
			for _, bad := range []string{"", "..", "a/b", strings.Repeat("x", 129)} {
				if err := p.Put(t.Context(), bad, 0, filler(nil)); err == nil {
					t.Errorf("an object named %q was made", bad)
				}
			}
		})
	}
	if keys := s.Objects(); len(keys) != 6 || keys[0] != "a/b/00001.x" || len(s.Uploads()) > 0 {
		t.Errorf("in the bucket: %q, unfinished %q", keys, s.Uploads())
	}
}

// TestFailedPut fails uploads at each of their requests, and by their source: no object is visible
// and no part is left.
func TestFailedPut(t *testing.T) {
	s, b := storage(t)
	broken := errors.New("the source broke")
	for _, operation := range []string{"create", "part", "complete", "source", "interrupt"} {
		t.Run(operation, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			var calls atomic.Int32
			s.Fault = func(_ http.ResponseWriter, r *http.Request) (int, string) {
				if s3test.Is(r, operation) && (operation != "part" || calls.Add(1) > 2) {
					return http.StatusForbidden, "AccessDenied"
				}
				return 0, ""
			}
			_, err := Write(ctx, b, "x", 0, func(w io.Writer) error {
				err := filler(content(5500))(w)
				switch operation {
				case "source":
					err = broken
				case "interrupt":
					interrupt()
				}
				return err
			})
			if err == nil || operation == "source" && !errors.Is(err, broken) || operation == "interrupt" && !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if len(s.Objects()) > 0 || len(s.Uploads()) > 0 {
				t.Errorf("left: objects %q, uploads %q", s.Objects(), s.Uploads())
			}
		})
	}
}

// TestPassingFaults has the storage fail for a while with 500 and 503 and cut connections, and
// succeed then.
func TestPassingFaults(t *testing.T) {
	s, b := storage(t)
	var calls atomic.Int32
	s.Fault = func(w http.ResponseWriter, r *http.Request) (int, string) {
		switch calls.Add(1) % 4 {
		case 1:
			return http.StatusServiceUnavailable, "SlowDown"
		case 2:
			return http.StatusInternalServerError, "InternalError"
		case 3:
			if r.Method == http.MethodGet { // in the middle of the body
				w.Header().Set("Content-Length", "100000")
				w.Write(s.Object("a/b/x")[:10])
				panic(http.ErrAbortHandler)
			}
		}
		return 0, ""
	}
	if _, err := Write(t.Context(), b, "x", 0, filler(content(2500))); err != nil {
		t.Errorf("Write: %v", err)
	}
	s.Fault = nil
	s.Set("a/b/y", content(2500))
	calls.Store(0)
	s.Fault = func(w http.ResponseWriter, r *http.Request) (int, string) {
		if r.Method == http.MethodGet && calls.Add(1) < 4 {
			from := 0
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			w.Header().Set("Content-Length", fmt.Sprint(2500-from))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(content(2500)[from : from+100])
			panic(http.ErrAbortHandler)
		}
		return 0, ""
	}
	r, _, err := b.Open(t.Context(), "y")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content(2500)) {
		t.Errorf("after cut connections: %d bytes, %v", len(got), err)
	}
}

// TestReplacedWhileRead replaces an object while it is read.
func TestReplacedWhileRead(t *testing.T) {
	s, b := storage(t)
	s.Set("a/b/x", content(5000))
	r, _, err := b.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Set("a/b/x", content(6000))
	if _, err := io.ReadAll(r); !errors.Is(err, errGone) {
		t.Errorf("error %v, want %v", err, errGone)
	}
}

// TestStalledStorage: a storage that stops answering in the middle ends the call, not the process's
// patience.
func TestStalledStorage(t *testing.T) {
	s, b := storage(t)
	s.Set("a/b/y", content(2500))
	b.idle = 50 * time.Millisecond
	stalled := make(chan struct{})
	s.Fault = func(w http.ResponseWriter, r *http.Request) (int, string) {
		if r.Method == http.MethodGet || s3test.Is(r, "part") {
			select {
			case <-r.Context().Done():
			case <-stalled:
			}
			return -1, ""
		}
		return 0, ""
	}
	defer close(stalled)
	if err := b.Put(t.Context(), "x", 0, filler(content(2500))); err == nil || !strings.Contains(err.Error(), "took longer than") {
		t.Errorf("Put: %v", err)
	}
	if r, _, err := b.Open(t.Context(), "y"); err == nil {
		_, err = io.ReadAll(r)
		r.Close()
		if err == nil {
			t.Error("a stalled download ends without an error")
		}
	}
	if len(s.Uploads()) > 0 {
		t.Errorf("left: %q", s.Uploads())
	}
}

// TestChangedOnTheWay: an object whose bytes are not those that were written is removed.
func TestChangedOnTheWay(t *testing.T) {
	s, b := storage(t)
	for name, change := range map[string]func([]byte) []byte{
		"flipped": func(b []byte) []byte { b[77] ^= 1; return b },
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"longer":  func(b []byte) []byte { return append(b, 'x') },
		"gone":    func([]byte) []byte { return nil },
	} {
		s.Fault = func(w http.ResponseWriter, r *http.Request) (int, string) {
			if s3test.Is(r, http.MethodHead) && s.Object("a/b/x") != nil {
				s.Set("a/b/x", change(slices.Clone(s.Object("a/b/x"))))
			}
			return 0, ""
		}
		if _, err := Write(t.Context(), b, "x", 0, filler(content(2500))); err == nil || !strings.Contains(err.Error(), "cannot be verified") {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.Objects()) > 0 {
			t.Errorf("%s: %q is still there", name, s.Objects())
		}
	}
}

// TestRemoveUnfinished removes the uploads whose names match, and no others.
func TestRemoveUnfinished(t *testing.T) {
	s, b := storage(t)
	for _, name := range []string{"mine", "mine", "other"} { // as processes leave them that are killed
		if _, err := b.core.NewMultipartUpload(t.Context(), b.name, b.key(name), octets); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.RemoveUnfinished(t.Context(), func(name string) bool { return name == "mine" }); err != nil || !slices.Equal(s.Uploads(), []string{"a/b/other"}) {
		t.Errorf("left %q, %v", s.Uploads(), err)
	}
}

// TestExplained: errors say what to do, and never have the secret key in them.
func TestExplained(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		url  string
		set  func(*s3test.Server)
		want string
	}{
		"wrong key":      {env: map[string]string{"AWS_ACCESS_KEY_ID": "AKIDOTHER"}, want: "InvalidAccessKeyId"},
		"wrong secret":   {env: map[string]string{"AWS_SECRET_ACCESS_KEY": "another-secret"}, want: "check AWS_ACCESS_KEY_ID"},
		"no credentials": {env: map[string]string{"AWS_ACCESS_KEY_ID": ""}, want: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		"no bucket":      {url: "s3://another-bucket/x", want: `the bucket "another-bucket" does not exist`},
		"clock": {set: func(s *s3test.Server) { s.Clock = func() time.Time { return time.Now().Add(time.Hour) } },
			want: "the clock of this machine is wrong"},
		"not allowed": {set: func(s *s3test.Server) {
			s.Fault = func(http.ResponseWriter, *http.Request) (int, string) { return http.StatusForbidden, "AccessDenied" }
		}, want: "the credentials need s3:GetObject"},
		"another region": {set: func(s *s3test.Server) {
			s.Fault = func(http.ResponseWriter, *http.Request) (int, string) {
				return http.StatusBadRequest, "AuthorizationHeaderMalformed"
			}
		}, want: "set AWS_REGION"},
		"no TLS":       {env: map[string]string{"AWS_ENDPOINT_URL": "ftp://host"}, want: "allowed: https://HOST:PORT"},
		"password":     {env: map[string]string{"AWS_ENDPOINT_URL_S3": "https://me:a-secret-that-no-log-may-have@host"}, want: "has credentials"},
		"no endpoint":  {env: map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, want: "connection refused"},
		"key in a URL": {url: "s3://AKID:a-secret-that-no-log-may-have@backups/x", want: "credentials belong into the environment"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s3test.New()
			defer s.Close()
			if tt.set != nil {
				tt.set(s)
			}
			t.Setenv("HOME", t.TempDir())
			for _, env := range []map[string]string{s.Environment(), tt.env} {
				for k, v := range env {
					t.Setenv(k, v)
				}
			}
			url := tt.url
			if url == "" {
				url = "s3://" + s3test.Bucket + "/x"
			}
			errs := map[string]error{}
			p, err := At(url)
			if errs["At"] = err; err == nil {
				errs["List"] = func() error { _, err := p.List(t.Context()); return err }()
				if name != "no endpoint" { // which is asked several times
					errs["Put"] = p.Put(t.Context(), "n", 0, filler([]byte("x")))
				}
				delete(errs, "At")
			}
			for call, err := range errs {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", call, err, tt.want)
				}
				if err != nil && (strings.Contains(err.Error(), s3test.SecretKey) || strings.Contains(err.Error(), "another-secret")) {
					t.Errorf("%s: the secret key is in %q", call, err)
				}
			}
		})
	}
}

// TestURLs are read as they are meant, or refused.
func TestURLs(t *testing.T) {
	for url, want := range map[string][2]string{
		"s3://bucket/a/b/c.backup": {"s3://bucket/a/b/", "c.backup"},
		"s3://bucket/c.backup":     {"s3://bucket/", "c.backup"},
		"s3://bucket/a/":           {"s3://bucket/a/", ""},
		"s3://bucket":              {"s3://bucket/", ""},
		"S3://bucket/":             {"s3://bucket/", ""},
	} {
		if place, name, err := Split(url); err != nil || [2]string{place, name} != want {
			t.Errorf("Split(%q) = %q, %q, %v, want %q", url, place, name, err, want)
		}
	}
	for _, url := range []string{"s3://", "s3://ab/x", "s3://Bucket/x", "s3://buc..ket/x", "s3://bucket//x", "s3://bucket/../x", "s3://bucket/a/./b", "s3://bucket/a\x00b",
		"s3://bucket/a?b", "s3://-bucket/x", "s3://bucket/" + strings.Repeat("x", 1000), "gs://bucket/x", "https://host/x", ""} {
		if p, err := At(url); !errors.Is(err, ErrURL) {
			t.Errorf("At(%q) = %v, %v, want %v", url, p, err, ErrURL)
		}
	}
}

// TestHostileStorage sends answers that no storage sends: an error, and nothing else.
func TestHostileStorage(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"no XML":    func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>login") },
		"empty":     func(http.ResponseWriter, *http.Request) {},
		"no length": func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush() },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		},
		"names outside": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "<ListBucketResult><Contents><Key>a/b/../../etc</Key></Contents><Contents><Key>/x</Key></Contents><Contents><Key>a/b/\n</Key></Contents></ListBucketResult>")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(answer)
			defer s.Close()
			_, b := storage(t)
			t.Setenv("AWS_ENDPOINT_URL", s.URL)
			b, err := openBucket(b.name, b.prefix)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Write(t.Context(), b, "x", 0, filler(content(1500))); err == nil {
				t.Error("an object was written")
			}
			list, _ := b.List(t.Context())
			for _, o := range list {
				if strings.Contains(o.Name, "/") {
					t.Errorf("listed %q", o.Name)
				}
			}
			if r, _, err := b.Open(t.Context(), "x"); err == nil {
				if n, err := io.Copy(io.Discard, r); err == nil && n > 0 {
					t.Errorf("%d bytes were read", n)
				}
				r.Close()
			}
		})
	}
}
