package extract

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"example.com/searchd/extract/content"

	"golang.org/x/text/encoding/charmap"
)

// maxDirectory limits the directory of a ZIP archive, which is in memory.
const maxDirectory = 8 << 20

var (
	errDirectory = fmt.Errorf("its directory is longer than the limit of %d bytes", maxDirectory)
	errAllSpent  = errors.New("the archive unpacks to more than its limit")
)

// readArchive reads the members of an archive like files of a folder.
func (x *source) readArchive(br *bufio.Reader) error {
	if x.left == nil {
		left := x.o.MaxUnpacked
		x.left = &left
	}
	if head, _ := br.Peek(2); string(head) != "PK" {
		return x.readTAR(br)
	}
	if x.at != nil && !x.packed {
		if _, err := io.Copy(io.Discard, br); err != nil { // for the sum of the file, and its bytes
			return x.Errorf(0, "cannot be read: %v", err)
		}
		return x.readZIP(x.at, x.info.Size())
	}
	k := kept{x: x}
	defer k.drop()
	if ok, err := k.readFile(br); !ok {
		return err
	}
	return x.readZIP(bytes.NewReader(k.b), int64(len(k.b)))
}

// limitedAt fails after left bytes, unless left is negative.
type limitedAt struct {
	io.ReaderAt
	left int64
}

func (l *limitedAt) ReadAt(p []byte, off int64) (int, error) {
	if l.left >= 0 {
		if l.left -= int64(len(p)); l.left < 0 {
			l.left = 0
			return 0, errDirectory
		}
	}
	return l.ReaderAt.ReadAt(p, off)
}

func (x *source) readZIP(in io.ReaderAt, size int64) error {
	at := &limitedAt{in, maxDirectory + 1<<17} // the search for the directory reads 1<<16 bytes and a little
	z, err := zip.NewReader(at, size)
	switch {
	case at.left == 0:
		return x.Errorf(0, "%v", errDirectory)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return x.Errorf(0, "not a ZIP archive: %v", err)
	}
	at.left = -1
	left := min(*x.left, 1<<20+size*int64(x.o.MaxRatio)) // members may overlap
	a := memberReader{x: x, names: insideNames{}}
	for _, f := range z.File {
		name := f.Name
		if f.NonUTF8 && !utf8.ValidString(name) {
			name, _ = charmap.CodePage437.NewDecoder().String(name) // cannot fail: each byte is a character there
		}
		ratio := int64(x.o.MaxRatio)
		limit := min(left, *x.left, 1<<20+int64(min(f.CompressedSize64, uint64(size)))*ratio)
		unpacked := &unpacking{limit: limit, why: fmt.Errorf("unpacks to more than the limit of %d to 1", ratio)}
		if limit == min(left, *x.left) {
			unpacked.why = errAllSpent
		}
		err := a.read(name, f.FileInfo(), func() (io.Reader, error) {
			switch {
			case f.Flags&1 != 0:
				return nil, errors.New("encrypted; unpack it with its password")
			case f.UncompressedSize64 > uint64(limit):
				unpacked.spent = true
				return nil, unpacked.why
			}
			r, err := f.Open()
			if err == nil {
				a.close = r
				unpacked.r = r
			}
			return unpacked, err
		})
		left -= unpacked.n
		*x.left -= unpacked.n
		switch {
		case err != nil:
			return err
		case min(left, *x.left) <= 0 || unpacked.spent && unpacked.why == errAllSpent:
			return x.Errorf(0, "%v of %d bytes; the rest is left out", errAllSpent, min(x.o.MaxUnpacked, 1<<20+size*ratio))
		}
	}
	return a.end()
}

func (x *source) readTAR(br *bufio.Reader) error {
	t := tar.NewReader(br)
	a := memberReader{x: x, names: insideNames{}}
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return a.end()
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			if ended := x.Ended(); ended != nil {
				return ended
			}
			return x.Errorf(0, "not an archive that can be read: %v", err)
		}
		unpacked := &unpacking{r: t, limit: *x.left, why: errAllSpent}
		if err := a.read(h.Name, h.FileInfo(), func() (io.Reader, error) { return unpacked, nil }); err != nil {
			return err
		}
		if *x.left -= unpacked.n; unpacked.spent {
			return x.Errorf(0, "%v of %d bytes; the rest is left out", errAllSpent, x.o.MaxUnpacked)
		}
	}
}

// unpacking reads a member and fails with why beyond its limit.
type unpacking struct {
	r     io.Reader
	n     int64
	limit int64
	why   error
	spent bool
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.n += int64(n); u.n > u.limit {
		u.spent = true
		return 0, u.why
	}
	return n, err
}

type memberReader struct {
	x     *source
	names insideNames
	n     int // of files
	close io.Closer
}

// read reads a member that a folder would be read for.
func (a *memberReader) read(name string, info fs.FileInfo, open func() (io.Reader, error)) error {
	if err := a.x.Ended(); err != nil {
		return err
	}
	name = readable(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), `\`, "/")), "/"))
	if info.IsDir() || name == "" {
		return nil
	}
	a.n++
	whole := a.x.path() + insideMark + name
	skip := func(why SkipKind) error {
		if a.x.o.Skip != nil {
			a.x.o.Skip(whole, why)
		}
		return nil
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case !a.x.o.Ignores(element):
		case strings.HasPrefix(element, "."):
			return skip(SkippedHidden)
		default:
			return skip(SkippedLitter)
		}
	}
	if !info.Mode().IsRegular() {
		return skip(SkippedLink)
	}
	name = a.names.unique(name)
	f := inner{name: name, path: a.x.path() + insideMark + name, info: info, what: fmt.Sprintf("%q", name)}
	if a.x.docID != "" {
		f.docID = wholeID(a.x.docID + insideMark + name)
	}
	if _, known := byName(name); !known && content.Extension(name) != "" {
		return skip(SkippedType) // without opening it
	}
	r, err := open()
	if err != nil {
		return a.x.reportInside(f, ItemError{Reason: err.Error()})
	}
	_, err = a.x.readInside(f, r)
	if a.close != nil {
		_ = a.close.Close() // what is wrong with it the reading has seen
		a.close = nil
	}
	return err
}

func (a *memberReader) end() error {
	if a.n == 0 {
		return a.x.Errorf(0, "an archive without files")
	}
	return nil
}
