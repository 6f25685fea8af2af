// Package completion answers requests for text in the shapes of OpenAI's /v1/completions and
// /v1/chat/completions: it turns a decoded body into requests of package generate, and their texts
// into answers or server-sent events.
package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"example.com/searchd/encoder"
	"example.com/searchd/generate"
	"example.com/searchd/search"
)

// Generator is a model that generates text, for the routes of OpenAI.
type Generator struct {
	Name  string // that answers give
	Model *generate.Model
}

// ErrNoGenerator is a request for text to a server without a generator.
var ErrNoGenerator = fmt.Errorf("%w: the server has no generator; start it with --generator and a model that generates text", search.ErrUnsupported)

// Limits of one request for text.
const (
	MaxPrompts = 64
	maxChoices = 16 // of one prompt
)

// literal is a value that errors show as it is.
type literal string

func short(s string) literal {
	const limit = 80
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return literal(s)
}

// Common is what POST /v1/completions and /v1/chat/completions have in common. A member
// that is absent is as the checkpoint sets it.
type Common struct {
	Model            string      `json:"model"` // not used; there is one
	Temperature      *float64    `json:"temperature"`
	TopP             *float64    `json:"top_p"`
	TopK             *int        `json:"top_k"` // not of OpenAI, as are the next two
	MinP             *float64    `json:"min_p"`
	Repetition       *float64    `json:"repetition_penalty"`
	PresencePenalty  *float64    `json:"presence_penalty"`
	FrequencyPenalty *float64    `json:"frequency_penalty"`
	N                *int        `json:"n"`
	Seed             *int64      `json:"seed"`
	Stop             stopStrings `json:"stop"`
	MaxTokens        *int        `json:"max_tokens"`
	Stream           bool        `json:"stream"`
	StreamOptions    *struct {
		IncludeUsage       bool `json:"include_usage"`
		IncludeObfuscation bool `json:"include_obfuscation"` // not used
	} `json:"stream_options"`
	LogitBias map[string]float64 `json:"logit_bias"` // must be empty
	User      string             `json:"user"`       // not used
}

// PromptRequest is the request of OpenAI's POST /v1/completions.
type PromptRequest struct {
	Common
	LogProbs *int   `json:"logprobs"`
	BestOf   *int   `json:"best_of"` // must be n
	Echo     bool   `json:"echo"`    // must be false
	Suffix   string `json:"suffix"`  // must be empty
}

// ChatRequest is the request of OpenAI's POST /v1/chat/completions.
type ChatRequest struct {
	Common
	Messages          json.RawMessage `json:"messages"`
	Tools             json.RawMessage `json:"tools"`       // given to the chat template
	ToolChoice        json.RawMessage `json:"tool_choice"` // not used: calls stay text
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
	MaxNewTokens      *int            `json:"max_completion_tokens"` // the newer name of max_tokens
	LogProbs          bool            `json:"logprobs"`
	TopLogProbs       *int            `json:"top_logprobs"`
	ResponseFormat    *struct {
		Type string `json:"type"` // must be text
	} `json:"response_format"`
	Store    bool              `json:"store"`    // not used
	Metadata map[string]string `json:"metadata"` // not used
}

// stopStrings is a string or a list of strings.
type stopStrings []string

func (s *stopStrings) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*s = make(stopStrings, 1)
		return json.Unmarshal(data, &(*s)[0])
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// options returns the options of a request: those of the checkpoint, changed by what is given.
func (q *Common) options(m *generate.Model) (generate.Options, error) {
	o := m.Defaults()
	if len(q.LogitBias) > 0 {
		return o, &search.FieldError{Field: "logit_bias", Value: literal(fmt.Sprintf("%d tokens", len(q.LogitBias))), Allowed: "none; it is not supported"}
	}
	if q.N != nil && (*q.N < 1 || *q.N > maxChoices) {
		return o, &search.FieldError{Field: "n", Value: *q.N, Allowed: fmt.Sprintf("1 to %d", maxChoices)}
	}
	if q.MaxTokens != nil && *q.MaxTokens < 1 {
		return o, &search.FieldError{Field: "max_tokens", Value: *q.MaxTokens, Allowed: "1 or more"}
	}
	set(&o.MaxTokens, q.MaxTokens)
	set(&o.Temperature, q.Temperature)
	set(&o.TopP, q.TopP)
	set(&o.TopK, q.TopK)
	set(&o.MinP, q.MinP)
	set(&o.RepetitionPenalty, q.Repetition)
	set(&o.PresencePenalty, q.PresencePenalty)
	set(&o.FrequencyPenalty, q.FrequencyPenalty)
	if q.Temperature != nil {
		o.Sample = *q.Temperature > 0
	}
	if q.Stream || o.Sample || q.choices() > 1 {
		o.Beams = 1
	}
	o.Return = 1
	if o.Seed = rand.Uint64(); q.Seed != nil {
		o.Seed = uint64(*q.Seed)
	}
	o.Stop = append(o.Stop, q.Stop...)
	return o, nil
}

