package analysis

import (
	"hash/maphash"
	"iter"
	"sync/atomic"

	"example.com/searchd/internal/cache"
)

// chunk is the result of analysing a run of characters between white space. A few thousand chunks
// make up most of what is written in a language.
type chunk struct {
	tokens []Token // offsets and positions count from the start of the chunk
	width  int     // number of positions
}

func (c chunk) bytes() int {
	const fixed, perToken = 48, 88
	n := fixed + perToken*len(c.tokens)
	for _, t := range c.tokens {
		n += len(t.Term) + len(t.Word)
	}
	return n
}

const (
	maxCachedChunk = 64 // bytes; longer chunks are analysed each time
	chunkShards    = 64
	chunkBudget    = 16 << 20 // bytes
	recentChunks   = 1 << 15  // a power of two
)

// chunkCache keeps analysed chunks by 64 bits of a keyed hash of their text. It is safe for
// concurrent use.
type chunkCache struct {
	seed   maphash.Seed
	recent [recentChunks]atomic.Pointer[keyedChunk] // the last chunk of each slot; needs no lock
	shards [chunkShards]*cache.Cache[uint64, *keyedChunk]
}

type keyedChunk struct {
	key uint64
	chunk
}

func newChunkCache() *chunkCache {
	c := &chunkCache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i] = cache.New[uint64, *keyedChunk](chunkBudget / chunkShards)
	}
	return c
}

// get returns the chunk of text, which analyze makes if it is not cached.
func (c *chunkCache) get(text string, analyze func(text string) chunk) chunk {
	key := maphash.String(c.seed, text)
	recent := &c.recent[key%recentChunks]
	if k := recent.Load(); k != nil && k.key == key {
		return k.chunk
	}
	shard := c.shards[key/recentChunks%chunkShards]
	k, ok := shard.Get(key)
	if !ok {
		k = &keyedChunk{key, analyze(text)}
		shard.Put(key, k, k.bytes())
	}
	recent.Store(k)
	return k.chunk
}

// chunks returns the runs of text between white space and where they begin.
func chunks(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			if isSpace(text[at]) {
				at++
				continue
			}
			end := at + 1
			for end < len(text) && !isSpace(text[end]) {
				end++
			}
			if !yield(at, text[at:end]) {
				return
			}
			at = end
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// opens and closes are the punctuation before and after a word that never makes a term.
var opens, closes = byteSet("([{\""), byteSet(",.;:!?)]}\"")

func byteSet(list string) (set [256]bool) {
	for _, c := range []byte(list) {
		set[c] = true
	}
	return set
}

// plainWord returns where the word in a chunk is, without punctuation around it, if all letters but
// the first are lower-case ASCII; otherwise a span that ends at 0. It lets "word", and word. share
// one cached chunk.
func plainWord(chunk string) span {
	s := span{0, len(chunk)}
	for s.start < s.end && opens[chunk[s.start]] {
		s.start++
	}
	for s.start < s.end && closes[chunk[s.end-1]] {
		s.end--
	}
	if s.start == s.end {
		return span{}
	}
	for i := s.start; i < s.end; i++ {
		if c := chunk[i]; (c < 'a' || c > 'z') && (i > s.start || c < 'A' || c > 'Z') {
			return span{}
		}
	}
	return s
}

// span is the bytes [start, end) of a text.
type span struct{ start, end int }
