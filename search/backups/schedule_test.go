package backups

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/searchd/internal/objectstore"
	"example.com/searchd/internal/objectstore/s3test"
)

// source is a store that can be damaged or fail.
type source struct {
	mu     sync.Mutex
	damage []string
	err    error
}

func (s *source) set(damage []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damage, s.err = damage, err
}

func (*source) ID() string                          { return "0123456789abcdef0123456789abcdef" }
func (*source) Size(context.Context) (int64, error) { return 10, nil }

func (s *source) Damage(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damage, nil
}

func (s *source) Write(_ context.Context, w io.Writer) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := io.WriteString(w, "everything")
	return int64(n), errors.Join(err, s.err)
}

// schedule starts a schedule in a bubble and returns what has an attempt reported.
func schedule(t *testing.T, dir string, of *source, every time.Duration, keep int) (s *Schedule, next func() Report) {
	t.Helper()
	place, err := objectstore.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	reports := make(chan Report)
	ctx, cancel := context.WithCancel(t.Context())
	s = &Schedule{Of: of, To: place, Every: every, Keep: keep, Report: func(r Report) {
		select {
		case reports <- r:
		case <-ctx.Done():
		}
	}}
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return s, func() Report { return <-reports }
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestSchedule writes a backup each hour, keeps two, and leaves other files alone.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, began := t.TempDir(), time.Now()
		others := []string{"searchd-20000101T000000Z-ffffffff.backup", "searchd-19990101T000000Z.backup", "mine.backup"}
		leftover := Name(began.Add(-time.Hour), "0123456789") + ".part"
		for _, name := range append(slices.Clone(others), leftover) {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, next := schedule(t, dir, &source{}, time.Hour, 2)
		for i := range 4 {
			r := next()
			if r.Err != nil || len(r.Warnings) > 0 || r.Bytes != 10 || time.Since(began) != time.Duration(i)*time.Hour {
				t.Fatalf("after %v: %+v", time.Since(began), r)
			}
		}
		want := []string{Name(began.Add(2*time.Hour), "01234567"), Name(began.Add(3*time.Hour), "01234567")}
		want = append(want, others...)
		slices.Sort(want)
		if got := files(t, dir); !slices.Equal(got, want) {
			t.Errorf("files %q, want %q", got, want)
		}
		if st := s.Status(); st.Successes != 4 || st.Failures != 0 || st.Bytes != 10 || !st.Newest.Equal(time.Now()) {
			t.Errorf("status %+v", st)
		}
	})
}

// TestRestart: a server that was restarted writes the next backup when it is due.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, began := t.TempDir(), time.Now()
		if err := os.WriteFile(filepath.Join(dir, Name(began.Add(-20*time.Minute), "01234567")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, next := schedule(t, dir, &source{}, time.Hour, 2)
		if next(); time.Since(began) != 40*time.Minute {
			t.Errorf("the first backup came after %v, want 40m", time.Since(began))
		}
	})
}

// TestFailures are repeated after longer and longer times; nothing is deleted meanwhile.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, of := t.TempDir(), &source{}
		s, next := schedule(t, dir, of, 24*time.Hour, 1)
		next()
		good := files(t, dir)
		slow := errors.New("the disk is slow")
		of.set(nil, slow)
		last := time.Now()
		for i, want := range []time.Duration{24 * time.Hour, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
			if r := next(); !errors.Is(r.Err, slow) || time.Since(last) != want {
				t.Errorf("attempt %d after %v: %v, want after %v", i, time.Since(last), r.Err, want)
			}
			last = time.Now()
		}
		if got := files(t, dir); !slices.Equal(got, good) {
			t.Errorf("files %q, want %q", got, good)
		}
		if st := s.Status(); st.Failing != 9 || st.Failures != 9 || !st.LastFailure.Equal(last) {
			t.Errorf("status %+v", st)
		}
		of.set(nil, nil)
		if next(); s.Status().Failing != 0 {
			t.Errorf("status after a success: %+v", s.Status())
		}
		if got := files(t, dir); len(got) != 1 || slices.Equal(got, good) {
			t.Errorf("files %q: the old one must have been replaced", got)
		}
	})
}

// TestDamaged: backups of a damaged folder do not push out the good ones, and one is kept.
func TestDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, of := t.TempDir(), &source{}
		_, next := schedule(t, dir, of, time.Hour, 2)
		next()
		next()
		good := files(t, dir)
		of.set([]string{"a value"}, nil)
		for range 3 {
			if r := next(); !errors.Is(r.Err, errDamaged) || !strings.Contains(r.Err.Error(), "a value") || r.Retry != time.Hour {
				t.Errorf("report %+v", r)
			}
		}
		got := files(t, dir)
		if len(got) != 3 || !slices.Equal(got[:2], good) || !strings.HasSuffix(got[2], damagedSuffix) {
			t.Errorf("files %q, want %q and one that is marked damaged", got, good)
		}
		place, err := objectstore.At(dir)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := Newest(t.Context(), place); err != nil || o.Name != good[1] {
			t.Errorf("Newest: %+v, %v, want %s", o, err, good[1])
		}
	})
}

// TestBucket: old backups stay until a new one is verified, and what a killed process left of an
// upload is removed.
func TestBucket(t *testing.T) {
	server := s3test.New()
	defer server.Close()
	for k, v := range server.Environment() {
		t.Setenv(k, v)
	}
	place, err := objectstore.At("s3://" + s3test.Bucket + "/p")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	old := "p/" + Name(now.Add(-time.Hour), "01234567")
	server.Set(old, []byte("old"))
	s := &Schedule{Of: &source{}, To: place, Every: time.Hour, Keep: 1}
	server.Fault = func(_ http.ResponseWriter, r *http.Request) (int, string) { // what was written cannot be read again
		if s3test.Is(r, http.MethodHead) {
			return http.StatusForbidden, "AccessDenied"
		}
		return 0, ""
	}
	if r := s.attempt(t.Context(), now); r.Err == nil || !slices.Equal(server.Objects(), []string{old}) {
		t.Errorf("not verified: %v, objects %q", r.Err, server.Objects())
	}
	server.Fault = nil
	if r := s.attempt(t.Context(), now); r.Err != nil || len(r.Warnings) > 0 || !slices.Equal(server.Objects(), []string{"p/" + Name(now, "01234567")}) {
		t.Errorf("%+v, objects %q", r, server.Objects())
	}
}

// TestNewest refuses to choose between the backups of several folders.
func TestNewest(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tt := range map[string]struct {
		names      []string
		want, fail string
	}{
		"none":             {nil, "", "no backups"},
		"others":           {[]string{"x.backup"}, "", "no backups"},
		"one folder":       {[]string{Name(at, "aaaaaaaa"), Name(at.Add(time.Second), "aaaaaaaa")}, Name(at.Add(time.Second), "aaaaaaaa"), ""},
		"without identity": {[]string{Name(at, "aaaaaaaa"), Name(at.Add(time.Second), "")}, Name(at.Add(time.Second), ""), ""},
		"two folders":      {[]string{Name(at, "aaaaaaaa"), Name(at, "bbbbbbbb")}, "", "2 data folders"},
	} {
		dir := t.TempDir()
		for _, n := range tt.names {
			if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		place, err := objectstore.At(dir)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := Newest(t.Context(), place); o.Name != tt.want || (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s: %q, %v", name, o.Name, err)
		}
	}
}
