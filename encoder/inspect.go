package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"

	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/internal/simd"
)

// ErrInspect is a request for a part of the stack that the model does not have.
var ErrInspect = errors.New("encoder: no such layer or head")

// errNoLayers refuses what only a transformer has.
var errNoLayers = fmt.Errorf("%w: a static model has no layers", ErrInspect)

// MaxInspectTokens is the length at which Inspect cuts a text: attention weights grow with its
// square.
const MaxInspectTokens = 512

// AllHeads asks for the average of the attention weights over all heads of a layer.
const AllHeads = -1

// InspectOptions choose what Inspect returns.
type InspectOptions struct {
	Prompt    string // as in EncodeOptions
	Attention bool   // the attention weights of Layer and Head
	Layer     int    // from 0
	Head      int    // from 0, or AllHeads
	States    bool   // the token states
	Maps      bool   // the attention weights of all layers and heads, a byte each
	MaxTokens int    // where the text is cut; default and maximum: MaxInspectTokens
}

// TokenizedText is a text with its tokens.
type TokenizedText struct {
	Text      string           // prompt and text as they are encoded, to which Spans refer
	IDs       []int32          // [L]
	Tokens    []string         // [L]
	Spans     []tokenizer.Span // [L], see tokenizer.Encoding
	Truncated bool             // whether the end of the text was cut off
}

// tokenizeText returns a text with the named prompt as tokens, cut at limit.
func (m *Model) tokenizeText(text, promptName string, limit int) (t TokenizedText, seq sequence, err error) {
	if m.tok == nil {
		return t, seq, ErrNoTexts
	}
	prompt, err := m.prompts.text(promptName)
	if err != nil {
		return t, seq, err
	}
	t.Text = m.trim(prompt + text)
	e := m.tok.Encode(t.Text, limit)
	seq = m.sequence(e)
	t.IDs, t.Truncated = seq.ids, e.Truncated
	t.Spans = append(e.Spans[:min(len(e.Spans), len(t.IDs))], make([]tokenizer.Span, max(0, len(t.IDs)-len(e.Spans)))...)
	for _, id := range t.IDs {
		token, _ := m.tok.Token(id)
		t.Tokens = append(t.Tokens, token)
	}
	seq.skip, seq.through = m.skipped(prompt), m.through(promptName)
	return t, seq, m.check(seq)
}

// Inspection holds attention weights and token states of one text.
type Inspection struct {
	TokenizedText
	Attention [][]float32 // [L][L]: row i holds the weights of the tokens that token i attends to; they sum to 1
	Maps      [][][]byte  // [layers][heads][L*L]: byte b stands for the weight (b/255)²; rows as in Attention
	States    [][]float32 // [layers+1][L*H]: the embeddings, then the states after each layer; the last are those that are pooled

	skip int // leading tokens that the pooling leaves out
}

