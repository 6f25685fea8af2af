package shards

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"searchd/search/backend"
)

// claim makes the parts those of a cluster, or takes the right to write to those of one.
//
//  1. All parts are claimed twice: with an epoch that is higher than all before, and when all have it, with the next one, which says that it is complete.
//     Nobody writes in between. An epoch is the time, so that it is not one that was given before the shards were restored, unless that is too low.
//  2. As long as none has more than epoch 1, nobody has written to any, and a first opening that was interrupted is gone on with: the new ones among them
//     take the places that are left. From then on each must be in its place. A new one among them is not the shard that was there: its documents would be
//     missed.
//  3. Nor is one whose epoch is below the last complete one that any knows of: a standby or a backup has taken its place. These have not been claimed yet
//     when they are put there; they say so, and may have any epoch.
//  4. The parts are claimed in their order, so that of two who do it at once the one that is first at the first part is first at all.
//  5. Where one of them has moved all have, as moving them was interrupted: they are claimed if moved says so, and all of them say where they have moved to.
func (b *Backend) claim(ctx context.Context, moved bool) error {
	ids, err := b.identities(ctx)
	if err != nil {
		return err
	}
	if err := b.noStandby(ids); err != nil {
		return err
	}
	whole := clusterOf(ids)
	if whole.Cluster == "" {
		whole = backend.Identity{Cluster: strings.ToLower(rand.Text()), Of: len(b.parts)}
	}
	for _, id := range ids {
		whole.Complete, whole.Moved = max(whole.Complete, id.Complete), cmp.Or(whole.Moved, id.Moved)
		if id.Unclaimed { // what it is a copy of may have been written to
			whole.Epoch = max(whole.Epoch, 2)
		}
	}
	if err := b.placed(ids, whole); err != nil {
		return err
	}
	if err := b.current(ctx, ids, whole.Complete); err != nil {
		return err
	}
	if whole.Moved != "" && !moved {
		return whole.MovedError()
	}
	if whole.Epoch <= 1 {
		whole.Epoch = 1
		err = b.adopt(ctx, ids, whole)
	} else {
		whole.Epoch = max(whole.Epoch+1, uint64(max(0, time.Now().UnixMilli())))
		err = b.claimAll(ctx, whole)
	}
	if err != nil {
		return err
	}
	whole.Epoch, whole.Complete = whole.Epoch+1, whole.Epoch
	b.name, b.epoch = whole.Cluster, whole.Epoch
	return b.claimAll(ctx, whole)
}

// Move has all parts say that a copy of them was made at to, so that nobody claims them any more; with an empty to it takes that back. It returns
// [backend.ErrClaimed] where somebody else has claimed them. Nothing is written to b after it.
func (b *Backend) Move(ctx context.Context, to string) error {
	if err := b.mayWrite(); err != nil {
		return err
	}
	return b.claimAll(ctx, backend.Identity{Cluster: b.name, Of: len(b.parts), Epoch: b.epoch + 1, Complete: b.epoch, Moved: to, Back: to == ""})
}

// noStandby refuses what follows a shard.
func (b *Backend) noStandby(ids []backend.Identity) error {
	for i, id := range ids {
		if id.Follows != "" {
			return fmt.Errorf("%w: %s is a standby of %s; name that, or start the standby without --follow to make it the shard", backend.ErrReplica, b.parts[i].name, id.Follows)
		}
	}
	return nil
}

// identities returns what each part is.
func (b *Backend) identities(ctx context.Context) ([]backend.Identity, error) {
	return all(ctx, b, "", func(ctx context.Context, p *part) (backend.Identity, error) { return p.Identity(ctx) })
}

// claimAll claims the parts one after another.
func (b *Backend) claimAll(ctx context.Context, whole backend.Identity) error {
	for i, p := range b.parts {
		whole.Index = i
		if err := p.Claim(ctx, whole); err != nil {
			return p.failed(err)
		}
	}
	return nil
}

// current refuses a part that has come back after another had taken its place. Where one seems to be, all are asked again: somebody may have claimed them
// while they were asked.
func (b *Backend) current(ctx context.Context, ids []backend.Identity, complete uint64) error {
	for again := false; ; again = true {
		old := slices.IndexFunc(ids, func(id backend.Identity) bool { return !id.Unclaimed && id.Epoch < complete })
		if old < 0 {
			return nil
		}
		if again {
			return fmt.Errorf("%w: %s is an older shard %d: its last claim is %d, and all of the cluster have had claim %d; name the one that has taken its place, or, "+
				"if there is none, back its folder up and restore that into a new one, which is taken as it is", backend.ErrPlacement, b.parts[old].name, old+1, ids[old].Epoch, complete)
		}
		var err error
		if ids, err = b.identities(ctx); err != nil {
			return err
		}
	}
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
	return backend.Identity{Cluster: whole.Cluster, Of: whole.Of, Epoch: whole.Epoch}
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
