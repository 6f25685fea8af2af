package keyword

import (
	"hash/maphash"
	"strings"
	"sync"
)

// chunk is what the analysis makes of a run of characters between white space. No term spans white space and none depends on what is beyond it, so that
// most chunks of a text need be analysed but once: a few thousand of them make up most of what is written in a language.
type chunk struct {
	text   string
	tokens []token // starts, ends and positions count from the chunk's own
	width  int     // positions that it takes, those of dropped words too
}

const (
	chunkBytes  = 64  // longer chunks are not kept
	chunkShards = 64  //
	shardChunks = 512 // of a generation: with all of both some 16 MB for each language in use
)

// chunks keeps chunks of a language that were analysed, in two generations: when one is full, the one before it is dropped. It is safe for concurrent use.
type chunks struct {
	seed   maphash.Seed
	shards [chunkShards]struct {
		mu          sync.RWMutex
		now, before map[string]*chunk
	}
}

var chunksOf sync.Map // language to *chunks, of all indexes

func chunksFor(language string) *chunks {
	c, _ := chunksOf.LoadOrStore(language, &chunks{seed: maphash.MakeSeed()})
	return c.(*chunks)
}

// get returns the chunk of text, which analyze makes where it is not kept.
func (c *chunks) get(text string, analyze func(text string) *chunk) *chunk {
	s := &c.shards[maphash.String(c.seed, text)%chunkShards]
	s.mu.RLock()
	k := s.now[text]
	s.mu.RUnlock()
	if k != nil {
		return k
	}
	s.mu.RLock()
	k = s.before[text]
	s.mu.RUnlock()
	if k == nil {
		k = analyze(text)
		k.text = strings.Clone(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.now) >= shardChunks || s.now == nil {
		s.now, s.before = make(map[string]*chunk, shardChunks), s.now
	}
	s.now[k.text] = k
	return k
}

// eachChunk calls yield with the chunks of text that are not empty and where they begin. It stops when yield returns false.
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

// plainWord returns where in a chunk the word is that it has between punctuation, if that is of small letters of ASCII but for the first: the punctuation
// makes no term. Otherwise the end is 0.
func plainWord(chunk string) span {
	s := span{0, len(chunk)}
	for s.start < s.end && strings.IndexByte("([{\"", chunk[s.start]) >= 0 {
		s.start++
	}
	for s.start < s.end && strings.IndexByte(",.;:!?)]}\"", chunk[s.end-1]) >= 0 {
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
