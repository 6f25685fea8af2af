package ingest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// key names a file: the absolute path of the folder that its ids are relative to, and the path
// below it with forward slashes.
type key struct{ root, path string }

// compare orders keys by root and path.
func (k key) compare(other key) int {
	return cmp.Or(strings.Compare(k.root, other.root), strings.Compare(k.path, other.path))
}

// file returns the path of the file.
func (k key) file() string { return filepath.Join(k.root, filepath.FromSlash(k.path)) }

// fileEntry is what is kept in memory of an entry: all but its ids.
type fileEntry struct {
	entry
	span         // of its line in the journal; n is 0 where there are only parts
	parts []span // lines of further ids: the first Parts of them belong to the line, the others came after it
	plain bool   // its only id is its path
	seen  bool   // this run has found the file
}

func (e *fileEntry) key() key { return key{e.Root, e.Path} }

// span is where a line is.
type span struct {
	at, n       int64
	uncommitted bool // a part of [journal.addUncommitted]
}

func (s span) isUncommitted() bool { return s.uncommitted }

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
	Left     int       `json:"left,omitempty"` // how many of the last ids are of documents that the file no longer has
	Gone     bool      `json:"gone,omitempty"`
	Parts    int       `json:"parts,omitempty"` // how many of the part lines before this one hold ids of its documents
	IDs      []string  `json:"ids,omitempty"`   // of its documents; absent where Path is the only one
}

// failure is a failed item of a file.
type failure struct {
	Line    int    `json:"line,omitempty"`
	Reason  string `json:"reason"`
	Warning bool   `json:"warning,omitempty"`
}

// journalLine is one line of the journal.
type journalLine struct {
	entry
	State  *collectionState `json:"state,omitempty"`
	Part   bool             `json:"part,omitempty"`   // further ids of the file
	Tried  bool             `json:"tried,omitempty"`  // with Part: ids of documents that may not have been committed
	Forget bool             `json:"forget,omitempty"` // of the entries above only the ids are still valid
	Names  *[2][]byte       `json:"names,omitempty"`  // root and path, where they are not UTF-8, which JSON strings must be
}

// encode returns the line with a newline.
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

// decodeLine is the inverse of encode.
func decodeLine(b []byte) (l journalLine, err error) {
	if err = json.Unmarshal(b, &l); err == nil && min(l.Docs, l.Left, l.Parts) < 0 {
		err = fmt.Errorf("journal: documents %d, left %d, parts %d, allowed: 0 or more", l.Docs, l.Left, l.Parts)
	}
	if l.Names != nil {
		l.Root, l.Path, l.Names = string(l.Names[0]), string(l.Names[1]), nil
	}
	return l, err
}

// splitIDs returns the ids of the documents that the file has, and of those that it no longer has.
func (e *entry) splitIDs() (now, left []string) {
	n := max(0, len(e.IDs)-e.Left)
	now, left = e.IDs[:n], e.IDs[n:]
	if n == 0 && e.Docs == 1 {
		now = []string{e.Path}
	}
	return now, left
}

// join is the inverse of splitIDs.
func (e *entry) join(now, left []string) {
	if len(now) == 1 && now[0] == e.Path {
		now = nil
	}
	e.IDs, e.Left = slices.Concat(now, left), len(left)
}

// lines returns the lines of an entry: its parts, then itself.
func (e entry) lines() iter.Seq[journalLine] {
	return func(yield func(journalLine) bool) {
		e := e
		e.Parts = 0
		now, left := e.splitIDs()
		if len(now) > maxLineIDs {
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

func partOf(k key, how string, ids []string) journalLine {
	return journalLine{Part: true, entry: entry{Root: k.root, Path: k.path, How: how, IDs: ids}}
}

// assemble reads an entry with its ids from the journal.
func (j *journal) assemble(f *fileEntry) (*entry, error) {
	e := &entry{Root: f.Root, Path: f.Path}
	if f.n > 0 {
		var err error
		if e, err = j.readLine(f.Path, f.span); err != nil {
			return nil, err
		}
	}
	if len(f.parts) == 0 {
		return e, nil
	}
	now, left := e.splitIDs()
	now = slices.Clone(now)
	for _, at := range f.parts {
		part, err := j.readLine(f.Path, at)
		if err != nil {
			return nil, err
		}
		now = append(now, part.IDs...)
	}
	if len(f.parts) > e.Parts { // reading the file again was interrupted
		now = append(now, left...)
		slices.Sort(now)
		now, left = slices.Compact(now), nil
		*e = f.entry
	}
	e.Parts, e.Docs = 0, len(now)
	e.join(now, left)
	return e, nil
}

// readLine reads a line about the file at path.
func (j *journal) readLine(path string, at span) (*entry, error) {
	b := make([]byte, at.n)
	if _, err := j.file.ReadAt(b, at.at); err != nil && err != io.EOF {
		return nil, fmt.Errorf("journal: %w", err)
	}
	l, err := decodeLine(b)
	if err != nil || l.Path != path {
		return nil, fmt.Errorf("journal: %s: the line at byte %d has changed", j.path, at.at)
	}
	return &l.entry, nil
}
