package api

import (
	"fmt"
	"net/http"
	"time"

	"example.com/searchd/search"
)

type snapshotList struct {
	Snapshots []search.Snapshot `json:"snapshots"`
}

// wholeServer refuses keys that are not for all collections, since a snapshot has them all.
func wholeServer(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := callerOf(r.Context()).mayUse("*"); err != nil {
			return err
		}
		return h(w, r)
	}
}

func (s *Server) listSnapshots(_ http.ResponseWriter, r *http.Request) (any, error) {
	list, err := s.o.Engine.Snapshots(r.Context())
	return snapshotList{list}, err
}

func (s *Server) createSnapshot(w http.ResponseWriter, r *http.Request) error {
	t, err := s.o.Engine.CreateSnapshot(r.Context())
	return accepted(w, t, err)
}

// snapshot sends a snapshot, or the part in Range. It has no deadline as long as bytes move.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) error {
	f, snap, err := s.o.Engine.OpenSnapshot(r.Context(), r.PathValue("snapshot"))
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="searchd-%s.backup"`, snap.ID))
	h.Set("ETag", `"`+snap.ID+`"`)
	http.ServeContent(s.timed(w, r), r, "", snap.Created, f)
	return nil
}

// timedWriter gives each write of an answer its own deadline.
type timedWriter struct {
	http.ResponseWriter
	rc    *http.ResponseController
	idle  time.Duration
	allow func() error // nil: all
}

// timed returns a timedWriter for an answer to r, which ends when the key of r is revoked.
func (s *Server) timed(w http.ResponseWriter, r *http.Request) timedWriter {
	return timedWriter{w, http.NewResponseController(w), s.o.WriteTimeout, func() error { return s.stillAllowed(r.Context()) }}
}

// Unwrap lets http.ResponseController reach the connection.
func (p timedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p timedWriter) Write(b []byte) (int, error) {
	if p.allow != nil {
		if err := p.allow(); err != nil {
			return 0, err
		}
	}
	p.rc.SetWriteDeadline(time.Now().Add(p.idle)) // a recorder of tests has no deadlines
	return p.ResponseWriter.Write(b)
}

func (s *Server) deleteSnapshot(_ http.ResponseWriter, r *http.Request) error {
	return s.o.Engine.DeleteSnapshot(r.Context(), r.PathValue("snapshot"))
}
