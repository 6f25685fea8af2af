package shards

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"searchd/search/backend"
)

// Apply commits the writes of one call shard by shard, side by side: each shard commits its own together or none of them. Where one fails, those of the
// others are committed all the same, and the call made again ends with the same, but for writes with IfRevision, which conflict with themselves. The
// writes of an id keep their order.
func (b *Backend) Apply(ctx context.Context, collection string, writes []backend.Write) ([]backend.Outcome, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	if err := b.mayWrite(); err != nil {
		return nil, err
	}
	defer b.writes.Add(1)
	own, at, asked := share(b, writes, func(w backend.Write) (int, backend.Write) { return Place(w.ID, len(b.parts)), w })
	answers, errs := settle(asked, func(p *part) ([]backend.Outcome, error) {
		outcomes, err := p.Apply(ctx, collection, own[p.index])
		if err == nil && len(outcomes) != len(own[p.index]) {
			err = fmt.Errorf("%w: %d outcomes of %d writes", backend.ErrUnavailable, len(outcomes), len(own[p.index]))
		}
		return outcomes, err
	})
	if err := firstOf(errs); err != nil {
		return nil, b.explained(ctx, collection, err)
	}
	return join(len(writes), asked, at, answers), nil
}

// Lookup returns documents by id, a page of the first of them.
func (b *Backend) Lookup(ctx context.Context, collection string, ids []string) ([]*backend.Document, error) {
	return gatherPage(ctx, b, collection, ids, b.placeID, func(ctx context.Context, p *part, own []string) ([]*backend.Document, error) {
		docs, err := p.Lookup(ctx, collection, own)
		return p.documents(docs), err
	})
}

// Fetch returns documents by ref, a page of the first of them.
func (b *Backend) Fetch(ctx context.Context, collection string, refs []backend.Ref) ([]*backend.Document, error) {
	return gatherPage(ctx, b, collection, refs, placeRef, func(ctx context.Context, p *part, own []backend.Ref) ([]*backend.Document, error) {
		docs, err := p.Fetch(ctx, collection, own)
		return p.documents(docs), err
	})
}

// documents gives documents of the part the refs by which they are known outside.
func (p *part) documents(docs []*backend.Document) []*backend.Document {
	for _, d := range docs {
		if d != nil {
			d.Ref = p.ref(d.Ref)
		}
	}
	return docs
}

// List returns documents shard by shard, those of a shard in its order. The cursor is the shard and its own cursor.
func (b *Backend) List(ctx context.Context, collection, cursor string, limit int) ([]*backend.Document, string, error) {
	return list(ctx, b, collection, cursor, limit, (*backend.Document).Size, func(ctx context.Context, p *part, own string, limit int) ([]*backend.Document, string, error) {
		docs, next, err := p.List(ctx, collection, own, limit)
		return p.documents(docs), next, err
	})
}

// Heads returns heads in the order of List.
func (b *Backend) Heads(ctx context.Context, collection, cursor string, limit int) ([]backend.Head, string, error) {
	return list(ctx, b, collection, cursor, limit, func(h backend.Head) int { return len(h.ID) }, func(ctx context.Context, p *part, own string, limit int) ([]backend.Head, string, error) {
		return p.Heads(ctx, collection, own, limit)
	})
}

// LookupHeads returns heads by id.
func (b *Backend) LookupHeads(ctx context.Context, collection string, ids []string) ([]backend.Head, error) {
	return gather(ctx, b, collection, ids, b.placeID, func(ctx context.Context, p *part, own []string) ([]backend.Head, error) {
		return p.LookupHeads(ctx, collection, own)
	})
}

// list returns limit of what the parts list, part by part, or fewer that together have backend.PageBytes.
func list[T any](ctx context.Context, b *Backend, collection, cursor string, limit int, size func(T) int, ask func(ctx context.Context, p *part, own string, limit int) ([]T, string, error)) (out []T, next string, err error) {
	at, own, err := b.placeCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	bytes := 0
	for ; at < len(b.parts); at, own = at+1, "" {
		full := len(out) == limit && limit > 0 || bytes >= backend.PageBytes
		want := max(limit-len(out), 1)
		if full { // it is followed by another where there is one document more
			want = 1
		}
		found, err := one(ctx, b, collection, b.parts[at], func(ctx context.Context, p *part) (page[T], error) {
			some, next, err := ask(ctx, p, own, want)
			return page[T]{some, next}, err
		})
		if err != nil {
			return nil, "", err
		}
		switch {
		case full && len(found.some) > 0:
			return out, strconv.Itoa(at) + "/", nil
		case full:
			continue
		}
		for _, x := range found.some {
			out, bytes = append(out, x), bytes+size(x)
		}
		if found.next != "" {
			return out, strconv.Itoa(at) + "/" + found.next, nil
		}
	}
	return out, "", nil
}

