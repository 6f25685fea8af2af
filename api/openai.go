package api

import (
	"fmt"
	"net/http"
	"strings"
)

type modelList struct {
	Object string      `json:"object"`
	Data   []modelItem `json:"data"`
}

type modelItem struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Server) models(_ http.ResponseWriter, r *http.Request) (any, error) {
	return modelList{"list", s.modelItems()}, nil
}

// modelItems are the model of vectors and the generator, if there is one.
func (s *Server) modelItems() []modelItem {
	items := []modelItem{s.modelItem()}
	if g := s.o.Generator; g != nil && g.Name != items[0].ID {
		items = append(items, modelItem{g.Name, "model", s.started.Unix(), "searchd"})
	}
	return items
}

func (s *Server) modelItem() modelItem {
	return modelItem{s.o.Inference.Model().Name, "model", s.started.Unix(), "searchd"}
}

// model returns the model of a name, which may have slashes.
func (s *Server) model(_ http.ResponseWriter, r *http.Request) (any, error) {
	var names []string
	for _, m := range s.modelItems() {
		if m.ID == r.PathValue("model") {
			return m, nil
		}
		names = append(names, m.ID)
	}
	return nil, &requestError{kind: errNoModel, detail: fmt.Sprintf("model: got %q, allowed: %s", short(r.PathValue("model")), strings.Join(names, ", "))}
}

// openAIPaths are the routes whose errors have OpenAI's shape alone.
var openAIPaths = map[string]bool{"/v1/embeddings": true, "/v1/models": true, "/v1/models/*": true, "/v1/completions": true, "/v1/chat/completions": true}

// openAIError is an error as OpenAI's clients read it.
type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// openAI returns the problem in OpenAI's words.
func (p problem) openAI() *openAIError {
	e := &openAIError{Message: p.message(), Type: "invalid_request_error", Code: p.Code}
	switch {
	case p.Status == http.StatusTooManyRequests || p.Code == "overloaded":
		e.Type = "rate_limit_error"
	case p.Status >= 500:
		e.Type = "server_error"
	}
	if len(p.Errors) > 0 {
		param := strings.TrimPrefix(p.Errors[0].Pointer, "/")
		e.Param = &param
	}
	return e
}
