package keyword

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"searchd/index/filter"
)

// Names of bleve fields. The prefix keeps a caller's field "body" apart from our own.
const (
	textPrefix  = "t:"   // analysed text: term -> term frequency
	valueField  = "v"    // the filterable values of all fields, see valueKey
	lengthField = "#len" // term: name of a text field; term frequency: its number of tokens in the document
)

// maxValueName is how many bytes of a name the terms of its values repeat.
const maxValueName = 31

// valueKey is what the terms of a value field begin with: a byte that says how long the rest is,
// and the name, or of a longer one than maxValueName its SHA-256. A field of bleve's for each name
// would cost time and room in every segment, which takes no more than 65,535 of them and, beyond,
// mixes them up.
func valueKey(name string) []byte {
	if len(name) > maxValueName {
		sum := sha256.Sum256([]byte(name))
		name = string(sum[:])
	}
	return append([]byte{byte(len(name))}, name...)
}

// First bytes of the terms of a value field, behind its key.
const (
	termExists byte = 'e' // alone: the field has a value
	termString byte = 's' // then filter.Value.Key
	termBool   byte = 'b' // then 0 or 1
	termNumber byte = 'n' // then level and a prefix of the number; level 8 of a wide one goes on with its Off
	termDate   byte = 'd' // then level and a prefix of the date
)

// sortable returns the bits of v, a Number, Bool or Date, so that they are ordered as v is when
// read as unsigned.
func sortable(v filter.Value) uint64 {
	if v.Kind == filter.Date {
		return uint64(v.Time) ^ 1<<63
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

// offBias makes a filter.Value's Off a positive number, whose first byte is never 0xff.
const offBias = 1 << 15

// valueTerms calls add with the terms under which v is indexed, the one that no other value has
// last. A number or date has one term for each length of prefix, 1 to 8 bytes, so that a range is a
// union of few terms (see between); the last of a wide number has two more bytes, which tell the
// integers of one float64 apart.
func valueTerms(v filter.Value, add func(term []byte)) {
	switch v.Kind {
	case filter.String:
		add(append([]byte{termString}, v.Key()...))
	case filter.Bool:
		add([]byte{termBool, byte(v.Num)})
	case filter.Opaque: // has the term of EXISTS alone
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

// wide says whether numbers whose sortable bits are these have terms with two more bytes.
func wide(bits uint64) bool {
	const from = 1<<63 | (1023+53)<<52 // of 2^53
	return bits >= from || bits <= ^uint64(from)
}

func kindByte(k filter.Kind) byte {
	if k == filter.Date {
		return termDate
	}
	return termNumber
}

// equalTerm is the one term that a document has exactly if it has the value v.
func equalTerm(v filter.Value) []byte {
	var last []byte
	valueTerms(v, func(term []byte) { last = term })
	return last
}

// termRange holds the terms from first up to but not with end; if end is nil, first alone.
type termRange struct{ first, end []byte }

// behind returns what stands in the order of terms behind the term of level 8 of v and before that
// of any larger value.
func behind(v filter.Value) []byte { return append(equalTerm(v), 0) }

// between returns ranges that together hold at least one term of each number or date whose term of
// level 8 is not before first and is before end, nil being open, and none of any other. Each has
// the prefixes of one length, that differ in their last byte only: at most 15 ranges, and one for
// each end that stands among, or behind, the terms of one float64.
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

// rangeTerms returns ranges for the values whose sortable bits are lo to hi inclusive.
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
		// What is below the first whole block of 256 and above the last is listed at this level,
		// the blocks one level up.
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
