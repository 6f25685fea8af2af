package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/searchd/api/output"
	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/search"
)

// The routes of text-embeddings-inference. Without a prompt name the embedding routes use the
// checkpoint's default prompt; /tokenize uses none.

// maxTokenTexts bounds the texts of a request that returns a vector per token.
const maxTokenTexts = 64

// sparseEntries is how many entries of a sparse vector memory is kept for. Most have fewer.
const sparseEntries = 384

// teiTruncation selects how texts that are too long are cut.
type teiTruncation struct {
	Truncate  *bool  `json:"truncate"`             // false: what would be cut is refused
	Direction string `json:"truncation_direction"` // Left, Right; empty: that of the checkpoint
}

func (t teiTruncation) side() (tokenizer.Side, error) {
	switch strings.ToLower(t.Direction) {
	case "":
		return tokenizer.SideOfFile, nil
	case "right":
		return tokenizer.Right, nil
	case "left":
		return tokenizer.Left, nil
	}
	return 0, &search.FieldError{Field: "truncation_direction", Value: t.Direction, Allowed: "Left, Right"}
}

func (t teiTruncation) refuses() bool { return t.Truncate != nil && !*t.Truncate }

// refuse returns an error if an input was cut although truncate is false.
func (t teiTruncation) refuse(truncated []bool, limit int) error {
	if !t.refuses() {
		return nil
	}
	return cutError("inputs", truncated, limit)
}

// teiPrompt names one of the checkpoint's prompts.
type teiPrompt struct {
	Name *string `json:"prompt_name"`
}

func (s *Server) promptOf(p teiPrompt) (search.EmbedOptions, error) {
	o := search.EmbedOptions{Prompt: search.PromptDefault}
	if p.Name == nil {
		return o, nil
	}
	prompts := s.o.Inference.Encoder().Prompts
	if _, ok := prompts[*p.Name]; !ok && len(prompts) == 0 {
		return o, &search.FieldError{Field: "prompt_name", Value: *p.Name, Allowed: "null, or left out: the checkpoint has no prompts"}
	} else if !ok {
		return o, &search.FieldError{Field: "prompt_name", Value: *p.Name, Allowed: "the checkpoint's prompts: " + strings.Join(slices.Sorted(maps.Keys(prompts)), ", ")}
	}
	o.Prompt = *p.Name
	return o, nil
}

// teiEmbedRequest is the request of /embed, /embed_all and /embed_sparse.
type teiEmbedRequest struct {
	Inputs textInput `json:"inputs"`
	teiTruncation
	teiPrompt
}

// readTEI checks a request and returns its inputs, at most max.
func (s *Server) readTEI(q *teiEmbedRequest, max int) (in inputs, o search.EmbedOptions, err error) {
	side, err := q.side()
	if err != nil {
		return in, o, err
	}
	if o, err = s.promptOf(q.teiPrompt); err != nil {
		return in, o, err
	}
	o.Truncate = side
	in, err = q.Inputs.read("inputs", max, s.o.Inference.Encoder().Vocabulary)
	return in, o, err
}

func (s *Server) teiEmbed(w http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		teiEmbedRequest
		Normalize  *bool `json:"normalize"` // false: the vectors as the checkpoint gives them
		Dimensions *int  `json:"dimensions"`
		output.Vectors
	}
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	in, o, err := s.readTEI(&q.teiEmbedRequest, s.o.MaxEmbedTexts)
	if err != nil {
		return nil, err
	}
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
		return nil, err
	}
	if err := q.refuse(e.Truncated, e.Model.MaxTokens); err != nil {
		return nil, err
	}
	rows := make([]any, len(e.Vectors))
	for i, v := range e.Vectors {
		if q.Normalize == nil || *q.Normalize {
			v = output.Unit(v)
		}
		rows[i] = q.Write(v, types)
	}
	return rows, nil
}

