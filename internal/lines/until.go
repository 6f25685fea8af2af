package lines

import (
	"context"
	"io"
	"sync"
)

// Until returns a reader of r that ends with ctx, even while a Read of r is blocked: it returns
// what has arrived by then, and then the cause of ctx. The blocked Read cannot be interrupted, so r
// must not be used afterwards.
func Until(ctx context.Context, r io.Reader) io.Reader {
	return &until{ended: ctx.Done(), cause: func() error { return context.Cause(ctx) }, r: r, chunks: make(chan chunk)}
}

type until struct {
	ended  <-chan struct{}
	cause  func() error
	r      io.Reader
	begin  sync.Once
	chunks chan chunk
	rest   chunk
}

// chunk is the result of one Read of r.
type chunk struct {
	b   []byte
	err error
}

func (u *until) Read(p []byte) (int, error) {
	u.begin.Do(func() { go u.fill() })
	for len(u.rest.b) == 0 {
		if u.rest.err != nil {
			return 0, u.rest.err
		}
		select {
		case u.rest = <-u.chunks:
			continue
		case <-u.ended:
		}
		select {
		case u.rest = <-u.chunks: // arrived before
		default:
			u.rest.err = u.cause()
		}
	}
	n := copy(p, u.rest.b)
	u.rest.b = u.rest.b[n:]
	return n, nil
}

// fill reads chunks of r until ctx has ended.
func (u *until) fill() {
	for u.cause() == nil {
		b := make([]byte, 32<<10)
		n, err := u.r.Read(b)
		u.chunks <- chunk{b[:n], err}
		if err != nil {
			return
		}
	}
}
