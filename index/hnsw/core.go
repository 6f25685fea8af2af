package hnsw

import (
	"math/bits"
	"sync/atomic"
)

// core holds the arrays of a graph. Rows are appended and never move; a compaction replaces the
// core as a whole. Writers hold Graph.mu. What readers share with them is atomic or, like a vector,
// written before it is linked.
type core struct {
	o     *Options // with defaults
	m, m0 int      // links per record on upper layers and on layer 0

	first    uint32 // rows of the segment head
	head     *segment
	segments [maxSegments]atomic.Pointer[segment] // after head, each as large as all before it
	upper    upperSlab

	next      uint32        // rows in use, for the writer
	published atomic.Uint32 // rows whose vectors a scan may read
	entry     atomic.Uint64 // (level+1)<<32 | node; 0: none
	dead      atomic.Uint32 // rows that are dead
	live      atomic.Int64  // ids that live

	ids    idTable
	copies groups  // ids of nodes that have more than one
	dedup  digests // content -> node

	rotation  *rotation // of codes; nil: no codes
	unchecked uint32    // rows added or unlinked since reachability was last verified
}

const (
	segmentBits = 8
	segmentMin  = 1 << segmentBits
	maxSegments = 32 - segmentBits
)

// segment is a run of rows. All slices are as long as the segment has rows, times the width of a
// row.
type segment struct {
	start    uint32
	vectors  []float32       // [rows, dim]; nil where a source holds them
	tags     []uint32        // [rows] of contents, see digests; nil where vectors are there
	codes    []int8          // [rows, code length]; nil without quantization
	scales   []float32       // [rows] of codes
	norms    []float32       // [rows] squared lengths; nil unless L2 walks on codes
	links    []uint32        // [rows, m0] node+1, 0 is a free place; atomic
	upper    []uint32        // [rows] record in upperSlab, 0: the node lives on layer 0 only
	ids      []uint32        // [rows] an id of the node; atomic
	flags    []atomic.Uint32 // [rows] of flagDead, flagGroup
	inDegree []uint32        // [rows] links of layer 0 that lead to the node; for the writer
}

const (
	flagDead  = 1 << iota // has no ids
	flagGroup             // holds more ids than the one in ids, see groups
)

func newCore(o *Options, rows uint32) *core {
	c := &core{o: o, m: o.M, m0: 2 * o.M, first: max(rows, 64)}
	if o.Quantize == QuantizeInt8 {
		c.rotation = newRotation(o.Dim, o.Seed)
	}
	c.head = c.newSegment(0, c.first)
	c.dedup.init()
	return c
}

func (c *core) newSegment(start, rows uint32) *segment {
	n := int(rows)
	s := &segment{
		start:    start,
		links:    makeRows[uint32](n * c.m0),
		upper:    make([]uint32, n),
		ids:      make([]uint32, n),
		flags:    make([]atomic.Uint32, n),
		inDegree: make([]uint32, n),
	}
	if c.resident() {
		s.vectors = makeRows[float32](n * c.o.Dim)
	} else {
		s.tags = make([]uint32, n)
	}
	if c.rotation != nil {
		s.codes = makeRows[int8](n * c.rotation.width)
		s.scales = make([]float32, n)
		if c.o.Metric == L2 {
			s.norms = make([]float32, n)
		}
	}
	return s
}

// segmentOf returns the number of the segment that holds a node at or after first.
func (c *core) segmentOf(node uint32) int { return bits.Len32((node - c.first) >> segmentBits) }

// locate returns the segment of a node and its row in there.
func (c *core) locate(node uint32) (*segment, uint32) {
	if node < c.first {
		return c.head, node
	}
	s := c.segments[c.segmentOf(node)].Load()
	return s, node - s.start
}

// reserve makes room for n more rows. The writer calls it before it uses them.
func (c *core) reserve(n int) error {
	if int64(c.next)+int64(n) > maxNodes {
		return ErrFull
	}
	for end := c.next + uint32(n); c.room() < end; {
		k := c.segmentOf(c.room())
		rows := uint32(segmentMin)
		if k > 0 {
			rows = segmentMin << (k - 1)
		}
		c.segments[k].Store(c.newSegment(c.room(), rows))
	}
	return nil
}

