package inference

import (
	"context"
	"fmt"
	"math"

	"example.com/searchd/encoder"
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/search/fault"
)

// MaxAttentionTokens is where [Service.Attention] cuts a text: the weights grow with the square of
// its length.
const MaxAttentionTokens = encoder.MaxInspectTokens

// AttentionOptions say what is shown of a text's way through the layers.
type AttentionOptions struct {
	EmbedOptions
	Layer int  // from 0
	Head  int  // from 0; -1: the average over the heads
	Norms bool // the lengths of the states after each layer too
	Maps  bool // the weights of all layers and heads, a byte each; then the text is cut at [MaxMapTokens]

	With        string       // a second text, for LayerCosines; empty: none
	WithOptions EmbedOptions // of the second text
}

// Bounds of [AttentionOptions].Maps: the text is cut at MaxMapTokens, or sooner where so many
// layers and heads would take more than maxMapBytes.
const (
	MaxMapTokens = 128
	maxMapBytes  = 4 << 20
)

// mapTokens returns where a text is cut for the maps of a checkpoint.
func mapTokens(layers, heads int) int {
	return max(8, min(MaxMapTokens, int(math.Sqrt(float64(maxMapBytes)/float64(max(1, layers*heads))))))
}

// Attention shows what the tokens of a text look at.
type Attention struct {
	Tokenization
	Truncated bool
	Layer     int
	Head      int
	Weights   [][]float32 // [L][L]: row i holds the weights of what token i looks at; they sum to 1
	Norms     [][]float32 // [layers+1][L]: length of each token's state, of the embeddings first
	Maps      [][][]byte  // [layers][heads][L*L]: byte b stands for the weight (b/255)², row by row as in Weights

	LayerCosines []float64 // [layers+1]: of the pooled states of the text and of With after each layer, of the embeddings first
}

// Attention runs a text through the checkpoint and shows the attention weights of one layer. It
// returns a [fault.FieldError] for a layer or head that is not there and [ErrUnsupported] where
// there are none.
func (s *Service) Attention(ctx context.Context, text string, o AttentionOptions) (*Attention, error) {
	c, err := s.checkpoint()
	if err != nil {
		return nil, err
	}
	info := c.checkpoint.Info()
	if info.Layers > 0 {
		if o.Layer < 0 || o.Layer >= info.Layers {
			return nil, fault.Field("layer", o.Layer, fmt.Sprintf("0 to %d", info.Layers-1))
		}
		if o.Head < encoder.AllHeads || o.Head >= info.Heads {
			return nil, fault.Field("head", o.Head, fmt.Sprintf("0 to %d, or %d for the average", info.Heads-1, encoder.AllHeads))
		}
	}
	io := encoder.InspectOptions{Prompt: o.prompt(), Attention: true, Layer: o.Layer, Head: o.Head, States: o.Norms, Maps: o.Maps}
	if o.Maps {
		io.MaxTokens = mapTokens(info.Layers, info.Heads)
	}
	in, err := c.checkpoint.Inspect(ctx, text, io)
	if err != nil {
		return nil, refused(err)
	}
	a := &Attention{Tokenization: Tokenization{in.Text, tokens(in.IDs, in.Tokens, in.Spans)}, Truncated: in.Truncated, Layer: o.Layer, Head: o.Head, Weights: in.Attention, Maps: in.Maps}
	for _, states := range in.States {
		a.Norms = append(a.Norms, norms(states, info.Hidden))
	}
	if o.With != "" {
		a.LayerCosines, err = c.checkpoint.LayerCosines(ctx, [2]string{text, o.With}, [2]string{o.prompt(), o.WithOptions.prompt()})
		if err != nil {
			return nil, refused(err)
		}
	}
	return a, nil
}

// norms returns the length of each row of states [L, H].
func norms(states []float32, hidden int) []float32 {
	out := make([]float32, 0, len(states)/hidden)
	for ; len(states) >= hidden; states = states[hidden:] {
		sum := 0.0
		for _, x := range states[:hidden] {
			sum += float64(x) * float64(x)
		}
		out = append(out, float32(math.Sqrt(sum)))
	}
	return out
}

// Contribution says what each token of two texts adds to the cosine of their vectors.
type Contribution struct {
	Cosine float64
	Texts  [2]TokenShares
}

// TokenShares are the tokens of a text with their shares, which sum to the cosine.
type TokenShares struct {
	Tokenization
	Truncated bool
	Shares    []float64
}

// Contributions splits the cosine of two texts over the tokens of each. It is exact, and
// [ErrUnsupported] where it cannot be.
func (s *Service) Contributions(ctx context.Context, texts [2]string, o [2]EmbedOptions) (*Contribution, error) {
	c, err := s.checkpoint()
	if err != nil {
		return nil, err
	}
	r, err := c.checkpoint.Contributions(ctx, texts, [2]string{o[0].prompt(), o[1].prompt()})
	if err != nil {
		return nil, refused(err)
	}
	out := &Contribution{Cosine: r.Cosine}
	for i, t := range r.Texts {
		out.Texts[i] = TokenShares{Tokenization{t.Text, tokens(t.IDs, t.Tokens, t.Spans)}, t.Truncated, t.Shares}
	}
	return out, nil
}

func tokens(ids []int32, words []string, spans []tokenizer.Span) []Token {
	out := make([]Token, len(ids))
	for i, id := range ids {
		out[i] = Token{id, words[i], spans[i].Start, spans[i].End, spans[i].Start == spans[i].End}
	}
	return out
}
