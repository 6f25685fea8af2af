package api

import (
	"context"
	"fmt"
	"net/http"

	"example.com/searchd/search"
	"example.com/searchd/search/cluster"
)

// Cluster describes the cluster that a server is a node of.
type Cluster interface {
	Status(ctx context.Context) cluster.Status
}

// clusterStatus describes the cluster as this node sees it.
func (s *Server) clusterStatus(_ http.ResponseWriter, r *http.Request) (any, error) {
	if s.o.Cluster == nil {
		return nil, fmt.Errorf("%w: this server is not a node of a cluster; `searchd serve --cluster NAME` makes it one", search.ErrUnsupported)
	}
	return s.o.Cluster.Status(r.Context()), nil
}
