package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"searchd/search"
	"searchd/search/wire"
)

func checkFollower(name string) error {
	if !wire.ValidName(name) {
		return &search.FieldError{Field: "follower", Value: name, Allowed: wire.AllowedName}
	}
	return nil
}

// replicationChanges tells a follower what it lacks, as soon as there is something.
func (s *Server) replicationChanges(w http.ResponseWriter, r *http.Request) error {
	if err := mayUseAll(r); err != nil {
		return err
	}
	var q wire.Question
	if err := decodeQuestion(r, &q); err != nil {
		return err
	}
	if err := checkFollower(q.Follower); err != nil {
		return err
	}
	if id := s.o.Engine.StoreID(); id != "" && q.Store != id {
		return fmt.Errorf("%w: store %.64q, this is %s", search.ErrPlaceLost, q.Store, id)
	}
	if s.o.Keys != nil {
		s.o.Keys.Note(q.Used)
	}
	n, commits, err := wire.Await(r.Context(), s.o.Engine, q, s.stopping)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	return wire.Write(s.patient(w, r), n, commits)
}

// decodeQuestion decodes the question of a follower, whose version may be a later one: members that are not known are passed over.
func decodeQuestion(r *http.Request, q *wire.Question) error {
	data, err := bodyOf(r, false, "application/json")
	if err != nil {
		return err
	}
	if err := checkText(data); err != nil {
		return err
	}
	if err := checkMembers(data, nil); err != nil {
		return err
	}
	if err := json.Unmarshal(data, q); err != nil {
		return jsonError(err)
	}
	return nil
}

// replicationCopy sends a backup to a follower that begins; it may take as long as bytes move.
func (s *Server) replicationCopy(w http.ResponseWriter, r *http.Request) error {
	if err := mayUseAll(r); err != nil {
		return err
	}
	p := queryParams(r)
	name, _ := p.text("follower")
	if err := p.err(); err != nil {
		return err
	}
	if err := checkFollower(name); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set(wire.StoreHeader, s.o.Engine.StoreID())
	n, err := s.o.Engine.Copy(r.Context(), name, s.patient(w, r))
	if err != nil {
		return err
	}
	s.log.Info("copy sent to a follower", "follower", name, "bytes", n, "request_id", requestID(r.Context()))
	return nil
}
