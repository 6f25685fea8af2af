package extract

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errNUL ends streams with overlong binary lines, such as sparse files.
var errNUL = errors.New("binary data (NUL bytes)")

// lineReader reads the lines of a stream. It skips and measures lines longer than limit.
type lineReader struct {
	r     *bufio.Reader
	limit int64
	line  int // number of the line that next returned last, from 1
	buf   []byte
}

// next returns the next line without its end, valid until the next call. For a line that is too
// long it returns nil and the size, at the end io.EOF.
func (l *lineReader) next() (line []byte, size int64, err error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		size += int64(len(part))
		if err == nil || errors.Is(err, io.EOF) {
			part = bytes.TrimSuffix(part, []byte("\n"))
		}
		if size <= l.limit+2 { // two more for the line's end
			l.buf = append(l.buf, part...)
		} else if bytes.IndexByte(part, 0) >= 0 {
			l.line++
			return nil, size, errNUL
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || size == 0):
			return nil, size, err
		}
		l.line++
		if size > l.limit+2 {
			return nil, size, nil
		}
		line = bytes.TrimSuffix(l.buf, []byte("\r"))
		if int64(len(line)) > l.limit {
			return nil, size, nil
		}
		if line == nil {
			line = []byte{}
		}
		return line, size, nil
	}
}
