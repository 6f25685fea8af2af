package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/extract"
)

// filesProgress is how far a run is.
type filesProgress struct {
	files, totalFiles int   // a total of 0 is unknown
	bytes, totalBytes int64 // of files
	unchanged         int64 // of bytes, those of files that were not read
	current           int64 // bytes read of the current file
}

func (f *filesProgress) endFile(size int64, read bool) {
	f.files++
	f.current = 0
	if f.bytes += size; !read {
		f.unchanged += size
	}
}

// state is what is displayed of a run.
func (p *pipeline) state() progress.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, n := p.progress, p.counts.documents
	text := fmt.Sprintf("%s, %s per second", count(n, "document"), rate(float64(n)/time.Since(p.began).Seconds()))
	if f.totalFiles > 1 {
		text += fmt.Sprintf(", %d of %d files", f.files, max(f.files, f.totalFiles)) // files may have come since they were counted
	}
	return progress.State{Text: text, Done: f.bytes + f.current, Total: f.totalBytes, Skipped: f.unchanged}
}

// countDelay is how long a run goes on before its files are counted: a short run need not list them
// twice.
var countDelay = time.Second

// count counts the files under paths for the progress of the first pass. stop ends it.
func (p *pipeline) count(ctx context.Context, paths []string, o extract.Options) (stop func()) {
	p.mu.Lock()
	p.progress = filesProgress{}
	p.mu.Unlock()
	if p.watching || slices.Contains(paths, "-") {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var counter sync.WaitGroup
	counter.Go(func() {
		select {
		case <-time.After(countDelay):
		case <-ctx.Done():
			return
		}
		n, size := 0, int64(0)
		o.Skip = nil
		_, err := extract.Files(ctx, paths, o, func(f extract.File) error { n, size = n+1, size+f.Info.Size(); return nil }, func(extract.ItemError) error { return nil })
		if err == nil {
			p.mu.Lock()
			p.progress.totalFiles, p.progress.totalBytes = n, size
			p.mu.Unlock()
		}
	})
	return func() { cancel(); counter.Wait() }
}
