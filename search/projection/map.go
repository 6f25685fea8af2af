package projection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"example.com/searchd/internal/simd"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

const (
	defaultPoints     = 1000
	minPoints         = 3
	maxPoints         = 5000
	maxComponents     = 32
	maxFloats         = 2 << 20 // of the vectors behind one map, which are kept
	maxMaps           = 4       // that are kept
	documentsAtOnce   = 32      // that are read at a time
	nearestPoints     = 10
	textBytes         = 140 // bytes of a passage, and of a title, that are shown
	maxFields         = 12
	maxCategories     = 64 // different strings by which points may be told apart
	valueBytes        = 48
	defaultComponents = 2
)

// Options ask for a map. The zero value of each field means its default.
type Options struct {
	Q          string `json:"q,omitempty"`          // a query that is to be drawn too
	Limit      int    `json:"limit,omitempty"`      // passages, 3..5000; default 1000. Fewer where vectors are so long that they would take more than 8 MB
	Components int    `json:"components,omitempty"` // coordinates of each point, 2..32; default 2
}

// Map shows a sample of a collection's passages as points: their vectors, projected on their
// principal components.
type Map struct {
	Points   []Point   `json:"points"`
	Total    int       `json:"total"`    // passages of the collection
	Sequence uint64    `json:"sequence"` // of the last change that the map knows
	Variance []float64 `json:"variance"` // share of all variance along each coordinate
	Fields   []Field   `json:"fields"`   // by which points may be told apart
	Query    *Query    `json:"query,omitempty"`
}

// Point is one passage.
type Point struct {
	ID     string         `json:"id"` // of the document
	Title  string         `json:"title"`
	Field  string         `json:"field"`
	Start  int            `json:"start"` // byte offsets [Start, End) into the field's text
	End    int            `json:"end"`
	Text   string         `json:"text"` // where the passage begins
	At     []float32      `json:"at"`
	Values map[string]any `json:"values,omitempty"` // by the names of Fields: string, float64 or bool
}

// Field is a field whose values tell points apart.
type Field struct {
	Name   string `json:"name"`
	Number bool   `json:"number"`
	Values int    `json:"values"` // how many different
}

// Query is a query on the map.
type Query struct {
	At      []float32 `json:"at"`
	Nearest []Match   `json:"nearest"` // of the passages on the map, nearest first
}

// Match is a passage near a query.
type Match struct {
	Point  int     `json:"point"` // its place in Points
	Cosine float64 `json:"cosine"`
}

// Cache holds the last maps, the latest first. One caller at a time draws a map.
type Cache struct {
	sync.Mutex
	maps []*drawn
}

type drawn struct {
	key       key
	whole     Map // with all components of the key, without a query
	principal Principal
	vectors   [][]float32
}

type key struct {
	collection string
	created    time.Time
	sequence   uint64
	limit      int
	components int // defaultComponents or maxComponents
}

// Collection is what a map is drawn of.
type Collection struct {
	backend.Collection
	Created time.Time
	Fields  mapping.Mapping
}

// Draw returns the map of a collection, which is cached until the collection changes. The same
// collection always gives the same map. encode returns the vector of the query.
func (c *Cache) Draw(ctx context.Context, b backend.Backend, of Collection, o Options, encode func(ctx context.Context, q string) ([]float32, error)) (*Map, error) {
	limit := cmp.Or(o.Limit, defaultPoints)
	limit = max(minPoints, min(limit, maxFloats/max(1, of.Config.Dimension)))
	k := key{of.Name, of.Created, of.Sequence, limit, defaultComponents}
	if o.Components > defaultComponents {
		k.components = maxComponents
	}
	d, err := c.draw(ctx, b, of, k)
	if err != nil {
		return nil, err
	}
	m := d.whole
	components := min(cmp.Or(o.Components, defaultComponents), len(d.principal.Axes))
	m.Variance = m.Variance[:components]
	m.Points = slices.Clone(m.Points)
	for i := range m.Points {
		m.Points[i].At = m.Points[i].At[:components]
	}
	if strings.TrimSpace(o.Q) != "" && len(m.Points) > 0 {
		v, err := encode(ctx, o.Q)
		if err != nil {
			return nil, err
		}
		m.Query = &Query{At: d.principal.Project(v)[:components], Nearest: d.nearest(v)}
	}
	return &m, nil
}

// Validate reports every wrong option; maxQuery is the longest query in bytes.
func (o Options) Validate(maxQuery int) error {
	var wrong fault.Fields
	if len(o.Q) > maxQuery || !utf8.ValidString(o.Q) {
		wrong.Add("q", o.Q, fmt.Sprintf("valid UTF-8 of at most %d bytes", maxQuery))
	}
	if o.Limit != 0 && (o.Limit < minPoints || o.Limit > maxPoints) {
		wrong.Add("limit", o.Limit, fmt.Sprintf("%d to %d", minPoints, maxPoints))
	}
	if o.Components != 0 && (o.Components < defaultComponents || o.Components > maxComponents) {
		wrong.Add("components", o.Components, fmt.Sprintf("%d to %d", defaultComponents, maxComponents))
	}
	return wrong.Err()
}