func (s *Server) teiEmbedAll(w http.ResponseWriter, r *http.Request) error {
	var q teiEmbedRequest
	if err := decodeBody(r, false, &q); err != nil {
		return err
	}
	in, o, err := s.readTEI(&q, maxTokenTexts)
	if err != nil {
		return err
	}
	began := time.Now()
	v, err := s.o.Inference.EmbedTokens(r.Context(), in.texts, in.ids, o)
	if err != nil {
		return err
	}
	if err := q.refuse(v.Truncated, s.o.Inference.Model().MaxTokens); err != nil {
		return err
	}
	took := time.Since(began)
	s.writeCost(w, cost{texts: in.len(), total: took, tokenization: v.Tokenization, inference: took - v.Tokenization, characters: in.characters(), tokens: v.Tokens, truncated: count(v.Truncated)})
	w.Header().Set("Content-Type", "application/json")
	for i, rows := range v.Vectors { // text by text: as one value, the JSON of all would be in memory several times
		b, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		w.Write(append([]byte{"[,"[min(i, 1)]}, b...))
		v.Vectors[i] = nil
	}
	w.Write([]byte("]\n"))
	return nil
}

type teiSparseValue struct {
	Index int32   `json:"index"`
	Value float32 `json:"value"`
}

func (s *Server) teiEmbedSparse(w http.ResponseWriter, r *http.Request) (any, error) {
	var q teiEmbedRequest
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	in, o, err := s.readTEI(&q, s.o.MaxEmbedTexts)
	if err != nil {
		return nil, err
	}
	if in.ids != nil {
		return nil, &search.FieldError{Field: "inputs", Value: literal("token ids"), Allowed: "texts; the sparse checkpoint may have another vocabulary"}
	}
	if err := reserve(w, in.len()*sparseEntries); err != nil {
		return nil, err
	}
	began := time.Now()
	v, err := s.o.Inference.EmbedSparse(r.Context(), in.texts, o)
	if err != nil {
		return nil, err
	}
	if err := q.refuse(v.Truncated, v.MaxTokens); err != nil {
		return nil, err
	}
	took := time.Since(began)
	s.writeCost(w, cost{texts: in.len(), total: took, tokenization: v.Tokenization, inference: took - v.Tokenization, characters: in.characters(), tokens: v.Tokens, truncated: count(v.Truncated)})
	rows := make([][]teiSparseValue, len(v.Vectors))
	for i, weights := range v.Vectors {
		rows[i] = make([]teiSparseValue, len(weights))
		for j, x := range weights {
			rows[i][j] = teiSparseValue{x.ID, x.Weight}
		}
	}
	return rows, nil
}

func (s *Server) teiSimilarity(w http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Inputs struct {
			Source    string    `json:"source_sentence"`
			Sentences []*string `json:"sentences"`
		} `json:"inputs"`
		Parameters struct {
			teiTruncation
			teiPrompt
		} `json:"parameters"`
	}
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	side, err := q.Parameters.side()
	if err != nil {
		return nil, err
	}
	o, err := s.promptOf(q.Parameters.teiPrompt)
	if err != nil {
		return nil, err
	}
	o.Truncate = side
	if q.Inputs.Source == "" {
		return nil, &search.FieldError{Field: "inputs.source_sentence", Value: "", Allowed: "a string that is not empty"}
	}
	if n := len(q.Inputs.Sentences); n == 0 || n >= s.o.MaxEmbedTexts {
		return nil, &search.FieldError{Field: "inputs.sentences", Value: literal(fmt.Sprintf("%d items", n)), Allowed: fmt.Sprintf("1 to %d strings", s.o.MaxEmbedTexts-1)}
	}
	texts := []string{q.Inputs.Source}
	for i, text := range q.Inputs.Sentences {
		wrong := &search.FieldError{Field: fmt.Sprintf("inputs.sentences[%d]", i), Value: literal("null"), Allowed: "a string that is not empty"}
		switch {
		case text == nil:
			return nil, wrong
		case *text == "":
			wrong.Value = ""
			return nil, wrong
		}
		texts = append(texts, *text)
	}
	e, err := s.embed(w, r, inputs{texts: texts}, o)
	if err != nil {
		return nil, err
	}
	if err := q.Parameters.refuse(e.Truncated, e.Model.MaxTokens); err != nil {
		return nil, err
	}
	source := output.Unit(e.Vectors[0])
	scores := make([]float32, len(q.Inputs.Sentences))
	for i, v := range e.Vectors[1:] {
		sum := 0.0
		for j, x := range output.Unit(v) {
			sum += float64(x) * float64(source[j])
		}
		scores[i] = float32(sum)
	}
	return scores, nil
}

