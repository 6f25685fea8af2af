package api

import (
	"bytes"
	"fmt"
	"net/http"
)

// uncounted is how many bytes of each answer are not counted, so that small answers are sent even
// while large ones wait for slow readers. MaxConns bounds them.
const uncounted = 64 << 10

var errFullOfAnswers = &requestError{kind: errOverloaded, detail: "response: the server holds too many unread response bytes, try again later"}

// bufferedAnswer keeps the answer of a gated handler until the slot is released, so that a slow
// reader holds none. Options.MaxInFlight bounds all of them together.
type bufferedAnswer struct {
	http.ResponseWriter
	s       *Server
	status  int // 0: nothing was answered
	parts   [][]byte
	size    int64
	charged int64
	err     error // why the rest is not kept; the request is answered with it
}

// Unwrap lets http.ResponseController reach the connection.
func (h *bufferedAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (h *bufferedAnswer) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

// Write implements io.Writer.
func (h *bufferedAnswer) Write(b []byte) (int, error) {
	if err := h.charge(len(b)); err != nil {
		return 0, err
	}
	h.parts = append(h.parts, bytes.Clone(b))
	return len(b), nil
}

// take is Write without a copy.
func (h *bufferedAnswer) take(b []byte) {
	if h.charge(len(b)) == nil {
		h.parts = append(h.parts, b)
	}
}

// charge counts n more bytes, or refuses them.
func (h *bufferedAnswer) charge(n int) error {
	h.WriteHeader(http.StatusOK)
	if h.err != nil {
		return h.err
	}
	limit := h.s.o.MaxInFlight
	if h.size += int64(n); h.size > limit {
		h.err = &requestError{kind: errTooLarge, detail: fmt.Sprintf("response: longer than the limit of %d bytes, request less at a time", limit)}
		return h.err
	}
	if more := h.size - uncounted - h.charged; more > 0 {
		h.charged += more
		if h.s.unsent.Add(more) > limit {
			h.err = errFullOfAnswers
		}
	}
	return h.err
}

// reserve counts the bytes of an answer of n numbers or the like, in memory and as text, before any
// work is done for it. Without others in memory any answer is let in.
func reserve(w http.ResponseWriter, n int) error {
	const each = 24
	h, ok := w.(*bufferedAnswer)
	if !ok {
		return nil
	}
	limit := h.s.o.MaxInFlight
	more := min(int64(n)*each, limit) - uncounted - h.charged
	if more <= 0 {
		return nil
	}
	h.charged += more
	if h.s.unsent.Add(more) > limit {
		return errFullOfAnswers
	}
	return nil
}

// send sends the answer.
func (h *bufferedAnswer) send() {
	if h.status == 0 {
		return
	}
	h.ResponseWriter.WriteHeader(h.status)
	for _, part := range h.parts {
		if _, err := h.ResponseWriter.Write(part); err != nil {
			return // the client has gone
		}
	}
}

// runGated runs the handler of a route that has a slot, releases the slot, and sends the answer.
// release frees the memory of the request.
func (s *Server) runGated(rt route, w http.ResponseWriter, r *http.Request, release func()) error {
	h := &bufferedAnswer{ResponseWriter: w, s: s}
	defer func() { s.unsent.Add(-h.charged) }()
	err := func() error {
		defer rt.gate.leave()
		return rt.handle(h, r)
	}()
	if err == nil {
		err = h.err
	}
	if err != nil {
		return err
	}
	r.Body = http.NoBody
	release()
	h.send()
	return nil
}
