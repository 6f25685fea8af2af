package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"

	"example.com/searchd/extract"
	"example.com/searchd/internal/terminal"
)

// removeBatch is how many documents are deleted at once.
const removeBatch = 1000

// absent reports whether nothing exists at path. Where that cannot be known, because of permissions
// or a failing disk, it returns false.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// fileGone reports whether nothing, or a folder, is at path; see absent.
func fileGone(path string) bool {
	if absent(path) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// deletion is what of the journal is to be deleted from the collection.
type deletion struct {
	gone    map[key]bool // files of which nothing is left
	changed map[key]bool // files with documents that they no longer have
}

// missing deletes the documents that earlier runs have ingested from these scopes and that are
// gone: those of files that do not exist, and records that a file no longer has. Documents that
// another file has, too, stay, as that file has them; so do all that did not come through the
// journal. With onlySeen it looks at files that this run has found, with believe also where all of
// them are gone.
func (p *pipeline) missing(ctx context.Context, in []scope, onlySeen, believe bool) error {
	d := deletion{map[key]bool{}, map[key]bool{}}
	for _, s := range in {
		keys := p.journal.filter(func(f *fileEntry) bool { return s.contains(f.key()) && (f.seen || !onlySeen) })
		var gone []key
		for _, k := range keys {
			switch e, ok := p.journal.lookup(k); {
			case !ok:
			case fileGone(k.file()):
				gone = append(gone, k)
			case e.Left > 0 && !hasFailed(e.Failures):
				d.changed[k] = true
			}
		}
		if len(gone) > 1 && len(gone) == len(keys) && !s.file && !believe {
			err := p.fail(extract.ItemError{Path: s.root, Reason: fmt.Sprintf("all %d files that were here are missing: nothing is deleted, as an unmounted disk looks the same", len(gone))})
			if err != nil {
				return err
			}
			p.journal.unmark(gone) // nor is anything deleted later, when the first file is there
			continue
		}
		for _, k := range gone {
			d.gone[k] = true
		}
	}
	return p.delete(ctx, d)
}

// delete deletes documents from the collection and their files from the journal.
func (p *pipeline) delete(ctx context.Context, d deletion) error {
	if len(d.gone)+len(d.changed) == 0 {
		return nil
	}
	ids := map[string]bool{}
	for _, keys := range []map[key]bool{d.gone, d.changed} {
		for k := range keys {
			now, left, err := p.journal.ids(k)
			if err != nil {
				return err
			}
			if d.gone[k] {
				left = append(left, now...)
			}
			for _, id := range left {
				ids[id] = true
			}
		}
	}
	by, err := p.journal.keepShared(ids, d.gone)
	if err != nil {
		return err
	}
	if !p.dryRun {
		for _, k := range by { // first, in case this run ends here
			if err := p.journal.invalidate(k); err != nil {
				return err
			}
		}
		if err := p.journal.flush(); err != nil {
			return err
		}
	}
	if err := p.remove(ctx, ids); err != nil || p.dryRun {
		return err
	}
	if err := p.forget(d); err != nil {
		return err
	}
	return p.restore(ctx, by)
}

// restore reads files again whose documents may have been replaced by those of files that are gone.
// Files that were read with other settings wait for a run with these.
func (p *pipeline) restore(ctx context.Context, files []key) error {
	paths := map[string][]string{} // by root
	for _, k := range files {
		if e, ok := p.journal.lookup(k); ok && e.How == p.how && !fileGone(k.file()) {
			paths[k.root] = append(paths[k.root], k.file())
		}
	}
	for _, root := range slices.Sorted(maps.Keys(paths)) {
		o := p.options
		o.Root = root
		if err := p.run(ctx, paths[root], o); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes documents from the collection.
func (p *pipeline) remove(ctx context.Context, ids map[string]bool) error {
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(ids)), removeBatch) {
		status, n := "would be deleted", len(batch)
		if p.dryRun {
			for _, id := range batch {
				fmt.Fprintln(p.stdout, "would delete", terminal.Printable(id))
			}
		} else {
			var err error
			if n, err = p.sink.remove(ctx, batch); err != nil {
				return fmt.Errorf("deleting what is missing: %w", err)
			}
			status = "deleted"
		}
		p.mu.Lock()
		p.counts.byStatus[status] += n
		p.mu.Unlock()
	}
	return nil
}

// forget removes what has been deleted from the journal.
func (p *pipeline) forget(d deletion) error {
	for k := range d.gone {
		if err := p.journal.drop(k); err != nil {
			return err
		}
	}
	for k := range d.changed {
		now, _, err := p.journal.ids(k)
		if err != nil {
			return err
		}
		e, ok := p.journal.lookup(k)
		if !ok || d.gone[k] {
			continue
		}
		e.join(now, nil)
		if err := p.journal.put(e); err != nil {
			return err
		}
	}
	return p.journal.flush()
}
