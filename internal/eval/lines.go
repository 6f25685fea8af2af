package eval

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
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
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, MaxLine+1)
	n := 1
	for ; lines.Scan(); n++ {
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
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
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: %s:%d: line has more than %d bytes", ErrFormat, name, n, MaxLine)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("eval: %s:%d: %w", name, n, err)
	}
	return nil
}
