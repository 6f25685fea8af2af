package analytics

import (
	"cmp"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Bounds of a tally.
const (
	maxQueries = 100_000 // different ones; others count in the totals alone
	maxClicks  = 100     // of one search
	maxEarly   = 10_000  // clicks that come before their search
	positions  = 10      // whose clicks are counted one by one
)

// Report counts the searches and clicks of a collection.
type Report struct {
	Since     time.Time `json:"since"`
	Searches  int       `json:"searches"`
	NoResults int       `json:"no_results"` // searches without a hit
	Weak      int       `json:"weak"`       // whose best hit is rather not relevant: its score is a probability below 0.5
	Clicked   int       `json:"clicked"`    // with a click at least

	Queries    []QueryCount    `json:"queries"`    // most frequent first
	Unanswered []QueryCount    `json:"unanswered"` // with most searches that are weak or without results first
	Positions  []PositionCount `json:"positions"`  // of the hits that were opened

	Damaged int `json:"damaged_lines,omitempty"`
}

// QueryCount counts the searches with a query; upper case and spaces do not matter.
type QueryCount struct {
	Query        string  `json:"q"` // as it was written first
	Searches     int     `json:"searches"`
	NoResults    int     `json:"no_results"`
	Weak         int     `json:"weak"`
	Clicked      int     `json:"clicked"`
	MeanPosition float64 `json:"mean_position,omitempty"` // of the hits that were opened
}

// PositionCount counts clicks on hits at a position; the last one has those beyond it, too.
type PositionCount struct {
	Position int `json:"position"`
	Clicks   int `json:"clicks"`
}

// Judgments are the documents that users chose for a query, with their grades: 2 for one that was
// opened in at least half of the searches in which any was, else 1.
type Judgments struct {
	Query     string
	Documents map[string]int
}

// Tally counts events of one collection, in any order.
type Tally struct {
	seed     maphash.Seed
	total    Report
	queries  map[string]*counted
	searches map[uint64]*answered // by the hash of their id
	early    []Event
	at       [positions]int // clicks by position - 1
}

// counted is a query with its clicks.
type counted struct {
	QueryCount
	clicks, sum int // clicks and the sum of their positions
	documents   map[string]int
}

// answered is a search.
type answered struct {
	query   *counted // nil: one of too many
	tenant  string
	clicked []uint64 // hashes of documents
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	return &Tally{seed: maphash.MakeSeed(), queries: map[string]*counted{}, searches: map[uint64]*answered{}}
}

// keyOf returns a query as it is compared.
func keyOf(q string) string { return strings.Join(strings.Fields(strings.ToLower(q)), " ") }

// Add counts an event. Of several clicks on a document in one search one counts; a click that names
// no search, or that of another tenant, does not.
func (t *Tally) Add(e Event) {
	switch e.Kind {
	case Search:
		t.addSearch(e)
	case Click:
		if !t.addClick(e) && len(t.early) < maxEarly {
			t.early = append(t.early, e)
		}
	}
}

func (t *Tally) addSearch(e Event) {
	id := maphash.String(t.seed, e.SearchID)
	if t.searches[id] != nil {
		return
	}
	key := keyOf(e.Query)
	q := t.queries[key]
	if q == nil && len(t.queries) < maxQueries {
		q = &counted{QueryCount: QueryCount{Query: strings.TrimSpace(e.Query)}, documents: map[string]int{}}
		t.queries[key] = q
	}
	t.searches[id] = &answered{query: q, tenant: e.Tenant}
	none, weak := 0, 0
	if e.Hits == 0 {
		none = 1
	} else if e.weak() {
		weak = 1
	}
	t.total.Searches++
	t.total.NoResults += none
	t.total.Weak += weak
	if q != nil {
		q.Searches++
		q.NoResults += none
		q.Weak += weak
	}
}

// addClick reports whether the search of a click has come.
func (t *Tally) addClick(e Event) bool {
	s := t.searches[maphash.String(t.seed, e.SearchID)]
	if s == nil {
		return false
	}
	document := maphash.String(t.seed, e.Document)
	if s.tenant != e.Tenant || len(s.clicked) == maxClicks || slices.Contains(s.clicked, document) {
		return true
	}
	first := len(s.clicked) == 0
	s.clicked = append(s.clicked, document)
	t.at[max(1, min(e.Position, positions))-1]++
	if first {
		t.total.Clicked++
	}
	if q := s.query; q != nil {
		q.documents[e.Document]++
		q.clicks++
		q.sum += e.Position
		if first {
			q.Clicked++
		}
	}
	return true
}

// settle counts clicks that came before their searches.
func (t *Tally) settle() {
	for _, e := range t.early {
		t.addClick(e)
	}
	t.early = nil
}

// Report returns the counts, with at most limit queries in each list.
func (t *Tally) Report(limit int) Report {
	t.settle()
	r := t.total
	r.Queries, r.Unanswered, r.Positions = []QueryCount{}, []QueryCount{}, []PositionCount{}
	for _, q := range t.queries {
		c := q.QueryCount
		if q.clicks > 0 {
			c.MeanPosition = math.Round(float64(q.sum)/float64(q.clicks)*100) / 100
		}
		r.Queries = append(r.Queries, c)
		if c.unanswered() > 0 {
			r.Unanswered = append(r.Unanswered, c)
		}
	}
	byCount := func(count func(QueryCount) int) func(a, b QueryCount) int {
		return func(a, b QueryCount) int {
			return cmp.Or(cmp.Compare(count(b), count(a)), cmp.Compare(a.Query, b.Query))
		}
	}
	slices.SortFunc(r.Queries, byCount(func(c QueryCount) int { return c.Searches }))
	slices.SortFunc(r.Unanswered, byCount(QueryCount.unanswered))
	r.Queries, r.Unanswered = r.Queries[:min(limit, len(r.Queries))], r.Unanswered[:min(limit, len(r.Unanswered))]
	for i, n := range t.at {
		if n > 0 {
			r.Positions = append(r.Positions, PositionCount{i + 1, n})
		}
	}
	return r
}

func (c QueryCount) unanswered() int { return c.NoResults + c.Weak }

// Judgments returns the documents that were opened in at least least searches of a query, by query.
func (t *Tally) Judgments(least int) (out []Judgments) {
	t.settle()
	for _, key := range slices.Sorted(maps.Keys(t.queries)) {
		q := t.queries[key]
		j := Judgments{Query: q.Query, Documents: map[string]int{}}
		for document, n := range q.documents {
			if n < least {
				continue
			}
			j.Documents[document] = 1
			if 2*n >= q.Clicked {
				j.Documents[document] = 2
			}
		}
		if len(j.Documents) > 0 {
			out = append(out, j)
		}
	}
	return out
}
