package keyword

import (
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// fieldValues are the terms of one value field in a segment.
type fieldValues struct {
	dict segment.TermDictionary
	key  int    // bytes of term, which begins with the key of the field
	term []byte // scratch
	pl   segment.PostingsList
}

// values returns the terms of a value field. They are for one goroutine.
func (s *segmentView) values(field string) (*fieldValues, error) {
	dict, err := s.segment.Dictionary(valueField)
	if err != nil {
		return nil, err
	}
	key := valueKey(field)
	return &fieldValues{dict: dict, key: len(key), term: key}, nil
}

// whole returns a term as bleve has it, valid until the next call.
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

// eachDocs calls fn with the terms in r and their documents, deleted ones too, which are valid
// until it returns and which it may change.
func (f *fieldValues) eachDocs(ctx context.Context, r termRange, fn func(term []byte, docs *roaring.Bitmap) error) error {
	docs := roaring.New()
	return f.each(ctx, r, func(term []byte) error {
		pl, err := f.postings(term, nil)
		if err != nil {
			return err
		}
		docs.Clear()
		if err := orInto(docs, pl); err != nil {
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
