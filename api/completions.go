package api

import (
	"context"
	"net/http"

	"example.com/searchd/api/completion"
)

// promptBody is the body of POST /v1/completions.
type promptBody struct {
	completion.PromptRequest
	Prompt textInput `json:"prompt"`
}

// completions serves POST /v1/completions, within the time of a request that encodes.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) error {
	var q promptBody
	if s.o.Generator == nil {
		return completion.ErrNoGenerator
	} else if err := decodeBody(r, false, &q); err != nil {
		return err
	}
	in, err := q.Prompt.read("prompt", completion.MaxPrompts, s.o.Generator.Model.Info().Vocab)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.EmbedTimeout)
	defer cancel()
	return s.o.Generator.Continue(ctx, w, &q.PromptRequest, in.texts, in.ids, requestID(ctx))
}

// chatCompletions serves POST /v1/chat/completions.
func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request) error {
	var q completion.ChatRequest
	if s.o.Generator == nil {
		return completion.ErrNoGenerator
	} else if err := decodeBody(r, false, &q); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.EmbedTimeout)
	defer cancel()
	return s.o.Generator.Chat(ctx, w, &q, requestID(ctx))
}
