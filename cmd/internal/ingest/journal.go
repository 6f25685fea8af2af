package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.com/searchd/internal/disk"
)

// journal remembers, for one collection, the documents of each file, so that a later run can skip
// files that have not changed and delete the documents of files that are gone.
//
// It is a file of JSON lines that only grows during a run: a later line about a file replaces an
// earlier one, and a line that cannot be read (the last one, after a crash) is ignored. A line is
// written once the documents of its file are committed; a lost line costs reading the file again.
// Ids stay on disk and are read when they are needed.
//
// For a file of several batches, each batch writes a part: ids that are committed while the file is
// not. Before a batch is sent, an uncommitted part names its ids, for a run that ends before it
// knows the outcome; it counts until the next line about the file. The line of a file with very
// many ids is preceded by such parts and says how many of them are its own.
//
// Several runs may write to the same journal at once, a watch and others: each appends whole lines,
// and reads what the others have appended whenever it writes.
//
// A journal is safe for concurrent use.
type journal struct {
	mu      sync.Mutex
	path    string
	file    *os.File // nil once it is closed
	lock    *os.File // shared by the runs that have the journal open; nil of a temporary one
	shared  bool     // another run had it open before
	size    int64    // of the lines of file that have been read or written
	pending []byte
	lines   int
	entries map[key]*fileEntry
	moved   bool // the spans of lines in pending are wrong
	state   collectionState
}

// collectionState tells whether a collection is still the one that the journal describes.
type collectionState struct {
	Created     time.Time `json:"created"`
	Incarnation string    `json:"incarnation,omitempty"` // empty in old journals
	Sequence    uint64    `json:"sequence"`
	Documents   int       `json:"documents"`
}

// follows reports whether s is a later state of the same collection: it was neither recreated nor
// restored. Others may have written since, so the numbers alone do not tell.
func (s collectionState) follows(before collectionState) bool {
	return s.Incarnation == before.Incarnation && s.Created.Equal(before.Created) && s.Sequence >= before.Sequence
}

const (
	journalName = "journal.jsonl"
	lockName    = "journal.lock"
	// maxFailures is how many failures of one file are kept. A file with more is read again.
	maxFailures = 1000
)

// Variables so that tests can lower them.
var (
	maxIDs     = 1 << 24 // of one file; about 1 GB of memory while it is read
	maxLineIDs = 1 << 16 // in one line
)

// openJournal opens the journal in dir, which it makes. With readOnly, or without dir, it opens a
// temporary copy instead.
func openJournal(dir string, readOnly bool) (*journal, error) {
	j := &journal{entries: map[key]*fileEntry{}}
	open := j.openFile
	if dir == "" || readOnly {
		open = j.openCopy
	}
	err := open(dir)
	if err == nil {
		err = j.load(j.file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %w", err), j.closeFiles())
	}
	return j, nil
}

func (j *journal) openFile(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if j.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	alone, _ := disk.TryLock(j.lock) // without locks nobody is alone, so that the journal keeps its history
	j.shared = !alone
	_ = disk.ShareLock(j.lock) // waits for a run that compacts the journal
	j.path = filepath.Join(dir, journalName)
	j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	return err
}

func (j *journal) openCopy(dir string) (err error) {
	if j.file, err = os.CreateTemp("", "ingest-journal-"); err != nil {
		return err
	}
	j.path = j.file.Name()
	_ = os.Remove(j.path) // some systems remove no open file: see closeFiles
	original, err := os.Open(filepath.Join(dir, journalName))
	if dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer original.Close()
	if _, err = io.Copy(j.file, original); err == nil {
		_, err = j.file.Seek(0, io.SeekStart)
	}
	return err
}

// load applies the lines of r, which follow the first j.size bytes of the file.
func (j *journal) load(r io.Reader) error {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		b, err := br.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		n := int64(len(b))
		if l, err := decodeLine(b); err == nil {
			j.apply(l, j.size, n)
		}
		if err == io.EOF {
			if n > 0 { // a torn line, or one that another run is writing, which is read again when it is complete
				j.pending = []byte{'\n'} // ends it
			}
			return nil
		}
		j.size += n
	}
}

