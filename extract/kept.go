package extract

import "io"

// keptAnyway is the capacity that is reused for the next message.
const keptAnyway = 1 << 20

// kept is the content of a file or message in memory.
type kept struct {
	x    *source
	b    []byte
	told int64 // bytes that Options.Hold knows of
}

// grow makes room for n more bytes.
func (k *kept) grow(n int) error {
	if cap(k.b)-len(k.b) >= n {
		return nil
	}
	room := max(len(k.b)+n, cap(k.b)+cap(k.b)/2)
	if k.x.o.Hold != nil {
		if err := k.x.o.Hold(int64(room) - k.told); err != nil {
			return err
		}
		k.told = int64(room)
	}
	k.b = append(make([]byte, 0, room), k.b...)
	return nil
}

// readAll appends the rest of r, at most limit+1 bytes. held is an error of grow, err one of r.
func (k *kept) readAll(r io.Reader, limit int64) (err, held error) {
	const least = 512 // room for one read
	if k.x.info != nil && !k.x.packed {
		held = k.grow(int(min(k.x.info.Size(), limit)) + least) // the read that finds the end needs room, too
	}
	for held == nil && err == nil && int64(len(k.b)) <= limit {
		if held = k.grow(least); held == nil {
			var n int
			n, err = r.Read(k.b[len(k.b):min(int64(cap(k.b)), limit+1)])
			k.b = k.b[:len(k.b)+n]
		}
	}
	if err == io.EOF {
		err = nil
	}
	return err, held
}

// readFile reads the rest of a file, at most MaxFile bytes. It returns false after reporting an
// error; its own error ends the reading.
func (k *kept) readFile(r io.Reader) (ok bool, err error) {
	failed, held := k.readAll(r, k.x.MaxFile)
	switch {
	case held != nil:
		return false, held
	case failed != nil:
		return false, k.x.Errorf(0, "cannot be read: %v", failed)
	case int64(len(k.b)) > k.x.MaxFile:
		return false, k.x.Errorf(0, "file is larger than the limit of %d bytes for %s", k.x.MaxFile, formatNouns[k.x.format])
	}
	return true, nil
}

// drop frees the memory.
func (k *kept) drop() {
	if k.b = nil; k.told > 0 {
		_ = k.x.o.Hold(-k.told) // less is never refused
		k.told = 0
	}
}
