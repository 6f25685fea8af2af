package cluster

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/searchd/search/backend"
)

// partition answers for the documents of one partition of a collection. Their refs are of partition
// 0.
type partition struct {
	backend.Storage
	index int
}

// ref returns the ref by which a document of the partition is known outside.
func (p partition) ref(r backend.Ref) backend.Ref { return backend.RefOf(uint32(p.index), r.Number()) }

// partitionOf returns the partition of a document among n.
func partitionOf(id string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(id))
	return int(mix(h.Sum64()) % uint64(n))
}

// mix spreads the bits of a hash (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// each calls ask for some partitions side by side and returns the answers in their order, or the
// error of the first that failed, which ends the others.
func each[T any](ctx context.Context, parts []partition, ask func(ctx context.Context, p partition) (T, error)) ([]T, error) {
	answers := make([]T, len(parts))
	if len(parts) == 1 {
		var err error
		answers[0], err = ask(ctx, parts[0])
		return answers, err
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for i, p := range parts {
		wait.Go(func() {
			var err error
			if answers[i], err = ask(within, p); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return answers, context.Cause(within)
}

// keys are those of one partition among the keys of a request, with their places there.
type keys[K any] struct {
	partition
	own []K
	at  []int
}

// share divides keys among the partitions that they belong to. Keys of no partition are left out.
// Without keys the first partition is asked for none, to report a missing collection.
func share[K any](parts []partition, list []K, place func(K) (int, K)) []keys[K] {
	all := make([]keys[K], len(parts))
	for i, key := range list {
		if p, own := place(key); p < len(parts) {
			all[p].own, all[p].at = append(all[p].own, own), append(all[p].at, i)
		}
	}
	asked := make([]keys[K], 0, len(parts))
	for i := range all {
		if all[i].partition = parts[i]; len(all[i].own) > 0 {
			asked = append(asked, all[i])
		}
	}
	if len(asked) == 0 {
		return all[:1]
	}
	return asked
}

// eachShare is each of the partitions that keys belong to.
func eachShare[K, T any](ctx context.Context, shares []keys[K], ask func(ctx context.Context, k keys[K]) (T, error)) ([]T, error) {
	parts := make([]partition, len(shares))
	byIndex := map[int]keys[K]{}
	for i, s := range shares {
		parts[i], byIndex[s.index] = s.partition, s
	}
	return each(ctx, parts, func(ctx context.Context, p partition) (T, error) { return ask(ctx, byIndex[p.index]) })
}

// join puts one list of the answers of partitions in the order of n keys; nil where no partition
// has one.
func join[K, T, V any](n int, shares []keys[K], answers []T, list func(T) []V) []V {
	var out []V
	for i, s := range shares {
		values := list(answers[i])
		if values == nil {
			continue
		}
		if out == nil {
			out = make([]V, n)
		}
		for j, v := range values {
			if at := s.at[j]; at < n {
				out[at] = v
			}
		}
	}
	return out
}

// placeRef returns the partition of a document and its ref there.
func placeRef(r backend.Ref) (int, backend.Ref) { return int(r.Partition()), backend.Ref(r.Number()) }

// placePassage returns the partition of a passage and its ref there.
func placePassage(p backend.PassageRef) (int, backend.PassageRef) {
	return int(p.Ref.Partition()), backend.PassageRef{Ref: backend.Ref(p.Ref.Number()), Ordinal: p.Ordinal}
}

// lookup returns documents by id, a page of the first of them.
func lookup(ctx context.Context, parts []partition, r backend.LookupRequest) ([]*backend.Document, error) {
	shares := share(parts, r.IDs, func(id string) (int, string) { return partitionOf(id, len(parts)), id })
	pages, err := eachShare(ctx, shares, func(ctx context.Context, k keys[string]) ([]*backend.Document, error) {
		own := r
		own.IDs = k.own
		docs, err := k.Lookup(ctx, own)
		return k.documents(docs), err
	})
	if err != nil {
		return nil, err
	}
	end := pageEnd(len(r.IDs), shares, func(i int) int { return len(pages[i]) })
	return onePage(end, shares, pages, func(p []*backend.Document) []*backend.Document { return p }), nil
}

// onePage puts documents in the order of n keys, and ends as a page of one backend does.
func onePage[K, T any](n int, shares []keys[K], answers []T, list func(T) []*backend.Document) []*backend.Document {
	out := join(n, shares, answers, list)
	if out == nil {
		return make([]*backend.Document, n)
	}
	size := 0
	for i, d := range out {
		if size += d.Size(); size >= backend.PageBytes {
			return out[:i+1]
		}
	}
	return out
}

// pageEnd returns how many of the first of n keys all partitions have answered: each answers the
// first of its own.
func pageEnd[K any](n int, shares []keys[K], answered func(i int) int) int {
	for i, s := range shares {
		if a := answered(i); a < len(s.own) {
			n = min(n, s.at[a])
		}
	}
	return n
}

// documents gives documents of the partition the refs by which they are known outside.
func (p partition) documents(docs []*backend.Document) []*backend.Document {
	for _, d := range docs {
		if d != nil {
			d.Ref = p.ref(d.Ref)
		}
	}
	return docs
}

// list returns a page of documents, partition by partition. The cursor is the partition and the
// cursor there.
func list(ctx context.Context, parts []partition, r backend.ListRequest) (out backend.ListResponse, err error) {
	at, own, err := placeCursor(r.Cursor, len(parts))
	if err != nil {
		return out, err
	}
	size := 0
	for ; at < len(parts); at, own = at+1, "" {
		full := len(out.Documents) == r.Limit && r.Limit > 0 || size >= backend.PageBytes
		ask := r
		ask.Cursor, ask.Limit = own, max(r.Limit-len(out.Documents), 1)
		if full { // whether another document follows
			ask.Limit, ask.NoFields = 1, true
		}
		page, err := parts[at].List(ctx, ask)
		if err != nil {
			return out, err
		}
		if full {
			if len(page.Documents) > 0 {
				out.Next = strconv.Itoa(at) + "/"
				return out, nil
			}
			continue
		}
		for _, d := range parts[at].documents(page.Documents) {
			out.Documents, size = append(out.Documents, d), size+d.Size()
		}
		if page.Next != "" {
			out.Next = strconv.Itoa(at) + "/" + page.Next
			return out, nil
		}
	}
	return out, nil
}

// placeCursor returns the partition that a cursor of list goes on with, and the cursor there.
func placeCursor(cursor string, n int) (at int, own string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	number, own, ok := strings.Cut(cursor, "/")
	at, err = strconv.Atoi(number)
	if !ok || err != nil || at < 0 || at >= n || strconv.Itoa(at) != number {
		return 0, "", fmt.Errorf("%w: cursor %.40q: allowed: the next cursor of the page before", backend.ErrInvalid, cursor)
	}
	return at, own, nil
}

// shares divides n among partitions with so many passages each: in proportion, and what is left one
// by one to the largest remainders.
func proportions(n int, have []int) []int {
	total := 0
	for _, h := range have {
		total += h
	}
	n = max(min(n, total), 0)
	out, order, left := make([]int, len(have)), make([]int, len(have)), n
	for i, h := range have {
		if order[i] = i; total > 0 {
			out[i] = int(int64(n) * int64(h) / int64(total))
		}
		left -= out[i]
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(n*have[j]-out[j]*total, n*have[i]-out[i]*total)
	})
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}
