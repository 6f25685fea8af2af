package content

import (
	"encoding/xml"
	"fmt"
	"io"
)

const maxTag = 1 << 20

// ErrTag is the error for a tag of XML that is too long.
var ErrTag = fmt.Errorf("a tag is longer than %d bytes", maxTag)

// TagLimit rejects tags of more than maxTag bytes, whose attributes would take many times their
// length in memory.
type TagLimit struct {
	R     io.Reader
	in    bool // a tag
	quote byte // inside a value of it; else 0
	n     int  // bytes of the tag so far
	plain byte // '-': inside a comment, ']': inside CDATA, which may have quotes and tags; else 0
	last  [2]byte
}

func (l *TagLimit) Read(p []byte) (int, error) {
	n, err := l.R.Read(p)
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
			return 0, ErrTag
		}
	}
	return n, err
}

// Attr returns the value of an attribute, whatever its prefix.
func Attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
