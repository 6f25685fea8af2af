package client

import (
	"context"
	"net/http"
	"net/url"
)

// Cluster is a cluster as the node that was asked sees it.
type Cluster struct {
	Cluster    string             `json:"cluster"`
	Node       string             `json:"node"`       // that was asked
	InContact  bool               `json:"in_contact"` // with a majority of the nodes
	Nodes      []ClusterNode      `json:"nodes"`
	Partitions []ClusterPartition `json:"partitions"`
}

// ClusterNode is a node of a cluster.
type ClusterNode struct {
	Name    string `json:"name"`
	State   string `json:"state"`   // up, silent, gone, away, drained
	Serving int    `json:"serving"` // partitions that it serves
}

// ClusterPartition is a partition of a collection.
type ClusterPartition struct {
	Collection string   `json:"collection"`
	Partition  int      `json:"partition"`
	Placed     []string `json:"placed"`  // nodes that should serve it
	Serving    []string `json:"serving"` // nodes that do
	Leader     string   `json:"leader"`  // node that leads its log; empty: none
	Messages   uint64   `json:"messages"`
	Last       uint64   `json:"last"`  // place of the last message of the log
	Fault      string   `json:"fault"` // why the log takes no writes; empty: it does
}

// ClusterStatus describes the cluster of the server. ErrUnsupported where it is not a node of one.
func (c *Client) ClusterStatus(ctx context.Context) (*Cluster, error) {
	out := &Cluster{}
	return out, c.do(ctx, call{method: http.MethodGet, path: "/v1/cluster"}, out)
}

// DrainNode moves the partitions of a node to others, or with undo lets it have some again. It
// returns when that is decided: the node has none left when its Serving is 0.
func (c *Client) DrainNode(ctx context.Context, node string, undo bool) error {
	method := http.MethodPut
	if undo {
		method = http.MethodDelete
	}
	return c.do(ctx, call{method: method, path: "/v1/cluster/nodes/" + url.PathEscape(node) + "/drain"}, nil)
}
