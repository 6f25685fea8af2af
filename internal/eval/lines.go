package eval

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"
)

// MaxLine is the number of bytes that a line of a file read here can have.
const MaxLine = 8 << 20

// ErrFormat is matched by errors about the content of a file; their text has the file and the line.
var ErrFormat = errors.New("eval: malformed file")

// eachLine calls f with every non-blank line of a file, without its end. Errors of f get file and
// line. A byte order mark is skipped.
func eachLine(fsys fs.FS, name string, f func(n int, line []byte) error) error {
	file, err := fsys.Open(name)
	if err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<16)
	var long []byte
	for n := 1; ; n++ {
		long = long[:0]
		var line []byte
		for {
			part, err := r.ReadSlice('\n')
			if len(long)+len(part) > MaxLine {
				return fmt.Errorf("%w: %s:%d: line has more than %d bytes", ErrFormat, name, n, MaxLine)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, part...)
				continue
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("eval: %s:%d: %w", name, n, err)
			}
			line = part
			if len(long) > 0 {
				long = append(long, part...)
				line = long
			}
			if len(line) == 0 {
				return nil // end of file
			}
			break
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return fmt.Errorf("%w: %s:%d: not UTF-8", ErrFormat, name, n)
		}
		if err := f(n, line); err != nil {
			return fmt.Errorf("%w: %s:%d: %w", ErrFormat, name, n, err)
		}
	}
}
