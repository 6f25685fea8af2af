package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"searchd/api"
	"searchd/client"
	"searchd/search"
	"searchd/search/wire"
	"searchd/store"
)

// follower keeps the data folder of a replica like that of its primary:
//
//  1. begin makes a copy where the folder is empty, before anything is served.
//  2. follow takes changes as they come, while the engine serves. When the primary is away it tries again, less and less often.
//  3. Where the place in the primary's log is lost, follow makes another copy beside the folder's content, which is served meanwhile; install then
//     puts it in its place.
type follower struct {
	log         *slog.Logger
	dir         string
	url         *url.URL
	client      *client.Client
	transport   http.RoundTripper // for what is passed on
	name        string            // by which the primary knows this replica
	denied      string            // what the primary wants where it refuses the key
	copied      time.Time         // the last copy
	copyPause   time.Duration     // at least, between that and the next
	staleKeys   bool              // the keyring is not that of what was taken yet
	first, most time.Duration     // pauses
	reminds     time.Duration     // between reminders
	wanted      chan struct{}     // somebody waits for what the primary has

	mu struct {
		sync.Mutex
		api.Following
		commits uint64        // of the primary that this replica has
		moved   chan struct{} // closed when there are more
	}
}

// taker is what takes the place of the primary's data: an engine, or the backend of a standby.
type taker interface {
	Marker() *search.Marker
	SetMarker(ctx context.Context, m search.Marker) error
	Stands() map[uint32]uint64
	Take(ctx context.Context, n *store.News) (keys bool, err error)
}

// keyUses are the API keys of a replica.
type keyUses interface {
	Uses() map[string]int64
	Refresh() error
}

// state says how far the replica is.
func (f *follower) state() api.Following {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.Following
}

