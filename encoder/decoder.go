package encoder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/internal/simd"
)

// Errors of a decoder.
var (
	ErrNotDecoder = errors.New("encoder: the checkpoint does not generate text")
	ErrTooLong    = errors.New("encoder: more tokens than the decoder takes")
)

// longestGenerated bounds a sequence where neither the checkpoint nor Options does.
const longestGenerated = 1 << 15

// Decoder is a checkpoint that continues texts: a decoder alone, or with an encoder that reads
// another text first. It is safe for concurrent use.
type Decoder struct {
	m          *Model  // the decoder's stack, goroutines and memory
	source     *Model  // the encoder's; nil: none
	output     *linear // [V, H]
	factor     float32 // of the states before output
	maxLen     int
	parameters int       // of output, if it has a weight of its own
	buffers    sync.Pool // *[]float32, logits
}

// LoadDecoder reads config.json, weights and tokenizer.json of a decoder from a folder. Of o
// Precision, Threads, MaxBatchTokens and MaxSeqLength count, the latter as the number of tokens of
// a sequence. It returns ErrNotDecoder for a model_type that generates nothing.
func LoadDecoder(fsys fs.FS, o Options) (*Decoder, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	f, err := readFields(fsys, "config.json")
	if err != nil {
		return nil, err
	}
	first, err := readArchitecture(f)
	if err != nil {
		return nil, err
	}
	if first.output.weight == "" {
		return nil, fmt.Errorf("%w: model_type %s", ErrNotDecoder, first.family)
	}
	slots := make(chan struct{}, o.Threads)
	newModel := func() *Model { return &Model{options: o, slots: slots, spaces: make(chan *workspace, o.Threads)} }
	d := &Decoder{m: newModel(), factor: 1}
	ck, err := safetensors.Open(fsys, ".")
	if err != nil {
		return nil, err
	}
	defer ck.Close()
	a := first
	if decoders[first.family] != nil {
		if a, err = readHalf(f, decoders); err != nil {
			return nil, err
		}
		d.source = newModel()
		if d.source.stack, err = loadStack(ck, first, o.Precision); err != nil {
			return nil, err
		}
		d.source.describeStack()
	}
	if !a.causal {
		return nil, fmt.Errorf("%w: config.json makes its attention bidirectional", ErrNotDecoder)
	}
	tokens, err := d.m.readLength(fsys, ".", a)
	if err != nil {
		return nil, err
	}
	d.m.maxLen = least(o.MaxSeqLength, cmp.Or(a.maxTokens, a.statedTokens, longestGenerated))
	if d.source != nil {
		d.source.maxLen = least(o.MaxSeqLength, cmp.Or(first.maxTokens, longestGenerated))
	}
	if d.m.tok, err = readTokenizer(fsys, ".", tokens, first.vocab); err != nil {
		return nil, err
	}
	if d.m.stack, err = loadStack(ck, a, o.Precision); err != nil {
		return nil, err
	}
	if err := d.loadOutput(ck, a, o.Precision); err != nil {
		return nil, err
	}
	d.m.describeStack()
	d.m.info.Parameters += d.parameters
	if d.source != nil {
		d.m.info.Parameters += d.source.stack.parameters
	}
	d.m.info.SHA256, err = ck.SHA256()
	return d, err
}

// describeStack fills what info has to say of the stack.
func (m *Model) describeStack() {
	a := m.stack.architecture
	m.info.Family, m.info.Layers, m.info.Hidden, m.info.Heads, m.info.Inner = a.family, len(a.specs), a.hidden, a.heads, a.intermediate
	m.info.Vocab, m.info.Parameters, m.info.Precision = a.vocab, m.stack.parameters, m.options.Precision
}

// loadOutput reads the last linear layer: its own weight if there is one, or the word table.
func (d *Decoder) loadOutput(ck *safetensors.Checkpoint, a *architecture, p Precision) error {
	l, err := newLoader(ck, a)
	if err != nil {
		return err
	}
	l.precision = p
	spec := a.output
	if spec.factor != 0 {
		d.factor = float32(spec.factor)
	}
	name := spec.weight
	if spec.tied && !l.has(name) {
		name = l.words
	}
	if name != l.words {
		d.parameters = a.vocab * a.hidden
	}
	bias := spec.bias
	if bias != "" && !l.has(bias) {
		bias = ""
	}
	return l.twice(func(l *loader) {
		w := l.tensor(name, a.vocab, a.hidden)
		d.output = &linear{w: l.pack(w, a.vocab, a.hidden)}
		if bias != "" {
			shape := []int{a.vocab}
			if t, ok := l.ck.Tensor(l.full(bias)); ok && len(t.Shape) == 2 {
				shape = []int{1, a.vocab}
			}
			d.output.bias = l.tensor(bias, shape...)
		}
	})
}

// Tokenizer is that of the checkpoint.
func (d *Decoder) Tokenizer() *tokenizer.Tokenizer { return d.m.tok }

// Info describes the decoder; MaxTokens and what concerns vectors are not set.
func (d *Decoder) Info() Info { return d.m.info }

// MaxTokens is the greatest number of tokens of a sequence.
func (d *Decoder) MaxTokens() int { return d.m.maxLen }

// MaxSource is the greatest number of tokens that the encoder reads, 0 without an encoder.
func (d *Decoder) MaxSource() int {
	if d.source == nil {
		return 0
	}
	return d.source.maxLen
}

// TokenBytes is the size of what a sequence caches for each token, beyond the window of a layer
// that has one.
func (d *Decoder) TokenBytes() int {
	s := d.m.stack
	return 2 * 4 * len(s.layers) * s.kvHeads * s.headSize
}

