package keyword

import (
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// fieldValues are the terms of one value field in a segment. They are for one goroutine.
type fieldValues struct {
	dict segment.TermDictionary
	key  int    // length of the field's key, which begins term
	term []byte // scratch
	pl   segment.PostingsList
}

// values returns the terms of a value field.
func (s *segmentView) values(field string) (*fieldValues, error) {
	dict, err := s.segment.Dictionary(valueField)
	if err != nil {
		return nil, err
	}
	key := valueKey(field)
	return &fieldValues{dict: dict, key: len(key), term: key}, nil
}

// whole returns a term with the field's key, valid until the next call.
func (f *fieldValues) whole(term []byte) []byte {
	f.term = append(f.term[:f.key], term...)
	return f.term
}

// postings returns the documents with a term, without those of except, valid until the next call.
func (f *fieldValues) postings(term []byte, except *roaring.Bitmap) (segment.PostingsList, error) {
	var err error
	f.pl, err = f.dict.PostingsList(f.whole(term), except, f.pl)
	return f.pl, err
}

// or adds the documents with a term, deleted ones too, to dst.
func (f *fieldValues) or(dst *roaring.Bitmap, term []byte) error {
	pl, err := f.postings(term, nil)
	if err != nil {
		return err
	}
	return orInto(dst, pl)
}

// eachDocs calls fn with the terms in r and their documents, deleted ones too. fn may change the
// documents, which are valid until it returns.
func (f *fieldValues) eachDocs(ctx context.Context, r termRange, fn func(term []byte, docs *roaring.Bitmap) error) error {
	docs := roaring.New()
	return f.each(ctx, r, func(term []byte) error {
		docs.Clear()
		if err := f.or(docs, term); err != nil {
			return err
		}
		return fn(term, docs)
	})
}

// each calls fn with the terms in r.
func (f *fieldValues) each(ctx context.Context, r termRange, fn func(term []byte) error) error {
	if r.end == nil {
		return fn(r.first)
	}
	first, end := slices.Clone(f.whole(r.first)), slices.Clone(f.whole(r.end))
	var it segment.DictionaryIterator
	if d, ok := f.dict.(interface {
		AutomatonIteratorOmitCount(a segment.Automaton, first, end []byte) segment.DictionaryIterator
	}); ok {
		it = d.AutomatonIteratorOmitCount(nil, first, end)
	} else {
		it = f.dict.AutomatonIterator(nil, first, end)
	}
	for n := 1; ; n++ {
		entry, err := it.Next()
		// vellum checks the end only after its first term.
		if err != nil || entry == nil || entry.Term >= string(end) {
			return err
		}
		if err := fn([]byte(entry.Term[f.key:])); err != nil {
			return err
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