// waitFor waits until the replica has so many commits of the primary, which it asks at once if it thought that it is away, or for the end of ctx.
func (f *follower) waitFor(ctx context.Context, commits uint64) {
	for {
		f.mu.Lock()
		there, moved := f.mu.commits >= commits, f.mu.moved
		f.mu.Unlock()
		if there {
			return
		}
		select {
		case f.wanted <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// begin makes the first copy where the folder is empty. It waits for a primary that does not answer, and returns an error where following
// cannot succeed.
func (f *follower) begin(ctx context.Context) error {
	m, err := search.OpenReplica(f.dir)
	if err != nil {
		return inUse(err)
	}
	if m != nil {
		f.name = m.Name
	}
	if f.name == "" {
		f.name = newName()
	}
	if m != nil {
		return nil
	}
	if err := f.copyUntil(ctx, nil); err != nil {
		return err
	}
	return search.InstallCopy(f.dir)
}

// hopeless reports whether asking again cannot help before somebody changes something.
func hopeless(err error) bool {
	var e *client.Error
	return errors.Is(err, client.ErrDenied) || errors.Is(err, store.ErrNewerFormat) || errors.Is(err, errNoShard) || errors.As(err, &e) && (e.Code == "replica" || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed)
}

// said says what the primary's refusal means.
func (f *follower) said(err error) error {
	var e *client.Error
	switch {
	case errors.As(err, &e) && e.Code == "replica":
		return fmt.Errorf("--follow %s: that server is a replica itself; follow its primary", f.url.Redacted())
	case errors.Is(err, client.ErrDenied):
		return fmt.Errorf("--follow %s: %s: %w", f.url.Redacted(), f.denied, err)
	}
	return fmt.Errorf("--follow %s: %w", f.url.Redacted(), err)
}

// copyUntil makes a copy to take the place of what e has, and tries again until it has one or ctx ends. Where e is nil, nothing is served yet, and it
// returns an error that trying again cannot change.
func (f *follower) copyUntil(ctx context.Context, e taker) error {
	told := ""
	for pause := f.first; ; pause = min(2*pause, f.most) {
		err := f.copy(ctx, e)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e == nil && hopeless(err):
			return f.said(err)
		}
		if text := err.Error(); text != told {
			told = text
			f.log.Warn("no copy of the primary yet, trying again", "primary", f.url.Redacted(), "error", err)
		}
		if e != nil { // what it has is better than nothing
			f.mu.Lock()
			f.mu.Away, f.mu.CaughtUp = err.Error(), true
			f.mu.Unlock()
		}
		wait := pause
		if useless := (*uselessError)(nil); errors.Is(err, search.ErrNoSpace) || errors.As(err, &useless) {
			wait = max(pause, uselessPause)
		}
		if sleep(ctx, wait, nil) != nil {
			return context.Cause(ctx)
		}
	}
}

// uselessError is the error of a copy that arrived as a whole. The next one is likely to be of no use either.
type uselessError struct{ error }

func (e *uselessError) Unwrap() error { return e.error }

// errEmpty keeps a primary that has lost its disk from emptying all its replicas.
var errEmpty = errors.New("the primary is another one than before, and holds nothing; this replica keeps what it has. If that is right, start it in an empty folder")

// copy makes a copy beside what the folder holds, for e to be replaced by.
func (f *follower) copy(ctx context.Context, e taker) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	body, id, err := f.client.Copy(ctx, f.name)
	if err != nil {
		return err
	}
	defer body.Close()
	f.log.Info("copying the primary", "primary", f.url.Redacted())
	defer f.remind(id)()
	m := search.Marker{Primary: id, URL: f.url.Redacted(), Name: f.name}
	w := watch(body, cancel)
	n, collections, err := search.FetchCopy(ctx, w, f.dir, m, func(text string) {
		f.log.Error("a value of the primary is damaged, and of the copy too", "value", text)
	})
	switch {
	case err != nil && w.ended && !errors.Is(err, store.ErrBackup): // that is one that was cut
		return &uselessError{err}
	case err != nil:
		return errors.Join(err, context.Cause(ctx))
	}
	if e != nil && collections == 0 && len(e.Stands()) > 0 {
		return errEmpty
	}
	f.log.Info("copied the primary", "bytes", n, "seconds", time.Since(began).Seconds())
	f.copied = time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.Copies++
	f.mu.Contact = time.Now()
	return nil
}

// remind asks now and then, so that the primary keeps what changes while a copy is made, however long that takes, until stop is called.
func (f *follower) remind(store string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sleep(ctx, f.reminds, nil) == nil {
			body, err := f.client.Changes(ctx, wire.Question{Follower: f.name, Store: store, After: map[uint32]uint64{}})
			if err == nil { // a refusal that the log does not reach so far back reminds as well
				body.Close()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// follow takes what the primary sends until ctx ends. It returns true when a copy is there that must take the place of what e has.
func (f *follower) follow(ctx context.Context, e taker, keys keyUses) (replace bool) {
	f.mu.Lock()
	f.mu.CaughtUp, f.mu.Away, f.mu.commits = false, "", 0
	f.mu.Unlock()
	m := *e.Marker()
	if m.URL != f.url.Redacted() || m.Name != f.name {
		m.URL, m.Name = f.url.Redacted(), f.name // a marker that was damaged has none
		if err := e.SetMarker(ctx, m); err != nil {
			f.log.Warn("the address of the primary was not noted", "error", err)
		}
	}
	var version uint64
	for pause := f.first; ctx.Err() == nil; {
		end, err := f.round(ctx, e, keys, m, version)
		switch {
		case err == nil:
			pause = f.first
			if end.Behind == 0 {
				version = end.Version
			}
			f.reached(end)
			continue
		case ctx.Err() != nil:
			return false
		case lost(err):
			f.log.Warn("this replica cannot go on where it was and makes a new copy; what it has is served meanwhile", "reason", err)
			f.mu.Lock()
			f.mu.Away = err.Error()
			f.mu.Unlock()
			if wait := f.untilCopy(time.Since(f.copied)); wait > 0 && sleep(ctx, 2*wait, nil) != nil {
				return false
			}
			return f.copyUntil(ctx, e) == nil
		}
		f.away(err)
		version = 0 // when the primary is back it answers at once, also where nothing is new
		if sleep(ctx, f.first, nil) != nil || sleep(ctx, pause-f.first, f.wanted) != nil {
			return false
		}
		pause = min(2*pause, f.most)
	}
	return false
}

// untilCopy returns how long to wait before another copy where the last one has helped for served: each that did not help for long makes the next one
// wait longer, as it may be large.
func (f *follower) untilCopy(served time.Duration) time.Duration {
	if served >= longCopy {
		f.copyPause = copyPause
	}
	wait := max(0, f.copyPause-served)
	f.copyPause = min(2*f.copyPause, longCopy)
	return wait
}

// lost reports whether a replica needs a copy to go on: its place in the primary's log is gone, or what it has is not what the primary's changes are
// for.
func lost(err error) bool {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Code == "replication_lost"
	}
	for _, is := range []error{search.ErrInvalid, search.ErrDamaged, search.ErrCollectionNotFound, search.ErrCollectionExists, store.ErrInvalid, store.ErrDimension, store.ErrExists} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// round asks once and takes what comes.
func (f *follower) round(ctx context.Context, e taker, keys keyUses, m search.Marker, version uint64) (*wire.End, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := f.client.Changes(ctx, wire.Question{Follower: m.Name, Store: m.Primary, After: e.Stands(), Version: version, Used: keys.Uses()})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return wire.Read(watch(body, cancel), func(n *store.News) error {
		changed, err := e.Take(ctx, n)
		if f.staleKeys = f.staleKeys || changed; f.staleKeys {
			refreshed := keys.Refresh()
			f.staleKeys = refreshed != nil
			err = errors.Join(err, refreshed)
		}
		if err != nil {
			err = &notTaken{err}
		}
		return err
	})
}

// notTaken is the error of this replica, not of the way to its primary.
type notTaken struct{ error }

func (e *notTaken) Unwrap() error { return e.error }

// reached notes what a round has brought.
func (f *follower) reached(end *wire.End) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.mu.Away != "" {
		f.log.Info("following the primary again", "primary", f.url.Redacted(), "seconds", now.Sub(f.mu.Contact).Seconds())
	}
	f.mu.Away, f.mu.Contact, f.mu.Behind = "", now, end.Behind
	if end.Behind > 0 {
		return
	}
	if !f.mu.CaughtUp {
		f.log.Info("caught up with the primary", "primary", f.url.Redacted())
	}
	f.mu.CaughtUp, f.mu.commits = true, end.Commits
	close(f.mu.moved)
	f.mu.moved = make(chan struct{})
}

// away notes that the primary does not answer, or not as it should; the replica serves what it has.
func (f *follower) away(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var here *notTaken
	switch {
	case f.mu.Away != "":
	case errors.As(err, &here):
		f.log.Error("what the primary has changed cannot be written here; it is tried again, and reads are served meanwhile", "error", err)
	default:
		f.log.Warn("the primary is away: reads are served, writes are refused, until it answers", "primary", f.url.Redacted(), "error", f.said(err))
	}
	f.mu.Away, f.mu.CaughtUp = err.Error(), true
	f.mu.commits = 0 // it counts anew if it was started again
}

// sleep waits about as long as d, so that replicas do not all come back at the same moment, or for wake, or for the end of ctx.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watched ends a request whose answer stands still.
type watched struct {
	io.Reader
	timer *time.Timer
	ended bool // all of it was read
}

var errSilent = fmt.Errorf("nothing came from the primary for %v", silence)

func watch(r io.Reader, cancel context.CancelCauseFunc) *watched {
	return &watched{Reader: r, timer: time.AfterFunc(silence, func() { cancel(errSilent) })}
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(silence)
	n, err := w.Reader.Read(p)
	w.timer.Stop() // what is done with it may take its time
	w.ended = err == io.EOF
	return n, err
}