// Inspect encodes one text and returns attention weights and token states. It returns ErrInspect
// for static models, which have neither, and ErrNotFinite in place of a NaN or an infinity.
func (m *Model) Inspect(ctx context.Context, text string, o InspectOptions) (*Inspection, error) {
	if m.static != nil {
		return nil, errNoLayers
	}
	s := m.stack
	if o.Attention && (o.Layer < 0 || o.Layer >= len(s.layers) || o.Head < AllHeads || o.Head >= s.heads) {
		return nil, fmt.Errorf("%w: layer %d, head %d, want layers 0 to %d, heads 0 to %d or %d for all", ErrInspect,
			o.Layer, o.Head, len(s.layers)-1, s.heads-1, AllHeads)
	}
	limit := min(m.limit(o.Prompt), MaxInspectTokens)
	if o.MaxTokens > 0 {
		limit = min(limit, o.MaxTokens)
	}
	t, seq, err := m.tokenizeText(text, o.Prompt, limit)
	if err != nil {
		return nil, err
	}
	in := &Inspection{TokenizedText: t, skip: seq.skip}
	got, err := m.acquire(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer m.release(got)
	w := m.workspace()
	defer m.keep(w)
	b := &batch{ids: seq.ids, types: seq.types, offsets: []int{0, len(seq.ids)}}
	if err := seq.through.forward(ctx, w, b, team(got), newTap(s, in, o)); err != nil {
		return nil, err
	}
	for _, rows := range [][][]float32{{w.states[:len(in.IDs)*s.hidden]}, in.Attention, in.States} {
		for _, row := range rows {
			if err := checkFinite(row, 0); err != nil {
				return nil, err
			}
		}
	}
	return in, nil
}

// tap copies states and attention weights during the run of a single sequence. A nil tap copies
// nothing.
type tap struct {
	in          *Inspection
	layer, head int // layer -1: no attention
}

func newTap(s *stack, in *Inspection, o InspectOptions) *tap {
	t := &tap{in: in, layer: -1, head: o.Head}
	if o.Attention {
		t.layer = o.Layer
	}
	if o.Maps {
		in.Maps = make([][][]byte, len(s.layers))
	}
	if o.States {
		in.States = make([][]float32, len(s.layers)+1)
		for i := range in.States {
			in.States[i] = make([]float32, len(in.IDs)*s.hidden)
		}
	}
	return t
}

// states copies the rows of x, which are the states after n layers of the tokens from on.
func (t *tap) states(n int, x []float32, from, hidden int) {
	if t != nil && t.in.States != nil {
		copy(t.in.States[n][from*hidden:], x)
	}
}

// attention computes the weights of layer n from its queries and keys in w; the run itself never
// stores all of them.
func (t *tap) attention(s *stack, n int, w *workspace) {
	if t == nil {
		return
	}
	if t.in.Maps != nil {
		t.in.Maps[n] = make([][]byte, s.heads)
		for head := range s.heads {
			t.in.Maps[n][head] = s.weightMap(s.layers[n].spec, w, head, len(t.in.IDs))
		}
	}
	if n != t.layer {
		return
	}
	t.in.Attention = squareMatrix(len(t.in.IDs))
	if t.head != AllHeads {
		s.addMatrix(t.in.Attention, s.layers[n].spec, w, t.head, 1)
		return
	}
	for head := range s.heads {
		s.addMatrix(t.in.Attention, s.layers[n].spec, w, head, 1/float32(s.heads))
	}
}

// squareMatrix returns a matrix [n][n] of zeros.
func squareMatrix(n int) [][]float32 {
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = make([]float32, n)
	}
	return rows
}

// weightMap returns the attention weights of one head as bytes [n*n]: their square roots, since
// most weights are small.
func (s *stack) weightMap(l *layerSpec, w *workspace, head, n int) []byte {
	weights, out := squareMatrix(n), make([]byte, 0, n*n)
	s.addMatrix(weights, l, w, head, 1)
	for _, row := range weights {
		for _, x := range row {
			out = append(out, byte(math.Round(255*math.Sqrt(float64(min(1, max(0, x)))))))
		}
	}
	return out
}

// addMatrix adds to dst [L][L] factor times the attention weights of one head, computed naively
// from the queries and keys in w.
func (s *stack) addMatrix(dst [][]float32, l *layerSpec, w *workspace, head int, factor float32) {
	d, width := s.headSize, w.qkvWidth
	keys := w.qkv[s.heads*d+head/(s.heads/s.kvHeads)*d:]
	scores := make([]float32, len(dst))
	for i, row := range dst {
		q := w.qkv[i*width+head*d:][:d]
		lo, hi := s.visible(l, i, len(row))
		seen := scores[lo:hi]
		for j := range seen {
			seen[j] = s.alpha * simd.Dot(q, keys[(lo+j)*width:][:d])
		}
		s.bias.add(w.bias, seen, head, lo-i)
		simd.Softmax(seen)
		simd.Axpy(row[lo:hi], factor, seen)
	}
}
