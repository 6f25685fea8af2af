package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedder"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/given"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/inference/remote"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// cutGiven sets the passages of a document whose vectors are given: what each vector stands for.
// One of the whole document has the beginning of its first text, as far as a passage goes, for hits
// to show.
func (in *ingest) cutGiven(it *item) {
	if len(it.given) == 0 {
		return
	}
	lead := in.record.lead(it.parts)
	it.write.Vectors = make([][]float32, len(it.given))
	it.write.Passages = make([]backend.Passage, len(it.given))
	for i, v := range it.given {
		it.write.Vectors[i], it.write.Passages[i] = v.Values, lead
		if v.Part != nil {
			it.write.Passages[i] = *v.Part
		}
	}
}

// lead returns the passage that a vector of a whole document has; empty where there is no text.
func (r record) lead(parts mapping.Parts) backend.Passage {
	if len(parts.Text) == 0 {
		return backend.Passage{}
	}
	f := parts.Text[0]
	if len(parts.Text) > 1 && parts.IsTitle(f.Name) {
		f = parts.Text[1]
	}
	return backend.Passage{Field: f.Name, End: passage.RuneEnd(f.Text, min(len(f.Text), leadTokenBytes*r.budget()))}
}

// leadTokenBytes is how many bytes a token has, about.
const leadTokenBytes = 4

// keepVectors gives documents the vectors that are stored of them, where they were asked to stay.
func (in *ingest) keepVectors(ctx context.Context, items []item) error {
	var ids []string
	var at []int
	for i := range items {
		if items[i].keeps && !items[i].done {
			ids, at = append(ids, items[i].write.ID), append(at, i)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	from := in.from
	if from == "" {
		from = in.collection.Name
	}
	return backend.LookupPages(ctx, in.engine.backend, backend.LookupRequest{Collection: from, IDs: ids, Vectors: true}, func(_ []string, docs []*backend.Document) error {
		for _, d := range docs {
			it := &items[at[0]]
			at = at[1:]
			if d == nil {
				continue
			}
			before, err := in.record.Settings.Fields.SplitStored(d.Fields)
			if err != nil {
				return err
			}
			if it.given, err = storedVectors(d, before, in.record); err != nil {
				return err
			}
			for j := range it.given {
				if p := it.given[j].Part; p != nil && p.In(before) != p.In(it.parts) { // the text is another
					it.given[j].Part = nil
				}
			}
			it.bare = len(it.given) == 0
			it.hash()
		}
		return nil
	})
}

// storedVectors returns the vectors of a stored document as they were given.
func storedVectors(d *backend.Document, parts mapping.Parts, r record) ([]given.Vector, error) {
	if len(d.Passages) == 0 {
		return nil, nil
	}
	if len(d.Vectors) != len(d.Passages) {
		return nil, fmt.Errorf("%w: the vectors of document %s cannot be read; they were given, so write the document again with them", backend.ErrDamaged, fault.Quote(d.ID))
	}
	lead := r.lead(parts)
	list := make([]given.Vector, len(d.Passages))
	for i, p := range d.Passages {
		list[i].Values = d.Vectors[i]
		if p != lead {
			list[i].Part = &p
		}
	}
	return list, nil
}

// addVectors sets the vectors of a document that was read with them.
func (s *StoredDocument) addVectors(d *backend.Document, parts mapping.Parts, r record) error {
	if !r.Settings.GivenVectors() {
		return nil
	}
	list, err := storedVectors(d, parts, r)
	if err != nil {
		return err
	}
	if len(list) == 1 && list[0].Part == nil {
		s.Vector = list[0].Values
		return nil
	}
	for _, v := range list {
		out := StoredVector{Vector: v.Values}
		if v.Part != nil {
			out.Field, out.Start, out.End = v.Part.Field, v.Part.Start, v.Part.End
		}
		s.Vectors = append(s.Vectors, out)
	}
	return nil
}

// addVectors reads the vectors of documents. One that was written meanwhile is read again.
func (e *Engine) addVectors(ctx context.Context, stored string, docs []*backend.Document) error {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	i := 0
	return backend.LookupPages(ctx, e.backend, backend.LookupRequest{Collection: stored, IDs: ids, NoFields: true, Vectors: true}, func(_ []string, have []*backend.Document) error {
		for _, d := range have {
			if d != nil && d.Revision == docs[i].Revision {
				docs[i].Vectors = d.Vectors
			} else if err := e.readAgain(ctx, stored, docs[i]); err != nil {
				return err
			}
			i++
		}
		return nil
	})
}

// readAgain reads a document with its vectors. One that is gone has none.
func (e *Engine) readAgain(ctx context.Context, stored string, d *backend.Document) error {
	docs, err := e.backend.Lookup(ctx, backend.LookupRequest{Collection: stored, IDs: []string{d.ID}, Vectors: true})
	if err != nil {
		return err
	}
	if docs[0] == nil {
		d.Passages = nil
		return nil
	}
	*d = *docs[0]
	return nil
}

// checkVector checks the vector of a query against the collection's, and gives it unit length.
func (p *plan) checkVector(dimension int) {
	if p.Vector == nil {
		return
	}
	switch v := slices.Clone(p.Vector); {
	case len(v) != dimension:
		p.wrong.Add("vector", mapping.Phrase(fmt.Sprintf("%d numbers", len(v))), fmt.Sprintf("%d, the dimension of the collection", dimension))
	case p.Mode == Keyword:
		p.wrong.Add("vector", mapping.Phrase(fmt.Sprintf("%d numbers", len(v))), "left out, as mode keyword compares words alone")
	case !given.Unit(v):
		p.wrong.Add("vector", mapping.Phrase("a vector without a direction"), "finite numbers that are not all zero")
	default:
		p.Vector = v
	}
}

// openRemote opens the embedder of a config as [inference.Made] has it.
func openRemote(config string) (inference.Embedder, error) {
	var c embedder.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return nil, err
	}
	return remote.New(c)
}

// elsewhere returns how the next generation's vectors are made where a model of this server does
// not make them; nil: it does. Vectors that are given cannot be made of texts, so they must be
// there, or there are no documents.
func (o *ReembedOptions) elsewhere(c backend.Collection, r record) (*inference.Made, error) {
	if o.Settings == nil {
		if r.Settings.Embedder != nil {
			return nil, fault.Field("settings", mapping.Phrase("none"), "settings, without embedder to have a model of this server encode the documents: the vectors of this collection come from elsewhere")
		}
		return nil, nil
	}
	next, was := o.Settings.Embedder, r.Settings.Embedder
	if next == nil {
		return nil, nil
	}
	made := record{Settings: *o.Settings, Model: remote.ModelOf(*next)}
	if o.Settings.GivenVectors() {
		made.Model = inference.GivenModel(next.Dimension)
	}
	if err := o.Settings.Validate(made.Model.MaxTokens); err != nil {
		return nil, err
	}
	switch {
	case o.Model != "" || o.Precision != "":
		return nil, fault.Field("model", cmp.Or(o.Model, o.Precision), "left out: the vectors of these settings come from elsewhere")
	case o.Settings.GivenVectors() && c.Documents > 0 && (was == nil || *was != *next):
		return nil, fault.Field("settings.embedder", mapping.Phrase(fmt.Sprintf("%s, %d", next.Source, next.Dimension)), fmt.Sprintf("as it is: the %d stored documents have no such vectors; make a new collection and import them with their vectors", c.Documents))
	}
	m := made.made()
	return &m, nil
}
