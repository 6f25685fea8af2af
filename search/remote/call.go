package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"searchd/internal/version"
	"searchd/search/backend"
)

// Headers of requests and answers.
const (
	protocolHeader = "Searchd-Shard"    // of both: the protocol; what does not set it is no shard
	timeoutHeader  = "Searchd-Timeout"  // milliseconds that the answer is waited for
	placeHeader    = "Searchd-Identity" // which shard is meant, and the claim that a write is of
)

// prefix is where the methods are.
const prefix = "/shard/v1/"

// Bounds of a client.
const (
	maxAnswer  = 2 << 30               // bytes that are read of an answer
	firstRead  = 1 << 20               // bytes that are made room for because an answer says that it has them
	maxKept    = 1 << 20               // of a buffer that is used again
	connectFor = 2 * time.Second       // to connect
	maxIdle    = 256                   // connections that are kept
	marginMost = 50 * time.Millisecond // by which a shard has less time than the caller
)

// A shard that neither answers nor lives is given up after silence and probes times probeWait.
const (
	silence   = 10 * time.Second // without an answer until the shard is asked whether it lives
	probeWait = 5 * time.Second  // for it to say so
)

// probes is how many such questions in a row must be left without an answer.
const probes = 2

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// release puts a buffer back to be used again.
func release(b *bytes.Buffer) {
	if b != nil && b.Cap() <= maxKept {
		b.Reset()
		buffers.Put(b)
	}
}

func ownVersion() string {
	v, revision := version.Read()
	if revision != "" {
		v += " (" + revision + ")"
	}
	return cmp.Or(v, "devel")
}

// newTransport keeps connections for as many goroutines as ask at once. It speaks HTTP/1.1, where a request does not wait for another, without compression.
func newTransport(cas *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: connectFor, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 4}}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: cas, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: connectFor,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // no HTTP/2
		DisableCompression:  true,
		MaxIdleConns:        maxIdle,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     time.Minute,
		WriteBufferSize:     32 << 10,
		ReadBufferSize:      32 << 10,
	}
}

// request is what is sent.
type request struct {
	verb, name string
	body       []byte
	again      bool // it may be sent again where a connection turned out to be closed
}

// answer is a whole answer of a shard.
type answer struct{ body *bytes.Buffer }

func (a answer) release() { release(a.body) }

// call asks a method. A write whose answer is lost fails with [backend.ErrUnavailable], carried out or not.
func (m method[Q, A]) call(ctx context.Context, s *Shard, q Q) (a A, err error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(q); err != nil {
		return a, fmt.Errorf("%w: %s cannot be sent: %w", backend.ErrInvalid, m.name, err)
	}
	if n := int64(body.Len()); n > m.guard.limit() {
		return a, fmt.Errorf("%w: %s takes %d bytes: %w", backend.ErrInvalid, m.name, n, tooLarge(m.guard.limit()))
	}
	got, err := s.send(ctx, request{http.MethodPost, m.name, body.Bytes(), m.guard <= reads})
	if err != nil {
		return a, err
	}
	defer got.release()
	if err := decode(got.body, &a); err != nil {
		return a, s.unavailable("its answer to %s cannot be read: %v", m.name, err)
	}
	return a, nil
}

// decode reads one value and nothing else. Members that it does not know are errors: what they say would be lost.
func decode(r io.Reader, v any) error {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows it")
	}
	return nil
}

// unavailable says what is wrong with the shard. The cause is words alone: an error of a network must not be taken for one of the caller's connection.
func (s *Shard) unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", backend.ErrUnavailable, s.url, fmt.Sprintf(format, args...))
}

// send sends a request and reads the answer, which the caller releases.
func (s *Shard) send(ctx context.Context, q request) (a answer, err error) {
	if s.closed.Load() {
		return a, backend.ErrClosed
	}
	inner, stop := s.watched(ctx)
	defer stop()
	res, err := s.roundTrip(inner, ctx, q)
	if err != nil {
		return a, s.lost(ctx, inner, err)
	}
	defer res.Body.Close()
	if err := s.own(res); err != nil {
		return a, err
	}
	a.body = buffers.Get().(*bytes.Buffer)
	if n := res.ContentLength; n > 0 {
		a.body.Grow(int(min(n, firstRead)) + bytes.MinRead) // or it grows once more to see the end
	}
	n, err := a.body.ReadFrom(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		err = s.lost(ctx, inner, err)
	case n > maxAnswer:
		err = s.unavailable("its answer to %s has more than %d bytes", q.name, maxAnswer)
	case res.StatusCode != http.StatusOK:
		err = s.refusal(ctx, res.StatusCode, a.body)
	default:
		return a, nil
	}
	a.release()
	return answer{}, err
}

// own returns an error where an answer is not a shard's: it is of a proxy, of another program, or of a shard that opens its folder.
func (s *Shard) own(res *http.Response) error {
	switch {
	case res.Header.Get(protocolHeader) != "":
		return nil
	case res.StatusCode == http.StatusServiceUnavailable:
		return s.unavailable("a shard that is being opened, or no shard, answers there: status %d, %.40q", res.StatusCode, res.Header.Get("Content-Type"))
	}
	return s.unavailable("what answers there is no shard: status %d, %.40q", res.StatusCode, res.Header.Get("Content-Type"))
}

// roundTrip sends a request until its context ends; the shard has until the end of the caller's.
func (s *Shard) roundTrip(ctx, caller context.Context, q request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, q.verb, s.url+prefix+q.name, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(protocolHeader, strconv.Itoa(Protocol))
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	if q.verb == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if p := s.place.Load(); p != nil {
		req.Header.Set(placeHeader, placeOf(*p))
	}
	if end, ok := caller.Deadline(); ok {
		left := time.Until(end)
		left -= min(left/20, marginMost) // a shard that lives says that the time was short before it is taken for one that does not answer
		req.Header.Set(timeoutHeader, strconv.FormatInt(max(left.Milliseconds(), 1), 10))
	}
	if q.again {
		req.Header["Idempotency-Key"] = []string{} // lets the transport send it again; it is not on the wire
	}
	return s.transport.RoundTrip(req)
}

// lost is the error of a request that has no whole answer. The caller's own end is not the shard's fault; that it came without an answer may be.
func (s *Shard) lost(ctx, inner context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("shard %s: %w", s.url, context.Canceled)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: no answer in time: %w", backend.ErrUnavailable, s.url, context.DeadlineExceeded)
	case inner.Err() != nil:
		return s.unavailable("%v", context.Cause(inner))
	}
	return s.unavailable("%v", err)
}

// errSilent ends a request.
var errSilent = errors.New("it neither answers nor says that it lives")

// watched is ctx, which ends too when the shard is silent and does not say that it lives: a machine that is gone closes no connection. A call that lasts long
// only because there is much to do goes on.
func (s *Shard) watched(ctx context.Context) (inner context.Context, stop func()) {
	inner, cancel := context.WithCancelCause(ctx)
	var timer *time.Timer
	var mu sync.Mutex // held while timer is set
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(silence, func() {
		for range probes {
			if inner.Err() != nil {
				return
			}
			if s.lives(inner) {
				mu.Lock()
				defer mu.Unlock()
				timer.Reset(silence)
				return
			}
		}
		cancel(errSilent)
	})
	return inner, func() {
		cancel(nil)
		timer.Stop()
	}
}

// lives asks whether the shard's process answers at all.
func (s *Shard) lives(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/livez", nil)
	if err != nil {
		return false
	}
	res, err := s.transport.RoundTrip(req)
	if err != nil {
		<-ctx.Done() // a refused connection may be a restart
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}
