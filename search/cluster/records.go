package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// nodeRecord is a node in the catalogue.
type nodeRecord struct {
	Name string
	Away bool // it is gone, and others have taken over its partitions

	Drained bool `json:",omitempty"` // others are to take over its partitions
	Removed bool `json:",omitempty"` // for good

	Addr   string `json:",omitempty"` // to which other nodes connect
	Server string `json:",omitempty"` // its NATS server as JetStream calls it; empty: it is not one of its servers any more

	revision uint64 // of the bucket
}

// nodes returns the nodes of the cluster, without those that were removed.
func (n *Backend) nodes() map[string]nodeRecord {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	nodes := maps.Clone(n.catalogue.mu.nodes)
	maps.DeleteFunc(nodes, func(_ string, r nodeRecord) bool { return r.Removed })
	return nodes
}

// removing returns the nodes that were removed, and whose NATS server is yet one of JetStream.
func (n *Backend) removing() (list []nodeRecord) {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	for _, r := range n.catalogue.mu.nodes {
		if r.Removed && r.Server != "" {
			list = append(list, r)
		}
	}
	return list
}

// isRemoved reports whether a node was removed.
func (n *Backend) isRemoved(name string) bool {
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	return n.catalogue.mu.nodes[name].Removed
}

// enter writes the node's record.
func (n *Backend) enter(ctx context.Context) error {
	own := nodeRecord{Name: n.name, Addr: n.o.Listen}
	if n.server != nil && len(n.o.Peers) > 1 {
		own.Server = n.server.Node()
	}
	return n.retry(ctx, "entering the cluster", func(ctx context.Context) error {
		var refused error
		err := n.changeNode(ctx, n.name, func(r *nodeRecord) {
			switch {
			case r.Removed && !n.fresh:
				refused = errRemoved
			case r.Removed && r.Server != "":
				refused = fmt.Errorf("%w: node %s is being removed", backend.ErrUnavailable, n.name)
			default:
				own.revision, *r = r.revision, own
			}
		})
		if errors.Is(refused, errRemoved) {
			n.leave(ctx)
		}
		if err = errors.Join(err, refused); err == nil && n.alone() {
			err = n.forgetOthers(ctx)
		}
		return err
	})
}

// alone reports whether the cluster has one node.
func (n *Backend) alone() bool { return n.server != nil && len(n.o.Peers) < 2 }

// forgetOthers removes the records of nodes from a cluster of one, which was opened by other names.
func (n *Backend) forgetOthers(ctx context.Context) error {
	keys, err := n.kv.Keys(ctx)
	if err != nil {
		return unavailable(err)
	}
	for _, key := range keys {
		if strings.HasPrefix(key, nodeKey) && key != nodeKey+n.name {
			if err := n.kv.Delete(ctx, key); err != nil {
				return unavailable(err)
			}
		}
	}
	return nil
}

// changeNode changes the record of a node.
func (n *Backend) changeNode(ctx context.Context, name string, change func(*nodeRecord)) error {
	r, revision := nodeRecord{Name: name}, uint64(0)
	entry, err := n.kv.Get(ctx, nodeKey+name)
	switch {
	case err == nil:
		if err := json.Unmarshal(entry.Value(), &r); err != nil {
			return fmt.Errorf("%w: node %s: %w", backend.ErrDamaged, name, err)
		}
		revision = entry.Revision()
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return unavailable(err)
	}
	before := r
	if change(&r); r == before && revision > 0 {
		return nil
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = n.kv.Create(ctx, nodeKey+name, b)
	} else {
		_, err = n.kv.Update(ctx, nodeKey+name, b, revision)
	}
	return unavailable(err)
}
