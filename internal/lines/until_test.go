package lines

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestUntil(t *testing.T) {
	if err := iotest.TestReader(Until(t.Context(), strings.NewReader(strings.Repeat("words ", 20000))), []byte(strings.Repeat("words ", 20000))); err != nil {
		t.Error(err)
	}
	why := errors.New("why")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := io.WriteString(w, "arrived"); err != nil {
		t.Fatal(err)
	}
	u := Until(ctx, r)
	if b, err := io.ReadAll(u); string(b) != "arrived" || err != why {
		t.Errorf("ReadAll = %q, %v, want what arrived and %v", b, err, why)
	}
	if n, err := u.Read(make([]byte, 1)); n != 0 || err != why {
		t.Errorf("Read again = %d, %v, want %v", n, err, why)
	}
	// A source without an end ends, too.
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := io.Copy(io.Discard, Until(ctx, endless{})); err != why {
		t.Errorf("Copy = %v, want %v", err, why)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
