package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/querytext"
	"example.com/searchd/trace"
)

// Search answers a query. It returns a [FieldError] for what is not allowed,
// [ErrCollectionNotFound], and [ErrModelMismatch] where the collection's vectors come from another
// checkpoint.
func (e *Engine) Search(ctx context.Context, collection string, q Query) (*Response, error) {
	start := time.Now()
	defer e.throttle.Begin()()
	ctx, span := e.tracer.Start(ctx, "search")
	parsing, parse := e.tracer.Start(ctx, "parse")
	s, err := e.newSearch(parsing, collection, q, false)
	if parse.End(err); err != nil {
		span.End(err)
		return nil, err
	}
	r, err := s.answer(ctx, start)
	s.traced(span, r, err)
	return r, err
}

// traced ends the span of a search.
func (s *search) traced(span *trace.Span, r *Response, err error) {
	if span == nil {
		return
	}
	span.Text("searchd.collection", s.collection)
	span.Text("searchd.mode", string(s.plan.Mode))
	if r != nil {
		span.Count("searchd.hits", len(r.Hits))
	}
	span.End(err)
}

// newSearch checks a query.
func (e *Engine) newSearch(ctx context.Context, collection string, q Query, given bool) (s *search, err error) {
	p := newPlan(q, e.inference.Reranks(), given)
	var missing *backend.Gaps
	if q.AllowPartial {
		missing = &backend.Gaps{}
	}
	c, rec, err := e.open(backend.WithGaps(ctx, missing), collection)
	if err != nil {
		return nil, err
	}
	enc, mismatch := e.encodings.Of(collection, rec.made())
	if mismatch != nil {
		enc = e.encodings.Own
	}
	if err := p.of(rec.Settings.Fields, rec.Model.Dimension); err != nil {
		return nil, err
	}
	if p.Mode != Keyword && mismatch != nil {
		return nil, mismatch
	}
	analysis, err := e.analysis(c.Config.Language)
	if err != nil {
		return nil, err
	}
	s = &search{engine: e, collection: c.Name, record: rec, encoding: enc, plan: p, analysis: analysis, documents: c.Documents, passages: c.Passages, missing: missing, timings: map[string]float64{}}
	s.vector = p.Vector
	s.useRules()
	return s, nil
}

// step is a part of the pipeline.
type step struct {
	name  string
	asked bool // else it is not run and has no timing
	run   func(context.Context) error
}

// reading returns the steps that come before the query is encoded.
func (s *search) reading() []step {
	return []step{
		{"filter", true, s.filter}, // 1 the documents that may be found
		{"spell", !s.plan.browse && s.plan.Spelling == Corrected, s.respell}, // 2 words that no document has
	}
}

// ranking returns the steps that put documents into an order.
func (s *search) ranking() []step {
	p := s.plan
	if p.browse {
		return []step{
			{"find", true, s.browse}, // the first of the documents that pass, in the order of the sort
			{"facets", len(p.facets) > 0, s.count},
			{"group", p.Group != "", s.group},
		}
	}
	ordered := p.limit > 0 // else the order of what is found means nothing
	return []step{
		{"embed", s.vector == nil, s.embed}, // 3 the query's vector, with the checkpoint's prompt
		{"find", true, s.find},              // 4 both retrievers, the best passage of each document
		{"fill", true, s.fill},              // 5 the score of the retriever that missed a candidate
		{"fuse", true, s.fuse},              // 6 one score, one order
		{"match", (ordered || p.cutoff != nil) && s.matches(), s.match}, // 7 the first of them compared token by token
		{"cutoff", p.cutoff != nil || p.autoCut, s.cut},
		{"facets", len(p.facets) > 0, s.count},           // 9 how values are spread over what was found
		{"sort", ordered && len(p.sort) > 0, s.sort},     // 10 another order, by fields
		{"boost", ordered && len(p.boosts) > 0, s.boost}, // 11 or the relevance raised by what documents hold
		{"phrases", ordered && len(p.sort) == 0, s.loosePhrases},
		{"group", p.Group != "", s.group},                      // 12 one hit of those with the same value
		{"rerank", ordered && p.Rerank, s.rerank},              // 13 the first of them in the order of a cross-encoder
		{"diversify", ordered && p.Diversity > 0, s.diversify}, // 14 less of what is much the same
		{"pin", ordered && s.pins(), s.pin},                    // 15 documents that rules put first
	}
}

// showing returns the steps that make hits of a page.
func (s *search) showing() []step {
	return []step{
		{"fetch", true, s.fetch},                     // 16 documents, passages, marks, explanations
		{"sentences", s.plan.Sentences, s.sentences}, // 17 the sentence of each hit that is nearest to the query
	}
}

// run runs steps and measures them.
func (s *search) run(ctx context.Context, steps []step) error {
	ctx = backend.WithGaps(ctx, s.missing)
	for _, step := range steps {
		if !step.asked {
			continue
		}
		began := time.Now()
		within, span := s.engine.tracer.Start(ctx, step.name)
		err := step.run(within)
		if span.End(err); err != nil {
			return err
		}
		s.time(step.name, began)
	}
	return nil
}