// Start returns an empty sequence of a decoder without an encoder.
func (d *Decoder) Start() *Sequence { return d.sequence(nil) }

func (d *Decoder) sequence(src *source) *Sequence {
	return &Sequence{layers: make([]cachedLayer, len(d.m.stack.layers)), source: src}
}

// Read has the encoder read texts, given as ids, and returns an empty sequence for each. It returns
// ErrTokenID, ErrTooLong, ErrNotDecoder without an encoder, or the error of ctx.
func (d *Decoder) Read(ctx context.Context, ids [][]int32) ([]*Sequence, error) {
	if d.source == nil {
		return nil, fmt.Errorf("%w from another: %s has no encoder", ErrNotDecoder, d.m.info.Family)
	}
	seqs := make([]sequence, len(ids))
	for i, list := range ids {
		seqs[i].ids = list
		if len(list) == 0 || len(list) > d.source.maxLen {
			return nil, fmt.Errorf("%w: text %d has %d, want 1 to %d", ErrTooLong, i, len(list), d.source.maxLen)
		}
		if err := d.source.check(seqs[i]); err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	out := make([]*Sequence, len(ids))
	err := d.source.eachText(ctx, seqs, func(n int, states []float32) error {
		out[n] = d.sequence(d.m.stack.newSource(states))
		return checkFinite(states, n)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Step appends tokens[i] to sequence i, for all sequences together and without padding, and calls
// visit with the logits [V] after the last token of each or, with every, after each token: at
// counts the new tokens of a sequence from 0. The logits are valid during the call, which may
// change them. A sequence must not occur twice. After an error the sequences that were not visited
// must not be used again. It returns ErrTokenID, ErrTooLong, ErrNotFinite, the error of visit or
// that of ctx, which is checked per layer.
func (d *Decoder) Step(ctx context.Context, seqs []*Sequence, tokens [][]int32, every bool, visit func(i, at int, logits []float32) error) error {
	for i, list := range tokens {
		if n := seqs[i].length + len(list); len(list) == 0 || n > d.m.maxLen {
			return fmt.Errorf("%w: sequence %d would have %d, want %d to %d", ErrTooLong, i, n, seqs[i].length+1, d.m.maxLen)
		}
		if err := d.m.check(sequence{ids: list}); err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
	}
	got, err := d.m.acquire(ctx, d.m.options.Threads)
	if err != nil {
		return err
	}
	defer d.m.release(got)
	w := d.m.workspace()
	defer d.m.keep(w)
	done := make([]int, len(seqs))
	for next := 0; next < len(seqs); { // parts of at most MaxBatchTokens tokens
		b := &batch{offsets: []int{0}}
		var members []int
		for i := next; i < len(seqs) && len(b.ids) < d.m.options.MaxBatchTokens; i++ {
			part := tokens[i][done[i]:]
			part = part[:min(len(part), d.m.options.MaxBatchTokens-len(b.ids))]
			b.ids = append(b.ids, part...)
			b.offsets = append(b.offsets, len(b.ids))
			b.caches = append(b.caches, seqs[i])
			members = append(members, i)
			seqs[i].reserve(d.m.stack, len(part))
		}
		if err := d.m.stack.forward(ctx, w, b, team(got), nil); err != nil {
			return err
		}
		b.commit()
		if err := d.logits(ctx, w, b, team(got), func(k, row int) (int, int, bool) {
			i, at := members[k], done[members[k]]+row
			return i, at, every || at == len(tokens[i])-1
		}, visit); err != nil {
			return err
		}
		for k, i := range members {
			done[i] += b.offsets[k+1] - b.offsets[k]
			if done[i] == len(tokens[i]) {
				next = i + 1
			}
		}
	}
	return nil
}

// logits computes the rows of logits that place asks for, a few at a time. place returns, for row r
// of member k of the batch, the sequence and the position for visit.
func (d *Decoder) logits(ctx context.Context, w *workspace, b *batch, t team, place func(k, r int) (i, at int, wanted bool), visit func(i, at int, logits []float32) error) error {
	const most = 14
	h, v := d.m.stack.hidden, d.output.w.Out()
	buffer, _ := d.buffers.Get().(*[]float32)
	if buffer == nil {
		x := make([]float32, most*(h+v))
		buffer = &x
	}
	defer d.buffers.Put(buffer)
	states, out := (*buffer)[:most*h], (*buffer)[most*h:]
	var rows [][2]int
	flush := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.start(func(worker int) {
			d.output.share(out[:len(rows)*v], states[:len(rows)*h], len(rows), worker, int(t), simd.Identity, nil)
		})
		for r, at := range rows {
			row := out[r*v : (r+1)*v : (r+1)*v]
			if err := checkFinite(row, at[0]); err != nil {
				return err
			}
			if err := visit(at[0], at[1], row); err != nil {
				return err
			}
		}
		rows = rows[:0]
		return nil
	}
	for k := range b.caches {
		for r := range b.offsets[k+1] - b.offsets[k] {
			i, at, wanted := place(k, r)
			if !wanted {
				continue
			}
			x := states[len(rows)*h : (len(rows)+1)*h]
			copy(x, w.states[(b.offsets[k]+r)*h:])
			if d.factor != 1 {
				simd.Scale(x, d.factor)
			}
			if rows = append(rows, [2]int{i, at}); len(rows) == most {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return flush()
}

// SourceBytes is the size of what a sequence holds for each token that the encoder read.
func (d *Decoder) SourceBytes() int {
	s := d.m.stack
	return 2 * 4 * len(s.layers) * s.heads * s.headSize
}
