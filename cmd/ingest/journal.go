package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// journal remembers, for one collection, what became of each file, so that a later run passes over
// what has not changed and knows which documents came from a file that is gone.
//
// It is a file of JSON lines that only grows during a run: a later line about a file replaces an
// earlier one, a line that cannot be read (the last one, after a crash) is passed over. A line is
// written once the documents of its file are committed; what is lost of the journal costs reading
// files again and nothing else. Ids stay on disk and are read when they are needed. A journal is
// safe for concurrent use.
//
// Of a file that takes longer a line is written with each batch, a part: ids that are committed,
// while the file is not. So they are known if the run ends there. Before a batch is put in, a part
// that is only tried names the ids of each file, for a run that ends before it knows what became of
// them; it counts until the next line about the file. The line of a file with very many ids is
// preceded by such parts and says how many of them are its own.
//
// Several runs may write to the same file at once, one that watches and others: each appends whole
// lines, and takes over what the others have appended whenever it writes.
type journal struct {
	mu      sync.Mutex
	path    string   // empty: nothing is kept
	file    *os.File // nil where nothing is written: no path, or read only
	lock    *os.File // nil where file is; shared by the runs that have the file open
	size    int64    // of the lines of file that have been read or written
	pending []byte
	lines   int
	entries map[key]*known
	moved   bool // the lines in pending are not to stand where it was thought
	state   collectionState
	turns   int // how many files have been put in by this run
}

// collectionState tells whether a collection is still the one that the journal speaks of.
type collectionState struct {
	Created     time.Time `json:"created"`
	Incarnation string    `json:"incarnation,omitempty"` // empty in journals of before it was known
	Sequence    uint64    `json:"sequence"`
	Documents   int       `json:"documents"`
}

// follows reports whether s is a later state of the collection that was in the state of before:
// neither made anew nor restored, nor gone back. Others may have written meanwhile, so the numbers
// alone would not tell.
func (s collectionState) follows(before collectionState) bool {
	return s.Incarnation == before.Incarnation && s.Created.Equal(before.Created) && s.Sequence >= before.Sequence
}

const (
	journalName = "journal.jsonl"
	lockName    = "journal.lock"
	// maxFailures is the number of failures that are kept of one file. One with more of reading is
	// read again.
	maxFailures = 1000
)

// Variables so that tests can lower them.
var (
	// maxIDs is the number of ids that are kept of one file. While it is read they are in memory,
	// about 1 GB of them.
	maxIDs = 1 << 24
	// maxLineIDs is the number of ids in one line.
	maxLineIDs = 1 << 16
)

// openJournal opens the journal in dir, which it makes. An empty dir gives one that keeps nothing;
// readOnly one that writes nothing.
func openJournal(dir string, readOnly bool) (*journal, error) {
	j := &journal{entries: map[key]*known{}}
	if dir == "" {
		return j, nil
	}
	j.path = filepath.Join(dir, journalName)
	if readOnly {
		return j, j.openReadOnly()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var err error
	if j.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	lockShared(j.lock) // waits for a run that writes the journal anew
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		j.lock.Close()
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := j.load(j.file); err != nil {
		j.file.Close()
		j.lock.Close()
		return nil, fmt.Errorf("journal: %s: %w", j.path, err)
	}
	return j, nil
}

// openReadOnly reads all that there is, with the ids.
func (j *journal) openReadOnly() error {
	file, err := os.Open(j.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer file.Close()
	if err := j.load(file); err != nil {
		return fmt.Errorf("journal: %s: %w", j.path, err)
	}
	j.pending = nil
	for _, k := range j.entries {
		e, err := j.assemble(file, k)
		if err != nil {
			return err
		}
		k.mem, k.span, k.parts = e, span{}, nil
	}
	return nil
}

// load takes over the lines of r, which stand behind the first j.size bytes of the file.
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
			if n > 0 { // a torn line, or one that another run is writing: it is read again when it has ended
				j.pending = []byte{'\n'} // so that the next one stands alone
			}
			return nil
		}
		j.size += n
	}
}

// apply takes over one line, of n bytes at that offset.
func (j *journal) apply(l journalLine, at, n int64) {
	j.lines++
	switch k := (key{l.Root, l.Path}); {
	case l.State != nil:
		j.state = *l.State
	case l.Forget:
		j.distrust()
	case l.Gone:
		delete(j.entries, k)
	case l.Part:
		j.applyPart(k, l, span{at, n, l.Tried})
	case l.Path != "":
		j.untry(k)
		e := &known{span: span{at: at, n: n}, plain: len(l.IDs)+l.Parts == 0}
		if before := j.entries[k]; before != nil {
			e.seen, e.turn, e.as = before.seen, before.turn, before.as
			e.parts = slices.Clone(before.parts[max(0, len(before.parts)-l.Parts):])
		}
		l.IDs = nil
		if e.entry = l.entry; len(e.parts) < e.Parts {
			e.Size, e.Sum = -1, "" // a line was lost
		}
		j.entries[k] = e
	}
}

// applyPart takes over ids of a file that was not read to its end when the line was written: until
// it is, it looks changed.
func (j *journal) applyPart(k key, l journalLine, at span) {
	e := j.entries[k]
	if e == nil {
		e = &known{entry: entry{Root: l.Root, Path: l.Path}}
		j.entries[k] = e
	}
	if !at.tried {
		j.untry(k)
		e.Docs += len(l.IDs)
	}
	e.parts = append(e.parts, at)
	e.Size, e.Sum, e.How, e.Left, e.Failures, e.plain = -1, "", l.How, 0, nil, false
}

