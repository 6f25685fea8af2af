package meilisearch

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxTasks bounds the tasks that are kept.
const maxTasks = 10_000

// Task is a write that was carried out.
type Task struct {
	UID        uint32         `json:"uid"`
	BatchUID   uint32         `json:"batchUid"`
	IndexUID   *string        `json:"indexUid"`
	Status     string         `json:"status"` // succeeded, failed
	Type       string         `json:"type"`
	CanceledBy *uint32        `json:"canceledBy"`
	Details    map[string]any `json:"details"`
	Error      *Problem       `json:"error"`
	Duration   string         `json:"duration"`
	EnqueuedAt Time           `json:"enqueuedAt"`
	StartedAt  Time           `json:"startedAt"`
	FinishedAt Time           `json:"finishedAt"`
}

// Summary is the answer to a write.
type Summary struct {
	TaskUID    uint32  `json:"taskUid"`
	IndexUID   *string `json:"indexUid"`
	Status     string  `json:"status"`
	Type       string  `json:"type"`
	EnqueuedAt Time    `json:"enqueuedAt"`
}

// Problem is an error as clients of Meilisearch expect it.
type Problem struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	Type    string `json:"type"` // invalid_request, auth, internal, system
	Link    string `json:"link"`
}

// tasks are the last tasks, oldest first.
type tasks struct {
	mu struct {
		sync.Mutex
		next uint32
		list []Task
	}
}

// init sets the first number. It rises with the time of the start, so that tasks from before a
// restart are not found, rather than taken for others.
func (t *tasks) init(now time.Time) {
	t.mu.next = uint32(now.Unix() - time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
}

// run runs a write and returns the summary of its task. A write that fails is a task that has
// failed, unless the error is a *Error with a status of 500 or above, or one of the context.
func (s *Server) run(ctx context.Context, kind, index string, f func(details map[string]any) error) (*Summary, error) {
	began := time.Now().UTC()
	t := Task{Status: "succeeded", Type: kind, Details: map[string]any{}, EnqueuedAt: Time{began}, StartedAt: Time{began}}
	if index != "" {
		t.IndexUID = &index
	}
	if err := f(t.Details); err != nil {
		p, status := Describe(err)
		if status >= 500 || status == 429 || ctx.Err() != nil {
			return nil, err
		}
		t.Status, t.Error = "failed", &p
	}
	t.FinishedAt = Time{time.Now()}
	t.Duration = fmt.Sprintf("PT%.6fS", t.FinishedAt.Time.Sub(began).Seconds())
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	t.UID, t.BatchUID = s.tasks.mu.next, s.tasks.mu.next
	s.tasks.mu.next++
	if len(s.tasks.mu.list) == maxTasks {
		s.tasks.mu.list = slices.Clone(s.tasks.mu.list[maxTasks/10:])
	}
	s.tasks.mu.list = append(s.tasks.mu.list, t)
	return &Summary{t.UID, t.IndexUID, "enqueued", t.Type, Time{began}}, nil
}

// Task returns a task; allowed reports whether the sender may see an index.
func (s *Server) Task(uid string, allowed func(index string) bool) (*Task, error) {
	n, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return nil, bad("invalid_task_uids", "task: got %.40q, allowed: a number", uid)
	}
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	for _, t := range s.tasks.mu.list {
		if t.UID == uint32(n) && (t.IndexUID == nil || allowed(*t.IndexUID)) {
			return &t, nil
		}
	}
	return nil, &Error{404, "task_not_found", fmt.Sprintf("Task `%d` not found: tasks are kept until the server stops, the last %d of them.", n, maxTasks)}
}

// TaskList is a page of tasks.
type TaskList struct {
	Results []Task  `json:"results"`
	Total   int     `json:"total"`
	Limit   int     `json:"limit"`
	From    *uint32 `json:"from"`
	Next    *uint32 `json:"next"`
}

// Tasks lists tasks, newest first.
func (s *Server) Tasks(q url.Values, allowed func(index string) bool) (*TaskList, error) {
	limit, err := number(q, "limit", 20, 1000)
	if err != nil {
		return nil, err
	}
	from, err := number(q, "from", -1, 1<<32-1)
	if err != nil {
		return nil, err
	}
	is := func(name, value string) bool {
		v := q.Get(name)
		return v == "" || v == "*" || slices.Contains(strings.Split(v, ","), value)
	}
	out := &TaskList{Results: []Task{}, Limit: limit}
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	for _, t := range slices.Backward(s.tasks.mu.list) {
		name := ""
		if t.IndexUID != nil {
			name = *t.IndexUID
		}
		if name != "" && !allowed(name) || !is("indexUids", name) || !is("statuses", t.Status) || !is("types", t.Type) || !is("uids", fmt.Sprint(t.UID)) {
			continue
		}
		out.Total++
		if from >= 0 && t.UID > uint32(from) {
			continue
		}
		if len(out.Results) == limit {
			if out.Next == nil {
				out.Next = &t.UID
			}
			continue
		}
		out.Results = append(out.Results, t)
	}
	if len(out.Results) > 0 {
		out.From = &out.Results[0].UID
	}
	return out, nil
}

// number returns a parameter of the query string, from 0 to most.
func number(q url.Values, name string, fallback, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, bad("bad_request", "%s: got %.40q, allowed: 0 to %d", name, text, most)
	}
	return n, nil
}

// Time is a time as clients expect it: in UTC and with a fraction of a second, though it be zero.
type Time struct{ time.Time }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}
