package api

import (
	"context"
	"net/http"

	"example.com/searchd/api/completion"
	"example.com/searchd/generate"
)

// promptBody is the body of POST /v1/completions.
type promptBody struct {
	completion.PromptRequest
	Prompt textInput `json:"prompt"`
}

// completions serves POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) error {
	g := s.o.Generator
	if g == nil {
		return completion.ErrNoGenerator
	}
	var q promptBody
	if err := decodeBody(r, false, &q); err != nil {
		return err
	}
	in, err := q.Prompt.read("prompt", completion.MaxPrompts, g.Model.Info().Vocab)
	if err != nil {
		return err
	}
	prompts, err := q.Requests(g, in.texts, in.ids)
	if err != nil {
		return err
	}
	return s.complete(w, r, &q.Common, prompts, false)
}

// chatCompletions serves POST /v1/chat/completions.
func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	g := s.o.Generator
	if g == nil {
		return completion.ErrNoGenerator
	}
	var q completion.ChatRequest
	if err := decodeBody(r, false, &q); err != nil {
		return err
	}
	prompts, err := q.Requests(g)
	if err != nil {
		return err
	}
	return s.complete(w, r, &q.Common, prompts, true)
}

// complete generates and answers within the time of a request that encodes.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, q *completion.Common, prompts []generate.Request, chat bool) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.EmbedTimeout)
	defer cancel()
	return s.o.Generator.Answer(ctx, w, q, prompts, requestID(r.Context()), chat)
}
