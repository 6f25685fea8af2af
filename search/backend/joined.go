package backend

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// PassageText is the text of a passage, and what its document is called.
type PassageText struct {
	Name  uint64 // of the passage whose text it is, as of Names; 0: it is gone, and has none
	Title string // of its document, also where the passage is of the title itself
	Text  string
}

// ReadTexts returns the text of each passage.
func ReadTexts(ctx context.Context, b Backend, collection string, passages []PassageRef) ([]PassageText, error) {
	c, err := b.Collection(ctx, collection)
	if err != nil {
		return nil, err
	}
	names, err := b.Names(ctx, collection, passages)
	if err != nil {
		return nil, err
	}
	refs := make([]Ref, len(passages))
	for i, p := range passages {
		refs[i] = p.Ref
	}
	out := make([]PassageText, 0, len(passages))
	err = FetchPages(ctx, b, collection, refs, func(_ []Ref, docs []*Document) error {
		for _, d := range docs {
			i := len(out)
			out = append(out, PassageText{})
			at := passages[i].Ordinal
			if d == nil || at < 0 || at >= len(d.Passages) {
				continue
			}
			parts, err := c.Config.Mapping.SplitStored(d.Fields)
			if err != nil {
				return err
			}
			p := d.Passages[at]
			out[i] = PassageText{Name: names[i], Title: strings.Clone(parts.Title), Text: strings.Clone(p.In(parts))} // not with the whole document
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now, err := b.Names(ctx, collection, passages) // a document that was written meanwhile has other names
	if err != nil {
		return nil, err
	}
	for i := range out {
		if names[i] != now[i] {
			out[i] = PassageText{}
		}
	}
	return out, nil
}

// Show asks what hits show of documents.
type Show struct {
	Vector []float32 // nil: no cosines
	Words  *Words    // nil: no terms
	Every  bool      // terms also of documents of one passage, among whose passages nothing has to be chosen
}

// Shown is what hits show of a document.
type Shown struct {
	Document  *Document   // nil: it is gone
	Cosines   []float64   // of its passages with the vector; nil where there are none, or none were asked for
	Terms     []TermScore // where Explained
	Explained bool        // the terms are told
}

// ShowDocuments returns what hits show of each document.
func ShowDocuments(ctx context.Context, b Backend, collection string, refs []Ref, q Show) ([]Shown, error) {
	docs, err := FetchAll(ctx, b, collection, refs)
	if err != nil {
		return nil, err
	}
	out := make([]Shown, len(refs))
	var explained []Ref
	for i, d := range docs {
		out[i].Document = d
		if out[i].Explained = d != nil && q.Words != nil && (q.Every || len(d.Passages) > 1); out[i].Explained {
			explained = append(explained, refs[i])
		}
	}
	if q.Vector != nil {
		cosines, err := b.Cosines(ctx, collection, q.Vector, refs)
		if err != nil {
			return nil, err
		}
		for i := range out {
			out[i].Cosines = cosines[i]
		}
	}
	if len(explained) == 0 {
		return out, nil
	}
	terms, err := b.WordTerms(ctx, collection, *q.Words, explained)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Explained {
			out[i].Terms, terms = terms[0], terms[1:]
		}
	}
	return out, nil
}

// Together makes calls side by side, the first in the goroutine of the caller, waits for all, and returns the first error in their order. A panic in another is an
// error: there it would end the process.
func Together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	defer wg.Wait() // also where the first panics
	for i, call := range calls[1:] {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[i+1] = fmt.Errorf("panic: %v", v)
				}
			}()
			errs[i+1] = call()
		})
	}
	errs[0] = calls[0]()
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
