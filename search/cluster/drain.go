package cluster

import (
	"context"
	"fmt"
	"slices"

	"example.com/searchd/search/backend"
)

// Drain moves the partitions of a node to others, or with undo lets the node have partitions again.
// It returns when that is decided; [Backend.Status] shows how far it is. The node keeps its part of
// the logs. A node that is started again is not drained any more.
func (n *Backend) Drain(ctx context.Context, node string, undo bool) error {
	if n.closed() {
		return backend.ErrClosed
	}
	nodes := n.nodes()
	if _, ok := nodes[node]; !ok {
		return n.unknownNode(node)
	}
	left := 0
	for name, r := range nodes {
		if name != node && !r.Away && !r.Drained {
			left++
		}
	}
	if !undo && left < n.o.Copies {
		return fmt.Errorf("%w: node %q: %d nodes would be left, and each partition has %d copies: add a node first", backend.ErrInvalid, node, left, n.o.Copies)
	}
	return n.changeRecord(ctx, node, func(r *nodeRecord) { r.Drained = !undo })
}

// surplus reports whether a replica of this node is not needed any more: as many nodes as should
// serve the partition do, and this one should not.
func (n *Backend) surplus(c *collection, p int) bool {
	placed := n.placed(c, p)
	if len(placed) < n.o.Copies || slices.Contains(placed, n.name) || n.nodes()[n.name].Away || n.log(c.ID, p).Lost != "" || !n.inContact() {
		return false
	}
	serving := routed{n, c, p}.candidates()
	return !slices.ContainsFunc(placed, func(node string) bool { return !slices.Contains(serving, node) })
}
