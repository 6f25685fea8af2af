package hnsw

import (
	"math/bits"

	"example.com/searchd/internal/simd"
)

// query is what distances are measured from: a vector and, where the graph has codes, its code.
type query struct {
	vec   []float32 // [dim]
	code  []int8    // [code length]
	scale float32   // of code
	norm  float32   // squared length, where the metric wants it on codes

	own     []int8    // backs code where the query is no row
	rotated []float32 // scratch of the encoding
}

// from sets q to the prepared vector vec, which it refers to.
func (c *core) from(q *query, vec []float32) {
	q.vec = vec
	if c.rotation == nil {
		return
	}
	if len(q.own) != c.rotation.width {
		q.own = make([]int8, c.rotation.width)
		q.rotated = make([]float32, c.rotation.width)
	}
	q.code = q.own
	q.scale = c.rotation.encode(q.code, vec, q.rotated)
	if c.o.Metric != Cosine {
		q.norm = simd.Dot(vec, vec)
	}
}

// fromNode sets q to the row of a node; without vec where a source holds the vectors.
func (c *core) fromNode(q *query, node uint32) {
	s, row := c.locate(node)
	if q.vec = nil; s.vectors != nil {
		q.vec = s.vector(row, c.o.Dim)
	}
	if c.rotation == nil {
		return
	}
	q.code = s.code(row, c.rotation.width)
	q.scale = s.scales[row]
	if s.norms != nil {
		q.norm = s.norms[row]
	}
}

// distances measures from q to the n nodes in s.nodes, on codes where the graph has them, into
// s.dist.
func (c *core) distances(s *scratch, q *query, n int) { c.measure(s, q, n, c.rotation != nil) }

// exactDistances is distances on float32.
func (c *core) exactDistances(s *scratch, q *query, n int) { c.measure(s, q, n, false) }

func (c *core) measure(s *scratch, q *query, n int, codes bool) {
	s.measured += n
	if c.segments[0].Load() == nil {
		c.measureRows(s, c.head, s.dist[:n], q, s.nodes[:n], codes)
		return
	}
	// Kernels see one segment at a time: collect what lies in each, measure, and put the distances
	// in their places.
	var present uint32
	for i, node := range s.nodes[:n] {
		k := uint8(0)
		if node >= c.first {
			k = uint8(c.segmentOf(node)) + 1
		}
		s.segment[i] = k
		present |= 1 << k
	}
	for ; present != 0; present &= present - 1 {
		k := uint8(bits.TrailingZeros32(present))
		g := c.head
		if k > 0 {
			g = c.segments[k-1].Load()
		}
		m := 0
		for i, node := range s.nodes[:n] {
			if s.segment[i] == k {
				s.rows[m] = node - g.start
				s.place[m] = uint32(i)
				m++
			}
		}
		c.measureRows(s, g, s.part[:m], q, s.rows[:m], codes)
		for i, at := range s.place[:m] {
			s.dist[at] = s.part[i]
		}
	}
}

// measureRows measures from q to rows of a segment.
func (c *core) measureRows(s *scratch, g *segment, dst []float32, q *query, rows []uint32, codes bool) {
	if codes {
		c.codeDistances(s, g, dst, q, rows)
	} else {
		c.vectorDistances(g, dst, q, rows)
	}
}

// vectorDistances measures from q to rows of a segment.
func (c *core) vectorDistances(g *segment, dst []float32, q *query, rows []uint32) {
	if c.o.Metric == L2 {
		for i, r := range rows {
			dst[i] = simd.SquaredL2(q.vec, g.vector(r, c.o.Dim))
		}
		return
	}
	simd.DotRows(dst, q.vec, g.vectors, rows)
	for i, x := range dst {
		dst[i] = 1 - x
	}
}

// codeDistances estimates the distances from q to rows of a segment.
func (c *core) codeDistances(s *scratch, g *segment, dst []float32, q *query, rows []uint32) {
	dots := s.dots[:len(rows)]
	simd.DotRowsInt8(dots, q.code, g.codes, rows)
	if c.o.Metric == L2 {
		for i, r := range rows {
			dst[i] = q.norm + g.norms[r] - 2*q.scale*g.scales[r]*float32(dots[i])
		}
		return
	}
	for i, r := range rows {
		dst[i] = 1 - q.scale*g.scales[r]*float32(dots[i])
	}
}

// distance measures exactly from q to one node.
func (c *core) distance(q *query, node uint32) float32 {
	if c.o.Metric == L2 {
		return simd.SquaredL2(q.vec, c.vector(node))
	}
	return 1 - simd.Dot(q.vec, c.vector(node))
}
