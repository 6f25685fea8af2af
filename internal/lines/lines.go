// Package lines reads long lines within bounds.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Read calls f with each line of r that is not all white space, and its number from 1. The line is
// valid until f returns. A line of more than limit bytes ends the reading with an error that names
// it.
func Read(r io.Reader, limit int, f func(n int, line []byte) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for n := 1; ; n++ {
		long = long[:0]
		for {
			part, err := br.ReadSlice('\n')
			long = append(long, part...)
			if len(long) > limit {
				return fmt.Errorf("line %d is longer than %d bytes", n, limit)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if line := bytes.TrimSpace(long); len(line) > 0 {
				if err := f(n, line); err != nil {
					return err
				}
			}
			if err != nil {
				return nil
			}
			break
		}
	}
}
