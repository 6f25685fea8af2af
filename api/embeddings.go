package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"example.com/searchd/api/output"
	"example.com/searchd/search"
)

// embeddingRequest is the request of OpenAI's POST /v1/embeddings, with more formats and
// input_type. Any model name is accepted, since many clients can only send OpenAI's.
type embeddingRequest struct {
	Input      textInput `json:"input"`
	Model      string    `json:"model"`
	Dimensions *int      `json:"dimensions"`
	User       string    `json:"user"`       // not used
	InputType  string    `json:"input_type"` // document (default), query: with the checkpoint's query prompt
	output.Vectors
}

type embeddingList struct {
	Object string          `json:"object"`
	Data   []embeddingItem `json:"data"`
	Model  string          `json:"model"`
	Usage  embeddingUsage  `json:"usage"`
}

type embeddingItem struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"`                 // numbers, base64 as a string, or an object of them by type
	Format    string `json:"encoding_format,omitempty"` // "base64" where it is that
	Truncated bool   `json:"truncated,omitempty"`
}

type embeddingUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
	Truncated    int `json:"truncated,omitempty"` // inputs whose end did not fit into the checkpoint
}

func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) (any, error) {
	var q embeddingRequest
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	in, err := q.Input.read("input", s.o.MaxEmbedTexts, s.o.Inference.Encoder().Vocabulary)
	if err != nil {
		return nil, err
	}
	if q.InputType != "" && q.InputType != "document" && q.InputType != "query" {
		return nil, &search.FieldError{Field: "input_type", Value: q.InputType, Allowed: "document, query"}
	}
	o := search.EmbedOptions{Query: q.InputType == "query"}
	width, err := s.dimensions(q.Dimensions)
	if err != nil {
		return nil, err
	}
	if q.Dimensions != nil {
		o.Dimensions = width
	}
	types, err := q.Check(width)
	if err != nil {
		return nil, err
	}
	e, err := s.embed(w, r, in, o)
	if err != nil {
		return nil, named("input", err)
	}
	list := embeddingList{Object: "list", Data: make([]embeddingItem, len(e.Vectors)), Model: e.Model.Name,
		Usage: embeddingUsage{e.Tokens, e.Tokens, count(e.Truncated)}}
	for i, v := range e.Vectors {
		item := embeddingItem{Object: "embedding", Index: i, Embedding: q.Write(v, types), Truncated: i < len(e.Truncated) && e.Truncated[i]}
		if q.Format == "base64" {
			item.Format = q.Format
		}
		list.Data[i] = item
	}
	return list, nil
}

func (s *Server) dimensions(asked *int) (int, error) {
	n := s.o.Inference.Model().Dimension
	if asked == nil {
		return n, nil
	}
	if *asked < 1 || *asked > n {
		return 0, &search.FieldError{Field: "dimensions", Value: *asked, Allowed: fmt.Sprintf("1 to %d", n)}
	}
	return *asked, nil
}

// embed encodes texts or tokens and writes the cost to the answer's header.
func (s *Server) embed(w http.ResponseWriter, r *http.Request, in inputs, o search.EmbedOptions) (*search.Embeddings, error) {
	if err := reserve(w, in.len()*cmp.Or(o.Dimensions, s.o.Inference.Model().Dimension)); err != nil {
		return nil, err
	}
	began := time.Now()
	var e *search.Embeddings
	var err error
	if in.ids != nil {
		e, err = s.o.Inference.EmbedIDs(r.Context(), in.ids, o)
	} else {
		e, err = s.o.Inference.Embed(r.Context(), in.texts, o)
	}
	if err != nil {
		return nil, err
	}
	s.writeCost(w, cost{texts: in.len(), total: time.Since(began), queue: e.Queue, tokenization: e.Tokenization, inference: e.Inference, characters: in.characters(), tokens: e.Tokens, truncated: count(e.Truncated)})
	return e, nil
}

// named returns err of the engine with the name that the route has for inputs.
func named(field string, err error) error {
	var fe *search.FieldError
	if errors.As(err, &fe) && fe.Field == "inputs" {
		fe.Field = field
	}
	return err
}

// cost of a request, sent in the headers of text-embeddings-inference.
type cost struct {
	total, queue, tokenization, inference time.Duration
	characters, tokens, truncated         int
	texts                                 int
	pairs                                 bool // the texts were scored in pairs with a query
}

func (s *Server) writeCost(w http.ResponseWriter, c cost) {
	s.metrics.observeCost(c)
	h := w.Header()
	h.Set("X-Compute-Type", "cpu")
	for name, n := range map[string]int64{
		"X-Compute-Time": c.total.Milliseconds(), "X-Total-Time": c.total.Milliseconds(), "X-Queue-Time": c.queue.Milliseconds(),
		"X-Tokenization-Time": c.tokenization.Milliseconds(), "X-Inference-Time": c.inference.Milliseconds(),
		"X-Compute-Characters": int64(c.characters), "X-Compute-Tokens": int64(c.tokens), "X-Truncated-Inputs": int64(c.truncated),
	} {
		h.Set(name, strconv.FormatInt(n, 10))
	}
}

func count(marks []bool) (n int) {
	for _, m := range marks {
		if m {
			n++
		}
	}
	return n
}
