package lines

import (
	"context"
	"errors"
	"io"
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
	ctx, cancel := context.WithCancelCause(t.Context())
	u := Until(ctx, io.MultiReader(strings.NewReader("arrived"), waiting(func() { cancel(why) })))
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

// waiting is a source whose Read waits for more than the test lasts, and calls the function before
// that.
type waiting func()

func (w waiting) Read([]byte) (int, error) {
	w()
	select {}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
