package backend

import (
	"context"
	"slices"
	"sync"
)

// Gaps are the partitions of a collection that a query goes on without, instead of failing with
// [ErrUnavailable]. The first call that one does not answer adds it; later calls leave it out. It
// is safe for concurrent use.
type Gaps struct {
	mu         sync.Mutex
	partitions []int
	of         int
}

type gapsKey struct{}

// WithGaps returns a context for calls that may go on without partitions, which they add to m;
// ctx where m is nil.
func WithGaps(ctx context.Context, m *Gaps) context.Context {
	if m == nil {
		return ctx
	}
	return context.WithValue(ctx, gapsKey{}, m)
}

// GapsOf returns that of [WithGaps]; nil: calls fail.
func GapsOf(ctx context.Context) *Gaps {
	m, _ := ctx.Value(gapsKey{}).(*Gaps)
	return m
}

// Has reports whether a partition is missing. It is false for nil.
func (m *Gaps) Has(p int) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.partitions, p)
}

// Add adds one of so many partitions. It returns false where the query must fail: m is nil, or none
// would be left.
func (m *Gaps) Add(p, of int) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of = of; !slices.Contains(m.partitions, p) {
		m.partitions = append(m.partitions, p)
	}
	return len(m.partitions) < of
}

// Partitions returns the missing partitions, in order, of how many; none for nil.
func (m *Gaps) Partitions() (list []int, of int) {
	if m == nil {
		return nil, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list = slices.Clone(m.partitions)
	slices.Sort(list)
	return list, m.of
}