// answer runs the whole pipeline.
func (s *search) answer(ctx context.Context, start time.Time) (*Response, error) {
	ctx = backend.WithQuery(ctx)
	if err := s.run(ctx, s.reading()); err != nil {
		return nil, err
	}
	return s.finish(ctx, start)
}

// finish runs what comes after the query has been read.
func (s *search) finish(ctx context.Context, start time.Time) (*Response, error) {
	if err := s.run(ctx, s.ranking()); err != nil {
		return nil, err
	}
	from := min(s.plan.Offset, len(s.candidates))
	s.page = s.candidates[from:min(from+s.plan.limit, len(s.candidates))]
	if weak := s.weak[:min(s.plan.LessRelevant, len(s.weak))]; len(weak) > 0 {
		s.page = slices.Concat(s.page, weak)
	}
	if err := s.run(ctx, s.showing()); err != nil {
		return nil, err
	}
	ctx = backend.WithGaps(ctx, s.missing)
	warnings, err := s.warnings(ctx)
	if err != nil {
		return nil, err
	}
	if len(s.hits) < len(s.page) && s.plan.Within == nil { // deleted meanwhile, or damaged
		if now, err := s.engine.backend.Open(ctx, backend.OpenRequest{Collection: s.collection}); err == nil && now.Collection.DamagedDocuments > 0 {
			warnings = append(warnings, fmt.Sprintf("hits: %d of total could not be read and are left out; damaged_documents of the collection is %d", len(s.page)-len(s.hits), now.Collection.DamagedDocuments))
		}
	}
	if s.total.Relation == "gte" && !s.plan.browse && s.plan.Mode != Keyword && s.plan.Offset+s.plan.limit > len(s.candidates) {
		warnings = append(warnings, fmt.Sprintf("hits: they end with result %d, as a %s search ranks the %d best documents of each retriever; a larger `window`, of at most %d, has more", len(s.candidates), s.plan.Mode, s.plan.Window, MaxWindow))
	}
	lacks, of := s.missing.Partitions()
	if len(lacks) > 0 {
		s.total.Relation = "gte"
		warnings = append(warnings, fmt.Sprintf("hits: the documents of %d of %d partitions are missing, which no node serves", len(lacks), of))
	}
	n := len(s.hits) - s.weakHits
	r := &Response{
		Hits: s.hits[:n:n], LessRelevant: s.hits[n:], Total: s.total, Facets: s.facets, TookMS: milliseconds(start), TimingsMS: s.timings,
		Degraded: s.degraded != "", Reason: s.degraded, Warnings: warnings, Missing: lacks,
	}
	if s.plan.text.Differs() {
		r.Query = &s.plan.text
	}
	if s.rules != nil {
		r.Rules, r.Redirect = s.rules.applied, s.rules.redirect
	}
	return r, nil
}

// search is one query on its way through the pipeline.
type search struct {
	engine     *Engine
	collection string
	missing    *backend.Gaps // nil: it fails where partitions do not answer
	record     record
	encoding   *inference.Encoding
	rules      *rules // nil: none that the query matches
	plan       *plan
	analysis   *keyword.Analysis // of the collection's language

	embedUntil   time.Time            // until when the query of a hybrid search may be encoded; zero: embedShare of the time that is left then
	vector       []float32            // of the query; nil without vector search
	documents    int                  // of the collection
	passages     int                  // of the collection
	except       map[backend.Ref]bool // documents that vector search leaves out
	selection    *backend.Selection   // nil: all documents
	candidates   []candidate
	byRef        map[backend.Ref]int  // position in candidates, until they are ranked
	wordTotal    int                  // documents that match by words, beyond the window too
	wordCeiling  float64              // a BM25 that no document can exceed
	wordless     bool                 // a hybrid search of words that no document has, filters aside
	wordSet      *backend.Selection   // all documents that match by words, where facets or a sort need them; without a query all that pass the filter
	spread       backend.Spread       // of the query's cosines with the collection
	alpha        float64              // weight of the vector retriever
	matchShare   float64              // of the comparison token by token in the similarity; 0: there was none
	leastMatch   float64              // of the candidates that were compared
	wordsPartial bool                 // the keyword index is being filled
	best         float64              // cosine of the nearest passage of the collection, where a filter may hide it and the cutoff needs it; else -Inf
	weak         []candidate          // below the cutoff
	wordsFound   int                  // documents that keyword search ranked
	nearFound    int                  // and vector search
	nearFull     bool                 // vector search filled its window: there may be more
	collapsed    map[backend.Ref]bool // candidates that another of their group stands for
	page         []candidate
	terms        map[backend.Ref][]backend.TermScore // of the page, once one of them is asked for
	expanded     *expanded                           // what the words are read as, once it is asked for
	hits         []Hit
	columns      []int // of each hit, where sentences are asked for: runes before its best passage in the line
	weakHits     int   // the last of the hits, which are below the cutoff
	total        Total
	facets       map[string]FacetCounts
	degraded     string   // why something is not in the answer; empty: everything is
	notes        []string // warnings of the steps

	timing  sync.Mutex
	timings map[string]float64
}

