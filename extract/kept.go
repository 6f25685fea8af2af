package extract

import "io"

// keptAnyway is how much room for messages is kept from one to the next.
const keptAnyway = 1 << 20

// kept is what is in memory of a file, or of a message of a mailbox.
type kept struct {
	x    *source
	b    []byte
	told int64 // bytes that Options.Hold knows of
}

// grow makes room for n more bytes. Its error ends the reading.
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

// readAll appends what is left of r, at most limit bytes and one more. held is the error of grow,
// err that of r.
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

// drop forgets what is kept.
func (k *kept) drop() {
	if k.b = nil; k.told > 0 {
		_ = k.x.o.Hold(-k.told) // less is never refused
		k.told = 0
	}
}
