package pdf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"

	"example.com/searchd/extract"
)

// Reader reads PDF files. The zero value of each field is its default. It is safe for concurrent
// use and must not be copied after the first.
type Reader struct {
	// Cache is the folder for the compiled PDFium; it is created if necessary. Without it each
	// process compiles for seconds.
	Cache   string
	Time    time.Duration // for one file, without OCR; default 20 s
	Memory  int64         // bytes that PDFium may use for one file, in whole MiB; default 512 MiB, at most 4 GiB
	MaxText int64         // bytes of text of one file; default 16 MiB

	// OCR recognises the text of a picture, here of a page without text. Default: pages without
	// text are named in the warning.
	OCR func(ctx context.Context, picture []byte) (string, error)

	start   sync.Once
	started chan struct{} // closed when pool or err is set
	slots   chan struct{} // one for each file that is read
	pool    pdfium.Pool
	err     error
}

const (
	defaultTime    = 20 * time.Second
	defaultMemory  = 512 << 20
	defaultMaxText = 16 << 20
	// maxPages limits the pages that a damaged file claims.
	maxPages = 100_000
)

var errMemory = errors.New("it needs more memory than the limit")

// Read returns the text of the PDF in b, with a warning that names pages without text and damaged
// ones. A file without any text is an error.
func (r *Reader) Read(ctx context.Context, b []byte) (extract.PDFText, error) {
	done, err := r.acquire(ctx)
	if err != nil {
		return extract.PDFText{}, err
	}
	defer done()
	d := document{max: cmp.Or(r.MaxText, defaultMaxText), data: b, glyphs: sync.OnceValue(func() map[string]map[rune]string { return glyphNames(b) })}
	if err := r.read(ctx, &d); err != nil {
		d.stopped = err.Error()
	}
	if ctx.Err() != nil {
		return extract.PDFText{}, ctx.Err()
	}
	return d.text()
}

// acquire starts PDFium for the first file, and waits until this file may be read.
func (r *Reader) acquire(ctx context.Context) (done func(), err error) {
	r.start.Do(func() {
		n := runtime.GOMAXPROCS(0)
		r.started, r.slots = make(chan struct{}), make(chan struct{}, n)
		go func() {
			defer close(r.started)
			r.pool, r.err = start(r.Cache, cmp.Or(r.Memory, defaultMemory), n)
		}()
	})
	select {
	case <-r.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.err != nil {
		return nil, fmt.Errorf("PDF: PDFium cannot be started: %w", r.err)
	}
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pagesPerInstance is the number of pages from which another instance helps to read a file.
const pagesPerInstance = 16

// read reads a file by one instance, and by as many others as are idle.
func (r *Reader) read(ctx context.Context, d *document) error {
	limit := cmp.Or(r.Time, defaultTime)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.with(within, func(i *instance) {
		doc := d.open(within, i)
		if doc == 0 {
			return
		}
		var helpers sync.WaitGroup
		for range min(len(d.pages)/pagesPerInstance, cap(r.slots)-1) {
			select {
			case r.slots <- struct{}{}:
				helpers.Go(func() {
					defer func() { <-r.slots }()
					_ = r.with(within, func(i *instance) { // its pages are missing then
						if doc, _ := i.load(within, d.data); doc != 0 {
							d.read(within, i, doc)
						}
					})
				})
			default:
			}
		}
		d.read(within, i, doc)
		helpers.Wait()
		if r.OCR != nil && i.err == nil && within.Err() == nil {
			d.recognise(ctx, i, doc, r.OCR)
		}
	})
	if within.Err() != nil && d.stopped == "" {
		return fmt.Errorf("it takes longer than the limit of %v", limit)
	}
	return err
}

// with calls use with an instance of its own, and returns what is wrong with the file for it.
func (r *Reader) with(ctx context.Context, use func(*instance)) error {
	p, err := r.pool.GetInstanceWithContext(ctx)
	if err != nil {
		return fmt.Errorf("PDFium cannot be started: %w", err)
	}
	defer p.Close() // its memory goes with it, whatever state it is in
	i, err := newInstance(p)
	if err != nil {
		return err
	}
	use(i)
	switch {
	case i.err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(i.err, errInterface) || errors.Is(i.err, errMemory):
		return i.err
	case int64(i.memory.Size()) > cmp.Or(r.Memory, defaultMemory)*3/4: // the memory grows by much at once
		return errMemory
	}
	first, _, _ := strings.Cut(i.err.Error(), "\n")
	return fmt.Errorf("damaged: PDFium fails on it (%s)", first)
}

// Close stops PDFium. The Reader must not be used afterwards.
func (r *Reader) Close() error {
	r.start.Do(func() {})
	if r.started == nil {
		return nil
	}
	if <-r.started; r.pool == nil {
		return nil
	}
	return r.pool.Close()
}
