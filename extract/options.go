package extract

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"golang.org/x/text/encoding"

	"example.com/searchd/extract/content"
)

// Options are options for reading. The zero value has the defaults named at each field.
type Options struct {
	// Format is the format of files given by name and of stdin. In folders it selects: files with
	// the extension of another format are skipped, text files with unknown extensions are read in
	// it. Auto recognises each file.
	Format Format

	MaxLine     int64 // bytes of one line or record; default 4 MiB
	MaxFile     int64 // bytes of one whole-file document, decompressed; default 64 MiB
	MaxText     int64 // bytes of text of a document of an office program, a notebook, an e-book or a part of a message; default MaxFile
	MaxUnpacked int64 // bytes that one gzip file or archive may unpack to; default 16 GiB
	MaxRatio    int   // unpacked bytes per packed byte of a gzip file or archive, looked at beyond the first MiB; default 100

	// IDField is the field of a record with its id. Default: _id, else id, else a hash of the
	// content.
	IDField string
	// TextFields are the fields with text: at least one must not be empty, and CSV keeps them as
	// strings. Default: any field with a string, a number or a boolean counts.
	TextFields []string
	// Delimiter separates CSV fields. Default: guessed from the first lines; tab for .tsv and .tab.
	Delimiter byte

	// Encoding is the WHATWG name of the encoding of texts that are not UTF-8 and declare none.
	// Default: a guess, else Windows-1252, with a warning.
	Encoding string

	// WholePages reads all text of HTML files. Default: their main text, unless it is too little.
	WholePages bool

	// Root is the folder below which the ids of whole-file documents are paths. Files and folders
	// given to Walk must be in it. Default: each folder given, and the folder of each file given.
	Root string
	// Progress, if not nil, is called with the counts after each document and each file.
	Progress func(Stats)

	// Hold, if not nil, is called before n more bytes are kept in memory, and with a negative n
	// when they are freed. Its error ends the reading. Default: no limit but MaxFile.
	Hold func(n int64) error

	// Exclude names files and folders that Walk skips in folders.
	Exclude []string
	// PDF reads a PDF; see package extract/pdf. Default: PDF is an error.
	PDF func(ctx context.Context, b []byte) (PDFText, error)

	// OCR recognises the text of a picture; see package extract/ocr. Default: pictures in folders,
	// archives and messages are skipped, others are an error.
	OCR func(ctx context.Context, picture []byte) (string, error)

	// Skip, if not nil, is called for each file and folder that is counted as skipped, perhaps
	// concurrently.
	Skip func(path string, why SkipKind)

	FollowSymlinks bool      // read the targets of symbolic links found in folders; links given by name are always read
	Hidden         bool      // read files and folders whose name begins with a dot, too
	Stdin          io.Reader // what Walk reads for the path "-"; nil makes "-" an error
}

// PDFText is the text of a PDF.
type PDFText struct {
	Title   string
	Text    string // pages apart by a blank line
	Blocks  []Block
	Warning string // what could not be read; empty if all was
}

const (
	defaultMaxLine     = 4 << 20
	defaultMaxFile     = 64 << 20
	defaultMaxUnpacked = 16 << 30
	defaultMaxRatio    = 100
)

// withDefaults sets defaults and rejects invalid values.
func (o Options) withDefaults() (Options, error) {
	for _, l := range []struct {
		name  string
		value *int64
		def   int64
	}{
		{"MaxLine", &o.MaxLine, defaultMaxLine},
		{"MaxFile", &o.MaxFile, defaultMaxFile},
		{"MaxText", &o.MaxText, cmp.Or(o.MaxFile, defaultMaxFile)},
		{"MaxUnpacked", &o.MaxUnpacked, defaultMaxUnpacked},
	} {
		switch {
		case *l.value == 0:
			*l.value = l.def
		case *l.value < 0 || *l.value > 1<<40:
			return o, fmt.Errorf("extract: %s is %d; allowed are 1 to %d bytes, or 0 for the default of %d", l.name, *l.value, int64(1)<<40, l.def)
		}
	}
	switch {
	case o.MaxRatio == 0:
		o.MaxRatio = defaultMaxRatio
	case o.MaxRatio < 0:
		return o, fmt.Errorf("extract: MaxRatio is %d; allowed are positive numbers, or 0 for the default of %d", o.MaxRatio, defaultMaxRatio)
	}
	if int(o.Format) >= len(formatNames) {
		return o, fmt.Errorf("extract: unknown format %v", o.Format)
	}
	if o.Encoding != "" {
		if _, err := content.ParseEncoding(o.Encoding); err != nil {
			return o, err
		}
	}
	if d := o.Delimiter; d >= 0x80 || d == '"' || d == '\n' || d == '\r' {
		return o, fmt.Errorf("extract: Delimiter is %q; allowed are ASCII characters other than the quote and line ends", d)
	}
	return o, nil
}

// ParseEncoding returns the encoding with a name of the WHATWG's list, which browsers use.
func ParseEncoding(name string) (encoding.Encoding, error) { return content.ParseEncoding(name) }