// teiToken counts start and stop in characters. Special tokens have neither.
type teiToken struct {
	ID      int32  `json:"id"`
	Text    string `json:"text"`
	Special bool   `json:"special"`
	Start   *int   `json:"start"`
	Stop    *int   `json:"stop"`
}

func (s *Server) teiTokenize(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		Inputs  textInput `json:"inputs"`
		Special *bool     `json:"add_special_tokens"`
		teiPrompt
	}
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	in, err := q.Inputs.read("inputs", s.o.MaxEmbedTexts, 0)
	if err != nil {
		return nil, err
	}
	if in.ids != nil {
		return nil, &search.FieldError{Field: "inputs", Value: literal("token ids"), Allowed: "texts"}
	}
	o := search.EmbedOptions{Prompt: search.PromptNone}
	if q.Name != nil {
		if o, err = s.promptOf(q.teiPrompt); err != nil {
			return nil, err
		}
	}
	texts, err := s.o.Inference.Tokenize(r.Context(), in.texts, q.Special == nil || *q.Special, o)
	if err != nil {
		return nil, err
	}
	rows := make([][]teiToken, len(texts))
	for i, t := range texts {
		rows[i] = teiTokens(t)
	}
	return rows, nil
}

// teiTokens converts byte offsets to characters, counting from token to token.
func teiTokens(t search.Tokenization) []teiToken {
	out := make([]teiToken, len(t.Tokens))
	at, chars := 0, 0
	for i, tok := range t.Tokens {
		out[i] = teiToken{ID: tok.ID, Text: tok.Token, Special: tok.Special}
		if tok.Special {
			continue
		}
		if tok.Start < at {
			at, chars = 0, 0
		}
		chars += utf8.RuneCountInString(t.Text[at:tok.Start])
		at = tok.Start
		start, stop := chars, chars+utf8.RuneCountInString(t.Text[tok.Start:tok.End])
		out[i].Text, out[i].Start, out[i].Stop = t.Text[tok.Start:tok.End], &start, &stop
	}
	return out
}

func (s *Server) teiDecode(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q struct {
		IDs  textInput `json:"ids"`
		Skip *bool     `json:"skip_special_tokens"`
	}
	if err := decodeBody(r, false, &q); err != nil {
		return nil, err
	}
	in, err := q.IDs.read("ids", s.o.MaxEmbedTexts, s.o.Inference.Encoder().Vocabulary)
	if err != nil {
		return nil, err
	}
	if in.ids == nil {
		return nil, &search.FieldError{Field: "ids", Value: literal("texts"), Allowed: "an array of token ids, or an array of such arrays"}
	}
	texts, err := s.o.Inference.Decode(r.Context(), in.ids, q.Skip == nil || *q.Skip)
	if err != nil {
		return nil, err
	}
	return texts, nil
}

// teiPaths are the routes that send errors as text-embeddings-inference does.
var teiPaths = map[string]bool{"/embed": true, "/embed_all": true, "/embed_sparse": true, "/similarity": true, "/tokenize": true, "/decode": true, "/rerank": true}

func writeTEIError(w http.ResponseWriter, p problem) {
	status, typ := p.Status, "Backend"
	switch {
	case p.Code == "overloaded" || p.Code == "rate_limited":
		status, typ = http.StatusTooManyRequests, "Overloaded"
	case p.Code == "invalid_request" || p.Code == "malformed_request":
		status, typ = http.StatusUnprocessableEntity, "Validation"
	case p.Status < 500:
		typ = "Validation"
	case p.Code == "not_ready" || p.Code == "shutting_down":
		typ = "Unhealthy"
	}
	body, _ := json.Marshal(teiError{p.message(), typ, p.Code}) // strings cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}

type teiError struct {
	Error string `json:"error"`
	Type  string `json:"error_type"` // Validation, Overloaded, Unhealthy, Backend
	Code  string `json:"code"`
}
