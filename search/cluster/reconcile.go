package cluster

import (
	"context"
	"fmt"
	"maps"
	"time"

	"example.com/searchd/search/backend"
)

// keepReplicas starts and ends replicas as the catalogue and the placement ask for.
func (n *Backend) keepReplicas(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.catalogue.work:
		case <-time.After(keepInterval):
		}
		n.reconcile(ctx)
	}
}

// keepInterval is how often a node looks at its replicas without being asked to.
const keepInterval = 5 * time.Second

// reconcile starts the replicas that this node should have, ends those of collections that are
// gone, and brings settings up to date.
func (n *Backend) reconcile(ctx context.Context) {
	n.catalogue.mu.Lock()
	revision, complete := n.catalogue.mu.revision, n.catalogue.mu.complete
	collections, replicas := maps.Clone(n.catalogue.mu.collections), maps.Clone(n.catalogue.mu.replicas)
	n.catalogue.mu.Unlock()
	wanted, left := map[string]bool{}, n.left(ctx)
	whole := true
	for _, c := range collections {
		for p := range c.Partitions {
			name := localName(c.ID, p)
			r := replicas[name]
			if n.log(c.ID, p).Lost != "" {
				n.startRepair(c.ID, p)
			}
			if r == nil && !n.hosts(c, p) && !left[name] || r != nil && n.surplus(c, p) {
				continue
			}
			wanted[name] = true
			if err := n.keep(ctx, r, c, p); err != nil && ctx.Err() == nil {
				whole = false
				n.alarm(fmt.Sprintf("collection %s: partition %d: the replica cannot be opened, which is tried again: %v", c.Name, p, err))
			}
		}
	}
	for name, r := range replicas {
		if !wanted[name] {
			n.remove(ctx, name, r)
		}
	}
	if complete && !n.swept {
		n.swept = n.sweep(ctx, wanted)
	}
	if whole {
		n.catalogue.mu.Lock()
		if n.members.applied.Load() < revision {
			n.members.applied.Store(revision)
		}
		n.catalogue.mu.Unlock()
		n.members.wake()
	}
}

// left returns the replicas that are left from when the node was last open. They serve until those
// that should have replaced them do.
func (n *Backend) left(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	if n.swept {
		return out
	}
	list, err := n.local.Collections(ctx)
	if err != nil {
		return out
	}
	for _, c := range list {
		out[c.Name] = true
	}
	return out
}

// sweep removes what is left of replicas that are not wanted any more since the node was last open.
func (n *Backend) sweep(ctx context.Context, wanted map[string]bool) bool {
	list, err := n.local.Collections(ctx)
	if err != nil {
		return false
	}
	for _, c := range list {
		if !wanted[c.Name] {
			n.notice("removing a replica that is not wanted any more: " + c.Name)
			if err := n.dropReplica(ctx, c.Name); err != nil {
				return false
			}
		}
	}
	return true
}

// keep starts a replica, or gives one that runs the settings of its collection.
func (n *Backend) keep(ctx context.Context, r *replica, c *collection, p int) error {
	if r == nil {
		r, err := n.startReplica(ctx, c, p)
		if err == nil {
			r.revision = c.revision
			n.catalogue.mu.Lock()
			n.catalogue.mu.replicas[r.local] = r
			r.note(n.catalogue.mu.logs[r.local])
			n.catalogue.mu.Unlock()
		}
		return err
	}
	if r.revision == c.revision {
		return nil
	}
	config := c.Config
	config.FirstSequence = 0
	r.admin.Lock()
	defer r.admin.Unlock()
	err := n.local.Configure(ctx, backend.ConfigureRequest{Collection: r.local, Config: config})
	if err == nil {
		r.revision = c.revision
	}
	return err
}

// remove ends a replica and removes its collection.
func (n *Backend) remove(ctx context.Context, name string, r *replica) {
	r.end()
	n.catalogue.mu.Lock()
	delete(n.catalogue.mu.replicas, name)
	n.catalogue.mu.Unlock()
	if err := n.dropReplica(ctx, name); err != nil && ctx.Err() == nil {
		n.notice(fmt.Sprintf("removing the replica %s: %v", name, err))
	}
}
