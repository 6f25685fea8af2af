package api

import (
	"net/http"

	"searchd/search"
)

type shardList struct {
	Shards []search.ShardInfo `json:"shards"`
}

// listShards answers how the shards are, each asked now.
func (s *Server) listShards(w http.ResponseWriter, r *http.Request) error {
	if err := mayUseAll(r); err != nil {
		return err
	}
	list, err := s.o.Engine.Shards(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, shardList{list})
}
