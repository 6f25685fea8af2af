package shards

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"searchd/search/backend"
)

// claim makes the parts those of a cluster, or takes the right to write to those of one.
//
//  1. New shards are claimed one after another with epoch 1, and then all of them again with a higher one. As long as none has more than epoch 1, nobody
//     has written to any, and an opening that was interrupted is gone on with: the new ones among them take the places that are left.
//  2. From then on each must be in its place. A new one among them is not the shard that was there: its documents would be missed.
//  3. The parts are claimed in their order, so that of two who do it at once the one that is first at the first part is first at all.
func (b *Backend) claim(ctx context.Context) error {
	ids, err := all(ctx, b, "", func(ctx context.Context, p *part) (backend.Identity, error) { return p.Identity(ctx) })
	if err != nil {
		return err
	}
	whole := clusterOf(ids)
	if whole.Cluster == "" {
		whole = backend.Identity{Cluster: strings.ToLower(rand.Text()), Of: len(b.parts), Epoch: 0}
	}
	if err := b.placed(ids, whole); err != nil {
		return err
	}
	if whole.Epoch <= 1 {
		if err := b.adopt(ctx, ids, whole); err != nil {
			return err
		}
		whole.Epoch = 1
	}
	whole.Epoch++
	for i, p := range b.parts {
		whole.Index = i
		if err := p.Claim(ctx, whole); err != nil {
			return p.failed(err)
		}
	}
	b.name, b.epoch = whole.Cluster, whole.Epoch
	return nil
}

// clusterOf returns the cluster that most are of, with the highest epoch of these.
func clusterOf(ids []backend.Identity) (whole backend.Identity) {
	counts := map[string]int{}
	for _, id := range ids {
		if id.Cluster != "" {
			counts[id.Cluster]++
		}
	}
	for _, id := range ids {
		if n, most := counts[id.Cluster], counts[whole.Cluster]; n > most || n == most && id.Cluster == whole.Cluster && id.Epoch > whole.Epoch {
			whole = id
		}
	}
	return whole
}

// adopt gives the new ones among the parts the places that they were given in.
func (b *Backend) adopt(ctx context.Context, ids []backend.Identity, whole backend.Identity) error {
	for i, p := range b.parts {
		if ids[i].Cluster != "" {
			continue
		}
		list, err := p.Collections(ctx)
		if err != nil {
			return p.failed(err)
		}
		if len(list) > 0 && len(b.parts) > 1 {
			return fmt.Errorf("%w: %s is of no cluster and has %d collections already, such as %q: their documents would not be where they are looked for; "+
				"take an empty data folder, and bring the documents in by ingesting them", backend.ErrPlacement, p.name, len(list), list[0].Name)
		}
	}
	for i, p := range b.parts {
		if ids[i].Cluster != "" {
			continue
		}
		if err := p.Claim(ctx, backend.Identity{Cluster: whole.Cluster, Index: i, Of: whole.Of, Epoch: 1}); err != nil {
			return p.failed(err)
		}
	}
	return nil
}

// placed returns an error that says of each shard what it is, unless all are where they belong.
func (b *Backend) placed(ids []backend.Identity, whole backend.Identity) error {
	said := make([]string, len(ids))
	right := make([]string, len(ids)) // the order
	fits, complete := whole.Of == len(ids), whole.Of == len(ids)
	for i, id := range ids {
		switch name := b.parts[i].name; {
		case id.Cluster == "":
			fits = fits && whole.Epoch <= 1
			complete = false
			said[i] = fmt.Sprintf("%s is new, shard %d is wanted", name, i+1)
		case id.Cluster != whole.Cluster || id.Of != whole.Of:
			fits, complete = false, false
			said[i] = fmt.Sprintf("%s is shard %d of %d of cluster %s", name, id.Index+1, id.Of, id.Cluster)
		default:
			fits = fits && id.Index == i
			if id.Index < 0 || id.Index >= len(right) || right[id.Index] != "" {
				complete = false
			} else {
				right[id.Index] = name
			}
			said[i] = fmt.Sprintf("%s is shard %d", name, id.Index+1)
		}
	}
	if fits {
		return nil
	}
	text := fmt.Sprintf("of cluster %s, which has %d shards, %d were given: %s", whole.Cluster, whole.Of, len(ids), strings.Join(said, "; "))
	if complete {
		text += "; the right order is " + strings.Join(right, ", ")
	}
	return fmt.Errorf("%w: %s", backend.ErrPlacement, text)
}

// ignore returns err, or nil where it is one of those.
func ignore(err error, those ...error) error {
	for _, e := range those {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
