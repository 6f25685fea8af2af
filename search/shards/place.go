package shards

import (
	"searchd/search/backend"
)

// Place returns the shard, of shards from 0, on which the document with an id lives: 64-bit FNV-1a of the bytes of the id, mixed as the 64-bit MurmurHash3
// ends, modulo the number of shards. It may never change: a document that another shard is asked for is not found.
func Place(id string, shards int) int {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd // without it the last bytes of an id decide too little
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return int(h % uint64(shards))
}

// shardBits is how many bits of a ref say which shard it is of. They are the lowest, so that the order of refs is about the order in which documents came.
const shardBits = 8

const _ = uint(1<<shardBits - backend.MaxShards) // every shard has a number of so many bits

// ref returns the ref of a document by which the part itself knows it as own, which is below 2^56.
func (p *part) ref(own backend.Ref) backend.Ref { return own<<shardBits | backend.Ref(p.index) }

// placeRef returns the shard of a ref, and by which ref that knows the document.
func placeRef(ref backend.Ref) (shard int, own backend.Ref) {
	return int(ref & (1<<shardBits - 1)), ref >> shardBits
}

// placePassage is placeRef for a passage.
func placePassage(p backend.PassageRef) (shard int, own backend.PassageRef) {
	shard, p.Ref = placeRef(p.Ref)
	return shard, p
}

// from returns the lowest ref of the part's own that stands for a ref that is not below from.
func (p *part) from(from backend.Ref) backend.Ref {
	shard, own := placeRef(from)
	if p.index < shard {
		own++
	}
	return own
}

// passageName returns the name of a passage that the part calls own: as evenly spread as random numbers, so that no two of a cluster meet. 0 stays 0, which says
// that the passage is gone.
func (p *part) passageName(own uint64) uint64 {
	if own == 0 {
		return 0
	}
	return max(1, backend.Spread(own^backend.Spread(uint64(p.index)+1)))
}
