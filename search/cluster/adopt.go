package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"example.com/searchd/search/backend"
)

// generationValue begins the keys of the values of the embedded backend with the generation of the
// log that a replica follows. It is written before anything of that generation is applied.
const generationValue = "cluster/generation/"

// open reads from where the replica goes on.
func (r *replica) open(ctx context.Context) error {
	values, err := r.node.local.Values(ctx, generationValue+r.local)
	if err != nil {
		return err
	}
	generation := 0
	if v := values[generationValue+r.local]; v != nil {
		if generation, err = strconv.Atoi(string(v)); err != nil {
			return fmt.Errorf("%w: generation of the log: %w", backend.ErrDamaged, err)
		}
	}
	place, err := r.node.local.Place(ctx, r.local)
	if err != nil {
		return err
	}
	r.mu.generation, r.mu.changed = generation, make(chan struct{})
	r.mu.place, r.mu.change = r.start(r.node.log(r.id, r.part), place)
	return nil
}

// start returns where the replica goes on in the log, when place is that of the last write that it
// has committed, and the place of the last change as others know it.
func (r *replica) start(log logRecord, place uint64) (from, change uint64) {
	switch {
	case r.mu.generation != log.Generation || log.Generation == 0: // of an earlier one it reads no more
		from = max(place, r.first)
	case place == log.Kept: // it has what the log was filled with
		from = log.Filled
	default:
		from = max(place, log.First)
	}
	return from, from
}

// note takes notice of the record of the log. From then on nothing of another generation is
// applied, and nothing at all of a log that was lost.
func (r *replica) note(log logRecord) {
	r.mu.Lock()
	same := r.mu.log.revision == log.revision
	r.mu.Unlock()
	if same {
		return
	}
	r.update(func() {
		switch {
		case log.Lost == "":
			r.mu.complete = false
		case r.mu.log.Lost == "":
			r.mu.complete = r.mu.serving
		}
		r.mu.log = log
	})
}

// adopt makes the replica follow the next generation of its log. What it holds stays if that is
// what the log was filled with; else it begins anew.
func (r *replica) adopt(ctx context.Context, log logRecord) error {
	r.applying.Lock()
	defer r.applying.Unlock()
	r.admin.Lock()
	defer r.admin.Unlock()
	local := r.node.local
	place, err := local.Place(ctx, r.local)
	if err != nil {
		return err
	}
	same := place == log.Kept
	if same {
		digest, err := r.digest(ctx)
		if err != nil {
			return err
		}
		same = digest == log.Digest
	}
	if !same {
		r.update(func() { r.mu.serving = false })
		if place > 0 {
			r.node.notice(fmt.Sprintf("partition %s: its log was rebuilt from a replica with other documents: the replica is built anew", r.local))
		}
		opened, err := local.Open(ctx, backend.OpenRequest{Collection: r.local})
		if err != nil {
			return err
		}
		if err := local.Drop(ctx, r.local); err != nil {
			return err
		}
		if err := local.Configure(ctx, backend.ConfigureRequest{Collection: r.local, Create: true, Config: opened.Collection.Config}); err != nil {
			return err
		}
		place = 0
	}
	value := []byte(strconv.Itoa(log.Generation))
	if err := local.SetValues(ctx, map[string][]byte{generationValue + r.local: value}); err != nil {
		return err
	}
	r.update(func() {
		r.mu.generation, r.mu.lost = log.Generation, nil
		r.mu.place, r.mu.change = r.start(log, place)
	})
	return nil
}

// digest returns a sum over the documents of the replica, their revisions and numbers.
func (r *replica) digest(ctx context.Context) (sum uint64, err error) {
	for q := (backend.ListRequest{Collection: r.local, Limit: 1000, NoFields: true}); ; {
		page, err := r.node.local.List(ctx, q)
		if err != nil {
			return 0, err
		}
		for _, d := range page.Documents {
			h := fnv.New64a()
			fmt.Fprintf(h, "%s/%d/%d", d.ID, d.Revision, d.Ref.Number())
			sum += mix(h.Sum64())
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return sum, nil
		}
	}
}

// dropReplica removes the collection of a replica, and what is known of its log.
func (n *Backend) dropReplica(ctx context.Context, name string) error {
	if err := n.local.Drop(ctx, name); err != nil && !errors.Is(err, backend.ErrCollectionNotFound) {
		return err
	}
	values, err := n.local.Values(ctx, generationValue+name)
	if err != nil || values[generationValue+name] == nil {
		return err
	}
	return n.local.SetValues(ctx, map[string][]byte{generationValue + name: nil})
}
