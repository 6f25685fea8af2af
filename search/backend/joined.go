package backend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Joined answers in one call what a search asks one after another. A backend on another machine does, and one of several: each call is a way there and back.
// What its methods answer is what [FindLegs], [ReadTexts] and [ShowDocuments] put together of the calls of any other backend.
type Joined interface {
	Legs(ctx context.Context, collection string, q Legs, sel Selection) (LegMatches, error)
	Texts(ctx context.Context, collection string, passages []PassageRef) ([]PassageText, error)
	Shown(ctx context.Context, collection string, refs []Ref, q Show) ([]Shown, error)
}

// Legs asks for what is found by words and by vector.
type Legs struct {
	Words     *Words // nil: by vector alone
	Vector    []float32
	Documents int     // that each leg finds, at most
	Passages  int     // that are looked at by vector, at least: a document may own many of the nearest
	Least     float64 // passages with a smaller cosine are not wanted
}

// LegMatches answers Legs: what each leg finds, with what the other leg says of it.
type LegMatches struct {
	Words WordMatches
	Near  []PassageMatch // the nearest passages, Legs.Passages of them or more
	All   bool           // there are no others that are wanted

	Best   []Best    // of each document that words found
	Scores []float64 // the BM25 of the documents of Near, as they come first there, at most Legs.Documents; none where no words were asked for
	Names  []uint64  // of the first passages of the same
}

// Best is the passage of a document with the largest cosine, the first of equal ones.
type Best struct {
	Ordinal int // in its document; -1: it has none
	Cosine  float64
	Name    uint64 // as of Names
}

// nearTries is how often more of the nearest passages are looked at, twice as many each time, until they are of enough documents. Who wants more asks again.
const nearTries = 4

// FindLegs finds by words and by vector, side by side.
func FindLegs(ctx context.Context, b Backend, collection string, q Legs, sel Selection) (out LegMatches, err error) {
	if j, ok := b.(Joined); ok {
		return j.Legs(ctx, collection, q, sel)
	}
	err = Together(func() (err error) {
		out.Near, out.All, err = q.nearest(ctx, b, collection, sel)
		return err
	}, func() (err error) {
		if q.Words != nil {
			out.Words, err = b.Words(ctx, collection, *q.Words, q.Documents, sel)
		}
		return err
	})
	if err != nil {
		return LegMatches{}, err
	}
	first := out.Firsts(q.Documents)
	if q.Words != nil {
		if err := out.fill(ctx, b, collection, q, first); err != nil {
			return LegMatches{}, err
		}
	}
	return out, out.name(ctx, b, collection, first)
}

// nearest returns the nearest passages, as many as it takes for the documents that are wanted, and whether they are all.
func (q Legs) nearest(ctx context.Context, b Backend, collection string, sel Selection) (near []PassageMatch, all bool, err error) {
	k := q.Passages
	for range nearTries {
		if near, err = b.Nearest(ctx, collection, q.Vector, k, sel); err != nil {
			return nil, false, err
		}
		slices.SortFunc(near, CompareNearest) // so that of a document the first is the same for all
		all = len(near) < k || len(near) > 0 && near[len(near)-1].Cosine < q.Least
		if all || len((&LegMatches{Near: near}).Firsts(q.Documents)) == q.Documents {
			break
		}
		k *= 2
	}
	return near, all, nil
}

// CompareNearest orders the passage with the larger cosine first, equal ones by ref and place.
func CompareNearest(a, b PassageMatch) int {
	return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Ordinal, b.Ordinal))
}

// Firsts returns the first passage of each of the first n documents of Near.
func (m *LegMatches) Firsts(n int) []PassageMatch {
	seen := make(map[Ref]bool, min(n, len(m.Near)))
	var first []PassageMatch
	for _, p := range m.Near {
		if len(first) == n {
			break
		}
		if !seen[p.Ref] {
			seen[p.Ref], first = true, append(first, p)
		}
	}
	return first
}

// fill sets what each leg says of what the other one found.
func (m *LegMatches) fill(ctx context.Context, b Backend, collection string, q Legs, first []PassageMatch) error {
	scores := make(map[Ref]float64, len(m.Words.Matches))
	found := make([]Ref, len(m.Words.Matches))
	for i, w := range m.Words.Matches {
		found[i], scores[w.Ref] = w.Ref, w.Score
	}
	m.Scores = make([]float64, len(first))
	var others []Ref
	var places []int
	for i, p := range first {
		var known bool
		if m.Scores[i], known = scores[p.Ref]; !known {
			others, places = append(others, p.Ref), append(places, i)
		}
	}
	if len(others) > 0 {
		list, err := b.WordScores(ctx, collection, *q.Words, others)
		if err != nil {
			return err
		}
		for i, at := range places {
			m.Scores[at] = list[i]
		}
	}
	m.Best = make([]Best, len(found))
	if len(found) == 0 {
		return nil
	}
	cosines, err := b.Cosines(ctx, collection, q.Vector, found)
	if err != nil {
		return err
	}
	for i, own := range cosines {
		if m.Best[i].Ordinal = -1; len(own) > 0 {
			most := slices.Max(own)
			m.Best[i] = Best{Ordinal: slices.Index(own, most), Cosine: most}
		}
	}
	return nil
}

// name sets the names of passages.
func (m *LegMatches) name(ctx context.Context, b Backend, collection string, first []PassageMatch) error {
	passages := make([]PassageRef, 0, len(first)+len(m.Best))
	for _, p := range first {
		passages = append(passages, PassageRef{Ref: p.Ref, Ordinal: p.Ordinal})
	}
	for i, best := range m.Best {
		passages = append(passages, PassageRef{Ref: m.Words.Matches[i].Ref, Ordinal: best.Ordinal})
	}
	names, err := b.Names(ctx, collection, passages)
	if err != nil {
		return err
	}
	m.Names = names[:len(first):len(first)]
	for i := range m.Best {
		m.Best[i].Name = names[len(first)+i]
	}
	return nil
}

// PassageText is the text of a passage, and what its document is called.
type PassageText struct {
	Name  uint64 // of the passage whose text it is, as of Names; 0: it is gone, and has none
	Title string // of its document, also where the passage is of the title itself
	Text  string
}

// ReadTexts returns the text of each passage.
func ReadTexts(ctx context.Context, b Backend, collection string, passages []PassageRef) ([]PassageText, error) {
	if j, ok := b.(Joined); ok {
		return j.Texts(ctx, collection, passages)
	}
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
	if j, ok := b.(Joined); ok {
		return j.Shown(ctx, collection, refs, q)
	}
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

// Opener is a [Shard] that answers in one call what [OpenFor] asks.
type Opener interface {
	Opened(ctx context.Context, collection string, q Words) (Collection, *Statistics, error)
}

// OpenFor describes a collection of a shard and tells what it knows of the words of q, as [Shard.Statistics] does, not before it is as described; nil where it
// cannot tell, which asking for that alone explains.
func OpenFor(ctx context.Context, s Shard, collection string, q Words) (Collection, *Statistics, error) {
	if o, ok := s.(Opener); ok {
		return o.Opened(ctx, collection, q)
	}
	c, err := s.Collection(ctx, collection)
	if err != nil {
		return c, nil, err
	}
	known, err := s.Statistics(ctx, collection, q)
	if err != nil {
		return c, nil, ctx.Err()
	}
	return c, &known, nil
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
