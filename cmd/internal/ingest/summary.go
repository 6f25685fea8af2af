package ingest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/searchd/extract"
)

// counts is the content of the summary.
type counts struct {
	documents int // ingested or unchanged
	byStatus  map[string]int
	byFormat  map[string]*formatCounts
	skipped   map[extract.SkipKind]int
	unknown   map[string]int // skipped files of unknown format, by extension
	empty     int            // files
	open      int            // files of which some documents are committed, but not the last
	began     time.Time
}

// formatCounts are those of the files of one format.
type formatCounts struct {
	read, unchanged, documents, failed int
	inside                             int // that were read inside other files
	bytes                              int64
}

func newCounts() counts {
	return counts{byStatus: map[string]int{}, byFormat: map[string]*formatCounts{}, skipped: map[extract.SkipKind]int{}, unknown: map[string]int{}, began: time.Now()}
}

func (c *counts) format(name string) *formatCounts {
	if name == "" || name == extract.Auto.String() {
		name = "unknown"
	}
	f := c.byFormat[name]
	if f == nil {
		f = &formatCounts{}
		c.byFormat[name] = f
	}
	return f
}

// statuses in the order of the summary.
var statuses = []string{"created", "updated", "unchanged", "deleted", "read", "would be deleted"}

// count returns a number with its noun.
func count(n int, one string) string { return fmt.Sprint(n, " ", noun(n, one)) }

// noun returns a noun, in the plural where n is not 1.
func noun(n int, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

// line returns what has changed since before, on one line.
func (c *counts) line(before map[string]int) string {
	var parts []string
	for _, s := range statuses {
		if n := c.byStatus[s] - before[s]; n > 0 && s != "unchanged" {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// print writes the summary: a table of the files by format, counts of documents by status, and the
// speed. With ended false, a file may not have been read to its end.
func (c *counts) print(w io.Writer, f *failures, ended bool) {
	total := formatCounts{}
	var names []string
	for name, n := range c.byFormat {
		names = append(names, name)
		total.read += n.read
		total.unchanged += n.unchanged
		total.documents += n.documents
		total.failed += n.failed
		total.inside += n.inside
		total.bytes += n.bytes
	}
	slices.Sort(names)
	if len(names) > 0 {
		t := tabwriter.NewWriter(w, 9, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "format\tread\tinside others\tunchanged\tfailed\tdocuments\tMB\t")
		row := func(name string, n formatCounts) {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n", name, n.read, n.inside, n.unchanged, n.failed, n.documents, float64(n.bytes)/1e6)
		}
		for _, name := range names {
			row(name, *c.byFormat[name])
		}
		if len(names) > 1 {
			row("all files", total)
		}
		t.Flush() // its errors are those of w, which are ignored everywhere here
	}
	n := 0
	for _, status := range statuses {
		if k := c.byStatus[status]; k > 0 {
			fmt.Fprintf(w, "%9d %s\n", k, status)
			if status != "deleted" && status != "would be deleted" {
				n += k
			}
		}
	}
	for why, text := range skipReasons {
		if n := c.skipped[extract.SkipKind(why)]; n > 0 {
			fmt.Fprintf(w, "%9d %s skipped, %s", n, noun(n, "file"), text)
			if extract.SkipKind(why) == extract.SkippedType {
				fmt.Fprint(w, ": ", c.unknownKinds())
			}
			fmt.Fprintln(w)
		}
	}
	if c.empty > 0 {
		fmt.Fprintf(w, "%9d empty\n", c.empty)
	}
	if f.warnings > 0 {
		fmt.Fprintf(w, "%9d %s%s\n", f.warnings, noun(f.warnings, "warning"), f.where())
	}
	if f.count > 0 {
		fmt.Fprintf(w, "%9d failed%s\n", f.count, f.where())
	}
	f.printReasons(w)
	if ended && len(names) == 0 && len(c.skipped) == 0 && c.empty == 0 && f.count == 0 {
		fmt.Fprintln(w, "nothing to read: no JSON lines, CSV, Markdown, HTML, text, PDF, files of office programs, e-books, mail, notebooks or outlines there")
	}
	seconds := time.Since(c.began).Seconds()
	unfinished := ""
	if !ended && c.open > 0 {
		unfinished = fmt.Sprintf(" and %d not read to the end", c.open)
	}
	fmt.Fprintf(w, "%9d %s from %s%s in %.1f s (%s documents/s)\n",
		n, noun(n, "document"), count(total.read+total.unchanged, "file"), unfinished, seconds, rate(float64(n)/seconds))
}

// rate writes a number per second: a slow one with a decimal, so that it is not 0.
func rate(perSecond float64) string {
	if perSecond < 10 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

const (
	shownKinds = 5    // by name; the others together
	maxKinds   = 1000 // that are kept
	otherKind  = "other"
)

// skipReasons are the reasons for which files are skipped.
var skipReasons = []string{
	extract.SkippedType: "of no known format", extract.SkippedContent: "of binary content", extract.SkippedHidden: "hidden: --hidden reads them, but not .git",
	extract.SkippedLink: "symbolic links: --follow-symlinks reads them", extract.SkippedLitter: "backups and temporary files", extract.SkippedOwn: "of this program",
	extract.SkippedPicture: "pictures: Tesseract reads them if it is installed",
}

// skip counts a skipped file.
func (c *counts) skip(path string, why extract.SkipKind) {
	c.skipped[why]++
	if why != extract.SkippedType {
		return
	}
	ext := strings.ToLower(filepath.Ext(path))
	if ext == ".gz" { // named by what is in it
		ext = strings.ToLower(filepath.Ext(strings.TrimSuffix(path, filepath.Ext(path)))) + ext
	}
	if len(ext) < 2 || len(ext) > 16 || strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz0123456789+-_~.") != "" || c.unknown[ext] == 0 && len(c.unknown) >= maxKinds {
		ext = otherKind
	}
	c.unknown[ext]++
}

// unknownKinds lists the extensions of files of unknown format, the commonest first.
func (c *counts) unknownKinds() string {
	names := slices.Collect(maps.Keys(c.unknown))
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(c.unknown[b]-c.unknown[a], strings.Compare(a, b)) })
	var parts []string
	rest := 0
	for _, name := range names {
		if name == otherKind || len(parts) == shownKinds {
			rest += c.unknown[name]
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", c.unknown[name], name))
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", rest, otherKind))
	}
	return strings.Join(parts, ", ")
}

func (f *failures) where() string {
	if f.file == nil {
		return ""
	}
	return ", see " + f.path
}
