package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestErrorsOfOtherClients checks the members that the clients of OpenAI and Cohere read an error
// from.
func TestErrorsOfOtherClients(t *testing.T) {
	f := newFixture(t, Options{})
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		code, says               string
		openAI, cohere           bool
	}{
		{"OpenAI's route", "POST", "/v1/embeddings", `{"input":""}`, 400, "invalid_request", "not empty", true, false},
		{"a model that is not there", "GET", "/v1/models/openai%2Fgpt", "", 404, "model_not_found", "gpt", true, false},
		{"Cohere's route", "POST", "/v2/rerank", `{"query":"","documents":["a"]}`, 400, "invalid_request", "not empty", false, true},
		{"a route that OpenAI has", "POST", "/v1/images/generations", `{}`, 404, "route_not_found", "POST /v1/images/generations", true, true},
		{"a method that is not served", "PUT", "/v1/embeddings", `{}`, 405, "method_not_allowed", "PUT", true, false},
		{"neither", "GET", "/v1/collections/none", "", 404, "collection_not_found", "none", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got struct {
				Code, Detail, Message string
				Error                 *openAIError
			}
			f.do(tt.method, tt.path, tt.body).want(tt.status, &got)
			switch {
			case tt.openAI != (got.Error != nil):
				t.Errorf("error = %+v, want one: %t", got.Error, tt.openAI)
			case tt.openAI && (got.Error.Code != tt.code || !strings.Contains(got.Error.Message, tt.says) || got.Error.Type != "invalid_request_error"):
				t.Errorf("error = %+v, want code %s and %q in its message", got.Error, tt.code, tt.says)
			case tt.cohere && (got.Code != tt.code || !strings.Contains(got.Message, tt.says)):
				t.Errorf("code %q, message %q, want %s and %q", got.Code, got.Message, tt.code, tt.says)
			case !tt.cohere && got.Message != "":
				t.Errorf("message = %q, want none", got.Message)
			}
		})
	}
}

func TestModel(t *testing.T) {
	f := newFixture(t, Options{})
	var list modelList
	f.do("GET", "/v1/models", "").want(http.StatusOK, &list)
	var one modelItem
	f.do("GET", "/v1/models/"+list.Data[0].ID, "").want(http.StatusOK, &one)
	if one != list.Data[0] {
		t.Errorf("model = %+v, want %+v", one, list.Data[0])
	}
}
