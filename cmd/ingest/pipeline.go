package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"searchd/extract"
	"searchd/internal/lines"
)

// Bounds of one batch.
const (
	batchDocuments = 256
	batchBytes     = 1 << 20
	batchItems     = 2048 // documents and ends of files
)

// lastTime is how long an interrupted run may take to put in what standard input has given.
const lastTime = 30 * time.Second

var errLast = fmt.Errorf("interrupted, and not all that was read of standard input was taken within %v", lastTime)

// errStop ends a run at the first failure, with --on-error stop.
var errStop = errors.New("stopped at the first failure")

// pipeline takes files to documents in three stages, each on goroutines of its own: one lists
// files, some read them, one puts batches in. Between reading and putting in, the order of the list
// is restored, so that the same files give the same result whatever the number of readers. A file
// is entered in the journal when its last document is committed, and until then what is committed
// of it.
type pipeline struct {
	sink          sink
	journal       *journal
	progress      *progress
	workers       int
	how           string // the settings that decide what a file gives; another value makes every file look changed
	verify        bool   // read files again that look unchanged
	stop          bool   // --on-error stop
	deleteMissing bool
	dryRun        bool
	watching      bool // the first pass is done: what is unchanged is not counted again
	stdout        io.Writer
	notice        func(text string)
	options       extract.Options // of the last run

	mu       sync.Mutex // guards what follows
	failures *failures
	counts   counts
}

// task is one file on its way, or one failure of the list.
type task struct {
	file     extract.File
	key      key
	out      chan event // what reading gives, in order; closed at the end
	failures []failure  // of reading
	warnings []failure  // of the sink, up to maxFailures
	ids      []string   // of the documents that are committed, up to maxIDs and one more
	replaced []bool     // whether each took the place of a document that says something else, one of this file perhaps
	noted    int        // how many of them the journal knows
	docs     int        // that are committed
	refused  bool       // the sink refused one of them
	unkept   bool       // reading had more failures than are kept
}

// journalled reports whether the file is known by its key, as all are but standard input.
func (t *task) journalled() bool { return t.file.Info != nil }

// size is that of the file, 0 of standard input.
func (t *task) size() int64 {
	if t.file.Info == nil {
		return 0
	}
	return t.file.Info.Size()
}

// event is one of its fields.
type event struct {
	doc  *document
	fail *extract.ItemError
	end  *ending
}

// ending is the last event of a file that was read, or that need not be.
type ending struct {
	result extract.Result
	read   time.Time
	known  *entry // not nil: it is unchanged
	touch  bool   // unchanged in content, with another time: known is to be written
}

// item of a batch.
type item struct {
	task *task
	doc  *document // nil: the end of a file
	end  *ending
}

// run reads what has changed under paths and puts it in. What was read before a failure that stops
// the run still goes in. So does, when ctx ends, what standard input has given, as nobody can read
// it again; that may take lastTime.
func (p *pipeline) run(ctx context.Context, paths []string, o extract.Options) error {
	p.options = o
	p.counts.open = 0
	piped := slices.Contains(paths, "-")
	kept := ctx
	if piped {
		kept = context.WithoutCancel(ctx)
	}
	putting, abort := context.WithCancelCause(kept)
	defer abort(nil)
	reading, stop := context.WithCancelCause(putting)
	defer stop(nil)
	if piped {
		o.Stdin = lines.Until(reading, o.Stdin)
		defer context.AfterFunc(ctx, func() {
			stop(context.Cause(ctx))
			time.AfterFunc(lastTime, func() { abort(errLast) })
		})()
	}
	failed := func(err error) {
		switch {
		case err == nil || reading.Err() != nil: // a reader that is interrupted may say no more than that it was
		case errors.Is(err, errStop):
			stop(err)
		default:
			abort(err)
		}
	}
	defer p.count(reading, paths, o)()
	defer p.tick()()
	tasks := make(chan *task, 4*p.workers) // in the order of the list
	jobs := make(chan *task)
	batches := make(chan []item, 1)
	var readers, putter sync.WaitGroup
	readers.Go(func() {
		defer close(tasks)
		defer close(jobs)
		failed(p.list(reading, paths, o, tasks, jobs))
	})
	for range p.workers {
		readers.Go(func() {
			for t := range jobs {
				ctx := reading
				if t.file.Info == nil {
					ctx = putting // standard input ends when reading does; what it gave before does not
				}
				failed(p.read(ctx, t))
			}
		})
	}
	putter.Go(func() {
		for batch := range batches {
			if putting.Err() == nil { // else drain
				if err := p.put(putting, batch); err != nil {
					abort(err)
				}
			}
		}
	})
	p.collect(putting, tasks, batches, failed)
	readers.Wait()
	close(batches)
	putter.Wait()
	err := context.Cause(putting)
	if err == nil {
		err = context.Cause(reading)
	}
	return errors.Join(err, p.journal.flush(), p.tellOverlaps())
}

