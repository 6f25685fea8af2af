package backend

import (
	"context"
	"fmt"
)

// PageBytes is about how many bytes of documents [Storage.Lookup], [Storage.Fetch] and
// [Storage.List] return at once: a page ends with the document that reaches it, and has at least
// one.
const PageBytes = 16 << 20

// About what a passage and a block take in memory.
const (
	passageBytes = 64
	blockBytes   = 80
)

// Size is about how many bytes a document takes in memory; 0 for nil.
func (d *Document) Size() int {
	if d == nil {
		return 0
	}
	size := len(d.ID) + len(d.Fields) + passageBytes*len(d.Passages)
	for _, blocks := range d.Blocks {
		size += blockBytes * len(blocks)
	}
	return size
}

// LookupPages calls [Storage.Lookup] until all ids have been answered, and take with each page and
// its ids. Without ids it calls Lookup once, to report a missing collection. It returns the first
// error of either.
func LookupPages(ctx context.Context, b Storage, r LookupRequest, take func(ids []string, docs []*Document) error) error {
	return pages(&r.IDs, func() ([]*Document, int, error) {
		docs, err := b.Lookup(ctx, r)
		return docs, len(docs), err
	}, take)
}

// FetchPages calls [Storage.Fetch] for documents, as [LookupPages] calls Lookup.
func FetchPages(ctx context.Context, b Storage, r FetchRequest, take func(refs []Ref, page FetchResponse) error) error {
	r.Documents = true
	return pages(&r.Refs, func() (FetchResponse, int, error) {
		page, err := b.Fetch(ctx, r)
		return page, len(page.Documents), err
	}, take)
}

// pages calls call, which answers the first n of keys, and take until no keys are left.
func pages[K, P any](keys *[]K, call func() (page P, n int, err error), take func(keys []K, page P) error) error {
	for more := true; more; more = len(*keys) > 0 {
		page, n, err := call()
		if err != nil {
			return err
		}
		if asked := len(*keys); n > asked || n == 0 && asked > 0 {
			return fmt.Errorf("%d documents, asked for %d", n, asked)
		}
		if err := take((*keys)[:n], page); err != nil {
			return err
		}
		*keys = (*keys)[n:]
	}
	return nil
}
