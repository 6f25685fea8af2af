package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"example.com/searchd/extract"
)

// takeover is new ids of a file of which the collection had documents before, maybe those of other
// files.
type takeover struct {
	key  key
	path string // at which the file was found
	ids  []string
}

// maxTakeovers is how many ids of takeovers are kept until they are compared with other files.
const maxTakeovers = 1 << 20

// noteTakeover notes the new ids of a file whose documents existed before.
func (p *pipeline) noteTakeover(t *task) {
	var ids []string
	for i, id := range t.ids {
		if _, own := slices.BinarySearch(t.before, id); !own && t.existed[i] && p.takenOver < maxTakeovers {
			ids = append(ids, id)
			p.takenOver++
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		p.takeovers = append(p.takeovers, takeover{t.key, t.file.Path, slices.Compact(ids)})
	}
}

// overlap is the ids that two files have in common: the documents of one replace those of the
// other.
type overlap struct {
	file  takeover
	other *fileEntry
	ids   []string // the first ones
	n     int
}

const shownIDs = 3 // of an overlap

// warnOverlaps warns of files whose documents have replaced those of other files since the last
// call.
func (p *pipeline) warnOverlaps() error {
	list, err := p.journal.overlaps(p.takeovers)
	p.takeovers, p.takenOver = nil, 0
	if err != nil {
		return err
	}
	for _, o := range list {
		if err := p.fail(extract.ItemError{Path: o.file.path, Warning: true, Reason: o.String()}); err != nil {
			return err
		}
	}
	return nil
}

// overlaps returns the overlaps of takeovers with other files, in the order of the takeovers.
func (j *journal) overlaps(list []takeover) (out []*overlap, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	by, order := map[string][]int{}, map[key]int{} // the takeovers of an id; the last one of a file, from 1
	for i, t := range list {
		order[t.key] = i + 1
		for _, id := range t.ids {
			by[id] = append(by[id], i)
		}
	}
	if len(by) == 0 {
		return nil, nil
	}
	for _, k := range slices.SortedFunc(maps.Keys(j.entries), key.compare) {
		e := j.entries[k]
		if e == nil {
			continue
		}
		ids, err := j.currentIDs(e)
		if err != nil {
			return nil, err
		}
		found := map[int]*overlap{}
		for _, id := range ids {
			for _, i := range by[id] {
				if order[k] > i {
					continue // the same file, or a later one, which replaces the documents of this one
				}
				if found[i] == nil {
					found[i] = &overlap{file: list[i], other: e}
					out = append(out, found[i])
				}
				if found[i].n++; len(found[i].ids) < shownIDs {
					found[i].ids = append(found[i].ids, id)
				}
			}
		}
	}
	out = slices.DeleteFunc(out, func(o *overlap) bool {
		other := o.other.key().file()
		return sameFile(other, o.file.key.file()) || fileGone(other) // a file may have been read below two folders
	})
	slices.SortStableFunc(out, func(a, b *overlap) int { return order[a.file.key] - order[b.file.key] })
	return out, nil
}

// String describes the overlap as a warning about its file.
func (o *overlap) String() string {
	what, advice := "its document "+quoted(o.ids, 1)+" takes the place of that of the same id", "choose another id with --id-field, or another --collection"
	if o.n > 1 {
		what = fmt.Sprintf("%d of its documents take the place of those of the same ids (%s)", o.n, quoted(o.ids, o.n))
	}
	if o.other.plain && o.n == 1 && o.ids[0] == o.file.key.path {
		advice = "give the folder above both, or another --collection"
	}
	return fmt.Sprintf("%s from %s; %s", what, o.other.key().file(), advice)
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
