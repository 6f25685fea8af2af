package analysis

import (
	"hash/maphash"
	"iter"
	"strings"
	"sync/atomic"

	"example.com/searchd/internal/cache"
)

// chunk is the result of analysing a run of characters between white space. A few thousand chunks
// make up most of what is written in a language.
type chunk struct {
	tokens []Token // offsets and positions count from the start of the chunk
	width  int     // number of positions
	terms  termSet // of tokens
}

func (c chunk) bytes() int {
	const fixed, perToken = 56, 88
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
	seed      maphash.Seed
	recent    [recentChunks]atomic.Pointer[keyedChunk] // the last chunk of each slot; needs no lock
	summaries [recentChunks]summarySlot                // the same
	shards    [chunkShards]*cache.Cache[uint64, *keyedChunk]
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

func (c *chunkCache) keyOf(text string) uint64 { return maphash.String(c.seed, text) }

// get returns the chunk of text, which analyze makes if it is not cached.
func (c *chunkCache) get(text string, analyze func(text string) chunk) chunk {
	return c.getKeyed(c.keyOf(text), text, analyze)
}

// getKeyed is get where keyOf(text) is at hand.
func (c *chunkCache) getKeyed(key uint64, text string, analyze func(text string) chunk) chunk {
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
	c.summaries[key%recentChunks].store(key, k.summary())
	return k.chunk
}

// summary is what a reader that looks for few terms must know of a chunk that has none of them: its
// terms in the low bits, whether it is one token, and above that its width, which is at most
// maxSummaryWidth. A chunk that is wider has no summary, which is 0.
type summary uint64

const (
	summaryOne      = 1 << termBits
	maxSummaryWidth = 1<<(64-termBits-1) - 1
)

func (c chunk) summary() summary {
	if c.width > maxSummaryWidth {
		return 0
	}
	s := summary(c.terms) | summary(c.width)<<(termBits+1)
	if len(c.tokens) == 1 {
		s |= summaryOne
	}
	return s
}

func (s summary) terms() termSet { return termSet(s & (summaryOne - 1)) }
func (s summary) one() bool      { return s&summaryOne != 0 }
func (s summary) width() int     { return int(s >> (termBits + 1)) }

// summarySlot keeps a summary beside its key without a lock: the key is stored as the exclusive or
// of both, so that halves of different writes do not match. It is one read of memory, where a chunk
// is two and its tokens are a third.
type summarySlot struct{ mixed, summary atomic.Uint64 }

func (s *summarySlot) store(key uint64, v summary) {
	s.mixed.Store(key ^ uint64(v))
	s.summary.Store(uint64(v))
}

// load returns 0 if the slot holds no summary of key.
func (s *summarySlot) load(key uint64) summary {
	v := s.summary.Load()
	if s.mixed.Load() != key^v {
		return 0
	}
	return summary(v)
}

// termBits is the number of bits of a termSet.
const termBits = 48

// termSet has two bits for each term that was added. It may seem to have others, one in a thousand
// for a set of one term.
type termSet uint64

func (s termSet) add(term string) termSet {
	h := uint32(2166136261) // FNV-1a
	for _, c := range []byte(strings.TrimPrefix(term, StopPrefix)) {
		h = (h ^ uint32(c)) * 16777619
	}
	return s | 1<<(h%termBits) | 1<<(h/termBits%termBits)
}

// Terms are terms to look for in texts. Its zero value is all terms.
type Terms struct {
	sets  []termSet // of one term each
	union termSet
}

// NewTerms returns the terms of a sequence, of which stop words have no [StopPrefix].
func NewTerms(terms iter.Seq[string]) Terms {
	t := Terms{sets: []termSet{}}
	for term := range terms {
		set := termSet(0).add(term)
		t.sets, t.union = append(t.sets, set), t.union|set
	}
	return t
}

// mayBeIn reports whether a set may have any of the terms.
func (t *Terms) mayBeIn(s termSet) bool {
	if t.sets == nil {
		return true
	}
	if s&t.union == 0 {
		return false
	}
	for _, one := range t.sets {
		if s&one == one {
			return true
		}
	}
	return false
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
