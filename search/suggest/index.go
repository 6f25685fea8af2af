package suggest

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode"

	"example.com/searchd/internal/edits"
)

// Bounds of an index and of a question to it.
const (
	MaxTyped = 200 // bytes of a text that is completed
	MaxLimit = 20  // completions

	maxEntries = 200_000
	maxWords   = 16  // of an entry; longer titles are left out
	maxText    = 120 // bytes of an entry
	maxRead    = 20_000
	minCommon  = 10 // documents from which a word may be a common one
)

// Kind says where a completion is from.
type Kind string

// The kinds.
const (
	Title  Kind = "title"
	Phrase Kind = "phrase"
)

// Source is a document that a completion is from, as it was.
type Source struct {
	ID       string
	Revision uint64
}

// Completion is a text that a query may become.
type Completion struct {
	Text    string   `json:"text"`
	Kind    Kind     `json:"kind"`
	Sources []Source `json:"-"` // some of the documents that have it, at most maxSources
}

const maxSources = 4

// entry is a completion with what it is compared by.
type entry struct {
	Completion
	key    string   // its words in lower case and without accents
	words  []uint32 // by number
	weight float64
}

// Index completes texts. It does not change, and is safe for concurrent use.
type Index struct {
	entries  []entry    // heaviest first
	byKey    []uint32   // entries in the order of their keys
	words    []string   // sorted
	letters  []uint64   // of each word, see lettersOf
	postings [][]uint32 // entries with each word, heaviest first
}

// Words returns the words of a text as they are compared.
func Words(text string) []string {
	return strings.FieldsFunc(edits.Bare(strings.ToLower(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

// newIndex returns an index of entries without words.
func newIndex(entries []entry) *Index {
	x := &Index{entries: entries}
	slices.SortFunc(x.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(len(a.key), len(b.key)), cmp.Compare(a.key, b.key))
	})
	x.entries = slices.Clip(x.entries[:min(len(x.entries), maxEntries)])
	all := map[string][]uint32{}
	for i := range x.entries {
		x.byKey = append(x.byKey, uint32(i))
		for _, w := range strings.Fields(x.entries[i].key) {
			if list := all[w]; len(list) == 0 || list[len(list)-1] != uint32(i) {
				all[w] = append(list, uint32(i))
			}
		}
	}
	slices.SortFunc(x.byKey, func(a, b uint32) int { return cmp.Compare(x.entries[a].key, x.entries[b].key) })
	for w := range all {
		x.words = append(x.words, w)
	}
	slices.Sort(x.words)
	for i, w := range x.words {
		x.letters = append(x.letters, lettersOf(w))
		x.postings = append(x.postings, all[w])
		for _, e := range all[w] {
			x.entries[e].words = append(x.entries[e].words, uint32(i))
		}
	}
	return x
}

// Len returns the number of texts that are known.
func (x *Index) Len() int { return len(x.entries) }

// Complete returns what typed may become, best first: at most limit of those that visible keeps. It
// is called with few completions at a time, and returns which of them may be shown.
func (x *Index) Complete(ctx context.Context, typed string, limit int, visible func(context.Context, []Completion) ([]bool, error)) ([]Completion, error) {
	words := Words(typed)
	if len(words) == 0 {
		return nil, ctx.Err()
	}
	ends := len(typed) - len(strings.TrimRight(typed, " "))
	q := question{x: x, words: words, key: strings.Join(words, " "), whole: ends > 0, seen: map[uint32]bool{}}
	if q.whole {
		q.key += " "
	}
	var out []Completion
	for _, tier := range []func() []uint32{q.beginning, q.having, q.near} {
		for part := range slices.Chunk(tier(), max(limit, MaxLimit)) { // heaviest first
			var few []Completion
			for _, e := range part {
				if !q.seen[e] && x.entries[e].key != strings.TrimRight(q.key, " ") { // which is typed already
					few = append(few, x.entries[e].Completion)
				}
				q.seen[e] = true
			}
			keep, err := visible(ctx, few)
			if err != nil {
				return nil, err
			}
			for i, c := range few {
				if keep[i] {
					if out = append(out, c); len(out) == limit {
						return out, nil
					}
				}
			}
			if q.asked++; q.asked == maxAsked {
				return out, ctx.Err()
			}
		}
	}
	return out, ctx.Err()
}

// maxAsked bounds the calls of visible for one text, where the sender may see little.
const maxAsked = 20

// question is a text that is completed.
type question struct {
	x     *Index
	words []string
	key   string
	whole bool // the last word is finished
	seen  map[uint32]bool
	asked int
}

// beginning returns the entries that begin with the text: the heaviest of the first maxRead.
func (q *question) beginning() []uint32 {
	x := q.x
	from := sort.Search(len(x.byKey), func(i int) bool { return x.entries[x.byKey[i]].key >= q.key })
	n := sort.Search(len(x.byKey)-from, func(i int) bool { return !strings.HasPrefix(x.entries[x.byKey[from+i]].key, q.key) })
	return x.heaviest(x.byKey[from : from+n])
}

// heaviest returns the first few of entries, by a set of bits, which is faster than sorting them.
func (x *Index) heaviest(list []uint32) (out []uint32) {
	if len(list) == 0 {
		return nil
	}
	set := make([]uint64, len(x.entries)/64+1)
	for _, e := range list {
		set[e/64] |= 1 << (e % 64)
	}
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			if out = append(out, uint32(i*64+bits.TrailingZeros64(w))); len(out) == maxAsked*MaxLimit {
				return out
			}
		}
	}
	return out
}

