package ingest

import (
	"encoding/hex"
	"fmt"
	"slices"

	"example.com/searchd/extract"
)

// finish counts a file that was read to its end and enters it in the journal.
func (p *pipeline) finish(t *task, end *ending) error {
	p.mu.Lock()
	p.progress.endFile(t.size(), end.unchanged == nil)
	p.mu.Unlock()
	if end.unchanged != nil {
		return p.finishUnchanged(t, end)
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
		if hasFailed(t.failures) || t.refused || t.unkept {
			f.failed++
		}
	}
	p.counts.empty += res.Empty
	p.mu.Unlock()
	if err := p.warnDuplicates(t); err != nil {
		return err
	}
	p.noteTakeover(t)
	tooMany := len(t.ids) > maxIDs
	slices.Sort(t.ids)
	t.ids, t.journalled = slices.Compact(t.ids), 0
	defer func() { t.ids, t.replaced, t.existed, t.before = nil, nil, nil, nil }()
	switch {
	case res.Info == nil || t.file.Taken() && t.docs == 0 || res.Skipped > 0: // not read: the next run tries again
		p.journal.markSeen(t.key)
		return nil
	case res.Err != nil || res.Moved || t.refused || t.unkept:
		return p.finishPartial(t)
	}
	e := entry{Root: t.key.root, Path: t.key.path, Size: res.Info.Size(), Time: res.Info.ModTime().UnixNano(), Read: end.read.UnixNano(),
		Sum: hex.EncodeToString(res.Sum), How: p.how, Format: res.Format.String(), Docs: len(t.ids), Failures: slices.Concat(t.failures, t.warnings),
		Empty: res.Empty > 0}
	if tooMany {
		e.Docs = t.docs
		err := p.fail(extract.ItemError{Path: t.file.Path, Warning: true,
			Reason: fmt.Sprintf("more than %d documents: --delete-missing will not see which of them are gone", maxIDs)})
		if err != nil {
			return err
		}
		return p.enter(t, e)
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
	return p.enter(t, e)
}

// enter puts the entry of a file that was read to its end into the journal.
func (p *pipeline) enter(t *task, e entry) error {
	if err := p.journal.put(e); err != nil {
		return err
	}
	p.journal.markSeen(t.key)
	return nil
}

// finishPartial enters a file of which not everything was read: it looks changed, so that the next
// run reads it again, and has the ids of what was read, now and before, so that these documents can
// be deleted when the file is gone.
func (p *pipeline) finishPartial(t *task) error {
	p.journal.markSeen(t.key)
	before, left, err := p.journal.ids(t.key)
	if err != nil {
		return err
	}
	ids := slices.Concat(t.ids, before, left)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	_, known := p.journal.lookup(t.key)
	switch {
	case len(ids) == 0 && known:
		return p.journal.drop(t.key) // with its uncommitted ids
	case len(ids) == 0, len(ids) > maxIDs:
		return nil
	}
	e := entry{Root: t.key.root, Path: t.key.path, Size: -1, How: p.how, Docs: len(ids)}
	e.join(ids, nil)
	if err := p.journal.put(e); err != nil {
		return err
	}
	p.journal.markSeen(t.key)
	return nil
}

// finishUnchanged counts a file that is unchanged and reports its failures again.
func (p *pipeline) finishUnchanged(t *task, end *ending) error {
	e := end.unchanged
	p.mu.Lock()
	switch {
	case p.watching:
	case e.Empty:
		p.counts.empty++
	default:
		f := p.counts.format(e.Format)
		f.unchanged++
		if hasFailed(e.Failures) {
			f.failed++
		}
		p.counts.byStatus["unchanged"] += e.Docs
	}
	p.mu.Unlock()
	for _, f := range e.Failures {
		if err := p.fail(extract.ItemError{Path: t.file.Path, Line: f.Line, Reason: f.Reason, Warning: f.Warning}); err != nil {
			return err
		}
	}
	if !end.touched {
		return nil
	}
	now, left, err := p.journal.ids(t.key)
	if err != nil {
		return err
	}
	e.join(now, left)
	return p.journal.put(*e)
}

// hasFailed reports whether one of these is more than a warning.
func hasFailed(list []failure) bool {
	return slices.ContainsFunc(list, func(f failure) bool { return !f.Warning })
}
