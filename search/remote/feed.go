package remote

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"searchd/search/backend"
)

// gaugeTime is how long a shard has to say how it is, and stateKept how long what it said of its writes holds.
const (
	gaugeTime = 2 * time.Second
	stateKept = time.Second
)

// Position implements backend.ChangeFeed.
func (s *Shard) Position(ctx context.Context, collection string) (backend.Position, error) {
	return methodPosition.call(ctx, s, named{collection})
}

// Changed implements backend.ChangeFeed.
func (s *Shard) Changed(ctx context.Context, collection string, after backend.Position, limit int) ([]string, backend.Position, error) {
	got, err := methodChanged.call(ctx, s, changed{collection, after, limit})
	if err != nil {
		return nil, after, err
	}
	return stringsOf(got.IDs), got.Next, nil
}

// Hold implements backend.ChangeFeed. The shard lets go by itself when it has not heard of the holder for a while.
func (s *Shard) Hold(ctx context.Context, collection string, after backend.Position) (release func(), err error) {
	q := hold{collection, append(backend.Position{}, after...), rand.Text()}
	if _, err := methodHold.call(ctx, s, q); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	s.holds.Go(func() { s.keepHeld(q, ended) })
	return sync.OnceFunc(func() { close(ended) }), nil
}

// keepHeld renews what is held until it ends, and releases it. Close waits for no answer.
func (s *Shard) keepHeld(q hold, ended <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.holds.Go(func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	})
	tick := time.NewTicker(holdTime / 5)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			bounded(ctx, func(ctx context.Context) { _, _ = methodHold.call(ctx, s, q) }) // the next may get through
		case <-ctx.Done():
			return
		case <-ended:
			bounded(ctx, func(ctx context.Context) { _, _ = methodRelease.call(ctx, s, held{q.Collection, q.Holder}) }) // or it ends by itself
			return
		}
	}
}

// bounded calls f with as much time as there is for what nobody waits for.
func bounded(ctx context.Context, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, valuesTime)
	defer cancel()
	f(ctx)
}

// StoreSize implements backend.Gauges.
func (s *Shard) StoreSize() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
	defer cancel()
	return methodStoreSize.call(ctx, s, none{})
}

// ReadOnly implements backend.Gauges. What the shard said less than a second ago is said again.
func (s *Shard) ReadOnly() error {
	s.state.Lock()
	defer s.state.Unlock()
	if !s.state.at.IsZero() && time.Since(s.state.at) < stateKept {
		return s.state.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
	defer cancel()
	got, err := methodReadOnly.call(ctx, s, none{})
	if got.Fault != nil {
		err = got.Fault.err()
	}
	s.state.at, s.state.err = time.Now(), err
	return err
}

// Rebuilds implements backend.Gauges. Of a shard that does not answer there is nothing to tell.
func (s *Shard) Rebuilds() []backend.Rebuild {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
	defer cancel()
	got, err := methodRebuilds.call(ctx, s, none{})
	if err != nil {
		return nil
	}
	return convert(got, func(r rebuild) backend.Rebuild { return backend.Rebuild(r) })
}

// IndexStats implements backend.Gauges.
func (s *Shard) IndexStats(ctx context.Context, collection string) (backend.IndexStats, error) {
	return methodIndexStats.call(ctx, s, named{collection})
}

// Check implements backend.Backend.
func (s *Shard) Check(ctx context.Context, deep bool) ([]backend.Problem, error) {
	return methodCheck.call(ctx, s, checked{deep})
}

// Version implements backend.Shard.
func (s *Shard) Version(ctx context.Context) (string, error) {
	return methodVersion.call(ctx, s, none{})
}

// Identity implements backend.Shard.
func (s *Shard) Identity(ctx context.Context) (backend.Identity, error) {
	return methodIdentity.call(ctx, s, none{})
}

// Claim implements backend.Shard. From then on this shard is the one that is meant, and its writes are of this claim.
func (s *Shard) Claim(ctx context.Context, id backend.Identity) error {
	_, err := methodClaim.call(ctx, s, id)
	if err == nil {
		s.place.Store(&id)
	}
	return err
}

// Backup writes the shard's store as it is now; reads and writes go on. It returns the bytes written.
func (s *Shard) Backup(ctx context.Context, w io.Writer) (int64, error) {
	inner, stop := s.watched(ctx)
	defer stop()
	res, err := s.roundTrip(inner, ctx, request{verb: http.MethodGet, name: "backup"})
	if err != nil {
		return 0, s.lost(ctx, inner, err)
	}
	defer res.Body.Close()
	if err := s.own(res); err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK {
		return 0, s.refusal(ctx, res.StatusCode, io.LimitReader(res.Body, maxKept))
	}
	body := &reader{r: res.Body}
	n, err := io.Copy(w, body)
	switch {
	case body.err != nil && body.err != io.EOF:
		return n, s.lost(ctx, inner, body.err)
	case err != nil:
		return n, fmt.Errorf("writing the backup: %w", err)
	}
	return n, nil
}

// reader keeps the error of what it reads, to tell it from one of writing.
type reader struct {
	r   io.Reader
	err error
}

func (r *reader) Read(b []byte) (n int, err error) {
	n, r.err = r.r.Read(b)
	return n, r.err
}
