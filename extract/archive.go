package extract

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/net/html/charset"
)

// maxMembers is the number of members from which a ZIP archive is no document.
const maxMembers = 10000

// archive reads documents that are ZIP archives of XML.
type archive struct {
	x       *source
	members map[string]*zip.File // by name in lower case
	left    int64                // bytes that may still be unpacked
	start   time.Time
}

// archive opens a document. Its error has been reported.
func (x *source) archive(b []byte) (*archive, error) {
	noun := formatNouns[x.format]
	if bytes.HasPrefix(b, []byte("\xd0\xcf\x11\xe0")) {
		return nil, x.reject("an encrypted document, or one of an old program under another name; save it as %s without a password", x.format)
	}
	if bytes.Count(b, []byte("PK\x01\x02")) > maxMembers { // each costs memory when the archive is opened
		return nil, x.reject("a ZIP archive of more than %d members, not %s", maxMembers, noun)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, x.reject("not %s: %v", noun, err)
	}
	r := &archive{x: x, members: map[string]*zip.File{}, left: x.o.MaxFile, start: time.Now()}
	for _, f := range z.File {
		if name := strings.ToLower(f.Name); r.members[name] == nil {
			r.members[name] = f
		}
	}
	return r, nil
}

// torn settles what becomes of a document of which err ended the reading: it is given up if no text
// has been read, else the rest is left out.
func (r *archive) torn(err error, text string) error {
	if ended := r.x.ended(); ended != nil {
		return ended
	}
	if !valueHasText(text) {
		return r.x.reject("not %s that can be read: %v", formatNouns[r.x.format], err)
	}
	return r.x.warnf(0, "the document is damaged or too large (%v); the rest is left out", err)
}

// tooLong reports whether n bytes of text are more than may be.
func (r *archive) tooLong(n int) error {
	if int64(n) > r.x.o.MaxText {
		return fmt.Errorf("%w of %d bytes", errTextTooLong, r.x.o.MaxText)
	}
	return nil
}

// member reads a member whole, and ends where the caller's context or the time for the file has.
func (r *archive) member(name string) ([]byte, error) {
	f := r.members[strings.ToLower(name)]
	if f == nil {
		return nil, fmt.Errorf("%w %.100q", errNoMember, name)
	}
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	limited := &io.LimitedReader{R: in, N: r.left}
	b, err := io.ReadAll(stoppable{limited, func() error { return errors.Join(r.x.ended(), budgetSpent(r.start)) }})
	if r.left = limited.N; r.left == 0 {
		return nil, errUnpacked
	}
	return b, err
}

var (
	errUnpacked = errors.New("it unpacks to more than the limit for one file")
	errNoMember = errors.New("it lacks its part")
)

// each hands the tokens of a member to visit; one that is not there has none. Tokens are raw, so
// that depth costs nothing; entities of a document's own are errors of the decoder.
func (r *archive) each(name string, visit func(xml.Token)) error {
	return r.eachUntil(name, func(t xml.Token) error {
		visit(t)
		return nil
	})
}