// room returns the number of rows that segments exist for.
func (c *core) room() uint32 {
	for k := maxSegments - 1; k >= 0; k-- {
		if s := c.segments[k].Load(); s != nil {
			return s.start + uint32(len(s.ids))
		}
	}
	return c.first
}

// resident reports whether the float32 vectors are in memory.
func (c *core) resident() bool { return c.o.Source == nil }

// vector returns the row of a resident vector.
func (c *core) vector(node uint32) []float32 {
	s, row := c.locate(node)
	return s.vector(row, c.o.Dim)
}

func (s *segment) vector(row uint32, dim int) []float32 {
	at := int(row) * dim
	return s.vectors[at : at+dim : at+dim]
}

func (s *segment) code(row uint32, width int) []int8 {
	at := int(row) * width
	return s.codes[at : at+width : at+width]
}

// record returns the links of a node on a layer, node+1 each, 0 for a free place; nil above the
// node's level.
func (c *core) record(node uint32, layer int) []uint32 {
	s, row := c.locate(node)
	if layer == 0 {
		at := int(row) * c.m0
		return s.links[at : at+c.m0 : at+c.m0]
	}
	if s.upper[row] == 0 {
		return nil
	}
	return c.upper.record(s.upper[row], layer, c.m)
}

func (c *core) level(node uint32) int {
	s, row := c.locate(node)
	if s.upper[row] == 0 {
		return 0
	}
	return c.upper.level(s.upper[row])
}

func (c *core) isDead(node uint32) bool {
	s, row := c.locate(node)
	return s.flags[row].Load()&flagDead != 0
}

func (c *core) inDegree(node uint32) *uint32 {
	s, row := c.locate(node)
	return &s.inDegree[row]
}

// entryPoint returns the node where searches begin and its level; ok is false for an empty graph.
func (c *core) entryPoint() (node uint32, level int, ok bool) {
	e := c.entry.Load()
	return uint32(e), int(e>>32) - 1, e != 0
}

func (c *core) setEntry(node uint32, level int) { c.entry.Store(uint64(level+1)<<32 | uint64(node)) }

// upperSlab keeps the links above layer 0: per node one record [level, m links of layer 1, m of
// layer 2, ...]. Records never cross a chunk and never move. Reference 0 is unused.
type upperSlab struct {
	chunks atomic.Pointer[[][]uint32]
	used   uint32 // words of the last chunk in use; for the writer
}

const (
	upperBits  = 12
	upperChunk = 1 << upperBits // words; the largest record has 1 + maxLevel*MaxM = 1,921
)

func (u *upperSlab) record(ref uint32, layer, m int) []uint32 {
	chunk := (*u.chunks.Load())[ref>>upperBits]
	at := int(ref&(upperChunk-1)) + 1 + (layer-1)*m
	return chunk[at : at+m : at+m]
}

func (u *upperSlab) level(ref uint32) int {
	return int((*u.chunks.Load())[ref>>upperBits][ref&(upperChunk-1)])
}

// allocate returns the reference of a new record for a node of the given level, at least 1.
func (u *upperSlab) allocate(level, m int) uint32 {
	words := uint32(1 + level*m)
	var chunks [][]uint32
	if p := u.chunks.Load(); p != nil {
		chunks = *p
	}
	if len(chunks) == 0 || u.used+words > upperChunk {
		grown := append(chunks[:len(chunks):len(chunks)], make([]uint32, upperChunk))
		u.chunks.Store(&grown)
		chunks, u.used = grown, 0
		if len(grown) == 1 {
			u.used = 1
		}
	}
	ref := uint32(len(chunks)-1)<<upperBits | u.used
	chunks[len(chunks)-1][u.used] = uint32(level)
	u.used += words
	return ref
}

// bytes returns the memory of the records.
func (u *upperSlab) bytes() int {
	if p := u.chunks.Load(); p != nil {
		return len(*p) * upperChunk * 4
	}
	return 0
}