// apply applies one line, of n bytes at an offset.
func (j *journal) apply(l journalLine, at, n int64) {
	j.lines++
	switch k := (key{l.Root, l.Path}); {
	case l.State != nil:
		j.state = *l.State
	case l.Forget:
		j.invalidateAll()
	case l.Gone:
		delete(j.entries, k)
	case l.Part:
		j.applyPart(k, l, span{at, n, l.Tried})
	case l.Path != "":
		j.dropUncommittedLocked(k)
		e := &fileEntry{span: span{at: at, n: n}, plain: len(l.IDs)+l.Parts == 0}
		if before := j.entries[k]; before != nil {
			e.seen = before.seen
			e.parts = slices.Clone(before.parts[max(0, len(before.parts)-l.Parts):])
		}
		l.IDs = nil
		if e.entry = l.entry; len(e.parts) < e.Parts {
			e.Size, e.Sum = -1, "" // a line was lost
		}
		j.entries[k] = e
	}
}

// applyPart adds ids of a file that was not read to its end when the line was written: until it is,
// it looks changed.
func (j *journal) applyPart(k key, l journalLine, at span) {
	e := j.entries[k]
	if e == nil {
		e = &fileEntry{entry: entry{Root: l.Root, Path: l.Path}}
		j.entries[k] = e
	}
	if !at.uncommitted {
		j.dropUncommittedLocked(k)
		e.Docs += len(l.IDs)
	}
	e.parts = append(e.parts, at)
	e.Size, e.Sum, e.How, e.Left, e.Failures, e.plain = -1, "", l.How, 0, nil, false
}

// invalidateAll makes every file look changed.
func (j *journal) invalidateAll() {
	for _, k := range j.entries {
		k.Size, k.Sum = -1, ""
	}
}

// write appends a line. The caller holds mu.
func (j *journal) write(l journalLine) error {
	b, err := l.encode()
	if err != nil {
		return err
	}
	j.apply(l, j.size+int64(len(j.pending)), int64(len(b)))
	j.pending = append(j.pending, b...)
	return nil
}

func (j *journal) put(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for l := range e.lines() {
		if err := j.write(l); err != nil {
			return err
		}
	}
	return nil
}

// part adds committed ids of a file that has more.
func (j *journal) part(k key, how string, ids []string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	return j.write(partOf(k, how, ids))
}

func (j *journal) drop(k key) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(journalLine{entry: entry{Root: k.root, Path: k.path, Gone: true}})
}

// flush writes what has been put, and reads what other runs have written.
func (j *journal) flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flushLocked()
}

func (j *journal) flushLocked() error {
	own := int64(len(j.pending))
	if own > 0 {
		if _, err := j.file.Write(j.pending); err != nil {
			j.pending = append([]byte{'\n'}, j.pending...) // some of it may have been written
			j.moved = true
			return fmt.Errorf("journal: %w", err)
		}
		j.pending = j.pending[:0]
	}
	info, err := j.file.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("journal: %w", err)
	case info.Size() == j.size+own && !j.moved:
		j.size += own
		return nil
	}
	// Other runs have written lines before or after ours: read all of them, ours again.
	j.moved = false
	for _, e := range j.entries {
		e.parts = slices.DeleteFunc(e.parts, func(s span) bool { return s.at >= j.size })
	}
	if err := j.load(io.NewSectionReader(j.file, j.size, info.Size()-j.size)); err != nil {
		return fmt.Errorf("journal: %s: %w", j.path, err)
	}
	return nil
}

// lookup returns the entry of a file, without its ids.
func (j *journal) lookup(k key) (entry, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.entries[k]
	if !ok {
		return entry{}, false
	}
	return e.entry, true
}

// markSeen notes that this run has found a file.
func (j *journal) markSeen(k key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e, ok := j.entries[k]; ok {
		e.seen = true
	}
}

