package interpose

import (
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Disk is what a log has done to an empty folder: what is certain to be there after a power cut,
// and what was written since and may be there or not, in parts and in any order.
//
//  1. A file's content is certain once the file was flushed; a name, and every change of a name
//     before it, once its folder was.
//  2. Of the changes of a file's content since, each may have happened or not, whatever happened to
//     the others; of a write, each sector of 512 bytes by itself.
//  3. After a flush that has failed, the changes before it are never written, though readers see
//     them until the power is cut: the kernel takes their pages for clean.
//  4. Of the changes of names since, the first n have happened, as a journal writes them.
type Disk struct {
	now    map[string]*file // what a reader finds: names of files and, with nil, of folders
	sure   map[string]*file
	names  []nameChange // in order, not flushed
	Output []byte       // that the program has written
}

const sector = 512

// file is a content, whatever its names are.
type file struct {
	now     []byte
	sure    []byte
	changes []Call // since the last flush
}

type nameChange struct {
	op       Op
	path, to string
	file     *file // of Create
}

// NewDisk returns the disk of an empty folder.
func NewDisk() *Disk { return &Disk{now: map[string]*file{}, sure: map[string]*file{}} }

// Apply lets a call of the log happen.
func (d *Disk) Apply(c Call) {
	switch c.Op {
	case Create:
		d.rename(nameChange{Create, c.Path, "", &file{}})
	case Mkdir, Remove, Rename:
		d.rename(nameChange{c.Op, c.Path, c.To, nil})
	case Write, Truncate:
		if f := d.now[c.Path]; f != nil {
			f.now = change(f.now, c, nil)
			f.changes = append(f.changes, c)
		}
	case Sync:
		if f := d.now[c.Path]; f != nil {
			for _, earlier := range f.changes {
				if c.Failed {
					break
				}
				f.sure = change(f.sure, earlier, nil)
			}
			f.changes = nil
		}
	case SyncFolder:
		last := 0 // the changes up to the last one in this folder are flushed
		for i, n := range d.names {
			if folder(n.path) == c.Path || n.op == Rename && folder(n.to) == c.Path {
				last = i + 1
			}
		}
		for _, n := range d.names[:last] {
			n.in(d.sure)
		}
		d.names = d.names[last:]
	case Output:
		d.Output = append(d.Output, c.Data...)
	case Read:
	}
}

// folder returns the folder of a path; the root is the empty path.
func folder(p string) string {
	if f := path.Dir(p); f != "." {
		return f
	}
	return ""
}

func (d *Disk) rename(n nameChange) {
	n.in(d.now)
	d.names = append(d.names, n)
}

// in makes a change in names.
func (n nameChange) in(names map[string]*file) {
	switch n.op {
	case Create, Mkdir:
		names[n.path] = n.file
	case Remove:
		delete(names, n.path)
	case Rename:
		for p, f := range names {
			if p == n.path || strings.HasPrefix(p, n.path+"/") {
				delete(names, p)
				names[n.to+p[len(n.path):]] = f
			}
		}
	}
}

// change returns a content after a write or a truncation. keep says which of the sectors that a
// write touches it changes; nil: all.
func change(b []byte, c Call, keep func() bool) []byte {
	if c.Op == Truncate {
		return resize(b, int(c.Offset))
	}
	for from := 0; from < len(c.Data); {
		at := int(c.Offset) + from
		to := min(len(c.Data), from+sector-at%sector)
		if keep == nil || keep() {
			if end := at + to - from; end > len(b) {
				b = resize(b, end)
			}
			copy(b[at:], c.Data[from:to])
		}
		from = to
	}
	return b
}

func resize(b []byte, size int) []byte {
	if size <= len(b) {
		return b[:size]
	}
	return append(b, make([]byte, size-len(b))...)
}

// A Loss says what a power cut does to that which was not flushed.
type Loss uint8

// Kinds of losses.
const (
	LoseNothing Loss = iota // as kill -9 does
	LoseAll                 // nothing is there that was not flushed
	LoseContent             // every name is there, with the content last flushed: zeros up to the size
	LoseSome                // anything that rules 1 to 4 allow
)

func (l Loss) String() string {
	return [...]string{"nothing lost", "everything not flushed lost", "contents not flushed lost", "some lost"}[l]
}

// Cut writes to an empty folder what it holds after a power cut with this loss.
func (d *Disk) Cut(to string, l Loss, r *rand.Rand) error {
	names := map[string]*file{}
	for p, f := range d.sure {
		names[p] = f
	}
	happened := map[Loss]int{LoseNothing: len(d.names), LoseContent: len(d.names)}[l]
	if l == LoseSome {
		happened = r.IntN(len(d.names) + 1)
	}
	for _, n := range d.names[:happened] {
		n.in(names)
	}
	paths := make([]string, 0, len(names))
	for p := range names {
		if parents(names, p) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths) // folders before what they hold
	for _, p := range paths {
		full := filepath.Join(to, filepath.FromSlash(p))
		if names[p] == nil {
			if err := os.Mkdir(full, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(full, names[p].after(l, r), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// parents reports whether all folders of a path are among names.
func parents(names map[string]*file, p string) bool {
	for f := folder(p); f != ""; f = folder(f) {
		if _, ok := names[f]; !ok {
			return false
		}
	}
	return true
}

// after returns the content of a file after a power cut.
func (f *file) after(l Loss, r *rand.Rand) []byte {
	switch l {
	case LoseNothing:
		return f.now
	case LoseContent:
		return resize(slices.Clone(f.sure), len(f.now))
	case LoseAll:
		return f.sure
	}
	b := slices.Clone(f.sure)
	most := []float64{.1, .5, .9, 1}[r.IntN(4)]
	for _, c := range f.changes {
		if r.Float64() >= most {
			continue
		}
		torn := r.IntN(3) == 0
		b = change(b, c, func() bool { return !torn || r.IntN(2) == 0 })
	}
	return b
}

// Losses are all kinds of losses but LoseNothing.
func Losses() []Loss { return []Loss{LoseAll, LoseContent, LoseSome} }

// DiskOf returns the disk of a folder whose files are all flushed.
func DiskOf(dir string) (*Disk, error) {
	d := NewDisk()
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() {
			d.now[rel], d.sure[rel] = nil, nil
			return nil
		}
		b, err := os.ReadFile(p)
		f := &file{now: b, sure: slices.Clone(b)}
		d.now[rel], d.sure[rel] = f, f
		return err
	})
	return d, err
}
