package hnsw

import "runtime"

// scratch is the memory of one search or insertion.
type scratch struct {
	visited []uint8 // epoch in which a node was last seen
	epoch   uint8
	nodes   []uint32
	dist    []float32 // to nodes
	dots    []int32

	measured int // distances, ever; for tests

	// Where nodes lie in several segments: the segment of each; then, of one segment, rows, places
	// in nodes, distances.
	segment []uint8
	rows    []uint32
	place   []uint32
	part    []float32

	beam     beam
	frontier frontier
	query    query
	pick     picker
	plan     plan
	keys     []key    // candidates for a record
	around   []uint32 // nodes near one that died
	sink     uint32   // keeps the compiler from dropping the reads of touch
	touched  []uint32 // nodes that may have lost their last link
	ids      []uint32
	vec      []float32 // the query as the graph would keep it
	hash     uint64    // digest of vec, where it is to be inserted
	sieve    sieve
	read     reading
	without  uint32 // node+1 of layer 0 that a search passes by as if it were not there; 0: none
}

// reading is the memory of reads from a source.
type reading struct {
	ids   []uint32
	nodes []uint32
	vec   []float32
}

// scratchPool is a bounded free list. A sync.Pool would lose the large visited sets at every
// collection of garbage (weaviate 16d0010797: 38.7 GB in 152.5 M allocations).
type scratchPool chan *scratch

func newScratchPool() scratchPool { return make(scratchPool, 4*runtime.GOMAXPROCS(0)) }

func (p scratchPool) take() *scratch {
	select {
	case s := <-p:
		return s
	default:
		return new(scratch)
	}
}

func (p scratchPool) put(scratches ...*scratch) {
	for _, s := range scratches {
		select {
		case p <- s:
		default:
		}
	}
}

// takeMany takes one for each of workers goroutines, 0 or less: GOMAXPROCS, but for no more than
// most and maxWorkers.
func (p scratchPool) takeMany(workers, most int) []*scratch {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	scratches := make([]*scratch, max(1, min(workers, most, maxWorkers)))
	for i := range scratches {
		scratches[i] = p.take()
	}
	return scratches
}

// visit begins a new epoch for nodes below n.
func (s *scratch) visit(n int) {
	if n > len(s.visited) {
		s.visited = make([]uint8, n+n/4+64)
		s.epoch = 0
	}
	s.epoch++
	if s.epoch == 0 {
		clear(s.visited)
		s.epoch = 1
	}
}

// room makes nodes and dist hold n elements.
func (s *scratch) room(n int) {
	if n > len(s.nodes) {
		s.nodes = make([]uint32, n)
		s.dist = make([]float32, n)
		s.dots = make([]int32, n)
		s.segment = make([]uint8, n)
		s.rows = make([]uint32, n)
		s.place = make([]uint32, n)
		s.part = make([]float32, n)
	}
}
