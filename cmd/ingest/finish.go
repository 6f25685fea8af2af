package main

import (
	"encoding/hex"
	"fmt"
	"slices"

	"searchd/extract"
)

// finish ends a file: counts it and enters it in the journal.
func (p *pipeline) finish(t *task, end *ending) error {
	p.mu.Lock()
	p.progress.file(t.size(), end.known == nil)
	p.mu.Unlock()
	if end.known != nil {
		return p.pass(t, end)
	}
	res := end.result
	p.mu.Lock()
	if t.docs > 0 {
		p.counts.open--
	}
	if res.Empty == 0 && res.Skipped == 0 {
		f := p.counts.format(res.Format.String())
		f.read += res.Files
		f.bytes += res.Bytes
		own := t.docs
		for _, n := range res.Inside {
			inside := p.counts.format(n.Format.String())
			inside.inside += n.Read
			inside.failed += n.Failed
			inside.documents += n.Documents
			own -= n.Documents
		}
		f.documents += max(0, own)
		if slices.ContainsFunc(t.failures, func(f failure) bool { return !f.Warning }) || t.refused || t.unkept {
			f.failed++
		}
	}
	p.counts.empty += res.Empty
	p.mu.Unlock()
	if err := p.tellRepeats(t); err != nil {
		return err
	}
	tooMany := len(t.ids) > maxIDs
	slices.Sort(t.ids)
	t.ids, t.noted = slices.Compact(t.ids), 0
	defer func() { t.ids, t.replaced = nil, nil }()
	switch {
	case res.Info == nil || t.file.Taken() && t.docs == 0 || res.Skipped > 0: // records of a file whose id is taken have ids of their own
		p.journal.mark(t.key)
		return nil // not read: the next run tries again
	case res.Err != nil || res.Moved || t.refused || t.unkept:
		return p.partly(t)
	}
	e := entry{Root: t.key.root, Path: t.key.path, Size: res.Info.Size(), Time: res.Info.ModTime().UnixNano(), Read: end.read.UnixNano(),
		Sum: hex.EncodeToString(res.Sum), How: p.how, Format: res.Format.String(), Docs: len(t.ids), Failures: slices.Concat(t.failures, t.warnings),
		Empty: res.Empty > 0}
	if tooMany {
		e.Docs = t.docs
		err := p.fail(extract.ItemError{Path: t.file.Path, Warning: true,
			Reason: fmt.Sprintf("more than %d documents: --delete-missing will not see which of them are gone", maxIDs)})
		if err == nil {
			err = p.journal.put(e)
		}
		if err != nil {
			return err
		}
		p.journal.brought(t.key, t.file.Path)
		return nil
	}
	before, left, err := p.journal.ids(t.key)
	if err != nil {
		return err
	}
	for _, id := range before {
		if _, still := slices.BinarySearch(t.ids, id); !still {
			left = append(left, id)
		}
	}
	left = slices.DeleteFunc(slices.Clone(left), func(id string) bool {
		_, again := slices.BinarySearch(t.ids, id)
		return again
	})
	e.join(t.ids, left)
	if err := p.journal.put(e); err != nil {
		return err
	}
	p.journal.brought(t.key, t.file.Path)
	return nil
}

// partly enters a file that was not read as it stands: it looks changed, so that the next run tries
// again, and has what was found of it, now and before, so that its documents are known when it is
// gone.
func (p *pipeline) partly(t *task) error {
	p.journal.mark(t.key)
	before, left, err := p.journal.ids(t.key)
	if err != nil {
		return err
	}
	ids := slices.Concat(t.ids, before, left)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	_, known := p.journal.peek(t.key)
	switch {
	case len(ids) == 0 && known:
		return p.journal.drop(t.key) // what was tried of it
	case len(ids) == 0, len(ids) > maxIDs:
		return nil
	}
	e := entry{Root: t.key.root, Path: t.key.path, Size: -1, How: p.how, Docs: len(ids)}
	e.join(ids, nil)
	if err := p.journal.put(e); err != nil {
		return err
	}
	p.journal.mark(t.key)
	return nil
}

// pass counts a file that is unchanged and tells again what was wrong with it.
func (p *pipeline) pass(t *task, end *ending) error {
	e := end.known
	switch {
	case p.watching:
	case e.Empty:
		p.mu.Lock()
		p.counts.empty++
		p.mu.Unlock()
	default:
		p.mu.Lock()
		f := p.counts.format(e.Format)
		f.unchanged++
		if slices.ContainsFunc(e.Failures, func(f failure) bool { return !f.Warning }) {
			f.failed++
		}
		p.counts.byStatus["unchanged"] += e.Docs
		p.mu.Unlock()
	}
	for _, f := range e.Failures {
		if err := p.fail(extract.ItemError{Path: t.file.Path, Line: f.Line, Reason: f.Reason, Warning: f.Warning}); err != nil {
			return err
		}
	}
	if !end.touch {
		return nil
	}
	now, left, err := p.journal.ids(t.key)
	if err != nil {
		return err
	}
	e.join(now, left)
	return p.journal.put(*e)
}