func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

// choices is the number of texts for each prompt.
func (q *Common) choices() int {
	if q.N == nil {
		return 1
	}
	return *q.N
}

// generationError returns an error of package generate as one of this package.
func generationError(err error) error {
	for _, wrong := range []error{generate.ErrOptions, generate.ErrTooLong, generate.ErrTooLarge, generate.ErrNoChat, generate.ErrChat, encoder.ErrTokenID} {
		if errors.Is(err, wrong) {
			return fmt.Errorf("%w: %s", search.ErrInvalid, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "generate: "), "encoder: "))
		}
	}
	if errors.Is(err, generate.ErrBusy) {
		return fmt.Errorf("%w: %v", search.ErrBusy, err)
	}
	return err
}

// requests returns a request for each text, or for each list of ids.
func (q *PromptRequest) requests(g *Generator, texts []string, ids [][]int32) ([]generate.Request, error) {
	o, err := q.options(g.Model)
	if err != nil {
		return nil, err
	}
	if q.Echo || q.Suffix != "" || q.BestOf != nil && *q.BestOf != q.choices() {
		return nil, fmt.Errorf("%w: echo, suffix and best_of are not supported", search.ErrUnsupported)
	}
	if set(&o.LogProbs, q.LogProbs); o.LogProbs >= 0 {
		o.Beams = 1
	}
	var prompts []generate.Request
	for _, text := range texts {
		prompts = append(prompts, generate.Request{Text: text, Options: o})
	}
	for _, list := range ids {
		prompts = append(prompts, generate.Request{IDs: list, Options: o})
	}
	return prompts, nil
}

// requests returns the request for a chat.
func (q *ChatRequest) requests(g *Generator) ([]generate.Request, error) {
	if q.MaxTokens == nil {
		q.MaxTokens = q.MaxNewTokens
	}
	o, err := q.options(g.Model)
	if err != nil {
		return nil, err
	}
	if f := q.ResponseFormat; f != nil && f.Type != "text" {
		return nil, &search.FieldError{Field: "response_format.type", Value: f.Type, Allowed: "text"}
	}
	if q.LogProbs {
		o.LogProbs, o.Beams = 0, 1
		set(&o.LogProbs, q.TopLogProbs)
	}
	messages, err := plainMessages(q.Messages)
	if err != nil {
		return nil, err
	}
	tools := q.Tools
	if string(bytes.TrimSpace(tools)) == "null" {
		tools = nil
	}
	text, bare, err := g.Model.Chat(messages, tools)
	if err != nil {
		return nil, generationError(err)
	}
	return []generate.Request{{Text: text, Bare: bare, Options: o}}, nil
}

// plainMessages checks messages and joins a content of several parts, which must be text.
func plainMessages(raw json.RawMessage) ([]byte, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return nil, &search.FieldError{Field: "messages", Value: short(string(raw)), Allowed: "an array of at least one object with role and content"}
	}
	for i, m := range list {
		var role string
		if json.Unmarshal(m["role"], &role) != nil || role == "" {
			return nil, &search.FieldError{Field: fmt.Sprintf("messages[%d].role", i), Value: short(string(m["role"])), Allowed: "system, user, assistant, or another that the template knows"}
		}
		content := bytes.TrimSpace(m["content"])
		if len(content) == 0 || content[0] != '[' {
			continue
		}
		var parts []struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if err := json.Unmarshal(content, &parts); err != nil {
			return nil, &search.FieldError{Field: fmt.Sprintf("messages[%d].content", i), Value: short(string(content)), Allowed: "a string or parts of type text"}
		}
		var texts []string
		for k, p := range parts {
			if p.Text == nil || p.Type != "text" {
				return nil, &search.FieldError{Field: fmt.Sprintf("messages[%d].content[%d].type", i, k), Value: p.Type, Allowed: "text"}
			}
			texts = append(texts, *p.Text)
		}
		b, err := json.Marshal(strings.Join(texts, "\n"))
		if err != nil {
			return nil, err
		}
		m["content"] = b
	}
	return json.Marshal(list)
}

// Continue continues prompts, given as texts or as ids, and sends the answer, whole or as a stream,
// with an id. An error before anything was sent is returned.
func (g *Generator) Continue(ctx context.Context, w http.ResponseWriter, q *PromptRequest, texts []string, ids [][]int32, id string) error {
	prompts, err := q.requests(g, texts, ids)
	if err != nil {
		return err
	}
	return g.answer(ctx, w, &q.Common, prompts, id, false)
}

// Chat answers a chat, as Continue does a prompt.
func (g *Generator) Chat(ctx context.Context, w http.ResponseWriter, q *ChatRequest, id string) error {
	prompts, err := q.requests(g)
	if err != nil {
		return err
	}
	return g.answer(ctx, w, &q.Common, prompts, id, true)
}

