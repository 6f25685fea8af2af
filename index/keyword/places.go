package keyword

import (
	"hash/maphash"
	"slices"
)

// place is where a term is in a text. Terms, and the words that they are of, are told apart by 64
// bits of a keyed hash.
type place struct {
	term, word      uint64
	position, start uint32
	width           uint32 // positions that it takes
}

const (
	placeBytes   = 32
	placesBudget = 32 << 20                       // bytes of places kept of texts that were looked through for phrases, of all indexes
	placesMost   = placesBudget / 16 / placeBytes // of one text; those of longer ones are not kept
)

// placesKey names a text and its analysis by what they are, so that nothing that is kept can be out
// of date.
type placesKey struct {
	language string
	text     uint64
	length   int
}

var (
	placesSeed = maphash.MakeSeed()
	placesKept = kept[placesKey, []place]{budget: placesBudget}
)

// eachPlace calls f with the places of all terms of text, in order.
func (a analyzer) eachPlace(text string, f func(p place)) {
	key := placesKey{a.language, maphash.String(placesSeed, text), len(text)}
	if known, ok := placesKept.get(key); ok {
		for _, p := range known {
			f(p)
		}
		return
	}
	all := make([]place, 0, min(len(text)/6, placesMost)+1) // of an English text there are about as many
	a.each(text, func(t token) bool {
		p := place{maphash.String(placesSeed, t.term), wordHash(t.term, t.word), uint32(t.position), uint32(t.start), uint32(t.next - t.position)}
		if len(all) <= placesMost {
			all = append(all, p)
		}
		f(p)
		return true
	})
	if len(all) <= placesMost {
		placesKept.put(key, slices.Clone(all), placeBytes*len(all))
	}
}
