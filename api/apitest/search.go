package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"searchd/search"
)

const dimension = 64

// words returns the words of a text in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// embed hashes the letter trigrams of a text into a vector of unit length.
func embed(text string) []float32 {
	v := make([]float32, dimension)
	for _, w := range words(text) {
		w = " " + w + " "
		for i := 0; i+3 <= len(w); i++ {
			h := uint32(2166136261)
			for _, b := range []byte(w[i : i+3]) {
				h = (h ^ uint32(b)) * 16777619
			}
			v[h%dimension]++
		}
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum > 0 {
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
	}
	return v
}

func cosine(a, b []float32) (s float64) {
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// passages cuts each string field at its empty lines.
func passages(fields map[string]any) []search.PassageHit {
	var out []search.PassageHit
	for _, name := range []string{"title", "text", "body"} {
		text, _ := fields[name].(string)
		for start := 0; start < len(text); {
			end := len(text)
			if i := strings.Index(text[start:], "\n\n"); i >= 0 {
				end = start + i
			}
			if part := text[start:end]; strings.TrimSpace(part) != "" && name != "title" {
				out = append(out, search.PassageHit{Field: name, Start: start, End: end, Text: part})
			}
			start = end + 2
		}
	}
	return out
}

func check(q search.Query) error {
	limit, passages, alpha := search.DefaultLimit, 1, 0.5
	if q.Limit != nil {
		limit = *q.Limit
	}
	if q.Passages != nil {
		passages = *q.Passages
	}
	if q.Alpha != nil {
		alpha = *q.Alpha
	}
	for _, c := range []struct {
		ok      bool
		field   string
		value   any
		allowed string
	}{
		{utf8.ValidString(q.Q), "q", q.Q, "UTF-8"},
		{strings.TrimSpace(q.Q) != "" || !q.Explain, "explain", q.Explain, "left out without a q"},
		{limit >= 0 && limit <= search.MaxLimit, "limit", limit, "0 to 1000"},
		{q.Offset >= 0 && q.Offset <= search.MaxWindow, "offset", q.Offset, "0 to 10000"},
		{alpha >= 0 && alpha <= 1, "alpha", alpha, "0 to 1"},
		{passages >= 0 && passages <= search.MaxPassages, "passages", passages, "0 to 100"},
		{slices.Contains([]search.Mode{"", search.Hybrid, search.Semantic, search.Keyword}, q.Mode), "mode", q.Mode, "hybrid, semantic, keyword"},
	} {
		if !c.ok {
			return &search.FieldError{Field: c.field, Value: c.value, Allowed: c.allowed}
		}
	}
	return nil
}

// scored is a document with its two legs.
type scored struct {
	doc   *search.StoredDocument
	text  string
	best  []search.PassageHit
	terms []search.TermExplain
	bm25  float64
	cos   float64
	score float64
}

// Search implements api.Engine.
func (e *Engine) Search(ctx context.Context, name string, q search.Query) (*search.Response, error) {
	if err := e.enter(ctx, "Search"); err != nil {
		return nil, err
	}
	if err := check(q); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(name)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	hits, alpha := c.score(q)
	of := "union"
	if strings.TrimSpace(q.Q) == "" {
		of = "all"
	}
	res := &search.Response{Hits: []search.Hit{}, Total: search.Total{Value: len(hits), Relation: "eq", Of: of}}
	limit := search.DefaultLimit
	if q.Limit != nil {
		limit = *q.Limit
	}
	for _, h := range hits[min(q.Offset, len(hits)):min(q.Offset+limit, len(hits))] {
		res.Hits = append(res.Hits, h.hit(q, hits, alpha))
	}
	res.TookMS = float64(time.Since(start).Microseconds()) / 1000
	res.TimingsMS = map[string]float64{"embed": res.TookMS * .5, "keyword": res.TookMS * .2, "vector": res.TookMS * .1, "fuse": res.TookMS * .05, "fetch": res.TookMS * .15}
	return res, nil
}

func (c *collection) score(q search.Query) ([]*scored, float64) {
	alpha := 0.6
	if q.Alpha != nil {
		alpha = *q.Alpha
	}
	switch q.Mode {
	case search.Keyword:
		alpha = 0
	case search.Semantic:
		alpha = 1
	}
	vector, terms, df := embed(q.Q), words(q.Q), map[string]int{}
	var all []*scored
	for _, d := range c.sorted() {
		s := &scored{doc: d}
		var fields map[string]any
		json.Unmarshal(d.Fields, &fields)
		for _, name := range []string{"title", "text", "body"} {
			text, _ := fields[name].(string)
			s.text += text + "\n"
		}
		for _, t := range terms {
			if slices.Contains(words(s.text), t) {
				df[t]++
			}
		}
		title, _ := fields["title"].(string)
		for _, p := range d.Passages {
			cos := cosine(vector, embed(title+" "+p.Text))
			p.Score = &cos
			s.best = append(s.best, p)
			s.cos = max(s.cos, cos)
		}
		slices.SortStableFunc(s.best, func(a, b search.PassageHit) int { return cmp.Compare(*b.Score, *a.Score) })
		all = append(all, s)
	}
	top := 1e-9
	for _, s := range all {
		s.explainTerms(terms, df, len(all))
		top = max(top, s.bm25)
	}
	for _, s := range all {
		s.score = alpha*s.cos + (1-alpha)*s.bm25/top
	}
	if len(terms) == 0 {
		return all, alpha
	}
	all = slices.DeleteFunc(all, func(s *scored) bool { return s.bm25 == 0 && (alpha == 0 || s.cos < 0.3) })
	slices.SortStableFunc(all, func(a, b *scored) int { return cmp.Compare(b.score, a.score) })
	return all, alpha
}

func (s *scored) explainTerms(terms []string, df map[string]int, n int) {
	for _, t := range terms {
		tf := 0.0
		for _, w := range words(s.text) {
			if w == t {
				tf++
			}
		}
		if tf == 0 {
			continue
		}
		idf := math.Log(1 + (float64(n-df[t])+0.5)/(float64(df[t])+0.5))
		share := idf * tf * 2.2 / (tf + 1.2)
		s.bm25 += share
		s.terms = append(s.terms, search.TermExplain{Term: t, Field: "text", TF: int(tf), DF: df[t], IDF: idf, Score: share})
	}
}

func (s *scored) hit(q search.Query, all []*scored, alpha float64) search.Hit {
	h := search.Hit{ID: s.doc.ID, Score: s.score, Document: returned(s.doc.Fields, q.ReturnFields, q.OmitFields), Passages: []search.PassageHit{}, Highlights: map[string][]string{}}
	passages := 1
	if q.Passages != nil {
		passages = *q.Passages
	}
	h.Passages = append(h.Passages, s.best[:min(len(s.best), passages)]...)
	var fields map[string]any
	json.Unmarshal(s.doc.Fields, &fields)
	for name, v := range fields {
		if text, ok := v.(string); ok {
			if m := highlight(text, words(q.Q)); m != "" {
				h.Highlights[name] = []string{m}
			}
		}
	}
	if !q.Explain {
		return h
	}
	top, byWords, byMeaning := 1e-9, 1, 1
	for _, o := range all {
		top = max(top, o.bm25)
		if o.bm25 > s.bm25 {
			byWords++
		}
		if o.cos > s.cos {
			byMeaning++
		}
	}
	h.Explain = &search.Explain{Fusion: &search.FusionExplain{Method: search.Relative, Alpha: alpha, Window: search.DefaultWindow}}
	if q.Mode != search.Semantic {
		h.Explain.Keyword = &search.KeywordExplain{Rank: byWords, Score: s.bm25, Norm: s.bm25 / top, Terms: append([]search.TermExplain{}, s.terms...)}
	}
	if q.Mode != search.Keyword {
		h.Explain.Vector = &search.VectorExplain{Rank: byMeaning, Cosine: s.cos, Norm: s.cos}
	}
	return h
}

// returned leaves the fields of these names, all for nil.
func returned(doc json.RawMessage, names, omit []string) json.RawMessage {
	if names == nil && omit == nil {
		return doc
	}
	var fields map[string]any
	json.Unmarshal(doc, &fields)
	maps.DeleteFunc(fields, func(name string, _ any) bool {
		return names != nil && !slices.Contains(names, name) || slices.Contains(omit, name)
	})
	b, _ := json.Marshal(fields)
	return b
}

// highlight escapes a text and marks the terms in it; it returns "" where none occurs.
func highlight(text string, terms []string) string {
	var b strings.Builder
	found := false
	for len(text) > 0 {
		i := strings.IndexFunc(text, unicode.IsLetter)
		if i < 0 {
			break
		}
		b.WriteString(html.EscapeString(text[:i]))
		text = text[i:]
		n := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
		if n < 0 {
			n = len(text)
		}
		if slices.Contains(terms, strings.ToLower(text[:n])) {
			found = true
			b.WriteString("<mark>" + html.EscapeString(text[:n]) + "</mark>")
		} else {
			b.WriteString(html.EscapeString(text[:n]))
		}
		text = text[n:]
	}
	if !found {
		return ""
	}
	return b.String() + html.EscapeString(text)
}
