package analytics

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Interval is how often events are written: what a killed process loses at most, beside what the
// disk takes to flush.
const Interval = time.Second

// Bounds of what is in memory.
const (
	maxQueued = 8192
	maxHeld   = 4096 // unfinished searches
)

// ErrClosed is returned once the log is closed.
var ErrClosed = errors.New("analytics: closed")

// Options configure a [Log]. The zero value of each field means its default.
type Options struct {
	Days     int               // how long events are kept; default 90
	MaxBytes int64             // of all segments; default 64 MiB
	Notice   func(text string) // is called when events cannot be written; default: not
	Now      func() time.Time  // default time.Now
}

// Stats counts the events since the log was opened.
type Stats struct {
	Written, Dropped uint64
	Bytes            int64 // on disk
}

// Log is a log of events. It is safe for concurrent use.
type Log struct {
	o     Options
	dir   string
	queue chan entry
	stop  chan struct{}
	done  chan struct{}
	close sync.Once

	written, dropped atomic.Uint64
	bytes            atomic.Int64

	mu struct {
		sync.Mutex
		held  map[string]Event
		order []string // ids of held, oldest first; some may be gone
	}
	popular popular
}

// entry is what the writer gets: an event, or something to do.
type entry struct {
	Event
	forget  string       // the collection whose events are deleted
	reached chan<- error // receives once everything before is written; nil: an event
}

// Open opens the log in a folder, which it makes where there is none.
func Open(dir string, o Options) (*Log, error) {
	o.Days, o.MaxBytes = cmp.Or(o.Days, 90), cmp.Or(o.MaxBytes, 64<<20)
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &Log{o: o, dir: dir, queue: make(chan entry, maxQueued), stop: make(chan struct{}), done: make(chan struct{})}
	l.mu.held = map[string]Event{}
	w := writer{log: l, folder: folder{dir: dir, maxBytes: o.MaxBytes}}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.log.new")); len(left) > 0 { // of a deletion that did not end
		for _, path := range left {
			os.Remove(path)
		}
	}
	w.report(w.trim()) // a disk that takes no writes is no reason not to serve
	go w.run()
	return l, nil
}

// Close writes what is queued and closes the log.
func (l *Log) Close() error {
	l.close.Do(func() { close(l.stop) })
	<-l.done
	return nil
}

// Stats counts events.
func (l *Log) Stats() Stats {
	return Stats{l.written.Load(), l.dropped.Load(), l.bytes.Load()}
}

// Search logs a search and returns its id, or holds it if its query was not finished. The caller
// sets all of e but Time, Kind and SearchID.
func (l *Log) Search(e Event, unfinished bool) (id string) {
	e.Kind, e.Time, e.SearchID = Search, l.o.Now().UTC().Truncate(time.Second), rand.Text()
	if unfinished {
		l.hold(e)
	} else {
		l.enqueue(e)
	}
	return e.SearchID
}

// Act logs what somebody did with the answer to a search: a click, or that it was read.
func (l *Log) Act(e Event) {
	l.mu.Lock()
	held, ok := l.mu.held[e.SearchID]
	if ok = ok && held.Tenant == e.Tenant; ok {
		delete(l.mu.held, e.SearchID)
	}
	l.mu.Unlock()
	if ok {
		l.enqueue(held)
	}
	if e.Kind == Click {
		e.Time = l.o.Now().UTC().Truncate(time.Second)
		l.enqueue(e)
	}
}

func (l *Log) hold(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.held[e.SearchID] = e
	l.mu.order = append(l.mu.order, e.SearchID)
	if len(l.mu.order) > maxHeld {
		delete(l.mu.held, l.mu.order[0])
		l.mu.order = l.mu.order[1:]
	}
}

// enqueue never waits.
func (l *Log) enqueue(e Event) {
	select {
	case l.queue <- entry{Event: e}:
	default:
		l.dropped.Add(1)
	}
}

// Flush returns when what was logged before is written, or cannot be.
func (l *Log) Flush(ctx context.Context) error { return l.do(ctx, "") }

// Forget deletes the events of a collection.
func (l *Log) Forget(ctx context.Context, collection string) error {
	l.mu.Lock()
	clear(l.mu.held) // whichever collections they are of
	l.mu.Unlock()
	err := l.do(ctx, collection)
	l.popular.forgotten.Add(1)
	return err
}

func (l *Log) do(ctx context.Context, forget string) error {
	reached := make(chan error, 1)
	select {
	case l.queue <- entry{reached: reached, forget: forget}:
	case <-l.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-reached:
		return err
	case <-l.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Events calls fn for each event of a collection since a time, oldest first, and returns the number
// of damaged lines of the log.
func (l *Log) Events(ctx context.Context, collection string, since time.Time, fn func(Event) error) (damaged int, err error) {
	if err := l.Flush(ctx); err != nil {
		return 0, err
	}
	return Read(ctx, l.dir, func(e Event) error {
		if e.Collection != collection || e.Time.Before(since) {
			return nil
		}
		return fn(e)
	})
}

// Since returns the beginning of the last so many days; of all that is kept for 0 and for more.
func (l *Log) Since(days int) time.Time {
	if days <= 0 || days > l.o.Days {
		days = l.o.Days
	}
	return l.o.Now().UTC().AddDate(0, 0, -days)
}

// writer appends events to the segments; it runs in a goroutine of its own.
type writer struct {
	log     *Log
	folder  folder
	lines   []byte
	count   uint64
	failing bool
}

func (w *writer) run() {
	defer close(w.log.done)
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	trimmed := w.today()
	for {
		select {
		case e := <-w.log.queue:
			w.take(e)
		case <-tick.C:
			w.flush()
			if day := w.today(); day != trimmed {
				trimmed = day
				w.report(w.trim())
			}
		case <-w.log.stop:
			w.drain()
			return
		}
	}
}

// drain writes what is queued and closes the last segment.
func (w *writer) drain() {
	for {
		select {
		case e := <-w.log.queue:
			w.take(e)
			continue
		default:
		}
		break
	}
	w.flush()
	w.report(w.folder.close())
}

func (w *writer) today() string { return w.log.o.Now().UTC().Format(time.DateOnly) }

// take takes an entry of the queue.
func (w *writer) take(e entry) {
	if e.reached == nil {
		var err error
		if w.lines, err = appendLine(w.lines, &e.Event); err == nil {
			w.count++
		}
		if len(w.lines) >= 1<<20 {
			w.flush()
		}
		return
	}
	err := w.flush()
	if e.forget != "" {
		err = errors.Join(err, w.folder.forget(e.forget), w.trim())
	}
	e.reached <- err
}

// flush writes the lines taken since the last time. Those that cannot be written are dropped.
func (w *writer) flush() error {
	if len(w.lines) == 0 {
		return nil
	}
	err := w.folder.append(w.lines, w.today())
	if err == nil {
		w.log.written.Add(w.count)
		err = w.trim()
	} else {
		w.log.dropped.Add(w.count)
	}
	w.lines, w.count = w.lines[:0], 0
	w.report(err)
	return err
}

// trim deletes what is too old or too much.
func (w *writer) trim() error {
	first := w.log.Since(0).Format(time.DateOnly)
	left, err := w.folder.trim(first)
	w.log.bytes.Store(left)
	return err
}

// report notices the first of several errors.
func (w *writer) report(err error) {
	if err != nil && !w.failing {
		w.log.o.Notice(fmt.Sprintf("writing the log of searches: %v", err))
	}
	w.failing = err != nil
}
