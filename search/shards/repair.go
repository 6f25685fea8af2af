package shards

import (
	"context"
	"fmt"
	"strings"
	"time"

	"searchd/search/backend"
)

// restoreTime bounds how long a change of settings that failed on one shard is undone on the others.
const restoreTime = 10 * time.Second

// none is the answer of what answers nothing.
type none struct{}

// firstOf returns the first of errs that is one.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// repair ends what an earlier run left in the middle:
//
//  1. A collection that the first part does not have is removed from the others where it was being dropped, or where it is empty, as one is that was being
//     made. One with documents that nobody dropped is told of: perhaps the first part was restored from a backup that is older.
//  2. A collection that another part lacks is told of.
//  3. Where settings differ, those of the first part are everybody's.
func (b *Backend) repair(ctx context.Context) error {
	marks, err := b.parts[0].Values(droppedKey)
	if err != nil {
		return b.parts[0].failed(err)
	}
	list, err := b.lookAll(ctx)
	if err != nil {
		return err
	}
	for key := range marks {
		b.dropping.add(strings.TrimPrefix(key, droppedKey))
	}
	for _, seen := range list {
		switch {
		case !seen.there():
			b.notice(fmt.Sprintf("collection %s was being made or dropped: what is left of it is removed", seen.name))
			err = b.drop(ctx, seen)
		case !seen.whole():
			b.alarm(fmt.Sprintf("collection %s cannot be used: %s. If a shard was restored from a backup, restore all from backups of the same time; or drop the collection", seen.name, seen.damage()))
		default:
			err = b.sameConfig(ctx, seen)
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", seen.name, err)
		}
	}
	for key := range marks {
		b.unmark(ctx, strings.TrimPrefix(key, droppedKey))
	}
	return nil
}

// Check looks for faults on all shards, and for what none of them can see alone: collections that are not on all, or with other settings, and with deep
// documents on a shard where they are not looked for.
func (b *Backend) Check(ctx context.Context, deep bool) ([]backend.Problem, error) {
	lists, err := all(ctx, b, "", func(ctx context.Context, p *part) ([]backend.Problem, error) {
		problems, err := p.Check(ctx, deep)
		for i := range problems {
			problems[i].Where = p.name + ", " + problems[i].Where
		}
		return problems, err
	})
	if err != nil {
		return nil, err
	}
	var out []backend.Problem
	for _, list := range lists {
		out = append(out, list...)
	}
	seen, err := b.settled(ctx)
	if err != nil {
		return out, err
	}
	for _, s := range seen {
		problems, err := s.check(ctx, deep)
		if err != nil {
			return out, err
		}
		out = append(out, problems...)
	}
	return out, nil
}

// settled asks all parts for all collections while none of them is being made, changed or dropped by this backend.
func (b *Backend) settled(ctx context.Context) ([]*sighting, error) {
	select {
	case b.changes <- struct{}{}:
		defer func() { <-b.changes }()
		return b.lookAll(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// check looks for what is wrong with a collection as a whole.
func (s *sighting) check(ctx context.Context, deep bool) (out []backend.Problem, err error) {
	for i, c := range s.parts {
		where := fmt.Sprintf("%s, collection %s", s.b.parts[i].name, s.name)
		switch {
		case c == nil && s.there():
			out = append(out, backend.Problem{Where: where, What: "it is not there"})
		case s.parts[0] == nil:
			out = append(out, backend.Problem{Where: where, What: "it is left over; opening the shards again removes it if nothing is in it"})
		case c.Damaged == "" && s.parts[0].Damaged == "" && !equalConfigs(c.Config, s.parts[0].Config):
			out = append(out, backend.Problem{Where: where, What: "its settings are not those of the first shard; opening the shards again gives it those"})
		}
	}
	if !deep {
		return out, nil
	}
	lists, err := all(ctx, s.b, "", func(ctx context.Context, p *part) ([]backend.Problem, error) { return s.misplaced(ctx, p) })
	for _, list := range lists {
		out = append(out, list...)
	}
	return out, err
}

// maxProblems is how many misplaced documents are listed one by one.
const maxProblems = 20

// checkPage is how many heads of documents are read at once to see where they belong.
const checkPage = 1000

// misplaced returns the documents of a part that belong to another. Where one is damaged, which the part itself tells, it looks no further.
func (s *sighting) misplaced(ctx context.Context, p *part) (out []backend.Problem, err error) {
	where, wrong := fmt.Sprintf("%s, collection %s", p.name, s.name), 0
	if c := s.parts[p.index]; c == nil || c.Damaged != "" {
		return nil, nil
	}
	for cursor, more := "", true; more; more = cursor != "" {
		var heads []backend.Head
		heads, cursor, err = p.Heads(ctx, s.name, cursor, checkPage)
		if err != nil {
			return out, ignore(err, backend.ErrDamaged, backend.ErrCollectionNotFound)
		}
		for _, h := range heads {
			if at := Place(h.ID, len(s.b.parts)); at != p.index {
				if wrong++; wrong <= maxProblems {
					out = append(out, backend.Problem{Where: where, What: fmt.Sprintf("document %q belongs to %s, and is not looked for here", h.ID, s.b.parts[at].name)})
				}
			}
		}
	}
	if wrong > maxProblems {
		out = append(out, backend.Problem{Where: where, What: fmt.Sprintf("%d more documents belong to other shards", wrong-maxProblems)})
	}
	return out, nil
}
