package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the answers that are stored for Idempotency-Key.
const (
	idempotencyAge   = 24 * time.Hour
	idempotencyMax   = 10000
	idempotencyBytes = 64 << 20
	idempotencyOne   = 4 << 20
)

// idempotency stores the answers of writes that were sent with an Idempotency-Key. The same
// request, sent again after its answer was lost, gets the same answer and writes nothing. Answers
// are lost with a restart; then the write is repeated, which changes nothing if documents have ids.
//
//   - The same key with another request is refused (422 idempotency_key_reused).
//   - The same key during the first request is refused (409 idempotency_key_in_use).
//   - Not stored: errors that the handler returns, answers of status 500 and above, incomplete and
//     very long answers.
//   - Keys belong to the API key of the sender, and to one incarnation of the collection.
type idempotency struct {
	mu      sync.Mutex
	answers map[string]*storedAnswer
	order   []*storedAnswer // oldest first
	bytes   int
	now     func() time.Time
}

// storedAnswer is an answer, or reserves the place of one.
type storedAnswer struct {
	name   string
	digest [32]byte // of the request
	sent   [32]byte // of its body, where the route streams it
	at     time.Time
	done   bool
	status int
	header http.Header
	body   []byte
}

func newIdempotency() *idempotency {
	return &idempotency{answers: map[string]*storedAnswer{}, now: time.Now}
}

// begin reserves the place of an answer, or returns the stored one.
func (i *idempotency) begin(name string, digest [32]byte) (kept *storedAnswer, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expire()
	a := i.answers[name]
	switch {
	case a == nil:
		if len(i.answers) >= 2*idempotencyMax {
			return nil, errTooManyWrites
		}
		i.answers[name] = &storedAnswer{name: name, digest: digest, at: i.now()}
		return nil, nil
	case !a.done:
		return nil, fmt.Errorf("%w: wait for its answer", errKeyInUse)
	case a.digest != digest:
		return nil, keyReused()
	}
	return a, nil
}

func keyReused() error { return fmt.Errorf("%w: use a new key for each request", errKeyReused) }

// end stores the answer with the digest of the streamed body it answers. Status 0 releases the
// place instead.
func (i *idempotency) end(name string, sent [32]byte, status int, header http.Header, body []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	a := i.answers[name]
	if status == 0 || len(body) > idempotencyOne {
		delete(i.answers, name)
		return
	}
	a.done, a.sent, a.status, a.header, a.body, a.at = true, sent, status, header, body, i.now()
	i.order = append(i.order, a)
	i.bytes += len(body)
	i.expire()
}

// expire removes answers beyond the limits.
func (i *idempotency) expire() {
	n := 0
	for ; n < len(i.order); n++ {
		a := i.order[n]
		if i.now().Sub(a.at) < idempotencyAge && len(i.order)-n <= idempotencyMax && i.bytes <= idempotencyBytes {
			break
		}
		delete(i.answers, a.name)
		i.bytes -= len(a.body)
	}
	clear(i.order[:n])
	i.order = i.order[n:]
}

// once runs handle once for each Idempotency-Key. A body that the route streams is compared when
// all of it has arrived.
func (s *Server) once(handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		key := r.Header.Get("Idempotency-Key")
		if key == "" {
			return handle(w, r)
		}
		if err := checkName("Idempotency-Key", key, 255); err != nil {
			return err
		}
		h := sha256.New()
		fmt.Fprintf(h, "%s %s\n%s\n%s\n%s\n", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("If-Match"), r.Header.Get("If-None-Match"))
		if b, ok := r.Body.(*wholeBody); ok {
			h.Write(b.data)
		}
		name := callerOf(r.Context()).id() + "\n" + s.incarnation(r) + "\n" + key
		kept, err := s.answers.begin(name, [32]byte(h.Sum(nil)))
		if err != nil {
			return err
		}
		streamed, _ := r.Body.(*requestBody)
		sent := sha256.Sum256(nil)
		if kept != nil {
			if streamed != nil {
				if err := s.digestBody(w, streamed); err != nil {
					return err
				}
				sent = streamed.sum()
			}
			if sent != kept.sent {
				return keyReused()
			}
			for k, v := range kept.header {
				w.Header()[k] = v
			}
			w.Header().Set("Idempotent-Replayed", "true")
			w.WriteHeader(kept.status)
			_, err := w.Write(kept.body)
			return err
		}
		rec := &recorder{ResponseWriter: w}
		status := 0
		defer func() { s.answers.end(name, sent, status, rec.kept, rec.body.Bytes()) }()
		if streamed != nil {
			streamed.digest = sha256.New()
		}
		if err := handle(rec, r); err != nil {
			return err // not kept: nothing was written, and the same request fails the same way
		}
		whole := true
		if streamed != nil {
			sent, whole = streamed.sum(), streamed.whole
		}
		if rec.status < 500 && !rec.failed.Load() && !rec.over && whole {
			status = rec.status // also for a client that has gone, which will send the request again
		}
		return nil
	}
}

// incarnation returns the incarnation of the collection in the path, or "" if there is no such
// collection, which the handler then reports.
func (s *Server) incarnation(r *http.Request) string {
	info, _ := s.o.Engine.Collection(r.Context(), r.PathValue("collection"))
	return info.Incarnation
}

// recorder records an answer while it is sent.
type recorder struct {
	http.ResponseWriter
	status int
	kept   http.Header
	body   bytes.Buffer
	over   bool        // longer than is kept
	failed atomic.Bool // it is not all that there was to answer; an import says so while its lines are sent
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status, r.kept = status, http.Header{}
		for _, k := range []string{"Content-Type", "ETag", "Location"} {
			if v := r.Header().Values(k); len(v) > 0 {
				r.kept[http.CanonicalHeaderKey(k)] = v
			}
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.over = r.over || r.body.Len()+len(b) > idempotencyOne; !r.over {
		r.body.Write(b)
	}
	n, err := r.ResponseWriter.Write(b)
	if err != nil {
		r.failed.Store(true) // what comes behind it is not written
	}
	return n, err
}
