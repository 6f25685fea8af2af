// Package backups writes backups to a folder or a bucket at intervals and deletes old ones. It
// knows neither the engine nor what a backup consists of.
package backups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"
	"time"

	"example.com/searchd/internal/objectstore"
)

// Source is the store of which backups are made.
type Source interface {
	// ID is its identity, which is a part of the names of its backups.
	ID() string
	// Size returns about how many bytes a backup has.
	Size(ctx context.Context) (int64, error)
	// Damage reads each stored value and describes those that are damaged.
	Damage(ctx context.Context) ([]string, error)
	// Write writes a backup of this moment.
	Write(ctx context.Context, w io.Writer) (int64, error)
}

// Schedule writes backups of a source. Only backups with the identity of the source are counted and
// deleted, so that several servers can use one place.
type Schedule struct {
	Of     Source
	To     objectstore.Place
	Every  time.Duration
	Keep   int          // the newest so many; at least 1
	Report func(Report) // is called after each attempt

	mu struct {
		sync.Mutex
		status Status
	}
}

// Report describes an attempt.
type Report struct {
	URL      string // of the backup
	Bytes    int64
	Took     time.Duration
	Err      error         // the attempt has failed
	Retry    time.Duration // until the next attempt, after a failure
	Warnings []error       // the backup is complete, but not everything else was done
}

// Status counts the attempts since the start; times are zero where there was none.
type Status struct {
	Running     bool
	Newest      time.Time // of the newest complete backup, also of before the start
	Bytes       int64     // of it
	LastFailure time.Time
	Failing     int // failures since the last success
	Failures    int
	Successes   int
	Took        time.Duration // by the last success
}

// Status returns the status of now.
func (s *Schedule) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.status
}

func (s *Schedule) update(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.mu.status)
}

const (
	suffix        = ".backup"
	damagedSuffix = ".damaged" + suffix // of a backup with damaged values; one is kept
	timeForm      = "20060102T150405Z"
	firstRetry    = time.Minute
	lastRetry     = time.Hour
)

var nameForm = regexp.MustCompile(`^searchd-(\d{8}T\d{6}Z)(?:-([0-9a-f]{8}))?(\.damaged)?\.backup$`)

// Name returns the name of a backup. Without an identity it is one that no schedule counts.
func Name(at time.Time, id string) string {
	if id != "" {
		id = "-" + id[:min(8, len(id))]
	}
	return "searchd-" + at.UTC().Format(timeForm) + id + suffix
}

// parse returns the time in a name that [Name] made, and the beginning of the identity, if any.
func parse(name string) (at time.Time, id string, damaged, ok bool) {
	m := nameForm.FindStringSubmatch(name)
	if m == nil {
		return at, "", false, false
	}
	at, err := time.Parse(timeForm, m[1])
	return at, m[2], m[3] != "", err == nil
}

// mine returns the time in the name of a backup of the source.
func (s *Schedule) mine(name string) (at time.Time, damaged, ok bool) {
	at, id, damaged, ok := parse(name)
	return at, damaged, ok && id != "" && id == s.Of.ID()[:min(8, len(s.Of.ID()))]
}

// Run writes backups until ctx ends: the first one when the newest one that exists is older than
// Every. A failed attempt is repeated after a minute, then after twice as long each time, but at
// least every hour.
func (s *Schedule) Run(ctx context.Context) {
	due := time.Now()
	if list, err := s.list(ctx); err == nil && len(list) > 0 {
		newest := list[len(list)-1]
		s.update(func(st *Status) { st.Newest, st.Bytes = newest.Created, newest.Bytes })
		due = newest.Created.Add(s.Every)
	}
	wait := min(time.Until(due), s.Every) // the clock may have been set back since
	for sleep(ctx, wait) {
		began := time.Now()
		s.update(func(st *Status) { st.Running = true })
		r := s.attempt(ctx, began)
		s.update(func(st *Status) { st.Running = false })
		if r.Err != nil && ctx.Err() != nil {
			return
		}
		r.Took = time.Since(began)
		s.note(&r)
		wait = r.Retry
		if r.Err == nil {
			wait = s.Every - r.Took
		}
		s.Report(r)
	}
}

