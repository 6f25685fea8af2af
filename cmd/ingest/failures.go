package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"searchd/extract"
	"searchd/internal/terminal"
)

// failures tells of items that failed: the first few on standard error, all of them in a file of
// JSON lines.
type failures struct {
	count, warnings int
	path            string   // of the file; empty: none
	shared          bool     // other runs may write to the file at the same time
	file            *os.File // opened at the first failure
	stderr          io.Writer
	shown           int
	all             bool // show all of them
	reasons         map[reason]int
	once            map[extract.ItemError]bool // nil, or what has been told, where files may be read more than once
}

const (
	errorsName = "errors.jsonl"
	// shownFailures is how many failures are told on standard error.
	shownFailures = 20
	// maxOnce bounds the memory of what has been told.
	maxOnce = 1 << 16
)

// newFailures returns failures that go into the file at path, or, without one, into errors.jsonl in
// dir. What an earlier run left there is removed; where that run goes on, as a watch does, both
// write to the same file.
func newFailures(path, dir string, stderr io.Writer) (*failures, error) {
	f := &failures{path: path, stderr: stderr}
	if path != "" {
		return f, f.open() // at once: a wrong path must not come to light after an hour
	}
	if dir == "" {
		return f, nil
	}
	f.path, f.shared = filepath.Join(dir, errorsName), true
	if err := removeLeft(f.path); err != nil {
		return nil, fmt.Errorf("%s of the last run: %w", errorsName, err)
	}
	return f, nil
}

// removeLeft removes a file that no other run has open.
func removeLeft(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if !lockAlone(file) {
		return nil
	}
	return os.Remove(path)
}

func (f *failures) open() error {
	mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if !f.shared {
		mode |= os.O_TRUNC
	}
	for {
		file, err := os.OpenFile(f.path, mode, 0o666)
		if err != nil {
			return fmt.Errorf("--errors: %w", err)
		}
		if f.file = file; !f.shared {
			return nil
		}
		lockShared(file)
		info, err := file.Stat()
		if err != nil {
			return errors.Join(fmt.Errorf("--errors: %w", err), file.Close())
		}
		if now, err := os.Stat(f.path); err == nil && os.SameFile(now, info) {
			return nil
		}
		file.Close() // another run, which begins, has removed it before it was locked
	}
}

// repeat makes add pass over what it has been told before.
func (f *failures) repeat() { f.once = map[extract.ItemError]bool{} }

// add tells of one item.
func (f *failures) add(e extract.ItemError) error {
	if f.once != nil {
		if f.once[e] {
			return nil
		}
		if len(f.once) >= maxOnce {
			clear(f.once)
		}
		f.once[e] = true
	}
	f.note(e)
	if e.Warning {
		f.warnings++
	} else {
		f.count++
	}
	if f.shown++; f.shown <= shownFailures || f.all {
		fmt.Fprintln(f.stderr, terminal.Printable(e.Error()))
	} else if f.shown == shownFailures+1 {
		if f.path == "" {
			fmt.Fprintln(f.stderr, "more failures are counted, not shown; --errors FILE keeps them all")
		} else {
			fmt.Fprintf(f.stderr, "more failures are not shown; all are in %s\n", f.path)
		}
	}
	if f.path == "" {
		return nil
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	return json.NewEncoder(f.file).Encode(struct {
		Path string `json:"path"`
		failure
	}{e.Path, failure{e.Line, e.Reason, e.Warning}})
}

func (f *failures) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// reason is what was wrong with files of one kind.
type reason struct{ kind, what string }

const (
	shownReasons = 12
	maxReasons   = 1000 // that are kept
	maxReason    = 120  // characters of one
)

// Parts of a reason that are of one file: the names of files inside it, what is quoted, and
// numbers.
var (
	insideOf = regexp.MustCompile(`^(?:attachment )?"((?:[^"\\]|\\.)*)"(?:, line \d+)?: `)
	details  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+`)
)

// note counts why something was left out or read with a reservation, by the kind of file.
func (f *failures) note(e extract.ItemError) {
	name, what := e.Path, e.Reason
	for {
		m := insideOf.FindStringSubmatch(what)
		if m == nil {
			break
		}
		name, what = m[1], what[len(m[0]):]
	}
	kind := strings.ToLower(filepath.Ext(name))
	if len(kind) > 16 || strings.ContainsFunc(kind, func(r rune) bool { return r > '~' || r < '!' }) {
		kind = ""
	}
	what = details.ReplaceAllStringFunc(what, func(s string) string { return "…" })
	if runes := []rune(what); len(runes) > maxReason {
		what = string(runes[:maxReason]) + "…"
	}
	r := reason{kind, what}
	if e.Warning {
		r.what = "warning: " + what
	}
	if f.reasons == nil {
		f.reasons = map[reason]int{}
	}
	if f.reasons[r] == 0 && len(f.reasons) >= maxReasons {
		r = reason{"", "other reasons"}
	}
	f.reasons[r]++
}

// printReasons writes why things were left out, the commonest reasons first.
func (f *failures) printReasons(w io.Writer) {
	all := slices.SortedFunc(maps.Keys(f.reasons), func(a, b reason) int {
		return cmp.Or(f.reasons[b]-f.reasons[a], strings.Compare(a.kind, b.kind), strings.Compare(a.what, b.what))
	})
	rest := 0
	for i, r := range all {
		if i >= shownReasons {
			rest += f.reasons[r]
			continue
		}
		fmt.Fprintf(w, "%9d %s\n", f.reasons[r], terminal.Printable(strings.TrimSpace(r.kind+" "+r.what)))
	}
	if rest > 0 {
		fmt.Fprintf(w, "%9d for other reasons\n", rest)
	}
}
