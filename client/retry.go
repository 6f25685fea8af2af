package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// effect is what a request does, which decides whether it may be sent again after its answer was
// lost.
type effect int

const (
	writes  effect = iota // a second time it may fail, or do more
	repeats               // a write that leaves the same however often it is sent
	reads
)

// persist calls attempt until it succeeds or q may not be sent again:
//
//  1. What was not carried out is sent again.
//  2. What may have been carried out is sent again unless q writes.
//  3. Everything else is final.
//
// The error of a request that may have been carried out matches ErrOutcomeUnknown, unless q reads.
func (c *Client) persist(ctx context.Context, q call, attempt func(call) error) error {
	if q.method == http.MethodGet {
		q.effect = reads
	}
	if q.keyed {
		q.header = maps.Clone(q.header)
		if q.header == nil {
			q.header = http.Header{}
		}
		q.header.Set("Idempotency-Key", rand.Text())
	}
	if err := ctx.Err(); err != nil {
		return &transportError{err}
	}
	lost := false // an attempt may have been carried out
	for n := 0; ; n++ {
		err := attempt(q)
		if err == nil {
			return nil
		}
		v := judge(err)
		lost = lost || v == unknown || v == gateway
		again := n < c.o.Retries && ctx.Err() == nil && (v == refused || v == unknown && q.effect != writes)
		if again {
			if c.o.Again != nil {
				c.o.Again(err)
			}
			if stopped := c.pause(ctx, c.waitAfter(err, n)); stopped != nil {
				again, err = false, fmt.Errorf("client: %w while waiting to try again after: %w", stopped, err)
			}
		}
		switch {
		case again:
		case lost && v != final && q.effect != reads:
			return &unknownError{err}
		default:
			return err
		}
	}
}

// verdict is what an error means for its request.
type verdict int

const (
	final   verdict = iota // it was answered
	refused                // it was not carried out, and may be later
	unknown                // it may have been carried out
	gateway                // the same, but a retry is of no use soon: a proxy gave up waiting for the server
	unsent                 // it was not carried out, and cannot be
)

func judge(err error) verdict {
	var te *transportError
	if errors.As(err, &te) {
		var op *net.OpError
		switch {
		case handshakeFailed(err):
			return unsent
		case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
			return refused
		}
		return unknown
	}
	var e *Error
	if !errors.As(err, &e) {
		return final
	}
	switch e.Status {
	case http.StatusTooManyRequests:
		return refused
	case http.StatusServiceUnavailable:
		switch e.Code {
		case "collection_damaged": // until it is repaired
			return final
		case "outcome_unknown": // and until its next start the server takes no other write
			return gateway
		}
		// The server's own time may end behind a commit. Without Retry-After and a code it is a
		// proxy's answer, which may have lost the server's.
		if e.Code == "deadline_exceeded" || e.Code == "canceled" || e.Code == unknownCode && !e.named {
			return unknown
		}
		return refused
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return gateway
	case http.StatusConflict:
		if e.Code == "idempotency_key_in_use" {
			return unknown // an earlier attempt is under way
		}
	}
	return final
}

// handshakeFailed reports whether the two sides speak different protocols, or one does not trust
// the other's certificate: no request was carried out, and none will be.
func handshakeFailed(err error) bool {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var op *net.OpError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &cert) || errors.As(err, &record) ||
		errors.As(err, &op) && op.Op == "remote error" && refusals[op.Err.Error()]
}

// refusals are the alerts of TLS with which a server ends a handshake that would end the same the
// next time. One about the client's certificate may come after the request was sent, and before it
// was read.
var refusals = func() map[string]bool {
	texts := map[string]bool{}
	for _, alert := range []tls.AlertError{
		40, 42, 43, 44, 45, 46, 48, 49, // handshake_failure; certificates that are bad, unsupported, revoked, expired, unknown; unknown_ca, access_denied
		70, 71, 112, 116, 120, // protocol_version, insufficient_security, unrecognized_name, certificate_required, no_application_protocol
	} {
		texts[alert.Error()] = true // package tls hides the type that it has in an OpError
	}
	return texts
}()

// waitAfter returns the wait after attempt n, from 0: the time that the server asks for, if any.
func (c *Client) waitAfter(err error, n int) time.Duration {
	wait := c.backOff(n)
	var e *Error
	if errors.As(err, &e) {
		wait = min(max(wait, e.RetryAfter), c.o.MaxWait)
	}
	return wait
}

// backOff returns the wait after so many attempts, with jitter.
func (c *Client) backOff(attempt int) time.Duration {
	wait := min(c.o.MinWait<<min(attempt, 20), c.o.MaxWait)
	return wait/2 + mrand.N(wait/2+1)
}

func (c *Client) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transportError is the error of a request without a complete answer.
type transportError struct{ err error }

func (e *transportError) Error() string {
	var at *url.Error
	if !errors.As(e.err, &at) {
		return "client: " + e.err.Error()
	}
	u, err := url.Parse(at.URL)
	if err != nil {
		return "client: " + e.err.Error()
	}
	var lookup *net.DNSError
	switch {
	case errors.Is(e.err, syscall.ECONNREFUSED) && u.Port() == "":
		return fmt.Sprintf("client: no server listens at %s://%s on the standard port: connection refused; a port is written %s:8080", u.Scheme, u.Host, u.Host)
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return fmt.Sprintf("client: no server listens at %s://%s: connection refused", u.Scheme, u.Host)
	case errors.As(e.err, &lookup) && lookup.IsNotFound:
		return fmt.Sprintf("client: no host is called %q", u.Hostname())
	case strings.Contains(e.err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("client: the server at %[1]s speaks HTTP, not HTTPS: write http://%[1]s", u.Host)
	}
	return "client: " + e.err.Error()
}

func (e *transportError) Unwrap() error { return e.err }

// unknownError is the error of a write that may have been carried out.
type unknownError struct{ err error }

func (e *unknownError) Error() string        { return e.err.Error() + "; the request may have been executed" }
func (e *unknownError) Unwrap() error        { return e.err }
func (e *unknownError) Is(target error) bool { return target == ErrOutcomeUnknown }
