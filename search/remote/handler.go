package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"searchd/search/backend"
)

// Bounds of what is served.
const (
	maxBody      = 16 << 20  // bytes of a request
	maxApply     = 400 << 20 // of one that writes documents: what the store takes in one transaction, in base64
	maxRequests  = 256       // that are worked on at once
	maxBulk      = 4         // of these, requests that write documents, and backups
	waitMost     = 5 * time.Second
	bodyTime     = time.Minute // for a request to come in, and for an answer to be taken
	timeoutMost  = 1 << 40     // milliseconds; more is no time that anybody waits
	healthAnswer = 10 * time.Second
)

// HandlerOptions of [Handler].
type HandlerOptions struct {
	Key      string          // that requests must have; empty: none
	Stopping <-chan struct{} // closed when nobody is kept waiting for changes any more; nil: never
}

// handler serves a shard.
type handler struct {
	node   Node
	key    string
	routes map[string]route
	boot   uint64        // makes the names of passages of this start different from those of another
	slots  chan struct{} // one for each request that is worked on
	bulk   chan struct{} // and for each large one

	following chan struct{} // and for each question of a follower
	stopping  <-chan struct{}

	fence  fence
	leases leases
	sets   setCache
}

// route is a method as it is served.
type route struct {
	guard guard
	serve func(ctx context.Context, body io.Reader) (any, error)
}

