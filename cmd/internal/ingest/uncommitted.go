package ingest

import "slices"

// addUncommitted notes ids of documents of a file before they are sent, for a run that ends before
// it learns what became of them. They count until dropUncommitted or the next line about the file.
func (j *journal) addUncommitted(k key, how string, ids []string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := j.entries[k]; e != nil && e.plain && e.Docs == 1 && len(ids) == 1 && ids[0] == k.path {
		return nil // the journal has it already
	}
	if err := j.commitUncommitted(k); err != nil {
		return err
	}
	l := partOf(k, how, ids)
	l.Tried = true
	return j.write(l)
}

// commitUncommitted keeps the ids of a run that ended before it knew what became of them: the new
// ones replace them. The caller holds mu.
func (j *journal) commitUncommitted(k key) error {
	if e := j.entries[k]; e == nil || !slices.ContainsFunc(e.parts, span.isUncommitted) {
		return nil
	}
	if err := j.flushLocked(); err != nil {
		return err
	}
	e := j.entries[k] // flushing may have changed it
	if e == nil {
		return nil
	}
	var ids []string
	for _, at := range e.parts {
		if !at.uncommitted {
			continue
		}
		part, err := j.readLine(k.path, at)
		if err != nil {
			return err
		}
		ids = append(ids, part.IDs...)
	}
	if len(ids) == 0 {
		return nil
	}
	return j.write(partOf(k, e.How, ids))
}

// dropUncommitted forgets the ids that addUncommitted has noted.
func (j *journal) dropUncommitted(k key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dropUncommittedLocked(k)
}

func (j *journal) dropUncommittedLocked(k key) {
	if e := j.entries[k]; e != nil {
		e.parts = slices.DeleteFunc(e.parts, span.isUncommitted)
	}
}
