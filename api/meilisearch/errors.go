package meilisearch

import (
	"context"
	"errors"

	"example.com/searchd/search"
)

// codes are the errors of the engine in Meilisearch's terms. The first match counts.
var codes = []struct {
	is     error
	status int
	code   string
}{
	{search.ErrCollectionNotFound, 404, "index_not_found"},
	{search.ErrDocumentNotFound, 404, "document_not_found"},
	{search.ErrCollectionExists, 409, "index_already_exists"},
	{search.ErrTooManyCollections, 409, "too_many_indexes"},
	{search.ErrAliased, 409, "index_is_aliased"},
	{search.ErrInvalid, 400, "bad_request"},
	{search.ErrUnsupported, 400, "feature_not_enabled"},
	{search.ErrModelMismatch, 409, "model_mismatch"},
	{search.ErrNoSpace, 507, "no_space_left_on_device"},
	{search.ErrBusy, 503, "too_many_search_requests"},
	{context.DeadlineExceeded, 503, "remote_timeout"},
}

// Describe returns the body and the status of an error. One that is not of this package nor of the
// engine is 500 and has no message of its own.
func Describe(err error) (Problem, int) {
	var own *Error
	if errors.As(err, &own) {
		return ProblemOf(own.Status, own.Code, own.Message), own.Status
	}
	for _, c := range codes {
		if errors.Is(err, c.is) {
			message := err.Error()
			if c.status >= 500 {
				message = c.is.Error()
			}
			var fe *search.FieldError
			if errors.As(err, &fe) && (fe.Field == "filter" || fe.Field == "vector") {
				return ProblemOf(c.status, "invalid_search_"+fe.Field, message), c.status
			}
			return ProblemOf(c.status, c.code, message), c.status
		}
	}
	return ProblemOf(500, "internal", "an internal error: the server's log has it"), 500
}

// ProblemOf returns the body of an error.
func ProblemOf(status int, code, message string) Problem {
	kind := "invalid_request"
	switch {
	case status == 401 || status == 403:
		kind = "auth"
	case status == 507:
		kind = "system"
	case status >= 500:
		kind = "internal"
	}
	return Problem{Message: message, Code: code, Type: kind, Link: "https://docs.meilisearch.com/errors#" + code}
}
