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

// A NodeChange is a change of a node.
type NodeChange int

// The changes of a node.
const (
	Drain   NodeChange = iota // others get its partitions; it has none left when its Serving is 0
	Undrain                   // it gets partitions again
	Remove                    // it leaves the cluster for good, drained or gone; it is listed until its logs have moved
)

// ChangeNode changes a node of the cluster of the server. It returns when that is decided:
// [Client.ClusterStatus] shows how far it is.
func (c *Client) ChangeNode(ctx context.Context, node string, change NodeChange) error {
	to := call{method: http.MethodDelete, path: "/v1/cluster/nodes/" + url.PathEscape(node)}
	if change != Remove {
		to.path += "/drain"
	}
	if change == Drain {
		to.method = http.MethodPut
	}
	return c.do(ctx, to, nil)
}