// page is what a part answers when it lists.
type page[T any] struct {
	some []T
	next string
}

// placeCursor returns the shard that a cursor goes on with, and the cursor of that; empty: from its beginning.
func (b *Backend) placeCursor(cursor string) (shard int, own string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	number, own, ok := strings.Cut(cursor, "/")
	shard, err = strconv.Atoi(number)
	if !ok || err != nil || shard < 0 || shard >= len(b.parts) || strconv.Itoa(shard) != number {
		return 0, "", fmt.Errorf("%w: cursor %.40q: allowed: what the page before gave as its next cursor", backend.ErrInvalid, cursor)
	}
	return shard, own, nil
}

// Encoded returns a document without its fields and the vectors of its passages.
func (b *Backend) Encoded(ctx context.Context, collection, id string) (*backend.Document, [][]float32, error) {
	type encoded struct {
		doc     *backend.Document
		vectors [][]float32
	}
	p := b.parts[Place(id, len(b.parts))]
	found, err := one(ctx, b, collection, p, func(ctx context.Context, p *part) (encoded, error) {
		d, vectors, err := p.Encoded(ctx, collection, id)
		return encoded{d, vectors}, err
	})
	if err != nil || found.doc == nil {
		return nil, nil, err
	}
	return p.documents([]*backend.Document{found.doc})[0], found.vectors, nil
}

// DamagedVectors returns the ids of the documents with a damaged vector, by collection.
func (b *Backend) DamagedVectors(ctx context.Context) (map[string][]string, error) {
	found, err := all(ctx, b, "", func(ctx context.Context, p *part) (map[string][]string, error) { return p.DamagedVectors(ctx) })
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, one := range found {
		for collection, ids := range one {
			out[collection] = append(out[collection], ids...)
		}
	}
	return out, nil
}

// Position returns the end of the logs of a collection.
func (b *Backend) Position(ctx context.Context, collection string) (backend.Position, error) {
	found, err := all(ctx, b, collection, func(ctx context.Context, p *part) (uint64, error) {
		at, err := p.Position(ctx, collection)
		if err == nil && len(at) != 1 {
			err = fmt.Errorf("a position of %d sequence numbers, allowed is 1", len(at))
		}
		if err != nil {
			return 0, err
		}
		return at[0], nil
	})
	return found, err
}

// Changed returns the ids of at most limit documents that were put or deleted after a position, shard by shard.
func (b *Backend) Changed(ctx context.Context, collection string, after backend.Position, limit int) (ids []string, next backend.Position, err error) {
	if err := b.whole(after); err != nil {
		return nil, after, err
	}
	next = append(backend.Position{}, after...)
	for i, p := range b.parts {
		if len(ids) >= limit {
			break
		}
		_, err := one(ctx, b, collection, p, func(ctx context.Context, p *part) (none, error) {
			changed, to, err := p.Changed(ctx, collection, next[i:i+1], limit-len(ids))
			if err == nil && len(to) == 1 {
				ids, next[i] = append(ids, changed...), to[0]
			}
			return none{}, err
		})
		if err != nil {
			return nil, after, err
		}
	}
	return ids, next, nil
}

// whole returns nil for a position in the logs of all parts.
func (b *Backend) whole(at backend.Position) error {
	if len(at) != len(b.parts) {
		return fmt.Errorf("%w: a position of %d sequence numbers, allowed are %d", backend.ErrInvalid, len(at), len(b.parts))
	}
	return nil
}

// Hold keeps the logs after a position until release is called.
func (b *Backend) Hold(ctx context.Context, collection string, after backend.Position) (release func(), err error) {
	if err := errors.Join(b.mayWrite(), b.whole(after)); err != nil {
		return nil, err
	}
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	releases, errs := settle(b.parts, func(p *part) (func(), error) { return p.Hold(ctx, collection, after[p.index:p.index+1]) })
	release = func() {
		settle(b.parts, func(p *part) (none, error) {
			if r := releases[p.index]; r != nil {
				r()
			}
			return none{}, nil
		})
	}
	if errors.Join(errs...) != nil {
		release()
		return nil, b.explained(ctx, collection, firstOf(errs))
	}
	return release, nil
}

// Values returns the values of the first shard.
func (b *Backend) Values(prefix string) (map[string][]byte, error) {
	values, err := b.parts[0].Values(prefix)
	return values, b.parts[0].failed(err)
}

// SetValues sets values of the first shard.
func (b *Backend) SetValues(ctx context.Context, values map[string][]byte) error {
	if err := b.mayWrite(); err != nil {
		return err
	}
	return b.parts[0].failed(b.parts[0].SetValues(ctx, values))
}
