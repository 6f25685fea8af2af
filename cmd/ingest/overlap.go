package main

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
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

// overlapAtOnce is how many ids are held in memory while they are compared, about 40 MB of them.
// Where there are more, the journal is read several times. A variable so that tests can lower it.
var overlapAtOnce = 1 << 20

// overlaps returns what the files that have been put in since the last call have in common with
// others that are there. Notes alone, whose ids are their paths, are compared with notes only: to
// read the ids of all records whenever one note changes would cost too much. Ids are compared by
// hashes of 64 bits.
func (j *journal) overlaps() ([]*overlap, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil {
		return nil, err
	}
	fresh, others := j.byTurn()
	if len(fresh) == 0 || len(fresh)+len(others) == 1 {
		return nil, nil
	}
	records := func(e *known) bool { return !e.plain }
	if !slices.ContainsFunc(fresh, records) {
		others = slices.DeleteFunc(others, records)
	}
	ids := 0
	for _, e := range fresh {
		ids += e.Docs
	}
	found, seed, parts := pairs{}, maphash.MakeSeed(), uint64(ids/overlapAtOnce+1)
	for part := range parts {
		err := j.compare(fresh, others, found, func(id string) (hash uint64, ok bool) {
			hash = maphash.String(seed, id)
			return hash, hash%parts == part
		})
		if err != nil {
			return nil, err
		}
	}
	list := found.list()
	for _, e := range fresh {
		e.turn = 0
	}
	return list, nil
}

// byTurn returns the files that have been put in since they were compared, in that order, and the
// others that have documents.
func (j *journal) byTurn() (fresh, others []*known) {
	for _, e := range j.entries {
		switch {
		case e.turn > 0:
			fresh = append(fresh, e)
		case e.Docs > 0:
			others = append(others, e)
		}
	}
	slices.SortFunc(fresh, func(a, b *known) int { return a.turn - b.turn })
	slices.SortFunc(others, func(a, b *known) int { return a.key().compare(b.key()) })
	return fresh, others
}

// compare adds to found those ids of fresh that hash chooses and that a file before, or one of
// others, has too.
func (j *journal) compare(fresh, others []*known, found pairs, hash func(id string) (h uint64, ok bool)) error {
	last := map[uint64]*known{} // hash of an id -> the file that was put in last with it
	for i, e := range slices.Concat(fresh, others) {
		ids, err := j.now(e)
		if err != nil {
			return err
		}
		for _, id := range ids {
			h, ok := hash(id)
			if !ok {
				continue
			}
			switch file := last[h]; {
			case i < len(fresh):
				if file != nil && file != e {
					found.add(e, file, id)
				}
				last[h] = e
			case file != nil:
				found.add(file, e, id)
			}
		}
	}
	return nil
}

// pairs are overlaps by their files.
type pairs map[[2]*known]*overlap

func (p pairs) add(file, other *known, id string) {
	pair := [2]*known{file, other}
	s := p[pair]
	if s == nil {
		s = &overlap{file: file, other: other}
		p[pair] = s
	}
	if s.n++; len(s.ids) < shownOverlap {
		s.ids = append(s.ids, id)
	}
}

// list returns the overlaps of files that are two and there, in the order in which they were put
// in.
func (p pairs) list() []*overlap {
	list := slices.SortedFunc(maps.Values(p), func(a, b *overlap) int {
		return cmp.Or(a.file.turn-b.file.turn, a.other.key().compare(b.other.key()))
	})
	for _, s := range list {
		slices.Sort(s.ids)
	}
	return slices.DeleteFunc(list, func(s *overlap) bool {
		other := s.other.key().file()
		return sameFile(other, s.file.key().file()) || noFile(other) // a file may be known below two folders
	})
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

// claimed takes out of ids what a file other than those of gone brings, too, and returns these
// files. One that is not there, below a folder that was moved away or is not mounted, keeps
// nothing; it is returned all the same, to be read when it is back.
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

// now returns the ids of the documents that a file holds, from the disk only where they are not
// known without it. The caller holds mu.
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

// tellRepeats warns of a file whose documents take the place of others of it.
func (p *pipeline) tellRepeats(t *task) error {
	ids, n := t.repeats()
	if n == 0 {
		return nil
	}
	what := fmt.Sprintf("its document %s takes the place of one before it of the same id", quoted(ids, 1))
	if n > 1 {
		what = fmt.Sprintf("%d of its documents take the place of others before them of the same ids (%s)", n, quoted(ids, len(ids)))
	}
	what += "; choose another id with --id-field"
	if len(t.warnings) < maxFailures {
		t.warnings = append(t.warnings, failure{Reason: what, Warning: true})
	}
	return p.fail(extract.ItemError{Path: t.file.Path, Warning: true, Reason: what})
}

// repeats returns the ids of which several documents of the file were put in, and how many of these
// took the place of another of it. Those that say the same as the one before are not among them.
func (t *task) repeats() (ids []string, n int) {
	if !slices.Contains(t.replaced, true) {
		return nil, 0
	}
	order := make([]int, len(t.ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(strings.Compare(t.ids[i], t.ids[j]), i-j) })
	for k, i := range order {
		if k == 0 || t.ids[order[k-1]] != t.ids[i] || !t.replaced[i] {
			continue
		}
		if n++; len(ids) == 0 || ids[len(ids)-1] != t.ids[i] {
			ids = append(ids, t.ids[i])
		}
	}
	return ids, n
}

// quoted lists the first ids of n.
func quoted(ids []string, n int) string {
	shown := make([]string, min(len(ids), shownOverlap))
	for i := range shown {
		shown[i] = fmt.Sprintf("%q", ids[i])
	}
	list := strings.Join(shown, ", ")
	if more := n - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// String says it of s.file.
func (s *overlap) String() string {
	what, way := "its document "+quoted(s.ids, 1)+" takes the place of that of the same id", "choose another id with --id-field, or another --collection"
	if s.n > 1 {
		what = fmt.Sprintf("%d of its documents take the place of those of the same ids (%s)", s.n, quoted(s.ids, s.n))
	}
	if s.file.plain && s.other.plain {
		way = "give the folder above both, or another --collection"
	}
	return fmt.Sprintf("%s from %s; %s", what, cmp.Or(s.other.as, s.other.key().file()), way)
}
