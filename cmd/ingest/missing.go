package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"searchd/extract"
	"searchd/internal/terminal"
)

// removeBatch is how many documents are deleted at once.
const removeBatch = 1000

// scope is a folder or a file whose documents are looked after.
type scope struct {
	root string // absolute
	sub  string // below root, with forward slashes; empty: all of it
	file bool   // sub is a file
}

// scopes returns those of paths. What is not there, and standard input, has none: nothing is known
// to be gone from it.
func scopes(paths []string, root string) ([]scope, error) {
	var out []scope
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "-" || err != nil {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		s := scope{root: abs, file: !info.IsDir()}
		switch {
		case root != "":
			if s.root, err = filepath.Abs(root); err != nil {
				return nil, err
			}
			if s.sub, err = filepath.Rel(s.root, abs); err != nil {
				return nil, err
			}
			if s.sub = filepath.ToSlash(s.sub); s.sub == "." {
				s.sub = ""
			}
		case s.file:
			s.root, s.sub = filepath.Dir(abs), filepath.Base(abs)
		}
		out = append(out, s)
	}
	return out, nil
}

func (s scope) holds(k *known) bool {
	return s.sub == "" || k.Path == s.sub || !s.file && strings.HasPrefix(k.Path, s.sub+"/")
}

// absent reports whether there is certainly nothing at path: not where a folder above it cannot be
// read, or the disk answers with an error.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// noFile reports whether there is certainly no file at path: nothing, or a folder.
func noFile(path string) bool {
	if absent(path) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// missing deletes the documents that an earlier run has brought from these scopes and that are gone
// now: of files that are not there any more, and records that a file does not hold any more. A
// document that another file brings, too, stays, as that file has it, and so does everything that
// did not come through the journal. With onlySeen it looks at files that this run has met, and an
// emptied folder is believed.
func (p *pipeline) missing(ctx context.Context, in []scope, onlySeen bool) error {
	gone := map[key]bool{}
	changed := map[key]bool{} // files with documents that they hold no more
	for _, s := range in {
		keys := p.journal.under(s.root, func(k *known) bool { return s.holds(k) && (k.seen || !onlySeen) })
		n := 0
		for _, k := range keys {
			switch e, ok := p.journal.peek(k); {
			case !ok:
			case noFile(k.file()):
				gone[k] = true
				n++
			case e.Left > 0 && !slices.ContainsFunc(e.Failures, func(f failure) bool { return !f.Warning }):
				changed[k] = true
			}
		}
		if n > 1 && n == len(keys) && s.sub == "" && !onlySeen {
			for _, k := range keys {
				delete(gone, k)
			}
			err := p.fail(extract.ItemError{Path: s.root, Reason: fmt.Sprintf("not one of the %d files that were here is left: nothing is deleted, as a disk that is not mounted looks the same", n)})
			if err != nil {
				return err
			}
		}
	}
	if len(gone)+len(changed) == 0 {
		return nil
	}
	ids := map[string]bool{}
	for _, keys := range []map[key]bool{gone, changed} {
		for k := range keys {
			now, left, err := p.journal.ids(k)
			if err != nil {
				return err
			}
			if keys[k] && gone[k] {
				left = append(left, now...)
			}
			for _, id := range left {
				ids[id] = true
			}
		}
	}
	by, err := p.journal.claimed(ids, gone)
	if err != nil {
		return err
	}
	if !p.dryRun {
		for _, k := range by { // before anything is forgotten: another run must know it if this one ends here
			if err := p.journal.doubt(k); err != nil {
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
	if err := p.forget(gone, changed); err != nil {
		return err
	}
	return p.restore(ctx, by)
}

// restore reads files again whose documents may have been overwritten by others that are gone now.
// Those that were read with other settings wait for a run with them.
func (p *pipeline) restore(ctx context.Context, files []key) error {
	paths := map[string][]string{} // by root
	for _, k := range files {
		if e, ok := p.journal.peek(k); ok && e.How == p.how && !noFile(k.file()) {
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

// remove deletes documents.
func (p *pipeline) remove(ctx context.Context, set map[string]bool) error {
	ids := make([]string, 0, len(set))
	for id := range set {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for batch := range slices.Chunk(ids, removeBatch) {
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

// forget takes what has been deleted out of the journal.
func (p *pipeline) forget(gone, changed map[key]bool) error {
	for k := range gone {
		if err := p.journal.drop(k); err != nil {
			return err
		}
	}
	for k := range changed {
		if gone[k] {
			continue
		}
		now, _, err := p.journal.ids(k)
		if err != nil {
			return err
		}
		e, ok := p.journal.peek(k)
		if !ok {
			continue // another run has dropped it
		}
		e.join(now, nil)
		if err := p.journal.put(e); err != nil {
			return err
		}
	}
	return p.journal.flush()
}
