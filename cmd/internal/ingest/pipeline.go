package ingest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/extract"
	"example.com/searchd/extract/content"
	"example.com/searchd/internal/lines"
)

// Bounds of one batch.
const (
	batchDocuments = 256
	batchBytes     = 256 << 10 // some seconds of encoding: progress moves, and a kill loses little
	batchItems     = 2048      // documents and ends of files
)

// flushTimeout is how long an interrupted run may take to ingest what it has read of standard
// input.
const flushTimeout = 30 * time.Second

var errFlushTimeout = fmt.Errorf("interrupted, and not everything read from standard input could be ingested within %v", flushTimeout)

// errStop ends a run at the first failure, with --on-error stop.
var errStop = errors.New("stopped at the first failure")

// pipeline ingests files in three stages, each on goroutines of its own: one lists files, some read
// them, one sends batches. Before the last stage the order of the list is restored, so that the
// result does not depend on the number of readers. A file is entered in the journal when its last
// document is committed, and until then its committed ids are.
type pipeline struct {
	sink          sink
	journal       *journal
	display       *progress.Display // nil once the first pass has ended
	began         time.Time
	workers       int
	how           string // the settings that decide which documents a file gives
	verify        bool   // read files again that look unchanged
	ocr           bool   // pictures are read
	stop          bool   // --on-error stop
	deleteMissing bool
	dryRun        bool
	watching      bool // the first pass has ended: unchanged files are not counted again
	stdout        io.Writer
	notice        func(text string)
	options       extract.Options // of the last run

	mu       sync.Mutex // guards what follows
	failures *failures
	counts   counts
	progress filesProgress

	takeovers []takeover // since the last warnOverlaps
	takenOver int        // ids of these
}

// task is one file on its way, or one failure of the list.
type task struct {
	file       extract.File
	key        key
	out        chan event // the result of reading, in order; closed at the end
	failures   []failure  // of reading
	warnings   []failure  // of the sink, up to maxFailures
	ids        []string   // of committed documents, up to maxIDs and one more
	replaced   []bool     // of each id: whether its document replaced a different one
	existed    []bool     // of each id: whether there was a document with it
	before     []string   // ids that the journal had before the first batch, sorted; nil: not read yet
	journalled int        // how many of the ids the journal has
	docs       int        // committed documents
	refused    bool       // the sink refused a document
	unkept     bool       // reading had more failures than are kept
}

// isStdin reports whether the task is standard input, which has no entry in the journal.
func (t *task) isStdin() bool { return t.file.Info == nil }

// size is that of the file, 0 of standard input.
func (t *task) size() int64 {
	if t.isStdin() {
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

// ending is the last event of a file.
type ending struct {
	result    extract.Result
	read      time.Time
	unchanged *entry // not nil: the file was not read, as it is unchanged
	touched   bool   // its time has changed, and unchanged is to be written
}

// item of a batch.
type item struct {
	task *task
	doc  *document // nil: the end of a file
	end  *ending
}

// run is ingest with warnings of files that share ids.
func (p *pipeline) run(ctx context.Context, paths []string, o extract.Options) error {
	return errors.Join(p.ingest(ctx, paths, o), p.warnOverlaps())
}

// ingest reads and sends what has changed under paths. What was read before a failure that stops
// the run is still sent. So is, when ctx ends, what was read of standard input, as nobody can read
// it again; that may take flushTimeout.
func (p *pipeline) ingest(ctx context.Context, paths []string, o extract.Options) error {
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
			time.AfterFunc(flushTimeout, func() { abort(errFlushTimeout) })
		})()
	}
	failed := func(err error) {
		switch {
		case err == nil || reading.Err() != nil: // the first error counts
		case errors.Is(err, errStop):
			stop(err)
		default:
			abort(err)
		}
	}
	defer p.count(reading, paths, o)()
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
				if t.isStdin() {
					ctx = putting // it ends with reading, but what was read of it is sent
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
	return errors.Join(err, p.journal.flush())
}

// list sends the files, in order, to the collector and then to the readers: the collector waits for
// what is read of standard input, even when ctx has ended.
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

