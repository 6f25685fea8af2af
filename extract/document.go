package extract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/searchd/extract/content"
)

// Document is a unit that search returns.
type Document struct {
	ID     string         // the record's own id, a content hash, or the path of a whole file below its root
	Fields map[string]any // see the package comment for the types of values
	Blocks []Block        // the parts of the field text, where the format has such; nil otherwise
	Source string         // path of the file, or the name given to Reader
	Line   int            // 1-based line where the record begins; 0 for whole files
	Offset int64          // bytes of the file or stream, before decompression, that have been read with it; what follows it may be among them
}

// Block is a part of the text of a document that is read as a whole.
type Block = content.Block

// BlockKind is the kind of a block.
type BlockKind = content.BlockKind

// The kinds of blocks.
const (
	Paragraph = content.Paragraph
	Heading   = content.Heading
	Item      = content.Item
	Table     = content.Table
	Code      = content.Code
	Quote     = content.Quote
)

// ItemError is an item of the input that could not be read or, with Warning, was read incompletely.
type ItemError struct {
	Path    string
	Line    int // 1-based; 0 if it concerns the whole file
	Reason  string
	Warning bool // the item was read, but not quite as it stands in the file
}

// Error returns "path:line: reason".
func (e ItemError) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Stats counts the results of a Walk.
type Stats struct {
	Files     int   // files opened and read
	Folders   int   // folders listed
	Documents int   // documents that emit accepted
	Skipped   int   // see SkipKind
	Empty     int   // files of nothing but white space
	Errors    int   // items handed to fail
	Warnings  int   // warnings handed to fail
	Bytes     int64 // bytes read from disk or stdin, before decompression
}

// SkipKind is the reason for skipping a file or folder.
type SkipKind uint8

const (
	SkippedType    SkipKind = iota // its extension belongs to no format, or to another one than asked for
	SkippedContent                 // it has no extension that is known, and its content is of no format
	SkippedHidden                  // its name begins with a dot
	SkippedLink                    // a symbolic link, or one to a folder that is read already
	SkippedLitter                  // backups of editors, other programs' litter
	SkippedOwn                     // named in Options.Exclude
	SkippedPicture                 // a picture, without Options.OCR
)

// hasValue reports whether any field holds a number, a boolean, or a letter, a digit or a symbol.
func hasValue(v any) bool {
	return content.Any(v, func(v any) bool {
		switch v.(type) {
		case bool, float64, json.Number:
			return true
		}
		return content.HasText(v)
	})
}

// hasText reports whether one of the named fields holds a letter, a digit or a symbol.
func hasText(fields map[string]any, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return content.HasText(fields[name]) })
}
