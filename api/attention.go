package api

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"example.com/searchd/search"
)

// attentionRequest asks for the attention within a text, or for what the tokens of two texts add to
// their cosine.
type attentionRequest struct {
	Text      string `json:"text"`
	InputType string `json:"input_type"` // document (default), query: with the checkpoint's prompt for it
	Layer     *int   `json:"layer"`      // from 0; default: the last
	Head      *int   `json:"head"`       // from 0; default, and -1: the average over the heads
	Norms     bool   `json:"norms"`      // the length of each token's state after each layer too
	Maps      bool   `json:"maps"`       // the weights of all layers and heads, a byte each

	With          string `json:"with"` // a second text, for the shares; layers are then shown only where layer, head or norms ask for them
	WithInputType string `json:"with_input_type"`
	Layerwise     bool   `json:"layerwise"` // the cosine of the two after each layer too; needs with
}

type attentionAnswer struct {
	Model     string           `json:"model"`
	Layers    int              `json:"layers"`
	Heads     int              `json:"heads"`
	Text      string           `json:"text"` // with its prompt; what the offsets refer to
	Tokens    []attentionToken `json:"tokens"`
	Truncated bool             `json:"truncated"`

	Attention *attentionWeights `json:"attention,omitempty"`
	Norms     [][]float32       `json:"norms,omitempty"` // [layers+1][tokens]: of the embeddings first
	Maps      [][][]byte        `json:"maps,omitempty"`  // [layers][heads]: base64 of tokens*tokens bytes, row by row; byte b stands for the weight (b/255)²

	LayerCosines []float64 `json:"layer_cosines,omitempty"` // [layers+1]: of the two texts after each layer, of the embeddings first

	Cosine *float64       `json:"cosine,omitempty"` // of the two texts
	Shares []float64      `json:"shares,omitempty"` // of the tokens in the cosine, which they sum to
	With   *attentionPart `json:"with,omitempty"`   // the second text, whose shares sum to the cosine too
}

type attentionPart struct {
	Text      string           `json:"text"`
	Tokens    []attentionToken `json:"tokens"`
	Truncated bool             `json:"truncated"`
	Shares    []float64        `json:"shares"`
}

type attentionWeights struct {
	Layer   int         `json:"layer"`
	Head    int         `json:"head"`    // -1: the average
	Weights [][]float32 `json:"weights"` // [tokens][tokens]: row i sums to 1 and says what token i looks at
}

type attentionToken struct {
	ID      int32  `json:"id"`
	Token   string `json:"token"`
	Start   int    `json:"start"` // byte offsets [start, end) into the text
	End     int    `json:"end"`
	Special bool   `json:"special,omitempty"`
}

func (s *Server) attention(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q attentionRequest
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	texts := [2]string{q.Text, q.With}
	var o [2]search.EmbedOptions
	for i, t := range [2]struct{ field, typ string }{{"text", q.InputType}, {"with", q.WithInputType}} {
		if i == 0 && strings.TrimSpace(texts[i]) == "" || len(texts[i]) > search.MaxQueryBytes {
			return nil, &search.FieldError{Field: t.field, Value: texts[i], Allowed: fmt.Sprintf("1 to %d bytes", search.MaxQueryBytes)}
		}
		if t.typ != "" && t.typ != "document" && t.typ != "query" {
			return nil, &search.FieldError{Field: strings.TrimPrefix(t.field+"_input_type", "text_"), Value: t.typ, Allowed: "document, query"}
		}
		o[i].Query = t.typ == "query"
	}
	if q.Layerwise && q.With == "" {
		return nil, &search.FieldError{Field: "layerwise", Value: q.Layerwise, Allowed: "false, or true beside a second text in with"}
	}
	info := s.o.Inference.Encoder()
	a := attentionAnswer{Model: s.o.Inference.Model().Name, Layers: info.Layers, Heads: info.Heads}
	if q.With != "" {
		c, err := s.o.Inference.Contributions(r.Context(), texts, o)
		if err != nil {
			return nil, err
		}
		a.showShares(c)
	}
	weights := q.With == "" || q.Layer != nil || q.Head != nil || q.Norms || q.Maps
	if weights || q.Layerwise {
		ao := search.AttentionOptions{EmbedOptions: o[0], Layer: max(0, info.Layers-1), Head: -1, Norms: q.Norms, Maps: q.Maps}
		if q.Layerwise {
			ao.With, ao.WithOptions = q.With, o[1]
		}
		if q.Layer != nil {
			ao.Layer = *q.Layer
		}
		if q.Head != nil {
			ao.Head = *q.Head
		}
		t, err := s.o.Inference.Attention(r.Context(), q.Text, ao)
		if err != nil {
			return nil, err
		}
		a.LayerCosines = t.LayerCosines
		if weights {
			a.showAttention(t)
		}
	}
	return a, nil
}

func (a *attentionAnswer) showShares(c *search.Contribution) {
	first, second := c.Texts[0], c.Texts[1]
	a.Text, a.Tokens, a.Truncated = first.Text, attentionTokens(first.Tokens), first.Truncated
	a.Cosine, a.Shares = &c.Cosine, first.Shares
	a.With = &attentionPart{second.Text, attentionTokens(second.Tokens), second.Truncated, second.Shares}
}

// showAttention adds the attention of a text. Its limit is lower than that of the shares; then the
// weights and norms are of the first tokens.
func (a *attentionAnswer) showAttention(t *search.Attention) {
	if a.With == nil {
		a.Text, a.Tokens, a.Truncated = t.Text, attentionTokens(t.Tokens), t.Truncated
	}
	a.Attention, a.Norms, a.Maps = &attentionWeights{t.Layer, t.Head, t.Weights}, t.Norms, t.Maps
	for _, rows := range [2][][]float32{t.Weights, t.Norms} {
		for _, row := range rows {
			for i, x := range row {
				row[i] = float32(math.Round(float64(x)*1e6) / 1e6) // six digits are enough to be drawn, and half as long
			}
		}
	}
}

func attentionTokens(list []search.Token) []attentionToken {
	out := make([]attentionToken, len(list))
	for i, t := range list {
		out[i] = attentionToken(t)
	}
	return out
}
