package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/querytext"
)

// maxOperators is the largest number of phrases and exclusions of one query.
const maxOperators = 32

// plan is a checked query with every default filled in.
type plan struct {
	Query
	limit     int
	passages  int
	highlight bool
	text      QueryText
	words     backend.Words
	asked     filter.Expr // the query's own filter; nil: none
	filter    filter.Expr // with that of Within; nil: none
	given     bool        // the vector is given: there is no text
	browse    bool        // the text has no word or phrase: there is nothing to rank by
	facets    []backend.Facet
	sort      []backend.SortKey
	boosts    []boost
	origin    *origin  // nil: no distances are shown
	cutoff    *float64 // nil: none, or autoCut
	autoCut   bool
	wrong     fault.Fields // of what was asked
}

// newPlan checks a query and fills in those of its defaults that are the same of every collection.
// [plan.of] does the rest, and names every wrong field at once.
func newPlan(q Query, canRerank, given bool) *plan {
	p := &plan{Query: q, limit: DefaultLimit, passages: 1, highlight: true, given: given}
	var wrong fault.Fields
	if !p.given {
		p.checkText(&wrong)
	}
	oneOf(&wrong, "mode", &p.Mode, Hybrid, Semantic, Keyword)
	oneOf(&wrong, "fusion", &p.Fusion, Relative, RRF)
	if q.Alpha != nil && !(*q.Alpha >= 0 && *q.Alpha <= 1) {
		wrong.Add("alpha", *q.Alpha, "0 (keyword only) to 1 (vector only)")
	}
	p.checkCutoff(&wrong)
	p.checkPage(&wrong)
	p.checkRerank(&wrong, canRerank)
	p.checkHits(&wrong)
	p.checkReturned(&wrong)
	p.checkWords(&wrong)
	p.checkFacets(&wrong)
	p.checkSort(&wrong)
	p.checkBoosts(&wrong)
	p.checkBrowse(&wrong)
	if q.Filter != "" {
		e, err := filter.Parse(q.Filter)
		if err != nil {
			wrong.Add("filter", q.Filter, err.Error())
		}
		p.asked = filter.WithID(e)
	}
	p.measureFilter()
	p.filter = p.asked
	if q.Within != nil {
		p.Within = filter.WithID(q.Within)
		p.filter = filter.All(p.Within, p.asked)
	}
	p.wrong = wrong
	return p
}

// of checks the query against a collection with the mapping m and vectors of a dimension.
func (p *plan) of(m mapping.Mapping, dimension int) error {
	for _, name := range filter.Fields(p.Within) {
		if m[name].Type == mapping.Stored { // without values in the index a negation would hold for every document
			return fmt.Errorf("%w: the filter of the API key names the field %.80q, which the settings declare stored", ErrUnsupported, name)
		}
	}
	checkStored(m, p.uses(), &p.wrong)
	p.checkVector(dimension)
	return p.wrong.Err()
}

// oneOf sets an empty field to the first of what is allowed, and refuses what is not among it.
func oneOf[T ~string](wrong *fault.Fields, field string, value *T, allowed ...T) {
	if *value == "" {
		*value = allowed[0]
	}
	if !slices.Contains(allowed, *value) {
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		wrong.Add(field, string(*value), strings.Join(names, ", "))
	}
}

// checkText reads q.
func (p *plan) checkText(wrong *fault.Fields) {
	oneOf(wrong, "syntax", &p.Syntax, Operators, Plain)
	if !utf8.ValidString(p.Q) || len(p.Q) > MaxQueryBytes {
		wrong.Add("q", p.Q, fmt.Sprintf("at most %d bytes of UTF-8", MaxQueryBytes))
		return
	}
	if p.Spelling == "" && p.Syntax == Plain {
		p.Spelling = Exact
	}
	oneOf(wrong, "spelling", &p.Spelling, Corrected, Exact)
	if p.text = (QueryText{Text: p.Q}); p.Syntax != Plain {
		p.text = querytext.Parse(p.Q)
	}
	if n := len(p.text.Phrases) + len(p.text.Without); n > maxOperators {
		wrong.Add("q", p.Q, fmt.Sprintf("at most %d phrases and exclusions, not %d; syntax plain takes quotes and minus signs as they are", maxOperators, n))
	}
	switch {
	case strings.TrimSpace(p.text.Text) != "":
	case p.Vector == nil:
		p.browse, p.text.Text = true, ""
	default: // there are no words to search for
		p.text.Text, p.Spelling = "", Exact
		if p.Mode == "" || p.Mode == Hybrid {
			p.Mode = Semantic
		}
	}
}

// checkBrowse refuses for a query without words what only a ranking has, and leaves out what says
// nothing about it.
func (p *plan) checkBrowse(wrong *fault.Fields) {
	if !p.browse {
		return
	}
	for _, o := range []struct {
		asked bool
		field string
		value any
	}{
		{p.Rerank, "rerank", true},
		{p.MinSimilarity != 0, "min_similarity", p.MinSimilarity},
		{p.Diversity != 0, "diversity", p.Diversity},
		{p.Sentences, "sentences", true},
		{p.Explain, "explain", true},
	} {
		if o.asked { // whatever else is wrong with it
			*wrong = slices.DeleteFunc(*wrong, func(e *FieldError) bool { return e.Field == o.field })
			wrong.Add(o.field, o.value, "left out, as q has no word or phrase to compare documents with")
		}
	}
	p.Mode, p.highlight = Keyword, false // no retriever runs: a checkpoint is not needed
	p.sort = slices.DeleteFunc(p.sort, func(k backend.SortKey) bool { return k.Field == "" })
}

