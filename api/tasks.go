package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"example.com/searchd/models"
	"example.com/searchd/search"
)

type taskList struct {
	Tasks []search.Task `json:"tasks"`
}

// listTasks returns the tasks, newest first, optionally those of a state, a kind or a collection.
func (s *Server) listTasks(_ http.ResponseWriter, r *http.Request) (any, error) {
	p := queryParams(r)
	state, _ := p.text("state")
	kind, _ := p.text("kind")
	collection, _ := p.text("collection")
	oneOf(p, "state", state, search.TaskQueued, search.TaskRunning, search.TaskSucceeded, search.TaskFailed, search.TaskCanceled, search.TaskInterrupted)
	oneOf(p, "kind", kind, search.TaskReembed, search.TaskSnapshot, search.TaskRebuild)
	if err := p.err(); err != nil {
		return nil, err
	}
	list, err := s.o.Engine.Tasks(r.Context())
	who := callerOf(r.Context())
	list = slices.DeleteFunc(list, func(t search.Task) bool {
		return state != "" && string(t.State) != state || kind != "" && string(t.Kind) != kind ||
			collection != "" && t.Collection != collection && t.Alias != collection || who.maySee(t) != nil
	})
	return taskList{append([]search.Task{}, list...)}, err
}

// maySee returns nil if the caller's key allows the collection of a task, or the alias that named
// it. A task of the whole server needs a key for all collections.
func (c caller) maySee(t search.Task) error {
	if t.Alias != "" && c.mayUse(t.Alias) == nil {
		return nil
	}
	return c.mayUse(cmp.Or(t.Collection, "*"))
}

// task returns the task in the path. One that the caller may not see does not exist for it.
func (s *Server) task(r *http.Request) (search.Task, error) {
	id := r.PathValue("task")
	t, err := s.o.Engine.Task(r.Context(), id)
	who := callerOf(r.Context())
	if who.key != nil && (errors.Is(err, search.ErrTaskNotFound) || err == nil && who.maySee(t) != nil) {
		err = fmt.Errorf("%w: %.40q; there is none, it ended long ago, or the key is not for its collection", search.ErrTaskNotFound, id)
	}
	return t, err
}

func (s *Server) getTask(_ http.ResponseWriter, r *http.Request) (any, error) { return s.task(r) }

func (s *Server) cancelTask(_ http.ResponseWriter, r *http.Request) (any, error) {
	t, err := s.task(r)
	if err != nil {
		return nil, err
	}
	return s.o.Engine.CancelTask(r.Context(), t.ID)
}

func accepted(w http.ResponseWriter, t search.Task, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/tasks/"+url.PathEscape(t.ID))
	return writeJSON(w, http.StatusAccepted, t)
}

// reembed rebuilds a collection with another checkpoint or other settings.
func (s *Server) reembed(w http.ResponseWriter, r *http.Request) error {
	var o search.ReembedOptions
	if err := decodeBody(r, true, &o); err != nil {
		return err
	}
	// A client must not name a path on the server.
	if _, err := models.ParseRepo(o.Model); err != nil && o.Model != "" && o.Model != models.Embedded {
		return &search.FieldError{Field: "model", Value: o.Model, Allowed: "embedded, or the OWNER/NAME of a checkpoint that was pulled"}
	}
	if o.Precision != "" && o.Precision != "f32" && o.Precision != "int8" {
		return &search.FieldError{Field: "precision", Value: o.Precision, Allowed: "f32, int8"}
	}
	o.MayKeep = callerOf(r.Context()).mayUse
	t, err := s.o.Engine.Reembed(r.Context(), r.PathValue("collection"), o)
	return accepted(w, t, inSettings(err))
}
