package keyword

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"example.com/searchd/index/filter"
)

// Names of bleve fields. The prefix tells text fields from our own.
const (
	textPrefix  = "t:"   // followed by the name of a text field: its terms with their frequencies
	valueField  = "v"    // the filterable values of all fields, see valueKey
	lengthField = "#len" // names of text fields as terms, with their numbers of tokens as frequencies

	neighbourField = "#next" // stored: the neighbour filter
)

// maxValueName is the length in bytes up to which names are part of the terms of their values.
const maxValueName = 31

// valueKey begins the terms of a value field: the length of the rest in one byte, and the name, or
// the SHA-256 of one longer than maxValueName. A bleve field for each name would cost time and
// space in every segment, which confuses fields beyond 65,535.
func valueKey(name string) []byte {
	if len(name) > maxValueName {
		sum := sha256.Sum256([]byte(name))
		name = string(sum[:])
	}
	return append([]byte{byte(len(name))}, name...)
}

// First bytes of the terms of a value field, after its key.
const (
	termExists byte = 'e' // alone: the field has a value
	termString byte = 's' // then filter.Value.Key
	termBool   byte = 'b' // then 0 or 1
	termNumber byte = 'n' // then level and a prefix of the number; level 8 of a wide one goes on with its Off
	termDate   byte = 'd' // then level and a prefix of the date
	termPoint  byte = 'p' // then level and a prefix of the geo.Code
)

// sortable returns the bits of a Number, Bool or Date so that they order, as unsigned integers, as
// the values do, and those of the geo.Code of a Point.
func sortable(v filter.Value) uint64 {
	switch v.Kind {
	case filter.Date:
		return uint64(v.Time) ^ 1<<63
	case filter.Point:
		return uint64(v.Code())
	}
	bits := math.Float64bits(v.Num)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// docID is the bleve id of a document: its number, big endian.
func docID(no uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], no)
	return string(b[:])
}

// offBias makes the Off of a filter.Value positive; its first byte is then never 0xff.
const offBias = 1 << 15

// valueTerms calls add with the terms under which v is indexed; the last one is unique to v. A
// number, date or point has a term for each prefix of 1 to 8 bytes, so that a range is a union of
// few terms, see between, and an area too, see fieldValues.area. The last term of a wide number has
// two more bytes, which distinguish the integers of one float64.
func valueTerms(v filter.Value, add func(term []byte)) {
	switch v.Kind {
	case filter.String:
		add(append([]byte{termString}, v.Key()...))
	case filter.Bool:
		add([]byte{termBool, byte(v.Num)})
	case filter.Opaque: // has only the term of EXISTS
	default:
		var term [12]byte
		term[0] = kindByte(v.Kind)
		binary.BigEndian.PutUint64(term[2:], sortable(v))
		for n := byte(1); n <= 7; n++ {
			term[1] = n
			add(term[:2+n])
		}
		if term[1] = 8; !v.Wide() {
			add(term[:10])
			return
		}
		binary.BigEndian.PutUint16(term[10:], uint16(int(v.Off)+offBias))
		add(term[:])
	}
}

// wide reports whether the terms of numbers with these sortable bits have two more bytes.
func wide(bits uint64) bool {
	const from = 1<<63 | (1023+53)<<52 // of 2^53
	return bits >= from || bits <= ^uint64(from)
}

func kindByte(k filter.Kind) byte {
	switch k {
	case filter.Date:
		return termDate
	case filter.Point:
		return termPoint
	}
	return termNumber
}

// equalTerm returns the term that exactly the documents with the value v have.
func equalTerm(v filter.Value) []byte {
	var last []byte
	valueTerms(v, func(term []byte) { last = term })
	return last
}

// termRange contains the terms in [first, end); if end is nil, only first.
type termRange struct{ first, end []byte }

// after returns a bound between the term of level 8 of v and that of any larger value.
func after(v filter.Value) []byte { return append(equalTerm(v), 0) }

// between returns ranges that contain a term of each number or date whose term of level 8 is in
// [first, end), where nil is unbounded, and of no other. A range has prefixes of one length that
// differ only in their last byte: at most 15 ranges, and one for each bound among the terms of one
// float64.
func between(kind filter.Kind, first, end []byte) []termRange {
	const whole = 10 // kind, level and eight bytes
	if first != nil && end != nil {
		if bytes.Compare(first, end) >= 0 {
			return nil
		}
		if bytes.Equal(first[:whole], end[:whole]) {
			return []termRange{{first, end}}
		}
	}
	lo, hi := uint64(0), uint64(math.MaxUint64)
	var ranges []termRange
	if first != nil {
		if lo = binary.BigEndian.Uint64(first[2:]); len(first) > whole {
			ranges = append(ranges, termRange{first, append(slices.Clone(first[:whole]), 0xff)})
			if lo++; lo == 0 {
				return ranges
			}
		}
	}
	if end != nil {
		if hi = binary.BigEndian.Uint64(end[2:]); len(end) > whole {
			ranges = append(ranges, termRange{end[:whole], end})
		}
		if hi == 0 {
			return ranges
		}
		hi--
	}
	return append(ranges, rangeTerms(kind, lo, hi)...)
}

// rangeTerms returns ranges for the values with sortable bits from lo to hi inclusive.
func rangeTerms(kind filter.Kind, lo, hi uint64) []termRange {
	var ranges []termRange
	add := func(level byte, first, last uint64) {
		ranges = append(ranges, termRange{prefixTerm(kind, level, first), append(prefixTerm(kind, level, last), 0xff)})
	}
	for level := byte(8); lo <= hi; level-- {
		if lo>>8 == hi>>8 {
			add(level, lo, hi)
			break
		}
		// The values outside of whole blocks of 256 are at this level, the blocks one level up.
		if lo&0xff != 0 {
			add(level, lo, lo|0xff)
			lo += 0x100
		}
		if hi&0xff != 0xff {
			add(level, hi&^0xff, hi)
			hi -= 0x100
		}
		lo, hi = lo>>8, hi>>8
	}
	return ranges
}

func prefixTerm(kind filter.Kind, level byte, prefix uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], prefix)
	return append([]byte{kindByte(kind), level}, b[8-level:]...)
}