func (s *search) time(name string, began time.Time) { s.timeOf(name, time.Since(began)) }

func (s *search) timeOf(name string, took time.Duration) {
	s.timing.Lock()
	s.timings[name] = inMilliseconds(took)
	s.timing.Unlock()
}

func milliseconds(since time.Time) float64 { return inMilliseconds(time.Since(since)) }

func inMilliseconds(d time.Duration) float64 {
	return math.Round(float64(d.Nanoseconds())/1e3) / 1e3
}

// degrade notes why something is not in the answer.
func (s *search) degrade(why string) {
	s.degraded = strings.TrimPrefix(s.degraded+"; "+why, "; ")
}

// filter makes the set of documents that may be found: by the filter, the phrases and the
// exclusions. Both retrievers stay within it.
func (s *search) filter(ctx context.Context) (err error) {
	t := &s.plan.text
	if t.Phrases, err = s.meaningful(ctx, t.Phrases); err != nil {
		return err
	}
	if t.Without, err = s.meaningful(ctx, t.Without); err != nil {
		return err
	}
	if s.plan.filter == nil && len(t.Phrases)+len(t.Without) == 0 && !s.plan.browse {
		return nil
	}
	s.selection, err = s.engine.backend.Select(ctx, s.subset())
	return err
}

// respell corrects misspelled words of the query, for both retrievers.
func (s *search) respell(ctx context.Context) (err error) {
	speller, ok := s.encoding.Embedder.(Speller)
	c := querytext.Corrector{
		Backend: s.engine.backend, Collection: s.collection, Fields: s.record.Settings.Fields, Selection: s.selection, Analysis: s.analysis,
		Knows: func(word string) bool { return ok && speller.Knows(word) }, Expand: s.expansions, Unfinished: s.plan.Unfinished, Alone: s.plan.Within != nil,
		ByWords: s.plan.Mode != Semantic, ByMeaning: s.plan.Mode != Keyword,
	}
	s.plan.words.Text, err = c.Correct(ctx, &s.plan.text)
	return err
}

// subset asks for the documents that may be found.
func (s *search) subset() backend.SelectRequest {
	p := s.plan
	r := backend.SelectRequest{Collection: s.collection, Filter: p.filter, With: p.text.Phrases, Without: p.text.Without, Rank: p.words, NoVectors: p.Mode == Keyword}
	for _, f := range p.words.Fields {
		r.Fields = append(r.Fields, f.Name)
	}
	return r
}

// meaningful returns the phrases of which the analysis leaves something, and notes the others as
// ignored.
func (s *search) meaningful(ctx context.Context, phrases []string) (kept []string, err error) {
	for _, p := range phrases {
		tokens := s.analysis.Occurrences(p, nil)
		if !slices.ContainsFunc(tokens, func(t keyword.Token) bool { return !t.Name }) {
			s.plan.text.Ignored = append(s.plan.text.Ignored, p)
		} else {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// loosePhrases puts documents that have a phrase only in other forms of its words behind all
// others, with scores that are not above theirs.
func (s *search) loosePhrases(context.Context) error {
	if s.selection == nil || len(s.selection.Loose) == 0 {
		return nil
	}
	least, most := math.Inf(1), math.Inf(-1) // score of a document with the very words, and of another
	for _, c := range s.candidates {
		if s.selection.IsLoose(c.ref) {
			most = max(most, c.score)
		} else {
			least = min(least, c.score)
		}
	}
	for i := range s.candidates {
		if c := &s.candidates[i]; most > least && s.selection.IsLoose(c.ref) {
			if least > 0 {
				c.score *= least / most
			} else {
				c.score -= most - least
			}
		}
	}
	slices.SortStableFunc(s.candidates, func(a, b candidate) int {
		loose := func(c candidate) int {
			if s.selection.IsLoose(c.ref) {
				return 1
			}
			return 0
		}
		return cmp.Compare(loose(a), loose(b))
	})
	return nil
}

// fuse ranks the candidates and counts them.
func (s *search) fuse(context.Context) error {
	p := s.plan
	s.alpha = s.weight()
	s.rank()
	switch p.Mode {
	case Keyword:
		s.total = Total{Value: s.wordTotal, Relation: "eq", Of: "keyword"}
	case Semantic:
		s.total = Total{Value: len(s.candidates), Relation: "eq", Of: "vector"}
	default:
		s.total = Total{Value: s.wordTotal, Relation: "eq", Of: "union"}
		for i := range s.candidates {
			if s.candidates[i].words.Score == 0 {
				s.total.Value++
			}
		}
	}
	if s.nearFull || s.wordsPartial || s.selection != nil && s.selection.Partial {
		s.total.Relation = "gte"
	}
	return nil
}
