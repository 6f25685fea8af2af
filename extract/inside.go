package extract

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/searchd/extract/content"
)

// insideMark separates a file and a file inside it in ids and paths: "mail/a.eml!/invoice.pdf".
const insideMark = "!/"

// maxInside is the depth of files inside one another: a text in an attached archive is at depth 2.
const maxInside = 4

// Inside counts files of one format that were read inside another file.
type Inside struct {
	Format    Format
	Read      int
	Failed    int // of those that were read
	Documents int
}

// inner is a file inside another one: an attachment or a member of an archive.
type inner struct {
	name  string // below the outer file
	path  string // with that of the outer file
	docID string // of its document; empty: its path
	info  fs.FileInfo
	what  string // in front of what is wrong with it
	line  int    // of the outer file, for what is wrong with it; 0: of none
	warn  bool   // what is wrong with it is a warning about the outer file
	emit  func(*Document)
}

// readInside reads a file inside x and reports its errors. read means that its format is known. An
// error ends the reading of x.
func (x *source) readInside(f inner, r io.Reader) (read bool, err error) {
	if x.depth+1 > maxInside {
		return false, x.reportInside(f, ItemError{Reason: fmt.Sprintf("files inside one another deeper than the limit of %d", maxInside)})
	}
	format, known := byName(f.name)
	if !known && content.Extension(f.name) != "" {
		if x.o.Skip != nil {
			x.o.Skip(f.path, SkippedType)
		}
		return false, nil
	}
	if format == Picture && x.ocr == nil {
		if x.o.Skip != nil {
			x.o.Skip(f.path, SkippedPicture)
		}
		return false, nil
	}
	c := *x
	c.Name, c.id, c.docID, c.info, c.depth = f.path, f.path, f.docID, f.info, x.depth+1
	c.format, c.quiet, c.blanks, c.packed, c.Marked, c.at = Auto, !known || format == Feed, true, false, false, nil
	c.Decoder, c.Report = content.NewDecoder(x.o.Encoding), c.reportLine
	c.stats, c.before, c.inside, c.dates = new(Stats), 0, nil, nil
	c.o.Format, c.o.Progress = Auto, nil
	c.emit = func(d Document) error {
		if f.emit != nil {
			f.emit(&d)
		}
		d.Line = f.line
		return x.hand(d)
	}
	c.fail = func(e ItemError) error { return x.reportInside(f, e) }
	if err := c.read(r); err != nil {
		return false, err
	}
	if c.format != Auto {
		format = c.format
	}
	x.countInside(c.inside...)
	if c.stats.Skipped+c.stats.Empty == 0 {
		x.countInside(Inside{Format: format, Read: 1, Failed: min(1, c.stats.Errors), Documents: c.stats.Documents})
	}
	return c.stats.Documents > 0, nil
}

func (x *source) path() string { return cmp.Or(x.id, filepath.ToSlash(x.Name)) }

// countInside adds to the counts of files inside x.
func (x *source) countInside(all ...Inside) {
	for _, n := range all {
		i := slices.IndexFunc(x.inside, func(s Inside) bool { return s.Format == n.Format })
		if i < 0 {
			x.inside = append(x.inside, n)
			continue
		}
		s := &x.inside[i]
		s.Read, s.Failed, s.Documents = s.Read+n.Read, s.Failed+n.Failed, s.Documents+n.Documents
	}
}

// reportInside reports a fault of a file inside x at x.
func (x *source) reportInside(f inner, e ItemError) error {
	where := f.what
	if e.Line > 0 {
		where = fmt.Sprintf("%s, line %d", where, e.Line)
	}
	return x.report(ItemError{Path: x.Name, Line: f.line, Reason: where + ": " + e.Reason, Warning: e.Warning || f.warn})
}

// insideNames makes names of files in one file unique.
type insideNames map[string]int

// unique returns name, or "name (2).ext" for the second of that name.
func (n insideNames) unique(name string) string {
	n[name]++
	for n[name] > 1 {
		dir, base := "", name
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			dir, base = name[:i+1], name[i+1:]
		}
		front, ext := base, ""
		if i := strings.LastIndexByte(base, '.'); i > 0 {
			front, ext = base[:i], base[i:]
		}
		other := fmt.Sprintf("%s%s (%d)%s", dir, front, n[name], ext)
		if n[other] == 0 {
			n[other]++
			return other
		}
		n[name]++
	}
	return name
}

// outside runs read without counting its time as passed since start.
func outside(start *time.Time, read func() error) error {
	began := time.Now()
	err := read()
	*start = start.Add(time.Since(began))
	return err
}
