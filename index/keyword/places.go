package keyword

import (
	"hash/maphash"
	"slices"
)

// place is a term in a text. Terms, and the words that they come from, are identified by 64 bits of
// a keyed hash.
type place struct {
	term, word      uint64
	position, start uint32
	width           uint32 // number of positions
}

const (
	placeBytes = 32
	maxPlaces  = placesBudget / 16 / placeBytes // cached of one text
)

// placesKey names a text by a hash and its analysis by the language, so that a cached list cannot
// be stale.
type placesKey struct {
	language string
	text     uint64
	length   int
}

var termSeed = maphash.MakeSeed()

func termHash(term string) uint64 { return maphash.String(termSeed, term) }

// wordHash returns the hash of the word of a token.
func wordHash(term, word string) uint64 {
	if word == "" {
		word = term
	}
	return termHash(word)
}

// eachPlace calls f with all terms of text in order.
func (x *Index) eachPlace(text string, f func(p place)) {
	key := placesKey{x.analyzer.Language(), termHash(text), len(text)}
	if known, ok := x.caches.places.Get(key); ok {
		for _, p := range known {
			f(p)
		}
		return
	}
	all := make([]place, 0, min(len(text)/6, maxPlaces)+1) // about as many as an English text has
	for t := range x.analyzer.Tokens(text) {
		p := place{termHash(t.Term), wordHash(t.Term, t.Word), uint32(t.Position), uint32(t.Start), uint32(t.Next - t.Position)}
		if len(all) <= maxPlaces {
			all = append(all, p)
		}
		f(p)
	}
	if len(all) <= maxPlaces {
		x.caches.places.Put(key, slices.Clone(all), placeBytes*len(all))
	}
}