// countAfter is how long a run goes on before its files are counted: a short one need not list them
// twice.
var countAfter = time.Second

// count counts the files under paths, beside the run that reads them, for the progress of the first
// run. stop ends it.
func (p *pipeline) count(ctx context.Context, paths []string, o extract.Options) (stop func()) {
	p.mu.Lock()
	p.progress.restart()
	p.mu.Unlock()
	if p.watching || slices.Contains(paths, "-") {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var counter sync.WaitGroup
	counter.Go(func() {
		select {
		case <-time.After(countAfter):
		case <-ctx.Done():
			return
		}
		n, size := 0, int64(0)
		o.Skip = nil
		_, err := extract.Files(ctx, paths, o, func(f extract.File) error { n, size = n+1, size+f.Info.Size(); return nil }, func(extract.ItemError) error { return nil })
		if err == nil {
			p.mu.Lock()
			p.progress.of, p.progress.size = n, size
			p.mu.Unlock()
		}
	})
	return func() { cancel(); counter.Wait() }
}

// tick shows the progress also where no document ends for long. stop ends it.
func (p *pipeline) tick() (stop func()) {
	ticks, done := time.NewTicker(time.Second), make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				p.mu.Lock()
				p.progress.show(0)
				p.mu.Unlock()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); ticking.Wait() }
}

