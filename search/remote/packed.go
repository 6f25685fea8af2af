package remote

import (
	"encoding/binary"
	"fmt"
	"math"

	"searchd/search/backend"
)

// text is a string as it crosses the wire: in base64, because JSON replaces bytes that are not UTF-8.
type text []byte

func textsOf(list []string) []text { return convert(list, func(s string) text { return text(s) }) }

func stringsOf(list []text) []string { return convert(list, func(t text) string { return string(t) }) }

// convert changes each of a list. Of nil it makes nil, and of an empty list an empty one: they may mean different things.
func convert[A, B any](list []A, f func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}

// parse is convert with a conversion that may fail.
func parse[A, B any](list []A, f func(A) (B, error)) ([]B, error) {
	if list == nil {
		return nil, nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		var err error
		if out[i], err = f(a); err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
	}
	return out, nil
}

// layout says how the elements of a list are laid out in bytes, little-endian, each of the same size.
type layout[T any] struct {
	size int
	put  func(b []byte, v T)
	take func(b []byte) T
}

// pack returns the bytes of a list; nil for nil.
func (l layout[T]) pack(list []T) []byte {
	if list == nil {
		return nil
	}
	out := make([]byte, l.size*len(list))
	for i, v := range list {
		l.put(out[l.size*i:], v)
	}
	return out
}

// unpack returns the list that bytes are of.
func (l layout[T]) unpack(b []byte) ([]T, error) {
	if b == nil {
		return nil, nil
	}
	if len(b)%l.size != 0 {
		return nil, fmt.Errorf("%w: a list of %d bytes: allowed: multiples of %d", backend.ErrInvalid, len(b), l.size)
	}
	out := make([]T, len(b)/l.size)
	for i := range out {
		out[i] = l.take(b[l.size*i:])
	}
	return out, nil
}

func put(b []byte, v uint64)         { binary.LittleEndian.PutUint64(b, v) }
func take(b []byte) uint64           { return binary.LittleEndian.Uint64(b) }
func putFloat(b []byte, v float64)   { put(b, math.Float64bits(v)) }
func takeFloat(b []byte) float64     { return math.Float64frombits(take(b)) }
func takeRef(b []byte) backend.Ref   { return backend.Ref(take(b)) }
func putRef(b []byte, r backend.Ref) { put(b, uint64(r)) }
func putOrdinal(b []byte, o int)     { put(b, uint64(o)) }
func takeOrdinal(b []byte) (o int)   { return int(take(b)) }
func putVector(b []byte, v float32)  { binary.LittleEndian.PutUint32(b, math.Float32bits(v)) }
func takeVector(b []byte) float32    { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// The layouts.
var (
	numbers  = layout[uint64]{8, put, take}
	floats   = layout[float64]{8, putFloat, takeFloat}
	vector   = layout[float32]{4, putVector, takeVector}
	refs     = layout[backend.Ref]{8, putRef, takeRef}
	passages = layout[backend.PassageRef]{16,
		func(b []byte, p backend.PassageRef) { putRef(b, p.Ref); putOrdinal(b[8:], p.Ordinal) },
		func(b []byte) backend.PassageRef {
			return backend.PassageRef{Ref: takeRef(b), Ordinal: takeOrdinal(b[8:])}
		}}
	passageMatches = layout[backend.PassageMatch]{24,
		func(b []byte, m backend.PassageMatch) {
			putRef(b, m.Ref)
			putOrdinal(b[8:], m.Ordinal)
			putFloat(b[16:], m.Cosine)
		},
		func(b []byte) backend.PassageMatch {
			return backend.PassageMatch{Ref: takeRef(b), Ordinal: takeOrdinal(b[8:]), Cosine: takeFloat(b[16:])}
		}}
	matches = layout[backend.Match]{16,
		func(b []byte, m backend.Match) { putRef(b, m.Ref); putFloat(b[8:], m.Score) },
		func(b []byte) backend.Match { return backend.Match{Ref: takeRef(b), Score: takeFloat(b[8:])} }}
	bests = layout[backend.Best]{24,
		func(b []byte, x backend.Best) {
			putOrdinal(b, x.Ordinal)
			putFloat(b[8:], x.Cosine)
			put(b[16:], x.Name)
		},
		func(b []byte) backend.Best {
			return backend.Best{Ordinal: takeOrdinal(b), Cosine: takeFloat(b[8:]), Name: take(b[16:])}
		}}
	fieldNumbers = layout[backend.Number]{16,
		func(b []byte, n backend.Number) { putRef(b, n.Ref); putFloat(b[8:], n.Value) },
		func(b []byte) backend.Number { return backend.Number{Ref: takeRef(b), Value: takeFloat(b[8:])} }}
)
