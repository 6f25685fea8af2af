package main

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"

	"searchd/extract"
)

// overlap is the ids that two files have in common, of which a collection holds one document each.
type overlap struct {
	file, other *known // the documents are those of file
	ids         []string
	n           int // of all, of which ids are the first
}

const shownOverlap = 3 // ids of two files

// overlapAtOnce is how many ids are held in memory while they are compared, about 40 MB of them. Where there are more, the journal is read
// several times. A variable so that tests can lower it.
var overlapAtOnce = 1 << 20

// overlaps returns what the files that have been put in since the last call have in common with others that are there. Notes alone, whose ids
// are their paths, are compared with notes only: to read the ids of all records whenever one note changes would cost too much. Ids are
// compared by hashes of 64 bits.
func (j *journal) overlaps() ([]*overlap, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil {
		return nil, err
	}
	var fresh, others []*known
	ids, records := 0, false
	for _, e := range j.entries {
		switch {
		case e.turn > 0:
			fresh = append(fresh, e)
			ids += e.Docs
			records = records || !e.plain
		case e.Docs > 0:
			others = append(others, e)
		}
	}
	if len(fresh) == 0 || len(fresh)+len(others) == 1 {
		return nil, nil
	}
	slices.SortFunc(fresh, func(a, b *known) int { return a.turn - b.turn })
	slices.SortFunc(others, func(a, b *known) int { return a.key().compare(b.key()) })
	var out []*overlap
	pairs := map[[2]*known]*overlap{}
	add := func(file, other *known, id string) {
		pair := [2]*known{file, other}
		s := pairs[pair]
		if s == nil {
			s = &overlap{file: file, other: other}
			pairs[pair], out = s, append(out, s)
		}
		if s.n++; len(s.ids) < shownOverlap {
			s.ids = append(s.ids, id)
		}
	}
	seed := maphash.MakeSeed()
	parts := uint64(ids/overlapAtOnce + 1)
	for part := range parts {
		last := map[uint64]*known{} // hash of an id -> the file that was put in last with it
		each := func(e *known, visit func(hash uint64, id string)) error {
			now, err := j.now(e)
			for _, id := range now {
				if h := maphash.String(seed, id); h%parts == part {
					visit(h, id)
				}
			}
			return err
		}
		for _, e := range fresh {
			err := each(e, func(h uint64, id string) {
				if before := last[h]; before != nil && before != e {
					add(e, before, id)
				}
				last[h] = e
			})
			if err != nil {
				return nil, err
			}
		}
		for _, e := range others {
			if !records && !e.plain {
				continue
			}
			err := each(e, func(h uint64, id string) {
				if file := last[h]; file != nil {
					add(file, e, id)
				}
			})
			if err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(out, func(a, b *overlap) int {
		return cmp.Or(a.file.turn-b.file.turn, a.other.key().compare(b.other.key()))
	})
	for _, s := range out {
		slices.Sort(s.ids)
	}
	for _, e := range fresh {
		e.turn = 0
	}
	return slices.DeleteFunc(out, func(s *overlap) bool {
		other := s.other.key().file()
		return sameFile(other, s.file.key().file()) || noFile(other) // a file may be known below two folders
	}), nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	info, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(info, other)
}

// claimed takes out of ids what a file other than those of gone brings, too, and returns these files. One that is not there, below a folder
// that was moved away or is not mounted, keeps nothing; it is returned all the same, to be read when it is back.
func (j *journal) claimed(ids map[string]bool, gone map[key]bool) (by []key, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil { // also for what other runs have brought
		return nil, err
	}
	taken := map[string]bool{}
	files := map[string]bool{} // of gone: one may be known below another folder, too
	for k := range gone {
		files[k.file()] = true
	}
	for k, e := range j.entries {
		if gone[k] || files[k.file()] {
			continue
		}
		now, err := j.now(e)
		if err != nil {
			return nil, err
		}
		n, there := len(by), false
		for _, id := range now {
			if !ids[id] {
				continue
			}
			if len(by) == n {
				by, there = append(by, k), !noFile(k.file())
			}
			if !there {
				break
			}
			taken[id] = true
		}
	}
	for id := range taken {
		delete(ids, id)
	}
	slices.SortFunc(by, key.compare)
	return by, nil
}

// now returns the ids of the documents that a file holds, from the disk only where they are not known without it. The caller holds mu.
func (j *journal) now(k *known) ([]string, error) {
	if k.plain {
		now, _ := k.split()
		return now, nil
	}
	e, err := j.full(k)
	if err != nil {
		return nil, err
	}
	now, _ := e.split()
	return now, nil
}

// doubt makes a file look changed, also for later runs.
func (j *journal) doubt(k key) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	known := j.entries[k]
	if known == nil {
		return nil // another run has dropped it
	}
	e, err := j.full(known)
	if err != nil {
		return err
	}
	e.Size, e.Sum = -1, ""
	for l := range j.split(*e) {
		if err := j.write(l); err != nil {
			return err
		}
	}
	return nil
}

// key returns the file's.
func (k *known) key() key { return key{k.Root, k.Path} }

// tellOverlaps warns of files whose documents take the place of those of others.
func (p *pipeline) tellOverlaps() error {
	list, err := p.journal.overlaps()
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := p.fail(extract.ItemError{Path: s.file.as, Warning: true, Reason: s.String()}); err != nil {
			return err
		}
	}
	return nil
}

// String says it of s.file.
func (s *overlap) String() string {
	quoted := make([]string, len(s.ids))
	for i, id := range s.ids {
		quoted[i] = fmt.Sprintf("%q", id)
	}
	what, way := "its document "+quoted[0]+" takes the place of that of the same id", "choose another id with --id-field, or another --collection"
	if s.n > 1 {
		ids := strings.Join(quoted, ", ")
		if more := s.n - len(quoted); more > 0 {
			ids += fmt.Sprintf(" and %d more", more)
		}
		what = fmt.Sprintf("%d of its documents take the place of those of the same ids (%s)", s.n, ids)
	}
	if s.file.plain && s.other.plain {
		way = "give the folder above both, or another --collection"
	}
	return fmt.Sprintf("%s from %s; %s", what, cmp.Or(s.other.as, s.other.key().file()), way)
}