// checkPage checks the window, and limit and offset against it.
func (p *plan) checkPage(wrong *fault.Fields) {
	asked := p.Window
	if asked == 0 {
		p.Window = DefaultWindow
	}
	if p.Window < 1 || p.Window > MaxWindow {
		wrong.Add("window", p.Window, fmt.Sprintf("1 to %d, or 0 for the default", MaxWindow))
		p.Window = MaxWindow // limit and offset are not to blame
	}
	if p.Limit != nil {
		if p.limit = *p.Limit; p.limit < 0 || p.limit > MaxLimit {
			wrong.Add("limit", p.limit, fmt.Sprintf("0 to %d", MaxLimit))
			return
		}
	}
	most := MaxWindow
	unlimited := (p.browse || p.Mode == Keyword) && p.Group == "" && len(p.Boosts) == 0 && p.Diversity == 0 && p.cutoff == nil
	if unlimited {
		most = MaxOffset
	}
	switch {
	case p.Page == 0:
	case p.Page < 0 || p.Page > most:
		wrong.Add("page", p.Page, fmt.Sprintf("1 to %d", most))
		return
	case p.Offset != 0:
		wrong.Add("page", p.Page, "left out, as offset is given")
	default:
		p.Offset = (p.Page - 1) * p.limit
	}
	if p.Offset < 0 || p.Offset > most {
		wrong.Add("offset", p.Offset, fmt.Sprintf("0 to %d", most))
		return
	}
	n := p.Offset + p.limit
	if unlimited {
		p.Window = max(p.Window, n)
	}
	if asked == 0 && n <= shortWindow && !p.usesWindow() {
		p.Window = shortWindow
	}
	if n > p.Window {
		wrong.Add("limit", p.limit, fmt.Sprintf("offset+limit at most `window`, here %d; a larger one (at most %d) reaches result %d", p.Window, MaxWindow, n))
	}
}

// shortWindow is the window of a search that gives none, shows the first results alone, and has
// nothing that acts on further documents. With [DefaultWindow] nDCG@10 is the same on eleven
// retrieval sets, and so are the first ten of 150 questions in 40,000 texts.
const shortWindow = 100

// usesWindow reports whether something acts on all documents of the window.
func (p *plan) usesWindow() bool {
	return len(p.Facets)+len(p.Sort)+len(p.Boosts) > 0 || p.Group != "" || p.Diversity != 0 || p.cutoff != nil || p.autoCut
}

// checkRerank checks re-ranking and its window.
func (p *plan) checkRerank(wrong *fault.Fields, can bool) {
	if p.RerankWindow == 0 {
		p.RerankWindow = DefaultRerankWindow
	}
	switch n := p.Offset + p.limit; {
	case p.Rerank && !can:
		wrong.Add("rerank", true, "false: this server has no re-ranker; start it with --reranker and a cross-encoder")
	case p.RerankWindow < 1 || p.RerankWindow > MaxRerankWindow:
		wrong.Add("rerank_window", p.RerankWindow, fmt.Sprintf("1 to %d, or 0 for the default", MaxRerankWindow))
	case p.Rerank && n > p.RerankWindow:
		wrong.Add("limit", p.limit, fmt.Sprintf("with rerank, offset+limit at most rerank_window, here %d; ask for a larger one (at most %d) to see result %d", p.RerankWindow, MaxRerankWindow, n))
	}
}

// checkHits checks which hits there may be, and what each has.
func (p *plan) checkHits(wrong *fault.Fields) {
	switch {
	case !(p.Diversity >= 0 && p.Diversity <= 1):
		wrong.Add("diversity", p.Diversity, "0 (by score alone) to 1")
	case p.Diversity > 0 && len(p.Sort) > 0:
		wrong.Add("diversity", p.Diversity, "0 together with sort")
	}
	if !utf8.ValidString(p.Group) {
		wrong.Add("group", p.Group, "the name of a field")
	}
	if !(p.MinSimilarity >= -1 && p.MinSimilarity <= 1) {
		wrong.Add("min_similarity", p.MinSimilarity, "-1 to 1")
	}
	if p.Passages != nil {
		if p.passages = *p.Passages; p.passages < 0 || p.passages > MaxPassages {
			wrong.Add("passages", p.passages, fmt.Sprintf("0 to %d", MaxPassages))
		}
	}
	if p.Highlight != nil {
		p.highlight = *p.Highlight
	}
}

// checkWords reads operator and fields.
func (p *plan) checkWords(wrong *fault.Fields) {
	p.words = backend.Words{Text: p.text.Text, Exact: p.text.Phrases}
	oneOf(wrong, "operator", &p.Operator, "or", "and")
	p.words.And = p.Operator == "and"
	var err error
	if p.words.Fields, err = p.Fields.Weights(); err != nil {
		*wrong = append(*wrong, err.(*FieldError))
	}
}

// MaxReturnFields is the most names of fields to return, and of those to omit, of one query.
const MaxReturnFields = 100

// checkReturned reads the names of the fields to return and of those to omit.
func (p *plan) checkReturned(wrong *fault.Fields) {
	checkNames("return_fields", p.ReturnFields, wrong)
	checkNames("omit_fields", p.OmitFields, wrong)
}

func checkNames(member string, names []string, wrong *fault.Fields) {
	if len(names) > MaxReturnFields {
		wrong.Add(member, len(names), fmt.Sprintf("at most %d names", MaxReturnFields))
		return
	}
	for i, name := range names {
		if name == "" || !utf8.ValidString(name) {
			wrong.Add(fmt.Sprintf("%s[%d]", member, i), name, "the name of a field, nested ones joined with dots")
		}
	}
}