// unmark undoes markSeen.
func (j *journal) unmark(keys []key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, k := range keys {
		if e, ok := j.entries[k]; ok {
			e.seen = false
		}
	}
}

// ids returns the ids of the documents that a file has, and of those that it no longer has and that
// are still in the collection.
func (j *journal) ids(k key) (now, left []string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.entries[k]
	if !ok {
		return nil, nil, nil
	}
	full, err := j.full(e)
	if err != nil {
		return nil, nil, err
	}
	now, left = full.splitIDs()
	return now, left, nil
}

// full returns an entry with its ids. The caller holds mu.
func (j *journal) full(f *fileEntry) (*entry, error) {
	if err := j.flushLocked(); err != nil {
		return nil, err
	}
	now := j.entries[f.key()] // flushing may have changed it
	if now == nil {
		return &entry{Root: f.Root, Path: f.Path}, nil
	}
	return j.assemble(now)
}

// filter returns the files for which ok is true, sorted.
func (j *journal) filter(ok func(*fileEntry) bool) []key {
	j.mu.Lock()
	defer j.mu.Unlock()
	var keys []key
	for k, e := range j.entries {
		if ok(e) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, key.compare)
	return keys
}

// begin compares the journal with the collection before a run. Where that was recreated or
// restored, or others have deleted documents, every file looks changed from now on.
func (j *journal) begin(now collectionState) error {
	_, err := j.check(now, func() bool { return now.follows(j.state) && now.Documents >= j.state.Documents })
	return err
}

// checkCollection compares the journal with the collection in the middle of a run. Where that is
// another one than before, it returns true, and every file looks changed from now on.
func (j *journal) checkCollection(now collectionState) (another bool, err error) {
	return j.check(now, func() bool { return now.follows(j.state) })
}

func (j *journal) check(now collectionState, same func() bool) (another bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil { // other runs may have deleted documents
		return false, err
	}
	if same() {
		return false, nil
	}
	if len(j.entries) > 0 {
		if err := j.write(journalLine{Forget: true}); err != nil {
			return true, err
		}
	}
	return true, j.write(journalLine{State: &collectionState{Created: now.Created, Incarnation: now.Incarnation}})
}

// end notes the state of the collection after a run.
func (j *journal) end(now collectionState) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.write(journalLine{State: &now}); err != nil {
		return err
	}
	return j.flushLocked()
}

// close writes what is pending. Where most of the journal is history and no other run has it open,
// it is compacted.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.flushLocked()
	if err == nil && j.lock != nil && j.lines > 2*len(j.entries)+1000 {
		if alone, _ := disk.TryLock(j.lock); alone {
			if err = j.flushLocked(); err == nil { // reads the last lines of other runs
				err = j.compact()
			}
		}
	}
	return errors.Join(err, j.closeFiles())
}

func (j *journal) closeFiles() (err error) {
	if j.file != nil {
		err = j.file.Close()
		if j.lock == nil {
			_ = os.Remove(j.path)
		}
	}
	if j.lock != nil {
		err = errors.Join(err, j.lock.Close())
	}
	j.file, j.lock = nil, nil
	return err
}

func (j *journal) compact() error {
	tmp, err := os.OpenFile(j.path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // a killed run may have left one
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	w := bufio.NewWriter(tmp)
	write := func(l journalLine) error {
		b, err := l.encode()
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	for _, k := range j.entries {
		e, err := j.full(k)
		if err != nil {
			tmp.Close()
			return err
		}
		e.Size, e.Sum = k.Size, k.Sum // as invalidateAll has left them
		for l := range e.lines() {
			if err := write(l); err != nil {
				tmp.Close()
				return fmt.Errorf("journal: %w", err)
			}
		}
	}
	if err := errors.Join(write(journalLine{State: &j.state}), w.Flush(), tmp.Sync(), tmp.Close(), os.Rename(tmp.Name(), j.path)); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
