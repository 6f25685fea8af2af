package keyword

import (
	"encoding/binary"
	"math"

	"searchd/index/filter"
)

// Names of bleve fields. The prefix keeps a caller's field "body" as text apart from "body" as a value, and both
// from our own.
const (
	textPrefix  = "t:"   // analysed text: term -> term frequency
	valuePrefix = "v:"   // filterable values: the terms below
	lengthField = "#len" // term: name of a text field; term frequency: its number of tokens in the document
)

// First bytes of the terms of a value field.
const (
	termExists byte = 'e' // alone: the field has a value
	termString byte = 's' // then filter.Value.Key
	termBool   byte = 'b' // then 0 or 1
	termNumber byte = 'n' // then level and a prefix of the number
	termDate   byte = 'd' // then level and a prefix of the date
)

// sortable returns the bits of v, a Number, Bool or Date, so that they are ordered as v is when read as unsigned.
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

// valueTerms calls add with the terms under which v is indexed. A number or date has one term for each length
// of prefix, 1 to 8 bytes, so that a range is a union of few terms (see rangeTerms).
func valueTerms(v filter.Value, add func(term []byte)) {
	switch v.Kind {
	case filter.String:
		add(append([]byte{termString}, v.Key()...))
	case filter.Bool:
		add([]byte{termBool, byte(v.Num)})
	default:
		var term [10]byte
		term[0] = kindByte(v.Kind)
		binary.BigEndian.PutUint64(term[2:], sortable(v))
		for n := byte(1); n <= 8; n++ {
			term[1] = n
			add(term[:2+n])
		}
	}
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

// rangeTerms returns ranges that together hold at least one term of each value from lo to hi inclusive, and
// none of a value outside. Each has the prefixes of one length, that differ in their last byte only: at most 15 ranges.
func rangeTerms(kind filter.Kind, lo, hi uint64) []termRange {
	var ranges []termRange
	add := func(level byte, first, last uint64) {
		ranges = append(ranges, termRange{prefixTerm(kind, level, first), append(prefixTerm(kind, level, last), 0)})
	}
	for level := byte(8); lo <= hi; level-- {
		if lo>>8 == hi>>8 {
			add(level, lo, hi)
			break
		}
		// What is below the first whole block of 256 and above the last is listed at this level, the blocks one level up.
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