// eachUntil is each, which ends with the first error of visit.
func (r *archive) eachUntil(name string, visit func(xml.Token) error) error {
	f := r.members[name]
	if f == nil {
		return nil
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	limited := &io.LimitedReader{R: in, N: r.left}
	defer func() { r.left = limited.N }()
	d := xml.NewDecoder(&tagLimit{r: limited})
	d.CharsetReader = charset.NewReaderLabel
	for n := 0; ; n++ {
		if n%1024 == 0 { // also of each of many members
			if err := errors.Join(r.x.ended(), budgetSpent(r.start)); err != nil {
				return err
			}
		}
		t, err := d.RawToken()
		switch {
		case limited.N == 0:
			return errUnpacked
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := visit(t); err != nil {
			return err
		}
	}
}

// maxTag is the length in bytes of one tag of XML.
const maxTag = 1 << 20

var errTag = fmt.Errorf("a tag is longer than %d bytes", maxTag)

// tagLimit refuses tags of more than maxTag bytes, whose attributes would take many times their
// length.
type tagLimit struct {
	r     io.Reader
	in    bool // a tag
	quote byte // inside a value of it; else 0
	n     int  // bytes of the tag so far
	plain byte // '-': inside a comment, ']': inside CDATA, which may have quotes and tags; else 0
	last  [2]byte
}

func (l *tagLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for _, c := range p[:n] {
		switch {
		case !l.in:
			l.in, l.n, l.last = c == '<', 0, [2]byte{}
			continue
		case l.plain != 0:
			if c == '>' && l.last == [2]byte{l.plain, l.plain} {
				l.in, l.plain = false, 0
			}
			l.last = [2]byte{l.last[1], c}
			continue
		case l.n == 1 && c == '[' && l.last[1] == '!', l.n == 2 && c == '-' && l.last == [2]byte{'!', '-'}:
			l.plain, l.last = c, [2]byte{}
			if c == '[' {
				l.plain = ']'
			}
			continue
		case l.quote != 0:
			if c == l.quote {
				l.quote = 0
			}
		case c == '"', c == '\'':
			l.quote = c
		case c == '>':
			l.in = false
		}
		l.last = [2]byte{l.last[1], c}
		if l.n++; l.n > maxTag {
			return 0, errTag
		}
	}
	return n, err
}

// xmlEscape is a run of characters that Excel and PowerPoint write by their numbers, as XML may not
// hold them or changes them: _x000D_. To Word it is text.
var xmlEscape = regexp.MustCompile(`(?:_x[0-9A-Fa-f]{4}_)+`)

// unescapeXML returns s with the characters that _xHHHH_ stands for; control characters are spaces,
// but for line ends.
func unescapeXML(s string) string {
	return xmlEscape.ReplaceAllStringFunc(s, func(run string) string {
		units := make([]uint16, 0, len(run)/7)
		for ; run != ""; run = run[7:] {
			n, _ := strconv.ParseUint(run[2:6], 16, 16) // the expression lets nothing else through
			switch {
			case n == '\r' || n == '\v':
				n = '\n'
			case n < ' ' && n != '\n' && n != '\t':
				n = ' '
			}
			units = append(units, uint16(n))
		}
		return string(utf16.Decode(units))
	})
}

// attr returns the value of an attribute, whatever its prefix.
func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// mainPart returns the name of the member that holds the text, usual where the archive does not
// tell.
func (r *archive) mainPart(usual string) string {
	name := usual
	_ = r.each("_rels/.rels", func(t xml.Token) { // what cannot be read says nothing
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "Relationship" && strings.HasSuffix(attr(e, "Type"), "/officeDocument") {
			name = strings.ToLower(strings.TrimPrefix(path.Clean(attr(e, "Target")), "/"))
		}
	})
	return name
}

// titleIn returns the title that the properties of a document give.
func (r *archive) titleIn(member string) string {
	var title textBuilder
	inside := false
	_ = r.each(member, func(t xml.Token) { // what cannot be read says nothing
		switch t := t.(type) {
		case xml.StartElement:
			inside = t.Name.Local == "title"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				title.inline(string(t))
			}
		}
	})
	return title.String()
}

// relation is where a part of an Office Open XML document leads.
type relation struct{ kind, target string }

// relations returns where a member leads, by ids.
func (r *archive) relations(member string) map[string]relation {
	all := map[string]relation{}
	_ = r.each(path.Join(path.Dir(member), "_rels", path.Base(member)+".rels"), func(t xml.Token) { // what cannot be read says nothing
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != "Relationship" || len(all) >= maxMembers {
			return
		}
		target := attr(e, "Target")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(member), target)
		}
		all[attr(e, "Id")] = relation{path.Base(attr(e, "Type")), strings.ToLower(strings.TrimPrefix(path.Clean(target), "/"))}
	})
	return all
}

// listed hands each element of that name in a member, and the member that it leads to, to each.
func (r *archive) listed(member, element string, each func(e xml.StartElement, part string)) error {
	parts := r.relations(member)
	n := 0
	return r.each(member, func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != element || n >= maxMembers {
			return
		}
		for _, a := range e.Attr {
			if part := parts[a.Value].target; a.Name.Local == "id" && a.Name.Space != "" && part != "" {
				n++
				each(e, part)
			}
		}
	})
}
