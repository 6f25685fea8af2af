package cluster

import (
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
