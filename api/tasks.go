package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"searchd/models"
	"searchd/search"
)

type taskList struct {
	Tasks []search.Task `json:"tasks"`
}

// listTasks answers the tasks, newest first: all, or those of a state, a kind or a collection. A
// key sees those of its collections.
func (s *Server) listTasks(w http.ResponseWriter, r *http.Request) error {
	p := queryParams(r)
	state, _ := p.text("state")
	kind, _ := p.text("kind")
	collection, _ := p.text("collection")
	oneOf(p, "state", state, search.TaskQueued, search.TaskRunning, search.TaskSucceeded, search.TaskFailed, search.TaskCanceled, search.TaskInterrupted)
	oneOf(p, "kind", kind, search.TaskReembed, search.TaskSnapshot, search.TaskRebuild)
	if err := p.err(); err != nil {
		return err
	}
	list, err := s.o.Engine.Tasks(r.Context())
	if err != nil {
		return err
	}
	who := callerOf(r.Context())
	list = slices.DeleteFunc(list, func(t search.Task) bool {
		return state != "" && string(t.State) != state || kind != "" && string(t.Kind) != kind ||
			collection != "" && t.Collection != collection && t.Alias != collection || who.maySee(t) != nil
	})
	if list == nil {
		list = []search.Task{}
	}
	return writeJSON(w, http.StatusOK, taskList{list})
}

// maySee returns nil when the caller's key is for the collection of a task, or for the alias by
// which it was named; for what concerns all collections, when it is for all of them.
func (c caller) maySee(t search.Task) error {
	if t.Alias != "" && c.mayUse(t.Alias) == nil {
		return nil
	}
	return c.mayUse(cmp.Or(t.Collection, "*"))
}

// taskOf returns the task that the path names. One that the caller may not see is unknown to it.
func (s *Server) taskOf(r *http.Request) (search.Task, error) {
	id, err := pathValue("task", strings.TrimPrefix(r.URL.EscapedPath(), "/v1/tasks/"), 512)
	if err != nil {
		return search.Task{}, err
	}
	t, err := s.o.Engine.Task(r.Context(), id)
	who := callerOf(r.Context())
	if who.key != nil && (errors.Is(err, search.ErrTaskNotFound) || err == nil && who.maySee(t) != nil) {
		err = fmt.Errorf("%w: %.40q; there is none, it ended long ago, or the key is not for its collection", search.ErrTaskNotFound, id)
	}
	return t, err
}

func (s *Server) task(w http.ResponseWriter, r *http.Request) error {
	t, err := s.taskOf(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, t)
}

// cancelTask ends a task and answers it as it ended.
func (s *Server) cancelTask(w http.ResponseWriter, r *http.Request) error {
	t, err := s.taskOf(r)
	if err != nil {
		return err
	}
	if t, err = s.o.Engine.CancelTask(r.Context(), t.ID); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, t)
}

// accepted answers a task that has begun.
func accepted(w http.ResponseWriter, t search.Task) error {
	w.Header().Set("Location", "/v1/tasks/"+url.PathEscape(t.ID))
	return writeJSON(w, http.StatusAccepted, t)
}

// reembed begins to build a collection anew with another checkpoint or other settings.
func (s *Server) reembed(w http.ResponseWriter, r *http.Request) error {
	c, err := collectionName(r)
	if err != nil {
		return err
	}
	var o search.ReembedOptions
	if err := decodeBody(r, true, &o); err != nil {
		return err
	}
	// A path of the server's machine is not for its clients to name.
	if _, err := models.ParseRepo(o.Model); err != nil && o.Model != "" && o.Model != models.Embedded {
		return &search.FieldError{Field: "model", Value: o.Model, Allowed: "embedded, or the OWNER/NAME of a checkpoint that was pulled"}
	}
	if o.Precision != "" && o.Precision != "f32" && o.Precision != "int8" {
		return &search.FieldError{Field: "precision", Value: o.Precision, Allowed: "f32, int8"}
	}
	o.MayKeep = callerOf(r.Context()).mayUse
	t, err := s.o.Engine.Reembed(r.Context(), c, o)
	if err != nil {
		return inSettings(err)
	}
	return accepted(w, t)
}
