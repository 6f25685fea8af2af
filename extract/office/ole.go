package office

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"

	"example.com/searchd/extract/content"
)

// oleMagic begins a compound file ([MS-CFB]), the container of Outlook messages and old office
// documents.
const oleMagic = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

const (
	maxOLEDepth   = 32      // storages inside one another
	maxOLEEntries = 1 << 16 // streams and storages
	oleEnd        = 0xfffffffe
	oleNone       = 0xffffffff
	oleMini       = 64   // bytes of a sector of a small stream
	oleMiniBelow  = 4096 // bytes from which a stream is no small one
)

var errOLE = errors.New("damaged compound file")

// OLE is a compound file in memory.
type OLE struct {
	b        []byte
	sector   int      // bytes of one
	fat      []uint32 // the sector behind each
	miniFAT  []uint32
	mini     []byte            // the small streams
	entries  [][]byte          // of the directory
	children map[string]uint32 // number of an entry by its path, in lower case
	Names    []string          // paths as they are written, in the order of the directory
}

// OpenOLE reads the directory of a compound file. Its memory is in proportion to b: chains are
// followed to the length of b, and each entry is visited once.
func OpenOLE(b []byte) (*OLE, error) {
	if len(b) < 512 || string(b[:8]) != oleMagic {
		return nil, errOLE
	}
	f := &OLE{b: b, children: map[string]uint32{}}
	switch binary.LittleEndian.Uint16(b[30:]) {
	case 9:
		f.sector = 512
	case 12:
		f.sector = 4096
	default:
		return nil, errOLE
	}
	sectors := len(b)/f.sector + 1
	table := make([]uint32, 0, 109) // where the parts of the FAT are
	for i := range 109 {
		table = append(table, binary.LittleEndian.Uint32(b[76+4*i:]))
	}
	next := binary.LittleEndian.Uint32(b[68:])
	for range binary.LittleEndian.Uint32(b[72:]) {
		s := f.at(next)
		if len(s) < f.sector || len(table) > sectors {
			break
		}
		for i := 0; i < len(s)-4; i += 4 {
			table = append(table, binary.LittleEndian.Uint32(s[i:]))
		}
		next = binary.LittleEndian.Uint32(s[len(s)-4:])
	}
	for _, n := range table {
		s := f.at(n)
		if s == nil || len(f.fat) > sectors {
			continue
		}
		for i := 0; i < len(s); i += 4 {
			f.fat = append(f.fat, binary.LittleEndian.Uint32(s[i:]))
		}
	}
	directory := f.chain(binary.LittleEndian.Uint32(b[48:]), len(b))
	for i := 0; i+128 <= len(directory) && len(f.entries) < maxOLEEntries; i += 128 {
		f.entries = append(f.entries, directory[i:i+128])
	}
	if len(f.entries) == 0 {
		return nil, errOLE
	}
	miniFAT := f.chain(binary.LittleEndian.Uint32(b[60:]), len(b))
	for i := 0; i+4 <= len(miniFAT); i += 4 {
		f.miniFAT = append(f.miniFAT, binary.LittleEndian.Uint32(miniFAT[i:]))
	}
	f.mini = f.chain(binary.LittleEndian.Uint32(f.entries[0][116:]), len(b))
	f.walk()
	return f, nil
}

// at returns a sector, nil if there is none; the last one may be cut off.
func (f *OLE) at(n uint32) []byte {
	from := (int64(n) + 1) * int64(f.sector)
	if n >= 0xfffffffa || from >= int64(len(f.b)) {
		return nil
	}
	s := f.b[from:min(from+int64(f.sector), int64(len(f.b)))]
	return s[:len(s)&^3]
}

// chain returns the first size bytes of a chain of sectors.
func (f *OLE) chain(n uint32, size int) []byte {
	var out bytes.Buffer
	for steps := 0; n < uint32(len(f.fat)) && steps <= len(f.fat) && out.Len() < size; steps++ {
		s := f.at(n)
		if s == nil {
			break
		}
		out.Write(s)
		n = f.fat[n]
	}
	return out.Bytes()[:min(out.Len(), size)]
}

// walk finds the paths of all entries. The children of a storage are a tree.
func (f *OLE) walk() {
	type step struct {
		n      uint32
		prefix string
		depth  int
	}
	met := make([]bool, len(f.entries))
	todo := []step{{binary.LittleEndian.Uint32(f.entries[0][76:]), "", 0}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.n >= uint32(len(f.entries)) || met[s.n] || s.depth > maxOLEDepth {
			continue
		}
		met[s.n] = true
		e := f.entries[s.n]
		path := s.prefix + oleName(e)
		f.Names = append(f.Names, path)
		if key := strings.ToLower(path); f.children[key] == 0 { // the root is 0
			f.children[key] = s.n
		}
		todo = append(todo, step{binary.LittleEndian.Uint32(e[72:]), s.prefix, s.depth}, step{binary.LittleEndian.Uint32(e[68:]), s.prefix, s.depth})
		if e[66] == 1 {
			todo = append(todo, step{binary.LittleEndian.Uint32(e[76:]), path + "/", s.depth + 1})
		}
	}
}

func oleName(e []byte) string {
	units := make([]uint16, 0, 31)
	for i := 0; i+2 < int(min(binary.LittleEndian.Uint16(e[64:]), 64)); i += 2 {
		units = append(units, binary.LittleEndian.Uint16(e[i:]))
	}
	return strings.ReplaceAll(string(utf16.Decode(units)), "/", "_")
}

// Has reports whether there is a stream or a storage at a path.
func (f *OLE) Has(path string) bool { return f.children[strings.ToLower(path)] > 0 }

// Stream returns the content of the stream at a path; nil if there is none.
func (f *OLE) Stream(path string) []byte {
	n := f.children[strings.ToLower(path)]
	if n == 0 || f.entries[n][66] != 2 {
		return nil
	}
	e := f.entries[n]
	size := int(min(uint64(binary.LittleEndian.Uint32(e[120:])), uint64(len(f.b))))
	start := binary.LittleEndian.Uint32(e[116:])
	if size >= oleMiniBelow {
		return f.chain(start, size)
	}
	out := make([]byte, 0, size)
	for n, steps := start, 0; n < uint32(len(f.miniFAT)) && steps <= len(f.miniFAT) && len(out) < size; steps++ {
		from := int(n) * oleMini
		if from >= len(f.mini) {
			break
		}
		out = append(out, f.mini[from:min(from+oleMini, len(f.mini))]...)
		n = f.miniFAT[n]
	}
	return out[:min(len(out), size)]
}

// title returns the title in the properties of a document ([MS-OLEPS]).
func (f *OLE) title() string {
	b := f.Stream("\x05SummaryInformation")
	if len(b) < 48 {
		return ""
	}
	from := binary.LittleEndian.Uint32(b[44:])
	if int64(from)+8 > int64(len(b)) {
		return ""
	}
	set := b[from:]
	page, title := uint16(1252), []byte(nil)
	for i := range min(binary.LittleEndian.Uint32(set[4:]), 100) {
		at := 8 + 8*int(i)
		if at+8 > len(set) {
			break
		}
		off := binary.LittleEndian.Uint32(set[at+4:])
		if int64(off)+8 > int64(len(set)) {
			continue
		}
		switch v := set[off:]; binary.LittleEndian.Uint32(set[at:]) {
		case 1:
			page = binary.LittleEndian.Uint16(v[4:])
		case 2:
			title = v[8:min(8+int64(binary.LittleEndian.Uint32(v[4:])), int64(len(v)))]
		}
	}
	return content.OneLine(content.CodePage(title, int(page)))
}
