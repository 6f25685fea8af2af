package main

import "slices"

// try notes ids of documents of a file that are about to be put in, in case nobody learns what
// became of them. [journal.tried] says that somebody has; after it the file has to be put, parted
// or dropped.
func (j *journal) try(k key, how string, ids []string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := j.entries[k]; !j.keeps() || e != nil && e.plain && e.Docs == 1 && len(ids) == 1 && ids[0] == k.path {
		return nil // it is known already
	}
	if err := j.keepTried(k); err != nil {
		return err
	}
	l := partOf(k, how, ids)
	l.Tried = true
	return j.write(l)
}

// keepTried takes for committed what a run has tried that ended before it knew: what the next one
// tries ends without these ids. The caller holds mu.
func (j *journal) keepTried(k key) error {
	isTried := func(s span) bool { return s.tried }
	if e := j.entries[k]; e == nil || !slices.ContainsFunc(e.parts, isTried) {
		return nil
	}
	if err := j.flushLocked(); err != nil {
		return err
	}
	e := j.entries[k] // its lines may stand elsewhere than was thought
	if e == nil {
		return nil // another run has dropped it
	}
	var ids []string
	for _, at := range e.parts {
		if !at.tried {
			continue
		}
		part, err := j.readLine(j.file, k.path, at)
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

func (j *journal) tried(k key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.untry(k)
}

// untry forgets what was tried of a file. The caller holds mu.
func (j *journal) untry(k key) {
	if e := j.entries[k]; e != nil {
		e.parts = slices.DeleteFunc(e.parts, func(s span) bool { return s.tried })
	}
}