// answer generates the texts of all prompts and sends them in the shape of a chat or of prompts.
func (g *Generator) answer(ctx context.Context, w http.ResponseWriter, q *Common, prompts []generate.Request, id string, chat bool) error {
	c := &completion{name: g.Name, id: "cmpl-" + id, created: time.Now().Unix(), chat: chat, stream: q.Stream, tok: g.Model.Tokenizer()}
	if chat {
		c.id = "chat" + c.id
	}
	var rs []generate.Request
	for _, p := range prompts {
		for range q.choices() {
			rs = append(rs, p)
			p.Options.Seed++
		}
	}
	if q.Stream {
		st := &stream{c: c, w: w, choices: q.choices(), offsets: make([]int, len(rs)), begun: make([]bool, len(rs))}
		return st.run(ctx, g.Model, rs, q.StreamOptions != nil && q.StreamOptions.IncludeUsage)
	}
	results, err := g.Model.GenerateAll(ctx, rs)
	if err != nil {
		return generationError(err)
	}
	a := c.answer()
	for i, result := range results {
		t := result.Texts[0]
		choice := Choice{Index: i, FinishReason: &t.Reason}
		if c.chat {
			choice.Message = &Message{Role: "assistant", Content: &t.Text}
		} else {
			choice.Text = &t.Text
		}
		choice.LogProbs = c.logProbs(t.Tokens, 0)
		a.Choices = append(a.Choices, choice)
	}
	a.Usage = usageOf(results, q.choices())
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(a)
}

// usageOf counts tokens; those of a prompt once for all its texts.
func usageOf(results []*generate.Result, choices int) *Usage {
	u := &Usage{}
	for i, r := range results {
		if i%choices == 0 {
			u.PromptTokens += r.PromptTokens
		}
		u.CompletionTokens += r.Tokens
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// stream sends texts as server-sent events while they are generated. Its methods are safe
// for concurrent use.
type stream struct {
	mu      sync.Mutex
	c       *completion
	w       http.ResponseWriter
	choices int // of each prompt
	started bool
	begun   []bool // by choice
	offsets []int  // bytes of the text that were sent, by choice
}

// run generates and sends. An error before the first event is answered as usual, a later one as an
// event.
func (st *stream) run(ctx context.Context, m *generate.Model, rs []generate.Request, usage bool) error {
	for i := range rs {
		rs[i].Stream = func(d generate.Delta) error {
			st.mu.Lock()
			defer st.mu.Unlock()
			return st.delta(i, d)
		}
	}
	results, err := m.GenerateAll(ctx, rs)
	st.mu.Lock()
	defer st.mu.Unlock()
	if err != nil {
		if err = generationError(err); !st.started {
			return err
		}
		failed := map[string]any{"message": "the text could not be generated", "type": "server_error", "param": nil, "code": "internal"}
		for _, known := range []error{context.DeadlineExceeded, context.Canceled, search.ErrInvalid, search.ErrBusy, encoder.ErrNotFinite} {
			if errors.Is(err, known) {
				failed["message"] = err.Error()
			}
		}
		return st.send(map[string]any{"error": failed})
	}
	for i, r := range results {
		if !st.begun[i] {
			if err := st.delta(i, generate.Delta{}); err != nil {
				return err
			}
		}
		a := st.c.answer()
		choice := Choice{Index: i, FinishReason: &r.Texts[0].Reason}
		if st.c.chat {
			choice.Delta = &Message{}
		} else {
			choice.Text = new(string)
		}
		a.Choices = []Choice{choice}
		if err := st.send(a); err != nil {
			return err
		}
	}
	if usage {
		a := st.c.answer()
		a.Usage = usageOf(results, st.choices)
		if err := st.send(a); err != nil {
			return err
		}
	}
	return st.write("[DONE]")
}

// delta sends a piece of choice i.
func (st *stream) delta(i int, d generate.Delta) error {
	a := st.c.answer()
	choice := Choice{Index: i}
	if st.c.chat {
		choice.Delta = &Message{Content: &d.Text}
		if !st.begun[i] {
			choice.Delta.Role = "assistant"
		}
	} else {
		choice.Text = &d.Text
	}
	st.begun[i] = true
	choice.LogProbs = st.c.logProbs(d.Tokens, st.offsets[i])
	st.offsets[i] += len(d.Text)
	a.Choices = []Choice{choice}
	return st.send(a)
}

func (st *stream) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return st.write(string(b))
}

// write sends one event.
func (st *stream) write(data string) error {
	rc := http.NewResponseController(st.w)
	if !st.started {
		st.started = true
		st.w.Header().Set("Content-Type", "text/event-stream")
		st.w.Header().Set("Cache-Control", "no-store")
		st.w.WriteHeader(http.StatusOK)
	}
	const writeGrace = 30 * time.Second // for a reader that is slow
	rc.SetWriteDeadline(time.Now().Add(writeGrace))
	if _, err := fmt.Fprintf(st.w, "data: %s\n\n", data); err != nil {
		return err
	}
	rc.Flush()
	return nil
}