// draw returns the map of a key, from the cache if it is there.
func (c *Cache) draw(ctx context.Context, b backend.Backend, of Collection, k key) (*drawn, error) {
	c.Lock()
	defer c.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err // it may have waited long
	}
	if i := slices.IndexFunc(c.maps, func(d *drawn) bool { return d.key == k }); i >= 0 {
		d := c.maps[i]
		c.maps = slices.Insert(slices.Delete(c.maps, i, i+1), 0, d)
		return d, nil
	}
	have, err := b.RetrieveVectors(ctx, backend.VectorsRequest{Collection: k.collection, Limit: k.limit})
	if err != nil {
		return nil, err
	}
	d := &drawn{key: k, whole: Map{Points: []Point{}, Total: of.Passages, Sequence: of.Sequence, Fields: []Field{}, Variance: []float64{}}}
	if err := d.read(ctx, b, of.Fields, have.Sample); err != nil {
		return nil, err
	}
	if len(d.vectors) > 0 {
		d.principal = New(d.vectors, k.components)
		d.whole.Variance = d.principal.Variance
		for i, v := range d.vectors {
			d.whole.Points[i].At = d.principal.Project(v)
		}
	}
	c.maps = append([]*drawn{d}, c.maps[:min(len(c.maps), maxMaps-1)]...)
	return d, nil
}

// read fills in what is shown of each passage. One whose document has been deleted since is left
// out. Each document is read once, and only a few are in memory.
func (d *drawn) read(ctx context.Context, b backend.Backend, fields mapping.Mapping, sample []backend.PassageVector) error {
	var refs []backend.Ref
	places := map[backend.Ref][]int{} // in the sample
	for i, p := range sample {
		if places[p.Ref] == nil {
			refs = append(refs, p.Ref)
		}
		places[p.Ref] = append(places[p.Ref], i)
	}
	points := make([]*Point, len(sample))
	for part := range slices.Chunk(refs, documentsAtOnce) {
		err := backend.FetchPages(ctx, b, backend.FetchRequest{Collection: d.key.collection, Refs: part}, func(part []backend.Ref, page backend.FetchResponse) error {
			for i, doc := range page.Documents {
				if doc == nil {
					continue
				}
				parts, err := fields.SplitStored(doc.Fields)
				if err != nil {
					return err
				}
				title, values := cmp.Or(shortTitle(parts.Title), doc.ID), valuesOf(parts)
				for _, at := range places[part[i]] {
					if sample[at].Ordinal < len(doc.Passages) {
						p := doc.Passages[sample[at].Ordinal]
						points[at] = &Point{ID: doc.ID, Title: title, Field: p.Field, Start: p.Start, End: p.End, Text: beginning(p.In(parts), textBytes), Values: values}
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i, p := range points {
		if p != nil {
			d.whole.Points, d.vectors = append(d.whole.Points, *p), append(d.vectors, sample[i].Vector)
		}
	}
	d.whole.Fields = distinctFields(d.whole.Points)
	return nil
}

// shortTitle returns a copy of the first characters of a title, at most textBytes bytes.
func shortTitle(title string) string {
	title = strings.TrimSpace(title)
	end := min(len(title), textBytes)
	for end > 0 && end < len(title) && !utf8.RuneStart(title[end]) {
		end--
	}
	return strings.Clone(title[:end])
}

// beginning returns a copy of the first words of text, at most n bytes.
func beginning(text string, n int) string {
	text = strings.Join(strings.Fields(strings.Clone(text[:passage.RuneEnd(text, min(len(text), 2*n))])), " ")
	if len(text) <= n {
		return text
	}
	if end := strings.LastIndexByte(text[:n], ' '); end > 0 {
		return text[:end] + " …"
	}
	return text[:passage.RuneEnd(text, n)]
}

// valuesOf returns the values that may tell points apart: numbers, booleans, short strings, of a
// list its first; not the texts.
func valuesOf(parts mapping.Parts) map[string]any {
	out := map[string]any{}
	for name, v := range parts.Values {
		if _, text := parts.Field(name); text {
			continue
		}
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		switch v := v.(type) {
		case float64, bool:
			out[name] = v
		case string:
			if v != "" && len(v) <= valueBytes {
				out[name] = v
			}
		}
	}
	return out
}

// distinctFields returns the fields that have at least two values and, as strings, not too many, by
// name; and takes all others out of the points.
func distinctFields(points []Point) []Field {
	seen := map[string]map[any]bool{}
	words := map[string]bool{} // fields with a value that is no number
	for _, p := range points {
		for name, v := range p.Values {
			if seen[name] == nil {
				seen[name] = map[any]bool{}
			}
			seen[name][v] = true
			if _, number := v.(float64); !number {
				words[name] = true
			}
		}
	}
	fields := []Field{}
	for name, values := range seen {
		if len(values) >= 2 && (!words[name] || len(values) <= maxCategories && len(values) < len(points)) {
			fields = append(fields, Field{name, !words[name], len(values)})
		}
	}
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	fields = fields[:min(len(fields), maxFields)]
	for _, p := range points {
		for name := range p.Values {
			if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
				delete(p.Values, name)
			}
		}
	}
	return fields
}

// nearest returns the passages of the map that are nearest to a query.
func (d *drawn) nearest(q []float32) []Match {
	all := make([]Match, len(d.vectors))
	for i, v := range d.vectors {
		all[i] = Match{i, float64(simd.Dot(q, v))}
	}
	slices.SortFunc(all, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Point, b.Point))
	})
	return all[:min(len(all), nearestPoints)]
}
