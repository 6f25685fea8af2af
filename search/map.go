package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"searchd/internal/simd"
	"searchd/search/backend"
	"searchd/search/fault"
	"searchd/search/mapping"
	"searchd/search/passage"
	"searchd/search/projection"
)

// Limits of [MapOptions].
const (
	DefaultMapPoints  = 1000
	MinMapPoints      = 3
	MaxMapPoints      = 5000
	MaxMapComponents  = 32
	maxMapFloats      = 2 << 20 // of the vectors behind one map, which are kept
	maxMaps           = 4       // that are kept
	mapDocuments      = 32      // that are read at a time
	mapNearest        = 10
	mapText           = 140 // bytes of a passage, and of a title, that are shown
	mapFields         = 12
	mapCategories     = 64 // different strings by which points may be told apart
	mapValueBytes     = 48
	defaultComponents = 2
)

// MapOptions ask for a map. The zero value of each field means its default.
type MapOptions struct {
	Q          string `json:"q,omitempty"`          // a query that is to be drawn too
	Limit      int    `json:"limit,omitempty"`      // passages, 3..5000; default 1000. Fewer where vectors are so long that they would take more than 8 MB
	Components int    `json:"components,omitempty"` // coordinates of each point, 2..32; default 2
}

// Map shows the passages of a collection as points: a sample of their vectors on their principal
// components.
type Map struct {
	Points   []MapPoint `json:"points"`
	Total    int        `json:"total"`    // passages of the collection
	Sequence uint64     `json:"sequence"` // of the last change that the map knows
	Variance []float64  `json:"variance"` // share of all variance along each coordinate
	Fields   []MapField `json:"fields"`   // by which points may be told apart
	Query    *MapQuery  `json:"query,omitempty"`
}

// MapPoint is one passage.
type MapPoint struct {
	ID     string         `json:"id"` // of the document
	Title  string         `json:"title"`
	Field  string         `json:"field"`
	Start  int            `json:"start"` // byte offsets [Start, End) into the field's text
	End    int            `json:"end"`
	Text   string         `json:"text"` // where the passage begins
	At     []float32      `json:"at"`
	Values map[string]any `json:"values,omitempty"` // by the names of Fields: string, float64 or bool
}

// MapField is a field whose values tell points apart.
type MapField struct {
	Name   string `json:"name"`
	Number bool   `json:"number"`
	Values int    `json:"values"` // how many different
}

// MapQuery is a query on the map.
type MapQuery struct {
	At      []float32  `json:"at"`
	Nearest []MapMatch `json:"nearest"` // of the passages on the map, nearest first
}

// MapMatch is a passage near a query.
type MapMatch struct {
	Point  int     `json:"point"` // its place in Points
	Cosine float64 `json:"cosine"`
}

// mapCache keeps the last maps, the latest first. A map is drawn by one caller at a time.
type mapCache struct {
	sync.Mutex
	maps []*drawnMap
}

type drawnMap struct {
	key       mapKey
	whole     Map // with all components of the key, without a query
	principal projection.Principal
	vectors   [][]float32
}

type mapKey struct {
	collection string
	created    time.Time
	sequence   uint64
	limit      int
	components int // defaultComponents or MaxMapComponents
}

// Map draws the passages of a collection. The same collection gives the same map, which is kept
// until it changes. It returns a [FieldError] for what is not allowed and, with a query,
// [ErrModelMismatch] as Search does.
func (e *Engine) Map(ctx context.Context, collection string, o MapOptions) (*Map, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	c, r, err := e.open(ctx, collection)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(o.Limit, DefaultMapPoints)
	limit = max(MinMapPoints, min(limit, maxMapFloats/max(1, c.Config.Dimension)))
	key := mapKey{c.Name, r.Created, c.Sequence, limit, defaultComponents}
	if o.Components > defaultComponents {
		key.components = MaxMapComponents
	}
	d, err := e.draw(ctx, c, r, key)
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
		enc, err := e.encodings.Of(collection, r.made())
		if err != nil {
			return nil, err
		}
		v, _, err := enc.QueryVector(ctx, o.Q)
		if err != nil {
			return nil, err
		}
		m.Query = &MapQuery{At: d.principal.Project(v)[:components], Nearest: d.nearest(v)}
	}
	return &m, nil
}

func (o MapOptions) validate() error {
	var wrong fault.Fields
	if len(o.Q) > MaxQueryBytes || !utf8.ValidString(o.Q) {
		wrong.Add("q", o.Q, fmt.Sprintf("valid UTF-8 of at most %d bytes", MaxQueryBytes))
	}
	if o.Limit != 0 && (o.Limit < MinMapPoints || o.Limit > MaxMapPoints) {
		wrong.Add("limit", o.Limit, fmt.Sprintf("%d to %d", MinMapPoints, MaxMapPoints))
	}
	if o.Components != 0 && (o.Components < defaultComponents || o.Components > MaxMapComponents) {
		wrong.Add("components", o.Components, fmt.Sprintf("%d to %d", defaultComponents, MaxMapComponents))
	}
	return wrong.Err()
}

