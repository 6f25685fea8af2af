package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/searchd/extract"
	"example.com/searchd/internal/terminal"
)

// failures reports items that failed: the first few on standard error, all of them in a file of
// JSON lines.
type failures struct {
	count, warnings int
	path            string   // of the file; empty: none
	file            *os.File // opened at the first failure
	stderr          io.Writer
	shown           int
	all             bool // show all of them
	reasons         map[reason]*reasonCount
	reported        map[extract.ItemError]bool // nil, or what was reported, where files may be read more than once
}

const (
	errorsName    = "errors.jsonl"
	shownFailures = 20      // on standard error
	maxReported   = 1 << 16 // failures that are remembered
)

// newFailures returns failures that go into the file at path, or, without one, into errors.jsonl in
// dir. What the last run left there is removed, unless keep says that another run writes to it.
func newFailures(path, dir string, keep bool, stderr io.Writer) (*failures, error) {
	f := &failures{path: path, stderr: stderr}
	if path != "" {
		return f, f.open(os.O_TRUNC) // at once: a wrong path must not come to light after an hour
	}
	if dir == "" {
		return f, nil
	}
	f.path = filepath.Join(dir, errorsName)
	if keep {
		return f, nil
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s of the last run: %w", errorsName, err)
	}
	return f, nil
}

func (f *failures) open(mode int) (err error) {
	if f.file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|mode, 0o666); err != nil {
		return fmt.Errorf("--errors: %w", err)
	}
	return nil
}

// deduplicate makes add ignore what was reported before.
func (f *failures) deduplicate() { f.reported = map[extract.ItemError]bool{} }

// add reports one item.
func (f *failures) add(e extract.ItemError) error {
	if f.reported != nil {
		if f.reported[e] {
			return nil
		}
		if len(f.reported) >= maxReported {
			clear(f.reported)
		}
		f.reported[e] = true
	}
	f.countReason(e)
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
		if err := f.open(0); err != nil {
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

// reason is why items of one kind of file failed.
type reason struct{ kind, text string }

// reasonCount is how many items failed for a reason, and the path and the whole reason of the first
// of them.
type reasonCount struct {
	n           int
	first, text string
}

const (
	shownReasons = 12
	maxReasons   = 1000 // that are kept
	maxReason    = 120  // characters of one
)

// Parts of a reason that differ from file to file: names of files inside it, quoted texts, numbers.
var (
	insideOf = regexp.MustCompile(`^(?:attachment )?"((?:[^"\\]|\\.)*)"(?:, line \d+)?: `)
	details  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+`)
)

// countReason counts the reason of a failure or warning, by the extension of the file.
func (f *failures) countReason(e extract.ItemError) {
	name, text := e.Path, e.Reason
	for {
		m := insideOf.FindStringSubmatch(text)
		if m == nil {
			break
		}
		name, text = m[1], text[len(m[0]):]
	}
	kind := strings.ToLower(filepath.Ext(name))
	if len(kind) > 16 || strings.ContainsFunc(kind, func(r rune) bool { return r > '~' || r < '!' }) {
		kind = ""
	}
	whole := shortReason(text, e.Warning)
	r := reason{kind, shortReason(details.ReplaceAllString(text, "…"), e.Warning)}
	if f.reasons == nil {
		f.reasons = map[reason]*reasonCount{}
	}
	if f.reasons[r] == nil && len(f.reasons) >= maxReasons {
		whole, r = "other reasons", reason{"", "other reasons"}
	}
	if f.reasons[r] == nil {
		f.reasons[r] = &reasonCount{first: e.Path, text: whole}
	}
	f.reasons[r].n++
}

func shortReason(text string, warning bool) string {
	if runes := []rune(text); len(runes) > maxReason {
		text = string(runes[:maxReason]) + "…"
	}
	if warning {
		text = "warning: " + text
	}
	return text
}

// printReasons writes why items failed, by the kind of file, the commonest reasons first.
func (f *failures) printReasons(w io.Writer) {
	all := slices.SortedFunc(maps.Keys(f.reasons), func(a, b reason) int {
		return cmp.Or(f.reasons[b].n-f.reasons[a].n, strings.Compare(a.kind, b.kind), strings.Compare(a.text, b.text))
	})
	if len(all) > 0 {
		fmt.Fprintln(w, "left out, or read with a warning:")
	}
	rest := 0
	for i, r := range all {
		if c := f.reasons[r]; i < shownReasons {
			if c.n == 1 { // with its numbers
				r.text = c.text
			}
			fmt.Fprintf(w, "%9d %s (%s)\n", c.n, terminal.Printable(strings.TrimSpace(r.kind+" "+r.text)), terminal.Printable(c.example()))
		} else {
			rest += c.n
		}
	}
	if rest > 0 {
		fmt.Fprintf(w, "%9d for other reasons\n", rest)
	}
}

// example names the first item.
func (c *reasonCount) example() string {
	if c.n == 1 {
		return c.first
	}
	return "such as " + c.first
}
