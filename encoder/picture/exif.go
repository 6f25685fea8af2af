package picture

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"
)

// EXIF is what the metadata of a picture say.
type EXIF struct {
	Orientation int       // 1 to 8, as in the standard; 1 where there is none
	Taken       time.Time // local time of the camera, as UTC; zero: unknown
	Caption     string    // ImageDescription
}

// ReadEXIF reads the metadata of a JPEG, PNG or WebP file. What is missing or damaged stays at its
// zero value.
func ReadEXIF(b []byte) EXIF {
	e := EXIF{Orientation: 1}
	f := formatOf(b)
	if f == nil || f.exif == nil {
		return e
	}
	tiff := bytes.TrimPrefix(f.exif(b), []byte("Exif\x00\x00"))
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(tiff, []byte("MM\x00*")):
		order = binary.BigEndian
	case !bytes.HasPrefix(tiff, []byte("II*\x00")):
		return e
	}
	const orientation, caption, changed, subdirectory, taken = 0x112, 0x10e, 0x132, 0x8769, 0x9003
	main := directory(tiff, order, 4)
	if n, ok := main.number(orientation); ok && n >= 1 && n <= 8 {
		e.Orientation = n
	}
	e.Caption = main.text(caption)
	date := main.text(changed)
	if at, ok := main.number(subdirectory); ok {
		sub := directory(tiff, order, -1)
		sub.read(at)
		if s := sub.text(taken); s != "" {
			date = s
		}
	}
	e.Taken, _ = time.Parse("2006:01:02 15:04:05", date)
	return e
}

// tags is a directory of a TIFF structure.
type tags struct {
	tiff    []byte
	order   binary.ByteOrder
	entries []byte // 12 bytes each
}

// directory returns the directory whose offset is stored at the given place; -1: none yet.
func directory(tiff []byte, order binary.ByteOrder, at int) *tags {
	t := &tags{tiff: tiff, order: order}
	if at >= 0 && at+4 <= len(tiff) {
		t.read(int(order.Uint32(tiff[at:])))
	}
	return t
}

// read reads the directory at the offset.
func (t *tags) read(offset int) {
	if offset < 0 || offset > len(t.tiff)-2 {
		return
	}
	n := 12 * int(t.order.Uint16(t.tiff[offset:]))
	rest := t.tiff[offset+2:]
	t.entries = rest[:min(n, len(rest)/12*12)]
}

// find returns the type, the count and the four bytes of the value of a tag.
func (t *tags) find(tag uint16) (kind uint16, count int, value []byte) {
	for e := t.entries; len(e) >= 12; e = e[12:] {
		if t.order.Uint16(e) == tag {
			return t.order.Uint16(e[2:]), int(t.order.Uint32(e[4:])), e[8:12]
		}
	}
	return 0, 0, nil
}

func (t *tags) number(tag uint16) (int, bool) {
	const short, long = 3, 4
	switch kind, count, value := t.find(tag); {
	case count != 1:
	case kind == short:
		return int(t.order.Uint16(value)), true
	case kind == long:
		return int(t.order.Uint32(value)), true
	}
	return 0, false
}

// text returns a string of at most maxCaption bytes.
func (t *tags) text(tag uint16) string {
	const ascii, maxCaption = 2, 4096
	kind, count, value := t.find(tag)
	if kind != ascii {
		return ""
	}
	if count > 4 {
		at := int(t.order.Uint32(value))
		if at > len(t.tiff) || count > len(t.tiff)-at {
			return ""
		}
		value = t.tiff[at:]
	}
	value = value[:min(count, maxCaption)]
	if end := bytes.IndexByte(value, 0); end >= 0 {
		value = value[:end]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(value), "\ufffd"))
}

// segments calls visit with each segment of a JPEG before the first scan, until it returns false.
func segments(b []byte, visit func(marker byte, data []byte) bool) {
	for at := 2; at+4 <= len(b); {
		if b[at] != 0xff {
			return
		}
		marker := b[at+1]
		if marker == 0xff { // padding
			at++
			continue
		}
		n := int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == 0xda || n < 2 || at+2+n > len(b) || !visit(marker, b[at+4:at+2+n]) {
			return
		}
		at += 2 + n
	}
}

// progressive reports whether a JPEG may be progressive: any frame that is not a sequential one
// counts, also where the segments cannot be followed.
func progressive(b []byte) bool {
	sequential := false
	segments(b, func(marker byte, _ []byte) bool {
		sequential = marker == 0xc0 || marker == 0xc1
		return !sequential && marker != 0xc2
	})
	return !sequential
}

func exifOfJPEG(b []byte) (found []byte) {
	segments(b, func(marker byte, data []byte) bool {
		if marker == 0xe1 && bytes.HasPrefix(data, []byte("Exif\x00\x00")) {
			found = data
		}
		return found == nil
	})
	return found
}

func exifOfPNG(b []byte) []byte {
	const signature, frame = 8, 12 // length, type and checksum of a chunk
	for at := signature; at+frame <= len(b); {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n > len(b)-at-frame {
			return nil
		}
		if string(b[at+4:at+8]) == "eXIf" {
			return b[at+8 : at+8+n]
		}
		at += frame + n
	}
	return nil
}

// chunks calls visit with each chunk of a WebP file, until it returns false.
func chunks(b []byte, visit func(id string, data []byte) bool) {
	for at := 12; at+8 <= len(b); {
		n := int(binary.LittleEndian.Uint32(b[at+4:]))
		if n > len(b)-at-8 || !visit(string(b[at:at+4]), b[at+8:at+8+n]) {
			return
		}
		at += 8 + n + n%2
	}
}

func exifOfWebP(b []byte) (found []byte) {
	chunks(b, func(id string, data []byte) bool {
		if id == "EXIF" {
			found = data
		}
		return found == nil
	})
	return found
}
