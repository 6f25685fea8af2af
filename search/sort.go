package search

import (
	"context"
	"fmt"
	"unicode/utf8"

	"example.com/searchd/index/geo"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/fusion"
)

// MaxSortKeys is the most keys of one query.
const MaxSortKeys = 4

// scoreField is the name under which a query sorts by the score.
const scoreField = "_score"

// checkSort reads the keys of a query.
func (p *plan) checkSort(wrong *fault.Fields) {
	if len(p.Sort) > MaxSortKeys {
		wrong.Add("sort", len(p.Sort), fmt.Sprintf("at most %d keys", MaxSortKeys))
		return
	}
	if len(p.Sort) > 0 && p.Rerank {
		wrong.Add("sort", p.Sort[0].Field, "no sort together with rerank")
	}
	seen := map[string]bool{}
	for i, k := range p.Sort {
		at := fmt.Sprintf("sort[%d].", i)
		if k.Field == "" || !utf8.ValidString(k.Field) || seen[k.Field] {
			wrong.Add(at+"field", k.Field, "the name of a filterable field, or _score, each once")
		}
		seen[k.Field] = true
		key := backend.SortKey{Field: k.Field, Desc: k.Order == "desc"}
		if k.Field == scoreField {
			key = backend.SortKey{Desc: k.Order != "asc"}
		}
		if k.Origin != nil {
			origin, ok := geo.Read(k.Origin)
			if !ok || k.Field == scoreField {
				wrong.Add(at+"origin", k.Origin, pointForm)
			}
			key.Origin = &origin
			p.measure(k.Field, origin)
		}
		switch k.Order {
		case "", "asc", "desc":
		default:
			wrong.Add(at+"order", k.Order, "asc, desc")
		}
		p.sort = append(p.sort, key)
	}
}

// sort puts what was found into the order of the query's keys: in keyword mode all that matches,
// otherwise the documents of the window. What stays of the candidates is what can be on the page.
func (s *search) sort(ctx context.Context) error {
	set := backend.Select(s.refs())
	if s.plan.Mode == Keyword {
		set = s.found()
	}
	known := make(map[backend.Ref]candidate, len(s.candidates))
	for _, c := range s.candidates {
		known[c.ref] = c
	}
	by := &backend.Order{Keys: s.plan.sort, Limit: s.firsts(), Words: &s.plan.words}
	if s.plan.Mode != Keyword {
		by.Words, by.Scores = nil, make(map[backend.Ref]float64, len(known))
		for ref, c := range known {
			by.Scores[ref] = c.score
		}
	}
	have, err := s.engine.backend.Aggregate(ctx, backend.AggregateRequest{Collection: s.collection, Selection: set, Order: by})
	if err != nil {
		return err
	}
	var missing []backend.Ref
	s.candidates = make([]candidate, len(have.Order))
	for i, ref := range have.Order {
		c, ok := known[ref]
		if !ok {
			c.ref = ref
			missing = append(missing, ref)
		}
		s.candidates[i] = c
	}
	return s.score(ctx, missing)
}

// firsts returns how many of the first documents of an order are looked at: those up to the end of
// the page, for a group those of the window.
func (s *search) firsts() int {
	if s.plan.Group != "" {
		return s.plan.Window
	}
	return s.plan.Offset + s.plan.limit
}

// score gives candidates of a keyword search from beyond the window their scores.
func (s *search) score(ctx context.Context, refs []backend.Ref) error {
	if len(refs) == 0 || s.plan.browse {
		return nil
	}
	have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: refs, Words: &s.plan.words, Scores: true})
	if err != nil {
		return err
	}
	by := make(map[backend.Ref]float64, len(refs))
	for i, ref := range refs {
		by[ref] = have.Scores[i]
	}
	for i := range s.candidates {
		if c := &s.candidates[i]; !c.words.Known {
			c.words = fusion.Retrieved{Score: by[c.ref], Known: true}
			c.setScore(s.scorer())
		}
	}
	return nil
}
