package backend

import (
	"context"
	"fmt"
)

// PageBytes is about how many bytes of documents [Documents.Lookup], [Documents.Fetch] and [Documents.List] answer at once: a page ends with the document with
// which it has as many, and has at least one.
const PageBytes = 16 << 20

// passageBytes is about what a passage takes in memory.
const passageBytes = 64

// Size is about how many bytes a document takes in memory; 0 for nil.
func (d *Document) Size() int {
	if d == nil {
		return 0
	}
	return len(d.ID) + len(d.Fields) + passageBytes*len(d.Passages)
}

// CheckPage returns an error unless a page of n documents can be the answer to a question for asked.
func CheckPage(n, asked int) error {
	if n > asked || n == 0 && asked > 0 {
		return fmt.Errorf("%d documents, asked for %d", n, asked)
	}
	return nil
}

// InPages calls read with keys, and again with those that are left, until there are none, and take with those of each page and what was read of them, side by
// side. Of no keys it reads once: that tells whether there is such a collection. It returns the first error of either.
func InPages[K any](keys []K, read func(keys []K) ([]*Document, error), take func(keys []K, docs []*Document) error) error {
	for more := true; more; more = len(keys) > 0 {
		docs, err := read(keys)
		if err != nil {
			return err
		}
		if err := CheckPage(len(docs), len(keys)); err != nil {
			return err
		}
		if err := take(keys[:len(docs)], docs); err != nil {
			return err
		}
		keys = keys[len(docs):]
	}
	return nil
}

// LookupPages is [InPages] of [Documents.Lookup].
func LookupPages(ctx context.Context, b Documents, collection string, ids []string, take func(ids []string, docs []*Document) error) error {
	return InPages(ids, func(ids []string) ([]*Document, error) { return b.Lookup(ctx, collection, ids) }, take)
}

// FetchPages is [InPages] of [Documents.Fetch].
func FetchPages(ctx context.Context, b Documents, collection string, refs []Ref, take func(refs []Ref, docs []*Document) error) error {
	return InPages(refs, func(refs []Ref) ([]*Document, error) { return b.Fetch(ctx, collection, refs) }, take)
}

// FetchAll returns all documents of refs, nil where there is none any more, for callers that bound their number themselves.
func FetchAll(ctx context.Context, b Documents, collection string, refs []Ref) ([]*Document, error) {
	out := make([]*Document, 0, len(refs))
	err := FetchPages(ctx, b, collection, refs, func(_ []Ref, docs []*Document) error {
		out = append(out, docs...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
