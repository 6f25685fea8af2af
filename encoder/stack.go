package encoder

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/searchd/encoder/safetensors"
)

// stack is the transformer: weights, and the order in which they are applied. It is read-only after
// loading.
//
// Letters: T tokens of a batch, H hidden size, A heads, K key/value heads, D head size, I
// intermediate size. The states of a batch are one matrix [T, H] with the sequences one after
// another, without padding.
type stack struct {
	*architecture
	wordTable     []float32  // [V, E]; nil: see patches
	input         *patches   // of pictures; nil: the input is a text
	vector        vectorHead // of a family that encodes pictures
	segments      []float32  // [types, E]
	positionRows  []float32  // [rows, E]
	embeddingNorm *norm
	projection    *linear // [H, E]
	layers        []*layer
	finalNorm     *norm
	bias          *scoreBias
	alpha         float32           // factor of the scores
	layerWeights  []float32         // [layers+1], sum 1: what is pooled is this mean over layers; nil: the last layer
	head          *head             // nil: none
	variants      map[string]*stack // by task, see adapterSpec
	words         *lowTable         // the change of the word table; nil: none
	shares        bool              // the goroutines of a team can share each layer, see forwardTogether
	parameters    int
}

// layer holds the weights of one block.
type layer struct {
	spec               *layerSpec
	qkv                *linear // [(A+2K)*D, H]
	queryNorm, keyNorm *norm   // [D]
	output             *linear // [H, A*D]
	attentionNorm      *norm
	cross              *cross   // nil: none
	gate, up           *linear  // [I, H]; gate nil: plain
	down               *linear  // [H, I]
	experts            *experts // instead of gate, up and down; nil: none
	feedForwardNorm    *norm
	outputNorm         *norm // of what attention adds to the states; nil: identity
	downNorm           *norm // of what the feed-forward adds; nil: identity
	smoothing          smoothing
	squares            *channelSquares // nil except during calibration
}

// loadStack reads the weights that a calls for. The linear layers of the blocks get the given
// precision, all else stays in float32.
func loadStack(ck *safetensors.Checkpoint, a *architecture, p Precision) (*stack, error) {
	const deepest = 1 << 16 // products of bytes that an int32 can sum; hidden sizes are never above it
	if inner := a.heads * a.headSize; p == Int8 && max(a.intermediate, inner) > deepest {
		return nil, fmt.Errorf("%w: intermediate size %d, %d attention heads of %d, with int8 at most %d and as many in all heads are possible",
			ErrConfig, a.intermediate, a.heads, a.headSize, deepest)
	}
	l, err := newLoader(ck, a)
	if err != nil {
		return nil, err
	}
	shares := a.adapters == nil && !slices.ContainsFunc(a.specs, func(l layerSpec) bool { return l.experts != nil || l.outputNorm != "" || l.downNorm != "" })
	trial := &stack{architecture: a}
	trial.load(l)
	trial.loadLayers(l)
	trial.loadAdapters(l)
	if err := l.check(a.layerRoot, "embeddings."); err != nil {
		return nil, err
	}
	s := &stack{architecture: a, shares: shares, parameters: l.parameters}
	inside := *l
	inside.precision = p
	team(2).each(2, func(_, part int) { // in parallel: the word table of a small checkpoint is as large as its blocks
		if part == 0 {
			s.load(l)
		} else {
			s.loadLayers(&inside)
		}
	})
	if err := errors.Join(l.err, inside.err); err != nil {
		return nil, err
	}
	s.loadAdapters(l)
	return s, l.err
}

// load asks l for every tensor outside the blocks.
func (s *stack) load(l *loader) {
	a := s.architecture
	if s.input = l.patches(a); s.input == nil {
		s.wordTable = l.tensor(l.words, a.vocab, a.embedding)
	}
	if a.wordScale != 0 {
		for i := range s.wordTable {
			s.wordTable[i] *= float32(a.wordScale)
		}
	}
	if a.typeTable != "" {
		s.segments = l.tensor(a.typeTable, a.types, a.embedding)
	}
	if p := a.positions; p.name != "" {
		if p.sinusoidal && !l.has(p.name) {
			s.positionRows = l.sinusoids(p.rows, a.embedding, p.halves)
		} else {
			shape := []int{p.rows, a.embedding}
			if p.batched {
				shape = append([]int{1}, shape...)
			}
			s.positionRows = l.tensor(p.name, shape...)
		}
	}
	s.embeddingNorm = l.norm(a.embeddingNorm, a.embedding, a.norm, a.normBias, a.eps)
	if a.projection != "" {
		s.projection = l.linear(a.projection, a.hidden, a.embedding, true)
	}
	s.finalNorm = l.norm(a.finalNorm, a.hidden, a.norm, a.normBias, a.eps)
	s.head = l.head(a)
	s.vector = l.vectorHead(a)
	s.bias = newScoreBias(a, l)
	s.alpha = float32(a.scale)
	if a.scale == 0 {
		s.alpha = float32(1 / math.Sqrt(float64(a.headSize)))
	}
}

