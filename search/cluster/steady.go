package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// Times of steady.
const (
	steadyWait = 10 * time.Second // how long an error that passes is waited out
	steadyTry  = 5 * time.Second  // of a try: a leader that is gone does not answer
)

// Errors of JetStream that pass when its servers have found each other and elected leaders.
const (
	codeIncomplete  jetstream.ErrorCode = 10004 // not all servers have answered
	codeNoPeers     jetstream.ErrorCode = 10005 // too few servers are known to be online
	codeNotAssigned jetstream.ErrorCode = 10007 // a server does not take part yet
	codeNotAvail    jetstream.ErrorCode = 10008 // there is no leader
	codeNotLeader   jetstream.ErrorCode = 10009
	codeResources   jetstream.ErrorCode = 10023 // of the servers that are known
	codeStorage     jetstream.ErrorCode = 10047 // likewise
	codeNotEnabled  jetstream.ErrorCode = 10076 // JetStream is starting
	codeOffline     jetstream.ErrorCode = 10118 // of the stream
)

// passes reports whether an error of JetStream may pass by itself within seconds.
func passes(err error) bool {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		switch api.ErrorCode {
		case codeIncomplete, codeNoPeers, codeNotAssigned, codeNotAvail, codeNotLeader, codeResources, codeStorage, codeNotEnabled, codeOffline:
			return true
		}
		return false
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrNoServers):
		return true
	}
	return false
}

// steady calls f, which has the same effect when it is repeated, until it succeeds, has an error
// that does not pass by itself, or was tried for steadyWait. An error that has not passed is
// [backend.ErrUnavailable] with what was tried.
func (n *Backend) steady(ctx context.Context, what string, f func(ctx context.Context) error) error {
	for began, delay := time.Now(), 50*time.Millisecond; ; delay = min(2*delay, time.Second) {
		try, cancel := context.WithTimeout(ctx, steadyTry)
		err := f(try)
		cancel()
		switch {
		case err == nil || !passes(err):
			return err
		case n.closed():
			return backend.ErrClosed
		case ctx.Err() != nil || time.Since(began) > steadyWait:
			return fmt.Errorf("%w: %s: not possible for %s: %w", backend.ErrUnavailable, what, time.Since(began).Round(time.Millisecond), err)
		}
		pause(ctx, delay)
	}
}

// updateKey replaces the value of a key of the bucket that has a revision, 0 for a new key, and
// returns the next one.
func (n *Backend) updateKey(ctx context.Context, what, key string, value []byte, before uint64) (revision uint64, err error) {
	tried := false // and perhaps taken
	err = n.steady(ctx, what, func(ctx context.Context) (err error) {
		if before == 0 {
			revision, err = n.kv.Create(ctx, key, value)
		} else {
			revision, err = n.kv.Update(ctx, key, value, before)
		}
		again := tried && isConflict(err)
		if tried = true; !again {
			return err
		}
		now, failed := n.kv.Get(ctx, key)
		if failed != nil {
			return failed
		}
		if revision = now.Revision(); bytes.Equal(now.Value(), value) {
			return nil
		}
		return err
	})
	return revision, err
}

// isConflict reports whether a change found another revision.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// casError translates the error of a change that found another revision.
func (n *Backend) casError(ctx context.Context, err error, name string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if isConflict(err) {
		return fmt.Errorf("%w: another node is changing %q; try again", backend.ErrUnavailable, name)
	}
	return unavailable(err)
}
