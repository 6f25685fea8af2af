package trace

import (
	gobytes "bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// exporter sends spans to a collector. The batch processor of the SDK calls it from one goroutine
// and drops spans where its queue is full.
type exporter struct {
	target  string
	header  http.Header
	gzip    bool
	timeout time.Duration // of one attempt
	client  *http.Client
	warn    func(text string)

	firstWait time.Duration // before the second attempt; default: that of the constant

	mu struct {
		sync.Mutex
		lost   int       // spans since the last warning
		warned time.Time // when that was
	}
}

// Waits between attempts: the first, which doubles, and the longest.
const (
	firstWait = time.Second
	mostWait  = 15 * time.Second
)

// warnEvery is how often lost spans are reported.
const warnEvery = time.Minute

// ExportSpans sends a batch, again where the collector is overloaded or cannot be reached, until
// ctx ends. It reports lost spans itself and returns nil.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := e.pack(encode(spans))
	if err != nil {
		e.lose(len(spans), err)
		return nil
	}
	wait := cmp.Or(e.firstWait, firstWait)
	for {
		rejected, again, err := e.send(ctx, body)
		var t *temporary
		switch {
		case err == nil:
			if rejected > 0 {
				e.lose(rejected, errors.New("the collector rejected them"))
			}
			return nil
		case !errors.As(err, &t):
			e.lose(len(spans), err)
			return nil
		}
		pause := max(again, time.Duration(float64(wait)*(0.5+rand.Float64()/2)))
		wait = min(2*wait, mostWait)
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= pause || ctx.Err() != nil {
			e.lose(len(spans), err)
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			e.lose(len(spans), err)
			return nil
		}
	}
}

// Shutdown closes connections that are not in use.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) pack(body []byte) ([]byte, error) {
	if !e.gzip {
		return body, nil
	}
	var b gobytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// temporary is an error after which another attempt may succeed.
type temporary struct{ error }

func (t *temporary) Unwrap() error { return t.error }

// maxAnswer bounds what is read of the collector's answer.
const maxAnswer = 64 << 10

// send makes one attempt. It returns how many spans the collector rejected, and how long it asks to
// wait before the next attempt.
func (e *exporter) send(ctx context.Context, body []byte) (rejected int, again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target, gobytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	for name, values := range e.header {
		r.Header[name] = values
	}
	if host := e.header.Get("Host"); host != "" {
		r.Host = host
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "OTel-OTLP-Exporter-searchd")
	if e.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	res, err := e.client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // whose text has the URL, which may hold a key
			err = u.Err
		}
		return 0, 0, &temporary{err}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusGatewayTimeout:
		return 0, retryAfter(res.Header.Get("Retry-After")), &temporary{errors.New(res.Status)}
	case res.StatusCode/100 != 2:
		return 0, 0, fmt.Errorf("the collector answered %s", res.Status)
	case err != nil:
		return 0, 0, nil // it has got them
	}
	return rejectedSpans(answer), 0, nil
}

// retryAfter reads a Retry-After: seconds or a date.
func retryAfter(v string) time.Duration {
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// rejectedSpans reads an ExportTraceServiceResponse. What is malformed counts as none.
func rejectedSpans(answer []byte) int {
	partial, _ := field(answer, 1)
	_, n := field(partial, 1)
	return int(min(n, 1<<31))
}

// field returns the last value of a field of a message.
func field(b []byte, wanted protowire.Number) (value []byte, n uint64) {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil, 0
		}
		b = b[size:]
		if size = protowire.ConsumeFieldValue(number, kind, b); size < 0 {
			return nil, 0
		}
		if number == wanted {
			switch kind {
			case protowire.BytesType:
				value, _ = protowire.ConsumeBytes(b)
			case protowire.VarintType:
				n, _ = protowire.ConsumeVarint(b)
			}
		}
		b = b[size:]
	}
	return value, n
}

// lose counts lost spans and reports them, at most once a minute.
func (e *exporter) lose(n int, why error) {
	e.mu.Lock()
	e.mu.lost += n
	n, due := e.mu.lost, time.Since(e.mu.warned) >= warnEvery
	if due {
		e.mu.lost, e.mu.warned = 0, time.Now()
	}
	e.mu.Unlock()
	if due {
		e.warn(fmt.Sprintf("traces: %d spans could not be sent: %v", n, why))
	}
}