// list sends the files, in order, to the collector and then to the readers: what a reader has of
// standard input is waited for, whenever ctx ends.
func (p *pipeline) list(ctx context.Context, paths []string, o extract.Options, tasks, jobs chan<- *task) error {
	send := func(to chan<- *task, t *task) error {
		select {
		case to <- t:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	o.Skip = func(path string, why extract.SkipKind) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.watching {
			p.counts.skip(path, why)
		}
	}
	_, err := extract.Files(ctx, paths, o, func(f extract.File) error {
		t := &task{file: f, key: key{f.Root, f.ID}, out: make(chan event, 32)}
		if err := send(tasks, t); err != nil {
			return err
		}
		if err := send(jobs, t); err != nil {
			close(t.out)
			return err
		}
		return nil
	}, func(e extract.ItemError) error {
		t := &task{out: make(chan event, 1)}
		t.out <- event{fail: &e}
		close(t.out)
		return send(tasks, t)
	})
	return err
}

// read gives the events of one file.
func (p *pipeline) read(ctx context.Context, t *task) error {
	defer close(t.out)
	send := func(e event) error {
		select {
		case t.out <- e:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	began := time.Now()
	if e, ok := p.journal.entry(t.key); ok && t.file.Info != nil && !p.verify && !t.file.Taken() {
		same, touch, err := p.unchanged(ctx, t.file, &e, began)
		if err != nil {
			return err
		}
		if same {
			return send(event{end: &ending{known: &e, touch: touch}})
		}
	}
	res, err := t.file.Read(ctx, func(d extract.Document) error {
		fields, err := json.Marshal(d.Fields)
		if err != nil {
			return send(event{fail: &extract.ItemError{Path: d.Source, Line: d.Line, Reason: err.Error()}})
		}
		return send(event{doc: &document{d.ID, fields, d.Source, d.Line, d.Offset}})
	}, func(e extract.ItemError) error { return send(event{fail: &e}) })
	if err != nil {
		return err
	}
	return send(event{end: &ending{result: res, read: began}})
}

// settled is the age of a change from which the time of a file can be trusted: two changes within
// the resolution of the clock of a file system look like one.
const settled = 2 * time.Second

// unchanged reports whether the file is as it was when e was written. Where size or time say
// nothing the content is compared; touch says that e has the new time now.
func (p *pipeline) unchanged(ctx context.Context, f extract.File, e *entry, now time.Time) (same, touch bool, err error) {
	mtime := f.Info.ModTime().UnixNano()
	if e.How != p.how || e.Size != f.Info.Size() {
		return false, false, nil
	}
	if e.Time == mtime && e.Read-e.Time >= int64(settled) {
		return true, false, nil
	}
	if e.Sum == "" {
		return false, false, nil
	}
	sum, info, err := f.Sum(ctx)
	if err != nil || info.Size() != e.Size || hex.EncodeToString(sum) != e.Sum {
		return false, false, context.Cause(ctx) // what is wrong with the file is told when it is read
	}
	e.Time, e.Read = info.ModTime().UnixNano(), now.UnixNano()
	return true, true, nil
}

// collect takes the events of all files in order, counts failures and makes batches. After a
// failure that stops the run, which failed is told of, it only lets the readers go.
func (p *pipeline) collect(ctx context.Context, tasks <-chan *task, batches chan<- []item, failed func(error)) {
	stopped := false
	var batch []item
	docs, size := 0, 0
	send := func() {
		if len(batch) > 0 {
			batches <- batch
			batch, docs, size = nil, 0, 0
		}
	}
	for t := range tasks {
		for e := range t.out {
			switch {
			case stopped:
			case e.fail != nil:
				t.failures = append(t.failures, failure{e.fail.Line, e.fail.Reason, e.fail.Warning})
				if len(t.failures) > maxFailures {
					t.failures, t.unkept = t.failures[:0], true // too many to keep: read it again
				}
				if err := p.fail(*e.fail); err != nil {
					send()
					failed(err)
					stopped = true
				}
			case e.doc != nil:
				batch = append(batch, item{task: t, doc: e.doc})
				docs++
				size += len(e.doc.fields)
			case e.end != nil:
				batch = append(batch, item{task: t, end: e.end})
			}
			if docs >= batchDocuments || size >= batchBytes || len(batch) >= batchItems {
				send()
			}
		}
	}
	if ctx.Err() == nil {
		send()
	}
}

// fail tells of one failure.
func (p *pipeline) fail(e extract.ItemError) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.clear()
	if err := p.failures.add(e); err != nil {
		return err
	}
	if p.stop && !e.Warning {
		return errStop
	}
	return nil
}

// put puts the documents of one batch in and ends the files that end in it.
func (p *pipeline) put(ctx context.Context, batch []item) error {
	results, err := p.send(ctx, batch)
	if err != nil {
		return err
	}
	var stopped error
	for _, it := range batch {
		if it.end != nil {
			err = p.finish(it.task, it.end)
		} else {
			err, results = p.taken(it, results[0]), results[1:]
		}
		if errors.Is(err, errStop) {
			stopped = err // all that is committed is to be known
		} else if err != nil {
			return err
		}
	}
	if t := batch[len(batch)-1].task; t.journalled() {
		if err := p.journal.part(t.key, p.how, t.ids[t.noted:]); err != nil { // none if it has ended
			return err
		}
		t.noted = len(t.ids)
	}
	return errors.Join(stopped, p.journal.flush())
}

// send gives the documents of a batch to the sink, one result each; the journal knows of them
// before.
func (p *pipeline) send(ctx context.Context, batch []item) ([]result, error) {
	var docs []document
	for _, it := range batch {
		if it.doc != nil {
			docs = append(docs, *it.doc)
		}
	}
	if len(docs) == 0 {
		return nil, nil
	}
	tried, err := p.try(batch)
	if err != nil {
		return nil, err
	}
	results, err := p.sink.put(ctx, docs)
	if err != nil {
		return nil, err
	}
	for _, k := range tried {
		p.journal.tried(k)
	}
	return results, nil
}

// taken counts a document that the sink has taken, or tells why it has not.
func (p *pipeline) taken(it item, r result) error {
	t := it.task
	if r.status == failed {
		t.refused = true
		return p.fail(extract.ItemError{Path: it.doc.source, Line: it.doc.line, Reason: r.why})
	}
	if r.warning != "" {
		if len(t.warnings) < maxFailures {
			t.warnings = append(t.warnings, failure{it.doc.line, r.warning, true})
		}
		if err := p.fail(extract.ItemError{Path: it.doc.source, Line: it.doc.line, Warning: true, Reason: r.warning}); err != nil {
			return err
		}
	}
	if t.docs++; len(t.ids) <= maxIDs {
		t.ids = append(t.ids, it.doc.id)
		t.replaced = append(t.replaced, r.status == updated || r.status == read)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.docs == 1 {
		p.counts.open++
	}
	if !p.watching || r.status != "unchanged" {
		p.counts.byStatus[r.status]++
	}
	p.progress.at = it.doc.offset
	p.progress.add(1)
	return nil
}

// try notes in the journal what is about to be put in, and returns the files that it is of.
func (p *pipeline) try(batch []item) (files []key, err error) {
	for len(batch) > 0 {
		t := batch[0].task
		var ids []string
		for ; len(batch) > 0 && batch[0].task == t; batch = batch[1:] {
			if doc := batch[0].doc; doc != nil {
				ids = append(ids, doc.id)
			}
		}
		if len(ids) == 0 || !t.journalled() {
			continue
		}
		if err := p.journal.try(t.key, p.how, ids); err != nil {
			return nil, err
		}
		files = append(files, t.key)
	}
	return files, p.journal.flush()
}
