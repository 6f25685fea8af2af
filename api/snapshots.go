package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"searchd/search"
)

type snapshotList struct {
	Snapshots []search.Snapshot `json:"snapshots"`
}

// mayUseAll refuses keys that are not for every collection: a snapshot holds them all.
func mayUseAll(r *http.Request) error { return callerOf(r.Context()).mayUse("*") }

func (s *Server) listSnapshots(w http.ResponseWriter, r *http.Request) error {
	if err := mayUseAll(r); err != nil {
		return err
	}
	list, err := s.o.Engine.Snapshots(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, snapshotList{list})
}

func (s *Server) createSnapshot(w http.ResponseWriter, r *http.Request) error {
	if err := mayUseAll(r); err != nil {
		return err
	}
	t, err := s.o.Engine.CreateSnapshot(r.Context())
	if err != nil {
		return err
	}
	return accepted(w, t)
}

func snapshotName(r *http.Request) (string, error) {
	if err := mayUseAll(r); err != nil {
		return "", err
	}
	return pathValue("snapshot", strings.TrimPrefix(r.URL.EscapedPath(), "/v1/snapshots/"), 64)
}

// snapshot sends a snapshot, or the part of it that Range asks for; it may take as long as bytes
// move.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) error {
	id, err := snapshotName(r)
	if err != nil {
		return err
	}
	f, snap, err := s.o.Engine.OpenSnapshot(r.Context(), id)
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="searchd-%s.backup"`, snap.ID))
	h.Set("ETag", `"`+snap.ID+`"`)
	http.ServeContent(s.patient(w, r), r, "", snap.Created, f)
	return nil
}

// patientWriter gives each write of an answer a time of its own.
type patientWriter struct {
	http.ResponseWriter
	rc    *http.ResponseController
	idle  time.Duration
	allow func() error // nil: all
}

// patient is a patientWriter for an answer to r, which ends where the key of r does.
func (s *Server) patient(w http.ResponseWriter, r *http.Request) patientWriter {
	return patientWriter{w, http.NewResponseController(w), s.o.WriteTimeout, func() error { return s.stillMay(r.Context()) }}
}

// Unwrap lets http.ResponseController reach the connection.
func (p patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p patientWriter) Write(b []byte) (int, error) {
	if p.allow != nil {
		if err := p.allow(); err != nil {
			return 0, err
		}
	}
	p.rc.SetWriteDeadline(time.Now().Add(p.idle)) // a recorder of tests has no deadlines
	return p.ResponseWriter.Write(b)
}

func (s *Server) deleteSnapshot(w http.ResponseWriter, r *http.Request) error {
	id, err := snapshotName(r)
	if err != nil {
		return err
	}
	if err := s.o.Engine.DeleteSnapshot(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
