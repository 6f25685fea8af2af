package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"searchd/search"
	"searchd/search/wire"
	"searchd/store"
)

// Leader gives followers what is stored, and what changes.
type Leader interface {
	StoreID() string
	News(ctx context.Context, follower string, after map[uint32]uint64, version uint64) (*store.News, error)
	Copy(ctx context.Context, follower string, w io.Writer) (int64, error)
	Commits() (n uint64, next <-chan struct{}) // since the start; next is closed by the next one
	Followers() int
}

// newsWait is how long an answer to a follower waits for something to tell.
const newsWait = 20 * time.Second

var followerName = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

func checkFollower(name string) error {
	if !followerName.MatchString(name) {
		return &search.FieldError{Field: "follower", Value: name, Allowed: "1 to 64 letters, digits and '-'"}
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
	n, commits, err := s.awaitNews(r.Context(), q)
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

// awaitNews reads what a follower lacks; where that is nothing, again after each commit, until it has waited long enough or the server stops.
func (s *Server) awaitNews(ctx context.Context, q wire.Question) (*store.News, uint64, error) {
	t := time.NewTimer(newsWait)
	defer t.Stop()
	for waited := false; ; {
		commits, next := s.o.Engine.Commits()
		n, err := s.o.Engine.News(ctx, q.Follower, q.After, q.Version)
		if err != nil || waited || len(n.Entries) > 0 || n.All != nil {
			return n, commits, err
		}
		select {
		case <-next:
		case <-t.C:
			waited = true
		case <-s.stopping:
			return nil, 0, search.ErrClosed // a follower that is answered asks again at once
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// storeHeader names what the sequence numbers of a copy are of.
const storeHeader = "Searchd-Store"

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
	h.Set(storeHeader, s.o.Engine.StoreID())
	n, err := s.o.Engine.Copy(r.Context(), name, s.patient(w, r))
	if err != nil {
		return err
	}
	s.log.Info("copy sent to a follower", "follower", name, "bytes", n, "request_id", requestID(r.Context()))
	return nil
}