// draw returns the map of a key, from the cache if it is there.
func (e *Engine) draw(ctx context.Context, c backend.Collection, r record, key mapKey) (*drawnMap, error) {
	e.maps.Lock()
	defer e.maps.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err // it may have waited long
	}
	if i := slices.IndexFunc(e.maps.maps, func(d *drawnMap) bool { return d.key == key }); i >= 0 {
		d := e.maps.maps[i]
		e.maps.maps = slices.Insert(slices.Delete(e.maps.maps, i, i+1), 0, d)
		return d, nil
	}
	have, err := e.backend.RetrieveVectors(ctx, backend.VectorsRequest{Collection: key.collection, Limit: key.limit})
	if err != nil {
		return nil, err
	}
	d := &drawnMap{key: key, whole: Map{Points: []MapPoint{}, Total: c.Passages, Sequence: c.Sequence, Fields: []MapField{}, Variance: []float64{}}}
	if err := d.read(ctx, e.backend, r, have.Sample); err != nil {
		return nil, err
	}
	if len(d.vectors) > 0 {
		d.principal = projection.New(d.vectors, key.components)
		d.whole.Variance = d.principal.Variance
		for i, v := range d.vectors {
			d.whole.Points[i].At = d.principal.Project(v)
		}
	}
	e.maps.maps = append([]*drawnMap{d}, e.maps.maps[:min(len(e.maps.maps), maxMaps-1)]...)
	return d, nil
}

// read fills in what is shown of each passage. One whose document has been deleted since is left
// out. Each document is read once, and only a few are in memory.
func (d *drawnMap) read(ctx context.Context, b backend.Backend, r record, sample []backend.PassageVector) error {
	var refs []backend.Ref
	places := map[backend.Ref][]int{} // in the sample
	for i, p := range sample {
		if places[p.Ref] == nil {
			refs = append(refs, p.Ref)
		}
		places[p.Ref] = append(places[p.Ref], i)
	}
	points := make([]*MapPoint, len(sample))
	for part := range slices.Chunk(refs, mapDocuments) {
		err := backend.FetchPages(ctx, b, backend.FetchRequest{Collection: d.key.collection, Refs: part}, func(part []backend.Ref, page backend.FetchResponse) error {
			for i, doc := range page.Documents {
				if doc == nil {
					continue
				}
				parts, err := r.Settings.Fields.SplitStored(doc.Fields)
				if err != nil {
					return err
				}
				title, values := cmp.Or(mapTitle(parts.Title), doc.ID), mapValues(parts)
				for _, at := range places[part[i]] {
					if sample[at].Ordinal < len(doc.Passages) {
						p := passageHit(parts, doc.Passages[sample[at].Ordinal])
						points[at] = &MapPoint{ID: doc.ID, Title: title, Field: p.Field, Start: p.Start, End: p.End, Text: beginning(p.Text, mapText), Values: values}
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
	d.whole.Fields = tellingFields(d.whole.Points)
	return nil
}

// mapTitle returns the first characters of a title, at most mapText bytes, apart from the rest of
// it.
func mapTitle(title string) string {
	title = strings.TrimSpace(title)
	end := min(len(title), mapText)
	for end > 0 && end < len(title) && !utf8.RuneStart(title[end]) {
		end--
	}
	return strings.Clone(title[:end])
}

// beginning returns the first words of text, at most n bytes, apart from the rest of it.
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

// mapValues returns the values that may tell points apart: numbers, booleans, short strings, of a
// list its first; not the texts.
func mapValues(parts mapping.Parts) map[string]any {
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
			if v != "" && len(v) <= mapValueBytes {
				out[name] = v
			}
		}
	}
	return out
}

// tellingFields returns the fields that have at least two values and, as strings, not too many, by
// name; and takes all others out of the points.
func tellingFields(points []MapPoint) []MapField {
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
	fields := []MapField{}
	for name, values := range seen {
		if len(values) >= 2 && (!words[name] || len(values) <= mapCategories && len(values) < len(points)) {
			fields = append(fields, MapField{name, !words[name], len(values)})
		}
	}
	slices.SortFunc(fields, func(a, b MapField) int { return cmp.Compare(a.Name, b.Name) })
	fields = fields[:min(len(fields), mapFields)]
	for _, p := range points {
		for name := range p.Values {
			if !slices.ContainsFunc(fields, func(f MapField) bool { return f.Name == name }) {
				delete(p.Values, name)
			}
		}
	}
	return fields
}

// nearest returns the passages of the map that are nearest to a query.
func (d *drawnMap) nearest(q []float32) []MapMatch {
	all := make([]MapMatch, len(d.vectors))
	for i, v := range d.vectors {
		all[i] = MapMatch{i, float64(simd.Dot(q, v))}
	}
	slices.SortFunc(all, func(a, b MapMatch) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Point, b.Point))
	})
	return all[:min(len(all), mapNearest)]
}
