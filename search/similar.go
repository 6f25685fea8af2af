package search

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/passage"
)

// maxSimilarIDs is the most documents, positive and negative ones each, of a [Similar].
const maxSimilarIDs = 100

// similarVectors is how many vectors are read at a time, but for those of one document, which can
// be more.
const similarVectors = 1024

// similarQuery returns the query that a Similar is, but for its vector.
func similarQuery(q Similar) Query {
	never := false
	return Query{
		Mode: Semantic, Filter: q.Filter, Within: q.Within, Window: q.Window, Limit: q.Limit, Offset: q.Offset, Page: q.Page, Passages: q.Passages, ReturnFields: q.ReturnFields, OmitFields: q.OmitFields, MinSimilarity: q.MinSimilarity,
		Diversity: q.Diversity, Facets: q.Facets, Sort: q.Sort, Boosts: q.Boosts, Group: q.Group, Sentences: q.Sentences, Explain: q.Explain, Highlight: &never,
	}
}

// checkSimilar reports every wrong field.
func checkSimilar(q Similar) error {
	var wrong fault.Fields
	for _, ids := range []struct {
		field string
		ids   []string
	}{{"ids", q.IDs}, {"negative_ids", q.NegativeIDs}} {
		if len(ids.ids) > maxSimilarIDs {
			wrong.Add(ids.field, len(ids.ids), fmt.Sprintf("at most %d ids", maxSimilarIDs))
			continue
		}
		for i, id := range ids.ids {
			if CheckID(id) != nil {
				wrong.Add(fmt.Sprintf("%s[%d]", ids.field, i), id, fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", maxIDBytes))
			}
		}
	}
	switch {
	case len(q.IDs) == 0 && q.Text == "":
		wrong.Add("ids", "none", "ids of documents, a text, or both; negative_ids alone are not enough")
	case q.Text != "" && (strings.TrimSpace(q.Text) == "" || !utf8.ValidString(q.Text) || len(q.Text) > MaxQueryBytes):
		wrong.Add("text", q.Text, fmt.Sprintf("1 to %d bytes of UTF-8 that are not all white space", MaxQueryBytes))
	}
	return wrong.Err()
}

// Similar finds documents that are like others. It returns [ErrDocumentNotFound] where one that it
// is given is not there, and a [FieldError] where one has no passage.
func (e *Engine) Similar(ctx context.Context, collection string, q Similar) (*Response, error) {
	start := time.Now()
	defer e.throttle.Begin()()
	if err := checkSimilar(q); err != nil {
		return nil, err
	}
	s, err := e.newSearch(ctx, collection, similarQuery(q), true)
	if err != nil {
		return nil, err
	}
	if err := s.liken(ctx, q); err != nil {
		return nil, err
	}
	s.time("embed", start)
	return s.answer(ctx, start)
}

// liken sets the vector to search for and the documents that are not looked for.
func (s *search) liken(ctx context.Context, q Similar) error {
	s.except = map[backend.Ref]bool{}
	like, err := s.meanOf(ctx, "ids", q.IDs)
	if err != nil {
		return err
	}
	n := float32(len(q.IDs))
	if q.Text != "" && s.encoding.Given() {
		return fault.Field("text", q.Text, "ids alone: the vectors of this collection are given, so texts cannot be encoded")
	}
	if q.Text != "" {
		v, err := s.textMean(ctx, q.Text)
		if err != nil {
			return err
		}
		add(&like, v, 1/(n+1), n/(n+1))
	}
	if len(q.NegativeIDs) > 0 {
		unlike, err := s.meanOf(ctx, "negative_ids", q.NegativeIDs)
		if err != nil {
			return err
		}
		add(&like, unlike, -1, 2)
	}
	switch {
	case inference.Normalize(like):
	case len(q.NegativeIDs) == 0:
		return fault.Field("text", q.Text, "a text that the model can encode")
	default:
		return fault.Field("negative_ids", strings.Join(q.NegativeIDs, ", "), "documents that differ from the positive ones: the difference of their vectors is zero")
	}
	s.vector = like
	return nil
}

// add sets *sum to keep·*sum + w·v.
func add(sum *[]float32, v []float32, w, keep float32) {
	if *sum == nil {
		*sum = make([]float32, len(v))
	}
	for i := range *sum {
		(*sum)[i] = keep*(*sum)[i] + w*v[i]
	}
}

// meanOf returns the mean of the vectors of the documents that a field of the query names, nil for
// none, and takes them out of what is looked for.
func (s *search) meanOf(ctx context.Context, field string, ids []string) ([]float32, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var mean []float32
	var passages []backend.PassageRef
	counts := make([]int, 0, len(ids)) // of passages, of each document that has not been added yet
	take := func() error {
		have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Passages: passages, Vectors: true})
		if err != nil {
			return err
		}
		vectors := have.Vectors
		for _, n := range counts {
			add(&mean, meanVector(vectors[:n], s.record.Model.Dimension), 1/float32(len(ids)), 1)
			vectors = vectors[n:]
		}
		passages, counts = passages[:0], counts[:0]
		return nil
	}
	i := 0
	one := func(d *backend.Document) error {
		if d == nil || !s.maySee(d) {
			return fmt.Errorf("%w: %s in collection %s", ErrDocumentNotFound, ids[i], s.engine.named(s.collection))
		}
		if len(d.Passages) == 0 {
			return fault.Field(fmt.Sprintf("%s[%d]", field, i), ids[i], "documents with searchable text: this one has none")
		}
		s.except[d.Ref] = true
		for j := range d.Passages {
			passages = append(passages, backend.PassageRef{Ref: d.Ref, Ordinal: j})
		}
		i++
		if counts = append(counts, len(d.Passages)); len(passages) >= similarVectors || i == len(ids) {
			return take()
		}
		return nil
	}
	err := backend.LookupPages(ctx, s.engine.backend, backend.LookupRequest{Collection: s.collection, IDs: ids, NoFields: s.plan.Within == nil}, func(_ []string, docs []*backend.Document) error {
		for _, d := range docs {
			if err := one(d); err != nil {
				return err
			}
		}
		return nil
	})
	return mean, err
}

// meanVector returns the mean of vectors, those that are nil left out, at unit length; zero where
// it has no direction.
func meanVector(vectors [][]float32, dim int) []float32 {
	mean := make([]float32, dim)
	for _, v := range vectors {
		for i := range v {
			mean[i] += v[i]
		}
	}
	inference.Normalize(mean)
	return mean
}

// textMean encodes a text as a document of its own and returns the mean of its passages.
func (s *search) textMean(ctx context.Context, text string) ([]float32, error) {
	var texts []string
	for _, sp := range (passage.Cutter{Budget: s.record.budget(), Count: s.encoding.Embedder.CountTokens}).Cut(text, nil) {
		texts = append(texts, text[sp.Start:sp.End])
	}
	vectors, err := s.encoding.TextVectors(ctx, texts)
	if err != nil {
		return nil, err
	}
	return meanVector(vectors, s.record.Model.Dimension), nil
}