// distrust makes every file look changed.
func (j *journal) distrust() {
	for _, k := range j.entries {
		k.Size, k.Sum = -1, ""
	}
}

// write appends a line. The caller holds mu.
func (j *journal) write(l journalLine) error {
	if j.file == nil {
		ids := l.IDs
		j.apply(l, 0, 0)
		if k := j.entries[key{l.Root, l.Path}]; k != nil {
			e := l.entry
			e.IDs = ids
			k.mem = &e
		}
		return nil
	}
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
	for l := range j.split(e) {
		if err := j.write(l); err != nil {
			return err
		}
	}
	return nil
}

// part notes ids of documents that are committed, of a file that has more.
func (j *journal) part(k key, how string, ids []string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.keeps() || len(ids) == 0 {
		return nil
	}
	return j.write(partOf(k, how, ids))
}

func (j *journal) drop(k key) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(journalLine{entry: entry{Root: k.root, Path: k.path, Gone: true}})
}

// flush writes to the file what has been put, and takes over what other runs have written.
func (j *journal) flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.flushLocked()
}

func (j *journal) flushLocked() error {
	if j.file == nil {
		return nil
	}
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
	// Lines of another run stand before ours, or behind them: all of them are read, ours again.
	j.moved = false
	for _, e := range j.entries {
		e.parts = slices.DeleteFunc(e.parts, func(s span) bool { return s.at >= j.size })
	}
	if err := j.load(io.NewSectionReader(j.file, j.size, info.Size()-j.size)); err != nil {
		return fmt.Errorf("journal: %s: %w", j.path, err)
	}
	return nil
}

// entry returns what is known of a file, without its ids, and marks it as met.
func (j *journal) entry(k key) (entry, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.entries[k]
	if !ok {
		return entry{}, false
	}
	e.seen = true
	return e.entry, true
}

// peek returns what is known of a file, without its ids.
func (j *journal) peek(k key) (entry, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.entries[k]
	if !ok {
		return entry{}, false
	}
	return e.entry, true
}

// mark says that a file has been met on disk.
func (j *journal) mark(k key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e, ok := j.entries[k]; ok {
		e.seen = true
	}
}

// brought says that a file has been met on disk, at that path, and put in.
func (j *journal) brought(k key, as string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e, ok := j.entries[k]; ok {
		j.turns++
		e.seen, e.turn, e.as = true, j.turns, as
	}
}

// ids returns the ids of the documents that a file holds, and of those that it held before and that
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
	now, left = full.split()
	return now, left, nil
}

// full returns an entry with its ids. The caller holds mu.
func (j *journal) full(k *known) (*entry, error) {
	if k.mem != nil {
		e := *k.mem
		return &e, nil
	}
	if err := j.flushLocked(); err != nil {
		return nil, err
	}
	now := j.entries[k.key()] // its line may stand elsewhere than was thought before it was written
	if now == nil {           // another run has dropped it
		return &entry{Root: k.Root, Path: k.Path}, nil
	}
	return j.assemble(j.file, now)
}

// under returns the files of a root for which ok is true.
func (j *journal) under(root string, ok func(k *known) bool) []key {
	j.mu.Lock()
	defer j.mu.Unlock()
	var keys []key
	for k, e := range j.entries {
		if k.root == root && ok(e) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, key.compare)
	return keys
}

// begin compares the journal with the collection. One that was made anew, was restored, has gone
// back, or has lost documents by another hand makes every file look changed.
func (j *journal) begin(now collectionState) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil { // for what other runs have deleted
		return err
	}
	if now.follows(j.state) && now.Documents >= j.state.Documents {
		return nil
	}
	return j.forget(now)
}

// goOn compares the journal with the collection in the middle of a run, or while a watch lasts.
// another reports that it is not the one that the journal speaks of; then every file looks changed.
func (j *journal) goOn(now collectionState) (another bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flushLocked(); err != nil { // as in begin
		return false, err
	}
	if now.follows(j.state) {
		return false, nil
	}
	return true, j.forget(now)
}

// forget makes every file look changed, and the journal one of the collection as it is now. The
// caller holds mu.
func (j *journal) forget(now collectionState) error {
	if len(j.entries) > 0 {
		if err := j.write(journalLine{Forget: true}); err != nil {
			return err
		}
	}
	return j.write(journalLine{State: &collectionState{Created: now.Created, Incarnation: now.Incarnation}})
}

// end notes what the collection is after a run.
func (j *journal) end(now collectionState) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.write(journalLine{State: &now}); err != nil {
		return err
	}
	return j.flushLocked()
}

// close writes what is left, and the whole journal anew where most of it is history and no other
// run has it open.
func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.flushLocked()
	if err == nil && j.lines > 2*len(j.entries)+1000 && lockAlone(j.lock) {
		if err = j.flushLocked(); err == nil { // takes over what those wrote that have ended by now
			err = j.compact()
		}
	}
	return errors.Join(err, j.file.Close(), j.lock.Close())
}

func (j *journal) compact() error {
	tmp, err := os.OpenFile(j.path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // of this run alone; one that was killed may have left it
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails after the rename, which is as it should be
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
		e.Size, e.Sum = k.Size, k.Sum // as distrust has left them
		for l := range j.split(*e) {
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
