package remote

import (
	"context"

	"searchd/search/backend"
)

// anyLength is the length of an answer that says itself how long it is.
const anyLength = -1

// answers returns what a shard answered with, each of which read reads, where there are n of it.
func answers[A, B any](s *Shard, n int, got []A, err error, read func(A) (B, error)) ([]B, error) {
	if err != nil {
		return nil, err
	}
	out, err := parse(got, read)
	if err != nil {
		return nil, s.unavailable("its answer cannot be read: %v", err)
	}
	return out, s.enough(n, len(out))
}

// unpacked returns the list that a shard answered with, where there are n of it.
func unpacked[T any](s *Shard, l layout[T], n int, got []byte, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	out, err := l.unpack(got)
	if err != nil {
		return nil, s.unavailable("its answer cannot be read: %v", err)
	}
	return out, s.enough(n, len(out))
}

// enough refuses an answer of another length than the question has: whoever asked goes through both side by side.
func (s *Shard) enough(want, got int) error {
	if want != anyLength && want != got {
		return s.unavailable("%d answers to %d questions", got, want)
	}
	return nil
}

// Create implements backend.Catalog.
func (s *Shard) Create(ctx context.Context, name string, c backend.Config) error {
	_, err := methodCreate.call(ctx, s, configured{name, c})
	return err
}

// Update implements backend.Catalog.
func (s *Shard) Update(ctx context.Context, name string, c backend.Config) error {
	_, err := methodUpdate.call(ctx, s, configured{name, c})
	return err
}

// Drop implements backend.Catalog.
func (s *Shard) Drop(ctx context.Context, name string) error {
	_, err := methodDrop.call(ctx, s, named{name})
	return err
}

// Collections implements backend.Catalog.
func (s *Shard) Collections(ctx context.Context) ([]backend.Collection, error) {
	return methodCollections.call(ctx, s, none{})
}

// Collection implements backend.Catalog.
func (s *Shard) Collection(ctx context.Context, name string) (backend.Collection, error) {
	return methodCollection.call(ctx, s, named{name})
}

// Apply implements backend.Documents.
func (s *Shard) Apply(ctx context.Context, collection string, writes []backend.Write) ([]backend.Outcome, error) {
	out, err := methodApply.call(ctx, s, applied{collection, convert(writes, writeOf)})
	if err != nil {
		return nil, err
	}
	return out, s.enough(len(writes), len(out))
}

// Lookup implements backend.Documents.
func (s *Shard) Lookup(ctx context.Context, collection string, ids []string) ([]*backend.Document, error) {
	got, err := methodLookup.call(ctx, s, lookedUp{collection, textsOf(ids)})
	return s.paged(len(ids), got, err)
}

// Fetch implements backend.Documents.
func (s *Shard) Fetch(ctx context.Context, collection string, list []backend.Ref) ([]*backend.Document, error) {
	got, err := methodFetch.call(ctx, s, ofRefs{collection, refs.pack(list)})
	return s.paged(len(list), got, err)
}

// paged returns the first documents of n, with which a shard answered.
func (s *Shard) paged(n int, got []*document, err error) ([]*backend.Document, error) {
	docs, err := answers(s, anyLength, got, err, (*document).document)
	if err != nil {
		return nil, err
	}
	if err := backend.CheckPage(len(docs), n); err != nil {
		return nil, s.unavailable("%v", err)
	}
	return docs, nil
}

// List implements backend.Documents.
func (s *Shard) List(ctx context.Context, collection, cursor string, limit int) (docs []*backend.Document, next string, err error) {
	got, err := methodList.call(ctx, s, page{collection, text(cursor), limit})
	if docs, err = answers(s, anyLength, got.Documents, err, (*document).document); err != nil {
		return nil, "", err
	}
	return docs, string(got.Next), nil
}

// valuesTime is how long a shard has to answer what is asked without a context.
const valuesTime = 10 * gaugeTime

// Values implements backend.Values.
func (s *Shard) Values(prefix string) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), valuesTime)
	defer cancel()
	got, err := methodValues.call(ctx, s, text(prefix))
	if err != nil {
		return nil, err
	}
	values, err := got.Values.values()
	if err != nil {
		return nil, s.unavailable("its answer cannot be read: %v", err)
	}
	if got.Fault != nil {
		err = got.Fault.err()
	}
	return values, err
}

// SetValues implements backend.Values.
func (s *Shard) SetValues(ctx context.Context, values map[string][]byte) error {
	_, err := methodSetValues.call(ctx, s, keyedOf(values))
	return err
}

// Encoded implements backend.VectorKeeper.
func (s *Shard) Encoded(ctx context.Context, collection, id string) (*backend.Document, [][]float32, error) {
	got, err := methodEncoded.call(ctx, s, encoded{collection, text(id)})
	if err != nil {
		return nil, nil, err
	}
	d, err := got.Document.document()
	if err != nil {
		return nil, nil, s.unavailable("its answer cannot be read: %v", err)
	}
	vectors, err := answers(s, anyLength, got.Vectors, nil, vector.unpack)
	return d, vectors, err
}

// Heads implements backend.HeadReader.
func (s *Shard) Heads(ctx context.Context, collection, cursor string, limit int) ([]backend.Head, string, error) {
	got, err := methodHeads.call(ctx, s, page{collection, text(cursor), limit})
	if err != nil {
		return nil, "", err
	}
	list, err := got.Heads.heads()
	if err != nil {
		return nil, "", s.unavailable("its answer cannot be read: %v", err)
	}
	return list, string(got.Next), nil
}

// LookupHeads implements backend.HeadReader.
func (s *Shard) LookupHeads(ctx context.Context, collection string, ids []string) ([]backend.Head, error) {
	got, err := methodLookupHeads.call(ctx, s, lookedUp{collection, textsOf(ids)})
	if err != nil {
		return nil, err
	}
	list, err := got.heads()
	if err != nil {
		return nil, s.unavailable("its answer cannot be read: %v", err)
	}
	return list, s.enough(len(ids), len(list))
}

// DamagedVectors implements backend.VectorKeeper.
func (s *Shard) DamagedVectors(ctx context.Context) (map[string][]string, error) {
	got, err := methodDamagedVectors.call(ctx, s, none{})
	if got == nil || err != nil {
		return nil, err
	}
	out := make(map[string][]string, len(got))
	for name, ids := range got {
		out[name] = stringsOf(ids)
	}
	return out, nil
}
