package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// key names a file: the folder that was given, absolute, and the path below it with forward
// slashes.
type key struct{ root, path string }

// compare orders keys by root and path.
func (k key) compare(other key) int {
	return cmp.Or(strings.Compare(k.root, other.root), strings.Compare(k.path, other.path))
}

// file returns the path of the file.
func (k key) file() string { return filepath.Join(k.root, filepath.FromSlash(k.path)) }

// known is what is kept in memory of an entry: all but its ids.
type known struct {
	entry
	span         // of its line in the file; its n is 0 where mem holds it, or where there are only parts
	parts []span // lines of further ids: the first Parts of them belong to the line, the others came after it
	mem   *entry // with its ids, where the journal is not written
	plain bool   // it has no ids but its path
	seen  bool   // met on disk by this run
	turn  int    // 1 and more: the order in which this run has put files in, of those that [journal.overlaps] has not looked at
	as    string // with a turn: the path as it was reached
}

// span is where a line is.
type span struct {
	at, n int64
	tried bool // of a part: see [journal.try]
}

// entry is a line of the journal about one file.
type entry struct {
	Root     string    `json:"root,omitempty"`
	Path     string    `json:"path,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Time     int64     `json:"mtime,omitempty"` // nanoseconds since 1970
	Read     int64     `json:"read,omitempty"`  // when it was read, likewise
	Sum      string    `json:"sha256,omitempty"`
	How      string    `json:"how,omitempty"` // the settings under which it was read
	Format   string    `json:"format,omitempty"`
	Docs     int       `json:"documents,omitempty"`
	Empty    bool      `json:"empty,omitempty"` // nothing but white space
	Failures []failure `json:"failures,omitempty"`
	Left     int       `json:"left,omitempty"` // how many of the last ids are of documents that the file holds no more
	Gone     bool      `json:"gone,omitempty"`
	Parts    int       `json:"parts,omitempty"` // how many of the lines of parts before this one hold ids of its documents
	IDs      []string  `json:"ids,omitempty"`   // of its documents; absent where Path is the only one
}

// failure is what was wrong in a file; its path is the file's.
type failure struct {
	Line    int    `json:"line,omitempty"`
	Reason  string `json:"reason"`
	Warning bool   `json:"warning,omitempty"`
}

// line is one line of the file.
type journalLine struct {
	entry
	State  *collectionState `json:"state,omitempty"`
	Part   bool             `json:"part,omitempty"`   // only ids, which add to what is known of the file
	Tried  bool             `json:"tried,omitempty"`  // with Part: ids of documents that may not have been committed
	Forget bool             `json:"forget,omitempty"` // what stands above is no longer to be trusted, but for the ids
	Names  *[2][]byte       `json:"names,omitempty"`  // root and path, where they are not UTF-8, as names of files may be: JSON has no such strings
}

// encode returns the line with its end.
func (l journalLine) encode() ([]byte, error) {
	if !utf8.ValidString(l.Root) || !utf8.ValidString(l.Path) {
		l.Names = &[2][]byte{[]byte(l.Root), []byte(l.Path)}
	}
	b, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return append(b, '\n'), nil
}

// decodeLine is the opposite of encode. A line that encode has not written is an error.
func decodeLine(b []byte) (l journalLine, err error) {
	if err = json.Unmarshal(b, &l); err == nil && min(l.Docs, l.Left, l.Parts) < 0 {
		err = fmt.Errorf("journal: documents %d, left %d, parts %d, allowed: 0 or more", l.Docs, l.Left, l.Parts)
	}
	if l.Names != nil {
		l.Root, l.Path, l.Names = string(l.Names[0]), string(l.Names[1]), nil
	}
	return l, err
}

// split returns the ids of a full entry.
func (e *entry) split() (now, left []string) {
	n := max(0, len(e.IDs)-e.Left)
	now, left = e.IDs[:n], e.IDs[n:]
	if n == 0 && e.Docs == 1 {
		now = []string{e.Path}
	}
	return now, left
}

// join is the opposite of split.
func (e *entry) join(now, left []string) {
	if len(now) == 1 && now[0] == e.Path {
		now = nil
	}
	e.IDs, e.Left = slices.Concat(now, left), len(left)
}

// split returns the lines of an entry: its parts, then itself.
func (j *journal) split(e entry) iter.Seq[journalLine] {
	return func(yield func(journalLine) bool) {
		e := e
		e.Parts = 0
		now, left := e.split()
		if len(now) > maxLineIDs && j.keeps() {
			for ids := range slices.Chunk(now, maxLineIDs) {
				if !yield(partOf(key{e.Root, e.Path}, e.How, ids)) {
					return
				}
				e.Parts++
			}
			e.IDs = left
		}
		yield(journalLine{entry: e})
	}
}

// keeps reports whether lines are written to the file.
func (j *journal) keeps() bool { return j.file != nil }

func partOf(k key, how string, ids []string) journalLine {
	return journalLine{Part: true, entry: entry{Root: k.root, Path: k.path, How: how, IDs: ids}}
}

// assemble reads an entry with its ids from the lines of the file.
func (j *journal) assemble(file *os.File, k *known) (*entry, error) {
	e := &entry{Root: k.Root, Path: k.Path}
	if k.n > 0 {
		var err error
		if e, err = j.readLine(file, k.Path, k.span); err != nil {
			return nil, err
		}
	}
	if len(k.parts) == 0 {
		return e, nil
	}
	now, left := e.split()
	now = slices.Clone(now)
	for _, at := range k.parts {
		part, err := j.readLine(file, k.Path, at)
		if err != nil {
			return nil, err
		}
		now = append(now, part.IDs...)
	}
	if len(k.parts) > e.Parts { // it was being read again
		now = append(now, left...)
		slices.Sort(now)
		now, left = slices.Compact(now), nil
		*e = k.entry
	}
	e.Parts, e.Docs = 0, len(now)
	e.join(now, left)
	return e, nil
}

// readLine reads a line about a file.
func (j *journal) readLine(file *os.File, path string, at span) (*entry, error) {
	b := make([]byte, at.n)
	if _, err := file.ReadAt(b, at.at); err != nil && err != io.EOF {
		return nil, fmt.Errorf("journal: %w", err)
	}
	l, err := decodeLine(b)
	if err != nil || l.Path != path {
		return nil, fmt.Errorf("journal: %s: the line at byte %d has changed", j.path, at.at)
	}
	return &l.entry, nil
}
