package ingest

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

// overlap is the ids that two files have in common: the documents of one replace those of the
// other.
type overlap struct {
	file, other *fileEntry // the documents are those of file
	ids         []string
	n           int // of all, of which ids are the first
}

const shownIDs = 3 // of two files

// maxComparedIDs is how many ids are compared at a time, in about 40 MB of memory. Where there are
// more, the journal is read several times. A variable so that tests can lower it.
var maxComparedIDs = 1 << 20

// overlaps returns the ids that files ingested since the last call have in common with others.
// Files of a single document, whose ids are their paths, are compared with such files only: reading
// the ids of all records whenever a note changes would cost too much. Ids are compared by 64-bit
// hashes.
func (j *journal) overlaps() ([]*overlap, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil {
		return nil, err
	}
	fresh, others := j.byOrder()
	if len(fresh) == 0 || len(fresh)+len(others) == 1 {
		return nil, nil
	}
	records := func(e *fileEntry) bool { return !e.plain }
	if !slices.ContainsFunc(fresh, records) {
		others = slices.DeleteFunc(others, records)
	}
	ids := 0
	for _, e := range fresh {
		ids += e.Docs
	}
	found, seed, parts := pairs{}, maphash.MakeSeed(), uint64(ids/maxComparedIDs+1)
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
		e.order = 0
	}
	return list, nil
}

// byOrder returns the files that were ingested since the last comparison, in that order, and the
// others that have documents.
func (j *journal) byOrder() (fresh, others []*fileEntry) {
	for _, e := range j.entries {
		switch {
		case e.order > 0:
			fresh = append(fresh, e)
		case e.Docs > 0:
			others = append(others, e)
		}
	}
	slices.SortFunc(fresh, func(a, b *fileEntry) int { return a.order - b.order })
	slices.SortFunc(others, func(a, b *fileEntry) int { return a.key().compare(b.key()) })
	return fresh, others
}

// compare adds to found the ids of fresh that an earlier one of them, or one of others, has too.
// hash chooses the ids that are compared.
func (j *journal) compare(fresh, others []*fileEntry, found pairs, hash func(id string) (h uint64, ok bool)) error {
	last := map[uint64]*fileEntry{} // hash of an id -> the file that was ingested last with it
	for i, e := range slices.Concat(fresh, others) {
		ids, err := j.currentIDs(e)
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
type pairs map[[2]*fileEntry]*overlap

func (p pairs) add(file, other *fileEntry, id string) {
	pair := [2]*fileEntry{file, other}
	s := p[pair]
	if s == nil {
		s = &overlap{file: file, other: other}
		p[pair] = s
	}
	if s.n++; len(s.ids) < shownIDs {
		s.ids = append(s.ids, id)
	}
}

// list returns the overlaps of two different files that exist, in the order of ingestion.
func (p pairs) list() []*overlap {
	list := slices.SortedFunc(maps.Values(p), func(a, b *overlap) int {
		return cmp.Or(a.file.order-b.file.order, a.other.key().compare(b.other.key()))
	})
	for _, s := range list {
		slices.Sort(s.ids)
	}
	return slices.DeleteFunc(list, func(s *overlap) bool {
		other := s.other.key().file()
		return sameFile(other, s.file.key().file()) || fileGone(other) // a file may have been read below two folders
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

// keepShared removes from ids those that a file other than those of gone has, and returns these
// files. A file that does not exist, below a folder that was moved or is not mounted, keeps no ids;
// it is returned, too, to be read when it is back.
func (j *journal) keepShared(ids map[string]bool, gone map[key]bool) (by []key, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil { // reads what other runs have ingested
		return nil, err
	}
	kept := map[string]bool{}
	for k, e := range j.entries {
		if gone[k] {
			continue
		}
		now, err := j.currentIDs(e)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(now, func(id string) bool { return ids[id] }) {
			continue
		}
		by = append(by, k)
		if fileGone(k.file()) {
			continue
		}
		for _, id := range now {
			kept[id] = true
		}
	}
	maps.DeleteFunc(ids, func(id string, _ bool) bool { return kept[id] })
	slices.SortFunc(by, key.compare)
	return by, nil
}

// currentIDs returns the ids of the documents that a file has. The caller holds mu.
func (j *journal) currentIDs(f *fileEntry) ([]string, error) {
	if f.plain {
		now, _ := f.splitIDs()
		return now, nil
	}
	e, err := j.full(f)
	if err != nil {
		return nil, err
	}
	now, _ := e.splitIDs()
	return now, nil
}

// invalidate makes a file look changed, also for later runs.
func (j *journal) invalidate(k key) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.entries[k]
	if f == nil {
		return nil // another run has dropped it
	}
	e, err := j.full(f)
	if err != nil {
		return err
	}
	e.Size, e.Sum = -1, ""
	for l := range e.lines() {
		if err := j.write(l); err != nil {
			return err
		}
	}
	return nil
}

// warnOverlaps warns of files whose documents replace those of other files.
func (p *pipeline) warnOverlaps() error {
	list, err := p.journal.overlaps()
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := p.fail(extract.ItemError{Path: s.file.found, Warning: true, Reason: s.String()}); err != nil {
			return err
		}
	}
	return nil
}

// warnDuplicates warns of a file in which documents have the same id.
func (p *pipeline) warnDuplicates(t *task) error {
	ids, n := t.duplicates()
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

// duplicates returns the ids that several documents of the file have, and how many documents were
// replaced by a later one that differs.
func (t *task) duplicates() (ids []string, n int) {
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
	shown := make([]string, min(len(ids), shownIDs))
	for i := range shown {
		shown[i] = fmt.Sprintf("%q", ids[i])
	}
	list := strings.Join(shown, ", ")
	if more := n - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// String describes the overlap as a warning about s.file.
func (s *overlap) String() string {
	what, way := "its document "+quoted(s.ids, 1)+" takes the place of that of the same id", "choose another id with --id-field, or another --collection"
	if s.n > 1 {
		what = fmt.Sprintf("%d of its documents take the place of those of the same ids (%s)", s.n, quoted(s.ids, s.n))
	}
	if s.file.plain && s.other.plain {
		way = "give the folder above both, or another --collection"
	}
	return fmt.Sprintf("%s from %s; %s", what, cmp.Or(s.other.found, s.other.key().file()), way)
}
