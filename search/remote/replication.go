package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"searchd/search/backend"
	"searchd/search/wire"
)

// The routes of those who follow the shard, which are those of the REST API: a standby asks as a replica of a server does. An error is a problem document.
const (
	changesPath = "/v1/replication/changes"
	copyPath    = "/v1/replication/copy"
)

// Bounds of what followers are answered.
const (
	maxFollowing = 64       // questions that wait for an answer, or are answered, at once
	maxQuestion  = 16 << 20 // bytes
)

// replicates answers a follower; false: the request is none of one.
func (h *handler) replicates(w http.ResponseWriter, r *http.Request) bool {
	var answer func(http.ResponseWriter, *http.Request, wire.Leader) error
	switch {
	case r.URL.Path == changesPath && r.Method == http.MethodPost:
		answer = h.changes
	case r.URL.Path == copyPath && r.Method == http.MethodGet:
		answer = h.copy
	default:
		return false
	}
	l, ok := h.node.(wire.Leader)
	err := errors.ErrUnsupported
	if ok {
		err = answer(w, r, l)
	}
	if err != nil {
		problem(w, err)
	}
	return true
}

// changes tells a follower what it lacks, as soon as there is something.
func (h *handler) changes(w http.ResponseWriter, r *http.Request, l wire.Leader) error {
	select {
	case h.following <- struct{}{}:
		defer func() { <-h.following }()
	default:
		return fmt.Errorf("%w: %d followers are answered", errBusy, cap(h.following))
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has none
	body, err := io.ReadAll(io.LimitReader(r.Body, maxQuestion+1))
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil {
		return fmt.Errorf("%w: the request was cut off: %w", backend.ErrInvalid, err)
	}
	if len(body) > maxQuestion {
		return tooLarge(maxQuestion)
	}
	var q wire.Question
	if err := json.Unmarshal(body, &q); err != nil { // members of a later version are passed over
		return fmt.Errorf("%w: the question cannot be read: %w", backend.ErrInvalid, err)
	}
	if err := checkFollower(q.Follower); err != nil {
		return err
	}
	if id := l.StoreID(); q.Store != id {
		return fmt.Errorf("%w: store %.64q, this is %s", backend.ErrPlaceLost, q.Store, id)
	}
	n, commits, err := wire.Await(r.Context(), l, q, h.stopping)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	if wire.Write(&rolling{w: w, conn: conn}, n, commits) != nil {
		panic(http.ErrAbortHandler) // who asked is gone; what came is not taken for the whole
	}
	return nil
}

// copy sends a backup to a follower that begins.
func (h *handler) copy(w http.ResponseWriter, r *http.Request, l wire.Leader) error {
	name := r.URL.Query().Get("follower")
	if err := checkFollower(name); err != nil {
		return err
	}
	leave, err := h.enter(r.Context(), true)
	if err != nil {
		return err
	}
	defer leave()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(wire.StoreHeader, l.StoreID())
	out := &rolling{w: w, conn: http.NewResponseController(w)}
	if _, err = l.Copy(r.Context(), name, out); err != nil && out.n > 0 {
		panic(http.ErrAbortHandler)
	}
	return err
}

func checkFollower(name string) error {
	if !wire.ValidName(name) {
		return fmt.Errorf("%w: follower %.80q, allowed: %s", backend.ErrInvalid, name, wire.AllowedName)
	}
	return nil
}

// problem answers with an error as the REST API does.
func problem(w http.ResponseWriter, err error) {
	p := struct {
		Status int    `json:"status"`
		Code   string `json:"code"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}{Title: "Not answered to a follower", Detail: err.Error()}
	for _, known := range []struct {
		is     error
		status int
		code   string
	}{
		{backend.ErrPlaceLost, http.StatusGone, "replication_lost"},
		{backend.ErrReplica, http.StatusConflict, "replica"},
		{errTooLarge, http.StatusRequestEntityTooLarge, "too_large"},
		{backend.ErrInvalid, http.StatusBadRequest, "invalid_request"},
		{errors.ErrUnsupported, http.StatusUnprocessableEntity, "not_supported"},
		{errBusy, http.StatusServiceUnavailable, "overloaded"},
		{backend.ErrClosed, http.StatusServiceUnavailable, "shutting_down"},
		{err, http.StatusInternalServerError, "internal"},
	} {
		if errors.Is(err, known.is) {
			p.Status, p.Code = known.status, known.code
			break
		}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyTime))
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who asked may be gone
}
