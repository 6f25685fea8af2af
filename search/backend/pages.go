package backend

import (
	"context"
	"fmt"
)

// PageBytes is about how many bytes of documents [Storage.Lookup], [Storage.Fetch] and
// [Storage.List] return at once: a page ends with the document that reaches it, and has at least
// one.
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

// LookupPages calls [Storage.Lookup] until all ids have been answered, and take with each page and
// its ids. Without ids it calls Lookup once: that tells whether there is such a collection. It
// returns the first error of either.
func LookupPages(ctx context.Context, b Storage, r LookupRequest, take func(ids []string, docs []*Document) error) error {
	for more := true; more; more = len(r.IDs) > 0 {
		docs, err := b.Lookup(ctx, r)
		if err != nil {
			return err
		}
		if err := checkPage(len(docs), len(r.IDs)); err != nil {
			return err
		}
		if err := take(r.IDs[:len(docs)], docs); err != nil {
			return err
		}
		r.IDs = r.IDs[len(docs):]
	}
	return nil
}

// FetchPages calls [Storage.Fetch] for documents, as [LookupPages] calls Lookup.
func FetchPages(ctx context.Context, b Storage, r FetchRequest, take func(refs []Ref, page FetchResponse) error) error {
	r.Documents = true
	for more := true; more; more = len(r.Refs) > 0 {
		page, err := b.Fetch(ctx, r)
		if err != nil {
			return err
		}
		n := len(page.Documents)
		if err := checkPage(n, len(r.Refs)); err != nil {
			return err
		}
		if err := take(r.Refs[:n], page); err != nil {
			return err
		}
		r.Refs = r.Refs[n:]
	}
	return nil
}

// checkPage returns an error unless a page of n documents can answer a request for asked.
func checkPage(n, asked int) error {
	if n > asked || n == 0 && asked > 0 {
		return fmt.Errorf("%d documents, asked for %d", n, asked)
	}
	return nil
}