// having returns entries with all the words.
func (q *question) having() []uint32 {
	options := make([][]uint32, len(q.words))
	for i, w := range q.words {
		from, to := q.x.span(w, i == len(q.words)-1 && !q.whole)
		for n := from; n < to; n++ {
			options[i] = append(options[i], uint32(n))
		}
	}
	return q.x.with(options)
}

// near returns entries with the words of the text, or those like them where there are none.
func (q *question) near() []uint32 {
	options := make([][]uint32, len(q.words))
	loose := false
	for i, w := range q.words {
		begins := i == len(q.words)-1 && !q.whole
		from, to := q.x.span(w, begins)
		for n := from; n < to; n++ {
			options[i] = append(options[i], uint32(n))
		}
		if k := mayHave(len([]rune(w))); from == to && k > 0 {
			options[i], loose = q.x.like(w, k, begins), true
		}
	}
	if !loose {
		return nil
	}
	return q.x.with(options)
}

// mayHave is how many edits a word of so many letters may have.
func mayHave(letters int) int {
	switch {
	case letters < 5:
		return 0
	case letters < 9:
		return 1
	}
	return 2
}

// span returns the range of words that are w, or begin with it.
func (x *Index) span(w string, begins bool) (from, to int) {
	from = sort.SearchStrings(x.words, w)
	to = from
	if begins {
		to += sort.Search(len(x.words)-from, func(i int) bool { return !strings.HasPrefix(x.words[from+i], w) })
	} else if from < len(x.words) && x.words[from] == w {
		to++
	}
	return from, to
}

// like returns the words within k edits of w, or that begin so.
func (x *Index) like(w string, k int, begins bool) (out []uint32) {
	runes := []rune(w)
	from, to := x.span(string(runes[0]), true)
	own := lettersOf(w)
	for n := from; n < to; n++ {
		if bits.OnesCount64(own&^x.letters[n]) > k {
			continue // it lacks more letters than edits can bring
		}
		v := []rune(x.words[n])
		if len(v) < len(runes)-k || !begins && len(v) > len(runes)+k {
			continue
		}
		if !begins {
			if edits.Between(w, x.words[n]) <= k {
				out = append(out, uint32(n))
			}
			continue
		}
		for size := max(1, len(runes)-k); size <= min(len(v), len(runes)+k); size++ {
			if edits.Between(w, string(v[:size])) <= k {
				out = append(out, uint32(n))
				break
			}
		}
	}
	return out
}

// lettersOf is a set of the characters of a word.
func lettersOf(w string) (set uint64) {
	for _, r := range w {
		set |= 1 << (uint32(r) % 64)
	}
	return set
}

// with returns entries that have one of the words of each list.
func (x *Index) with(options [][]uint32) (out []uint32) {
	least, count := -1, math.MaxInt // the list with the fewest entries is the one that is read
	for i, list := range options {
		n := 0
		for _, w := range list {
			n += len(x.postings[w])
		}
		if n < count {
			least, count = i, n
		}
	}
	if count == 0 {
		return nil
	}
	each := max(1, maxRead/len(options[least])) // of every word the heaviest
	for _, w := range options[least] {
		list := x.postings[w]
		for _, e := range list[:min(len(list), each)] {
			if x.hasAll(e, options, least) {
				out = append(out, e)
			}
		}
		if len(out) > maxRead {
			break
		}
	}
	return x.heaviest(out)
}

// hasAll reports whether an entry has a word of each list but one.
func (x *Index) hasAll(e uint32, options [][]uint32, but int) bool {
	for i, list := range options {
		if i != but && !slices.ContainsFunc(x.entries[e].words, func(w uint32) bool { _, ok := slices.BinarySearch(list, w); return ok }) {
			return false
		}
	}
	return true
}
