package keyword

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// chunk is what the analysis makes of a run of characters between white space. No term spans white
// space and none depends on what is beyond it, so that most chunks of a text need be analysed but
// once: a few thousand of them make up most of what is written in a language.
type chunk struct {
	tokens []token // starts, ends and positions count from the chunk's own
	width  int     // positions that it takes, those of dropped words too
}

func (c chunk) bytes() int {
	const fixed, each = 48, 80
	n := fixed + each*len(c.tokens)
	for _, t := range c.tokens {
		n += len(t.term) + len(t.word)
	}
	return n
}

const (
	chunkBytes   = 64 // longer chunks are not kept
	chunkShards  = 64
	chunksBudget = 16 << 20 // bytes of chunks kept of a language
)

// chunks keeps chunks of a language that were analysed, by 64 bits of a keyed hash of their texts.
// It is safe for concurrent use.
type chunks struct {
	recent [recentChunks]atomic.Pointer[recentChunk] // the last one of each place, in front of shards as it needs no lock
	shards [chunkShards]kept[uint64, *recentChunk]
}

// recentChunks is a power of two.
const recentChunks = 1 << 13

type recentChunk struct {
	key uint64
	chunk
}

var chunksOf sync.Map // language to *chunks, of all indexes

func chunksFor(language string) *chunks {
	if c, ok := chunksOf.Load(language); ok {
		return c.(*chunks)
	}
	c := new(chunks)
	for i := range c.shards {
		c.shards[i].budget = chunksBudget / chunkShards
	}
	first, _ := chunksOf.LoadOrStore(language, c)
	return first.(*chunks)
}

// get returns the chunk of text, which analyze makes where it is not kept.
func (c *chunks) get(text string, analyze func(text string) chunk) chunk {
	key := maphash.String(placesSeed, text)
	recent := &c.recent[key%recentChunks]
	if k := recent.Load(); k != nil && k.key == key {
		return k.chunk
	}
	s := &c.shards[key/recentChunks%chunkShards]
	k, ok := s.get(key)
	if !ok {
		k = &recentChunk{key, analyze(text)}
		s.put(key, k, k.bytes())
	}
	recent.Store(k)
	return k.chunk
}

// eachChunk calls yield with the chunks of text that are not empty and where they begin. It stops
// when yield returns false.
func eachChunk(text string, yield func(start int, chunk string) bool) {
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

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// opens and closes are the punctuation before and behind a word that makes no term.
var opens, closes = bytesOf("([{\""), bytesOf(",.;:!?)]}\"")

func bytesOf(list string) (out [256]bool) {
	for _, c := range []byte(list) {
		out[c] = true
	}
	return out
}

// plainWord returns where in a chunk the word is that it has between punctuation, if that is of
// small letters of ASCII but for the first: the punctuation makes no term. Otherwise the end is 0.
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
