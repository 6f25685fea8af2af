package encoder

// workspace is the memory of one run. It grows to its largest batch, which is bounded by the token
// budget or one sequence of maximal length. A Model owns at most one per thread.
type workspace struct {
	states     []float32 // [T, H]
	mixed      []float32 // [T, H], the weighted mean over layers, where there is one
	qkv        []float32 // [T, (A+2K)*D]
	context    []float32 // [T, A*D], the output of attention
	positions  []int32   // [T], row of the position table
	bias       []float32 // [A, 2L-1], see scoreBias
	biasLength int
	tiles      []tile
	scratch    []*scratch // one per goroutine
	qkvWidth   int        // (A+2K)*D
	kvWidth    int        // K*D
	queries    []float32  // [T, A*D], of cross-attention
}

// scratch is the memory of one goroutine.
type scratch struct {
	embedding []float32 // [blockRows, E]
	normed    []float32 // [blockRows, H]
	divided   []float32 // [blockRows, H], see smoothing
	part      []float32 // [blockRows, H], what a part of a layer adds to the states
	gathered  []float32 // [blockRows, H], the rows of one expert
	choices   []choice  // [blockRows, experts of a token]
	gate, up  []float32 // [blockRows, I]
	scores    []float32 // [tileScores]
	heaviest  [longQueryTile]float32
	weight    [longQueryTile]float32
}

// tile is a run of queries of one sequence.
type tile struct {
	sequence   int
	begin, end int // the sequence's rows in the batch
	query      int // first query, counted from begin
}

// prepare sizes the memory for batch b and a team of t, and lists positions and tiles.
func (w *workspace) prepare(s *stack, b *batch, t team) {
	n := len(b.ids)
	w.qkvWidth, w.kvWidth = (s.heads+2*s.kvHeads)*s.headSize, s.kvHeads*s.headSize
	w.states = grown(w.states, n*s.hidden)
	if s.layerWeights != nil {
		w.mixed = grown(w.mixed, n*s.hidden)
	}
	w.qkv = grown(w.qkv, n*w.qkvWidth)
	w.context = grown(w.context, n*s.heads*s.headSize)
	for len(w.scratch) < int(t) {
		sc := &scratch{
			normed:  make([]float32, blockRows*s.hidden),
			divided: make([]float32, blockRows*s.hidden),
			up:      make([]float32, blockRows*s.intermediate),
			scores:  make([]float32, tileScores),
		}
		if s.projection != nil {
			sc.embedding = make([]float32, blockRows*s.embedding)
		}
		if !s.shares {
			sc.part = make([]float32, blockRows*s.hidden)
			sc.gathered = make([]float32, blockRows*s.hidden)
		}
		if s.layers[0].gate != nil {
			sc.gate = make([]float32, blockRows*s.intermediate)
		}
		w.scratch = append(w.scratch, sc)
	}
	if s.positionRows != nil {
		w.positions = s.positionIndexes(w.positions[:0], b)
	}
	if s.layers[0].cross != nil {
		w.queries = grown(w.queries, n*s.heads*s.headSize)
	}
	if longest := b.longest(); longest != w.biasLength || s.bias == nil { // one that generates needs the same for many steps
		w.bias, w.biasLength = s.bias.prepare(w.bias, longest), longest
	}
	w.tiles = w.tiles[:0]
	for i := range len(b.offsets) - 1 {
		begin, end := b.offsets[i], b.offsets[i+1]
		queries, _ := tileShape(end - begin)
		for q := 0; q < end-begin; q += queries {
			w.tiles = append(w.tiles, tile{sequence: i, begin: begin, end: end, query: q})
		}
	}
}

// grown returns x with length n, reallocated if needed; the contents are undefined.
func grown(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}