// read sends the events of one file.
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
	p.journal.markSeen(t.key)
	if e, ok := p.journal.lookup(t.key); ok && !t.isStdin() && !p.verify && !t.file.Taken() {
		same, touched, err := p.unchanged(ctx, t.file, &e, began)
		if err != nil {
			return err
		}
		if same {
			return send(event{end: &ending{unchanged: &e, touched: touched}})
		}
	}
	res, err := t.file.Read(ctx, func(d extract.Document) error {
		fields, err := json.Marshal(d.Fields)
		if err != nil {
			return send(event{fail: &extract.ItemError{Path: d.Source, Line: d.Line, Reason: err.Error()}})
		}
		return send(event{doc: &document{d.ID, fields, d.Blocks, d.Source, d.Line, d.Offset}})
	}, func(e extract.ItemError) error { return send(event{fail: &e}) })
	if err != nil {
		return err
	}
	return send(event{end: &ending{result: res, read: began}})
}

// settled is the age of a change from which the time of a file can be trusted: two changes within
// the resolution of the clock of a file system look like one.
const settled = 2 * time.Second

// unchanged reports whether the file is as it was when e was written. Where size and time do not
// tell, the content is compared; touched reports that e now has a new time.
func (p *pipeline) unchanged(ctx context.Context, f extract.File, e *entry, now time.Time) (same, touched bool, err error) {
	mtime := f.Info.ModTime().UnixNano()
	if e.How != p.how || e.Size != f.Info.Size() || p.ocr && slices.ContainsFunc(e.Failures, needsOCR) {
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
		return false, false, context.Cause(ctx) // an error of the file is reported when it is read
	}
	e.Time, e.Read = info.ModTime().UnixNano(), now.UnixNano()
	return true, true, nil
}

// needsOCR reports whether a file was not read fully for want of OCR.
func needsOCR(f failure) bool { return strings.Contains(f.Reason, content.InstallOCR) }

// collect takes the events of all files in order, counts failures and makes batches. A failure that
// stops the run goes to failed; the events after it are dropped.
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
					t.failures, t.unkept = t.failures[:0], true // too many to keep: the file is read again
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

// fail reports one failure.
func (p *pipeline) fail(e extract.ItemError) error {
	if p.display != nil {
		p.display.Clear()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.failures.add(e); err != nil {
		return err
	}
	if p.stop && !e.Warning {
		return errStop
	}
	return nil
}

// put sends the documents of one batch and finishes the files that end in it.
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
			err, results = p.record(it, results[0]), results[1:]
		}
		if errors.Is(err, errStop) {
			stopped = err // what is committed must still be entered in the journal
		} else if err != nil {
			return err
		}
	}
	if t := batch[len(batch)-1].task; !t.isStdin() {
		if err := p.journal.part(t.key, p.how, t.ids[t.journalled:]); err != nil { // none if the file has ended
			return err
		}
		t.journalled = len(t.ids)
	}
	return errors.Join(stopped, p.journal.flush())
}

// send sends the documents of a batch to the sink, after their ids are in the journal.
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
	files, err := p.addUncommitted(batch)
	if err != nil {
		return nil, err
	}
	results, err := p.sink.put(ctx, docs)
	if err != nil {
		return nil, err
	}
	for _, k := range files {
		p.journal.dropUncommitted(k)
	}
	return results, nil
}

// record counts a document that the sink has taken, or reports why it was refused.
func (p *pipeline) record(it item, r result) error {
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
		t.existed = append(t.existed, r.status != created)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.docs == 1 {
		p.counts.open++
	}
	if !p.watching || r.status != "unchanged" {
		p.counts.byStatus[r.status]++
	}
	p.counts.documents++
	p.progress.current = it.doc.offset
	return nil
}

// addUncommitted notes the ids of a batch in the journal, and returns the files that they are of.
func (p *pipeline) addUncommitted(batch []item) (files []key, err error) {
	for len(batch) > 0 {
		t := batch[0].task
		var ids []string
		for ; len(batch) > 0 && batch[0].task == t; batch = batch[1:] {
			if doc := batch[0].doc; doc != nil {
				ids = append(ids, doc.id)
			}
		}
		if len(ids) == 0 || t.isStdin() {
			continue
		}
		if t.before == nil {
			now, left, err := p.journal.ids(t.key)
			if err != nil {
				return nil, err
			}
			t.before = append(append([]string{}, now...), left...) // not nil
			slices.Sort(t.before)
		}
		if err := p.journal.addUncommitted(t.key, p.how, ids); err != nil {
			return nil, err
		}
		files = append(files, t.key)
	}
	return files, p.journal.flush()
}