// loadLayers reads the blocks, several at a time unless the run is dry. Specs with the same root
// share a layer, as ALBERT's do.
func (s *stack) loadLayers(l *loader) {
	if l.err != nil {
		return
	}
	s.layers = make([]*layer, len(s.specs))
	first := map[string]int{}
	var order []int // the first spec of each root
	for i, spec := range s.specs {
		if _, seen := first[spec.root]; !seen {
			first[spec.root] = i
			order = append(order, i)
		}
	}
	workers := team(defaultThreads())
	if l.dry {
		workers = 1
	}
	errs := make([]error, len(order))
	workers.each(len(order), func(_, k int) {
		own := l
		if !l.dry {
			own = &loader{}
			*own = *l
		}
		s.layers[order[k]] = s.loadLayer(own, &s.specs[order[k]])
		errs[k] = own.err
	})
	l.err = errors.Join(errs...)
	for i, spec := range s.specs {
		s.layers[i] = s.layers[first[spec.root]]
	}
	if l.err == nil && !l.dry {
		s.chain()
	}
}

// chain sets, for each linear layer, the weights that are used next.
func (s *stack) chain() {
	for i, b := range s.layers {
		order := []*linear{b.qkv, b.output, b.gate, b.up, b.down, s.layers[(i+1)%len(s.layers)].qkv}
		order = slices.DeleteFunc(order, func(l *linear) bool { return l == nil })
		for k, l := range order[1:] {
			order[k].then = l.w
		}
	}
}

func (s *stack) loadLayer(l *loader, spec *layerSpec) *layer {
	a := s.architecture
	h, q, kv, i := a.hidden, a.heads*a.headSize, a.kvHeads*a.headSize, a.intermediate
	name := func(base string) string {
		if base == "" {
			return ""
		}
		return spec.root + base
	}
	b := &layer{spec: spec}
	if f := l.factors[spec.root]; f != nil {
		b.smoothing = *f
	}
	l.reciprocal = b.smoothing.qkv
	arrange := func(x []float32, width int) { arrange(x, width, a, spec) }
	if spec.qkv != "" {
		b.qkv = l.stacked([]string{name(spec.qkv)}, []int{q + 2*kv}, h, spec.qkvBias, arrange)
	} else {
		b.qkv = l.stacked([]string{name(spec.query), name(spec.key), name(spec.value)}, []int{q, kv, kv}, h, spec.qkvBias, arrange)
	}
	l.reciprocal = nil
	b.queryNorm = l.norm(name(spec.queryNorm), a.headSize, rmsNorm, false, a.eps)
	b.keyNorm = l.norm(name(spec.keyNorm), a.headSize, rmsNorm, false, a.eps)
	b.output = l.linear(name(spec.output), h, q, spec.outputBias)
	b.attentionNorm = l.norm(name(spec.attentionNorm), h, a.norm, a.normBias, a.eps)
	b.cross = l.cross(a, spec)
	l.reciprocal = b.smoothing.up
	if b.experts = l.experts(spec.experts, name, i, h); b.experts == nil {
		l.gain = float32(a.actFactor)
		b.gate, b.up = l.feedForward(spec, name, i, h)
		l.reciprocal = nil
		if l.gain != 0 {
			for k := range b.up.bias {
				b.up.bias[k] *= l.gain
			}
			l.gain = 1 / l.gain
		}
		b.down = l.linear(name(spec.down), h, i, spec.downBias)
		l.gain = 0
	}
	l.reciprocal = nil
	b.feedForwardNorm = l.norm(name(spec.feedForwardNorm), h, a.norm, a.normBias, a.eps)
	b.outputNorm = l.norm(name(spec.outputNorm), h, a.norm, a.normBias, a.eps)
	b.downNorm = l.norm(name(spec.downNorm), h, a.norm, a.normBias, a.eps)
	return b
}

// arrange brings the rows of query, key and value, each width numbers, into the order of the stack:
// all heads of the queries, of the keys, of the values, and in each head the dimensions that turn
// together D/2 apart.
func arrange(x []float32, width int, a *architecture, spec *layerSpec) {
	d := a.headSize
	if spec.byHead {
		old, size := slices.Clone(x), d*width
		for h := range a.heads {
			for part := range 3 {
				copy(x[(part*a.heads+h)*size:][:size], old[(h*3+part)*size:])
			}
		}
	}
	if !spec.interleaved {
		return
	}
	old := make([]float32, d*width)
	for h := range a.heads + a.kvHeads {
		head := x[h*d*width : (h+1)*d*width]
		copy(old, head)
		for j := range d / 2 {
			copy(head[j*width:(j+1)*width], old[2*j*width:])
			copy(head[(j+d/2)*width:(j+d/2+1)*width], old[(2*j+1)*width:])
		}
	}
}

// feedForward reads the first half of a feed-forward; gate is nil for a plain one.
func (l *loader) feedForward(spec *layerSpec, name func(string) string, i, h int) (gate, up *linear) {
	if spec.fused == separate {
		if spec.gate != "" {
			gate = l.linear(name(spec.gate), i, h, spec.upBias)
		}
		return gate, l.linear(name(spec.up), i, h, spec.upBias)
	}
	w := l.matrix(name(spec.up), 2*i, h)
	first, second := &linear{}, &linear{}
	if w != nil {
		first.w, second.w = l.pack(w[:i*h], i, h), l.pack(w[i*h:], i, h)
	}
	if spec.upBias {
		if b := l.tensor(name(spec.up)+".bias", 2*i); b != nil {
			first.bias, second.bias = b[:i], b[i:]
		}
	}
	if spec.fused == gateUp {
		return first, second
	}
	return second, first
}