// Handler serves a shard, of which nobody else changes the identity.
func Handler(n Node, o HandlerOptions) http.Handler {
	var boot [8]byte
	rand.Read(boot[:]) // never fails
	h := &handler{node: n, key: o.Key, boot: binary.LittleEndian.Uint64(boot[:]), slots: make(chan struct{}, maxRequests), bulk: make(chan struct{}, maxBulk),
		following: make(chan struct{}, maxFollowing), stopping: o.Stopping}
	h.fence.node, h.leases.node = n, n
	h.routes = h.table()
	return h
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(protocolHeader, strconv.Itoa(Protocol))
	switch r.URL.Path {
	case "/livez", "/readyz":
		h.health(w, r)
		return
	}
	if !h.allowed(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="searchd"`)
		h.refuse(w, errKey)
		return
	}
	if h.replicates(w, r) {
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, prefix)
	switch rt, known := h.routes[name]; {
	case ok && name == "hello" && r.Method == http.MethodGet:
		h.hello(w, r)
	case ok && name == "backup" && r.Method == http.MethodGet:
		h.backup(w, r)
	case ok && known && r.Method == http.MethodPost:
		h.method(w, r, rt)
	default:
		h.refuse(w, fmt.Errorf("%w: %.10q %.100q: this is a shard: allowed: POST %sMETHOD, GET %shello and GET %sbackup", backend.ErrShard, r.Method, r.URL.Path, prefix, prefix, prefix))
	}
}

// allowed reports whether a request has the key.
func (h *handler) allowed(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return h.key == "" || strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(token), []byte(h.key)) == 1
}

// health says that the process answers, or whether the shard does. One that takes no writes answers reads, and no other shard has its documents.
func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		ctx, cancel := context.WithTimeout(r.Context(), healthAnswer)
		defer cancel()
		if _, err := h.node.Collections(ctx); err != nil {
			h.refuse(w, fmt.Errorf("%w: %w", backend.ErrClosed, err))
			return
		}
	}
	h.answer(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

func (h *handler) hello(w http.ResponseWriter, r *http.Request) {
	id, err := h.node.Identity(r.Context())
	if err != nil {
		h.refuse(w, err)
		return
	}
	h.answer(w, http.StatusOK, hello{Protocol, ownVersion(), id})
}

// method answers one method.
func (h *handler) method(w http.ResponseWriter, r *http.Request, rt route) {
	ctx, cancel, err := deadlineOf(r)
	defer cancel()
	if err == nil {
		var leave func()
		if leave, err = h.enter(ctx, rt.guard == loads); err == nil {
			defer leave()
			var out any
			if out, err = h.work(ctx, w, r, rt); err == nil {
				h.answer(w, http.StatusOK, out)
				return
			}
		}
	}
	h.refuse(w, err)
}

// work reads a request and does what it asks for, unless the fence is in its way.
func (h *handler) work(ctx context.Context, w http.ResponseWriter, r *http.Request, rt route) (out any, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("the shard could not answer: panic: %v", v)
		}
	}()
	if r.ContentLength > rt.guard.limit() {
		return nil, tooLarge(rt.guard.limit())
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has none
	body := buffers.Get().(*bytes.Buffer)
	defer release(body)
	if r.ContentLength > 0 {
		body.Grow(int(min(r.ContentLength, firstRead)) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(r.Body, rt.guard.limit()+1))
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, fmt.Errorf("%w: the request was cut off: %w", backend.ErrInvalid, err)
	}
	if n > rt.guard.limit() {
		return nil, tooLarge(rt.guard.limit())
	}
	leave, err := h.fence.enter(ctx, rt.guard, r.Header.Get(placeHeader))
	if err != nil {
		return nil, err
	}
	defer leave()
	return rt.serve(ctx, body)
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: allowed: %d bytes", errTooLarge, limit)
}

// deadlineOf returns the context of a request: it ends with the connection, and when its answer is not waited for any more.
func deadlineOf(r *http.Request) (context.Context, context.CancelFunc, error) {
	v := r.Header.Get(timeoutHeader)
	if v == "" {
		ctx, cancel := context.WithCancel(r.Context())
		return ctx, cancel, nil
	}
	ms, err := strconv.ParseInt(v, 10, 64)
	if err != nil || ms < 1 || ms > timeoutMost {
		return nil, func() {}, fmt.Errorf("%w: header %s is %.40q, allowed: 1 to %d milliseconds", backend.ErrInvalid, timeoutHeader, v, int64(timeoutMost))
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(ms)*time.Millisecond)
	return ctx, cancel, nil
}

// enter waits a while for its turn. Large requests take turns of their own, too.
func (h *handler) enter(ctx context.Context, large bool) (leave func(), err error) {
	late := time.NewTimer(waitMost)
	defer late.Stop()
	take := func(slots chan struct{}) error {
		select {
		case slots <- struct{}{}:
			return nil
		default:
		}
		select {
		case slots <- struct{}{}:
			return nil
		case <-late.C:
			return fmt.Errorf("%w: %d are worked on", errBusy, cap(slots))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if large {
		if err := take(h.bulk); err != nil {
			return nil, err
		}
	}
	if err = take(h.slots); err != nil {
		if large {
			<-h.bulk
		}
		return nil, err
	}
	return func() {
		<-h.slots
		if large {
			<-h.bulk
		}
	}, nil
}

// answer writes a whole answer, or none.
func (h *handler) answer(w http.ResponseWriter, status int, v any) {
	body := buffers.Get().(*bytes.Buffer)
	defer release(body)
	enc := json.NewEncoder(body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		body.Reset()
		status = http.StatusInternalServerError
		_ = enc.Encode(faultOf(fmt.Errorf("the answer cannot be sent: %w", err)))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyTime))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // whoever asked is gone
}

// refuse answers with an error.
func (h *handler) refuse(w http.ResponseWriter, err error) { h.answer(w, statusOf(err), faultOf(err)) }

// backup streams the store as it is now. A failure on the way breaks the connection, so that what came is not taken for the whole.
func (h *handler) backup(w http.ResponseWriter, r *http.Request) {
	n, ok := h.node.(interface {
		Backup(ctx context.Context, w io.Writer) (int64, error)
	})
	if !ok {
		h.refuse(w, fmt.Errorf("backups of this shard: %w", errors.ErrUnsupported))
		return
	}
	ctx, cancel, err := deadlineOf(r)
	defer cancel()
	if err == nil {
		var leave func()
		if leave, err = h.enter(ctx, true); err == nil {
			defer leave()
		}
	}
	if err != nil {
		h.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	out := &rolling{w: w, conn: http.NewResponseController(w)}
	if _, err := n.Backup(ctx, out); err != nil {
		if out.n == 0 {
			h.refuse(w, err)
			return
		}
		panic(http.ErrAbortHandler) // the only way to break a connection
	}
}

// rolling is a writer to somebody who must take each part in time.
type rolling struct {
	w    io.Writer
	conn *http.ResponseController
	n    int64
}

func (r *rolling) Write(b []byte) (int, error) {
	_ = r.conn.SetWriteDeadline(time.Now().Add(bodyTime))
	n, err := r.w.Write(b)
	r.n += int64(n)
	return n, err
}