// note adds an attempt to the status and sets its Retry.
func (s *Schedule) note(r *Report) {
	s.update(func(st *Status) {
		if r.Err == nil {
			st.Newest, st.Bytes, st.Took, st.Failing = time.Now(), r.Bytes, r.Took, 0
			st.Successes++
			return
		}
		st.LastFailure = time.Now()
		st.Failures++
		st.Failing++
		r.Retry = min(firstRetry<<min(st.Failing-1, 10), lastRetry, s.Every)
		if errors.Is(r.Err, errDamaged) {
			r.Retry = s.Every
		}
	})
}

// sleep waits and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

var errDamaged = errors.New("the data folder is damaged")

// attempt writes a backup, verifies it and deletes old ones.
func (s *Schedule) attempt(ctx context.Context, now time.Time) (r Report) {
	if err := s.To.RemoveUnfinished(ctx, func(name string) bool { _, _, ok := s.mine(name); return ok }); err != nil {
		r.Warnings = append(r.Warnings, fmt.Errorf("removing what an interrupted backup has left: %w", err))
	}
	damage, err := s.Of.Damage(ctx)
	if err != nil {
		r.Err = err
		return r
	}
	size, err := s.Of.Size(ctx)
	if err != nil {
		r.Err = err
		return r
	}
	name := Name(now, s.Of.ID())
	if len(damage) > 0 {
		name = name[:len(name)-len(suffix)] + damagedSuffix
	}
	r.URL = s.To.URL(name)
	o, err := objectstore.Write(ctx, s.To, name, size, func(w io.Writer) error { _, err := s.Of.Write(ctx, w); return err })
	if err != nil {
		r.Err = err
		return r
	}
	r.Bytes = o.Bytes
	if len(damage) > 0 {
		r.Err = fmt.Errorf("%w in %d places, and so is the backup, which is %s; older backups are kept: %s", errDamaged, len(damage), r.URL, damage[0])
	}
	if err := s.prune(ctx, len(damage) > 0); err != nil {
		r.Warnings = append(r.Warnings, fmt.Errorf("deleting old backups: %w", err))
	}
	return r
}

// prune deletes all but the newest backups; of the damaged ones all but the newest.
func (s *Schedule) prune(ctx context.Context, damaged bool) error {
	list, err := s.To.List(ctx)
	if err != nil {
		return err
	}
	keep := s.Keep
	if damaged {
		keep = 1
	}
	list = slices.DeleteFunc(list, func(o objectstore.Object) bool { _, d, ok := s.mine(o.Name); return !ok || d != damaged })
	for _, o := range list[:max(0, len(list)-keep)] { // names sort by time
		if e := s.To.Remove(ctx, o.Name); e != nil && !errors.Is(e, objectstore.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// list returns the backups of the source without damaged values, oldest first, with the time in
// their names.
func (s *Schedule) list(ctx context.Context) ([]objectstore.Object, error) {
	all, err := s.To.List(ctx)
	var out []objectstore.Object
	for _, o := range all {
		if at, damaged, ok := s.mine(o.Name); ok && !damaged {
			out = append(out, objectstore.Object{Name: o.Name, Created: at, Bytes: o.Bytes})
		}
	}
	return out, err
}

// Newest returns the newest backup without damaged values at a place.
func Newest(ctx context.Context, p objectstore.Place) (objectstore.Object, error) {
	list, err := p.List(ctx)
	if err != nil {
		return objectstore.Object{}, err
	}
	ids := map[string]bool{}
	list = slices.DeleteFunc(list, func(o objectstore.Object) bool {
		_, id, damaged, ok := parse(o.Name)
		if ok && !damaged && id != "" {
			ids[id] = true
		}
		return !ok || damaged
	})
	switch {
	case len(list) == 0:
		return objectstore.Object{}, fmt.Errorf("%s has no backups that are named as searchd names them: name one in full", p.URL(""))
	case len(ids) > 1:
		return objectstore.Object{}, fmt.Errorf("%s has backups of %d data folders: name one in full", p.URL(""), len(ids))
	}
	return slices.MaxFunc(list, func(a, b objectstore.Object) int {
		x, _, _, _ := parse(a.Name)
		y, _, _, _ := parse(b.Name)
		return cmp.Or(x.Compare(y), cmp.Compare(a.Name, b.Name))
	}), nil
}
