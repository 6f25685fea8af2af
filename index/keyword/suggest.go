package keyword

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum/levenshtein"

	"example.com/searchd/internal/edits"
)

// Bounds of Near and Beginning.
const (
	MaxEdits    = 2
	MaxNear     = 64 // terms returned
	MaxNearRefs = 64 // documents of each

	minStem          = 4      // characters of a prefix that may be the stem of a misspelled word
	maxStemCut       = 6      // characters that it may be shorter than the word
	maxSuggestFields = 16     // fields that are searched, those with most tokens
	maxSuggestTerms  = 20_000 // terms that are read
)

// NearTerm is a term that is spelled much like another.
type NearTerm struct {
	Term  string
	Edits int      // characters to remove, insert, replace or transpose; 1 for a prefix of the word
	DF    int      // documents that have it, among those allowed
	First []uint32 // the lowest of their numbers

	Doubled bool // only doubled characters differ
}

// CompareNear orders by edits, then terms that differ only in doubled characters first, then by
// document frequency, the highest first.
func CompareNear(a, b NearTerm) int {
	differs := func(t NearTerm) int {
		if t.Doubled {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Edits, b.Edits), cmp.Compare(differs(a), differs(b)), cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
}

// Near returns terms of the documents in allow (nil: all) that are within maxEdits, at most
// [MaxEdits], of the term of word, or are prefixes of word, such as the stem of a word with a
// misspelled ending, in the order of [CompareNear]. All have its first character. correct is true,
// and there are none, if any document, with alone any in allow, has the term or if word is not
// exactly one term.
func (x *Index) Near(ctx context.Context, word string, maxEdits int, allow *roaring.Bitmap, alone bool) (near []NearTerm, correct bool, err error) {
	if maxEdits < 0 || maxEdits > MaxEdits {
		return nil, false, fmt.Errorf("%w: edits is %d, must be from 0 to %d", ErrQuery, maxEdits, MaxEdits)
	}
	return x.suggest(word, allow, alone, func(v *view, term string) ([]NearTerm, error) {
		if maxEdits == 0 {
			return nil, nil
		}
		found, err := v.near(ctx, []byte(term), maxEdits)
		if err != nil {
			return nil, err
		}
		for _, spelling := range spellings(word) {
			stems := stems(spelling)
			found = slices.DeleteFunc(found, func(t NearTerm) bool {
				return slices.ContainsFunc(stems, func(s NearTerm) bool { return s.Term == t.Term })
			})
			found = append(stems, found...)
		}
		return v.inDocuments(ctx, found, term, allow)
	})
}

// Beginning returns terms of the documents in allow (nil: all) that begin with word, with or
// without its accents, or are prefixes of word, such as the stem of an unfinished word, the most
// frequent first. For correct see [Index.Near].
func (x *Index) Beginning(ctx context.Context, word string, allow *roaring.Bitmap, alone bool) (begin []NearTerm, correct bool, err error) {
	return x.suggest(word, allow, alone, func(v *view, _ string) ([]NearTerm, error) {
		candidates := map[string]NearTerm{}
		for _, prefix := range spellings(word) {
			found, err := v.terms(ctx, noSigns{}, []byte(prefix), afterPrefix([]byte(prefix)), func(string) int { return 1 })
			if err != nil {
				return nil, err
			}
			for _, t := range append(stems(prefix), found...) {
				candidates[t.Term] = t
			}
		}
		return v.inDocuments(ctx, slices.Collect(maps.Values(candidates)), "", allow)
	})
}

// suggest calls find with the term of word unless the word is correct.
func (x *Index) suggest(word string, allow *roaring.Bitmap, alone bool, find func(v *view, term string) ([]NearTerm, error)) (terms []NearTerm, correct bool, err error) {
	term, ok := x.onlyTerm(word)
	if !ok {
		return nil, true, nil
	}
	err = x.read(func(v *view) (err error) {
		correct, err = v.hasTerm(term)
		if correct && alone && allow != nil {
			correct, err = v.hasTermIn(term, allow)
		}
		if !correct && err == nil {
			terms, err = find(v, term)
		}
		return err
	})
	return terms, correct, err
}

// afterPrefix returns the end of the range of terms that begin with prefix.
func afterPrefix(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	end[len(end)-1]++ // the last byte of a character is below 0xff
	return end
}

// noSigns is an automaton that accepts terms without ASCII digits and signs, so that numbers and
// identifiers, of which very many may begin alike, are not read.
type noSigns struct{}

func (noSigns) Start() int               { return 0 }
func (noSigns) IsMatch(state int) bool   { return state == 0 }
func (noSigns) CanMatch(state int) bool  { return state == 0 }
func (noSigns) WillAlwaysMatch(int) bool { return false }
func (noSigns) Accept(state int, c byte) int {
	if c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) {
		return state
	}
	return 1
}

// spellings returns a word in lower case, with and without accents, which the analysis of most
// languages removes.
func spellings(word string) []string {
	lower := strings.ToLower(word)
	return slices.Compact([]string{lower, edits.Bare(lower)})
}

// stems returns prefixes of a word that may be its stem.
func stems(word string) (out []NearTerm) {
	runes := []rune(word)
	for n := len(runes) - 1; n >= max(minStem, len(runes)-maxStemCut); n-- {
		out = append(out, NearTerm{Term: string(runes[:n]), Edits: 1})
	}
	return out
}

// hasTerm reports whether a document has a term.
func (v *view) hasTerm(term string) (have bool, err error) {
	if have, ok := v.has.Get(term); ok {
		return have, nil
	}
	for _, s := range v.segments {
		for field := range s.lengths {
			if have, err = s.hasTerm(field, term); err != nil {
				return false, err
			}
			if have {
				break
			}
		}
		if have {
			break
		}
	}
	v.has.Put(term, have, len(term))
	return have, nil
}

// hasTermIn reports whether a document in allow has a term.
func (v *view) hasTermIn(term string, allow *roaring.Bitmap) (bool, error) {
	for _, s := range v.segments {
		docs, have := roaring.New(), roaring.New()
		for field := range s.lengths {
			list, err := s.list(field, term)
			if err == nil && list != nil {
				err = orInto(docs, list)
			}
			if err != nil {
				return false, err
			}
		}
		if s.addNumbers(have, s.live(docs)); have.Intersects(allow) {
			return true, nil
		}
	}
	return false, nil
}

// hasTerm reports whether a document that is not deleted has a term in a field.
func (s *segmentView) hasTerm(field, term string) (bool, error) {
	if s.deleted == nil {
		return s.contains(field, term)
	}
	list, err := s.list(field, term)
	if list == nil || err != nil {
		return false, err
	}
	docs := roaring.New()
	err = orInto(docs, list)
	return !s.live(docs).IsEmpty(), err
}

// automata build the automata of one edit and of two. A builder for more edits makes larger
// automata.
var automata = [MaxEdits]func() (*levenshtein.LevenshteinAutomatonBuilder, error){automaton(1), automaton(2)}

func automaton(edits uint8) func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
	return sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(edits, true)
	})
}

// near returns the terms of the largest fields within maxEdits of own, nearest first.
func (v *view) near(ctx context.Context, own []byte, maxEdits int) ([]NearTerm, error) {
	builder, err := automata[maxEdits-1]()
	if err != nil {
		return nil, err
	}
	like, err := builder.BuildDfa(string(own), uint8(maxEdits))
	if err != nil {
		return nil, err
	}
	_, size := utf8.DecodeRune(own)
	first := own[:size]
	return v.terms(ctx, like, first, afterPrefix(first), func(term string) int { return edits.Between(string(own), term) })
}

// terms returns terms of the largest fields in [start, end) that like accepts: those with the
// fewest edits, then those that seem to be in most documents.
func (v *view) terms(ctx context.Context, like segment.Automaton, start, end []byte, edits func(term string) int) (out []NearTerm, err error) {
	seen := map[string]int{} // documents in segments and fields by term, deleted ones too
	read := 0
	for _, field := range v.largest() {
		for _, s := range v.segments {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			dict, err := s.segment.Dictionary(textPrefix + field)
			if err != nil {
				return nil, err
			}
			it := dict.AutomatonIterator(like, start, end)
			for e, err := it.Next(); e != nil || err != nil; e, err = it.Next() {
				if err != nil {
					return nil, err
				}
				if read++; read > maxSuggestTerms {
					break
				}
				if strings.ContainsFunc(e.Term, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
					continue // not a word: a number, or a name with signs
				}
				seen[e.Term] += int(e.Count)
			}
		}
	}
	for term, n := range seen {
		t := NearTerm{Term: term, Edits: edits(term), DF: n}
		if at, _ := slices.BinarySearchFunc(out, t, CompareNear); at < MaxNear {
			out = slices.Insert(out[:min(len(out), MaxNear-1)], at, t)
		}
	}
	return out, nil
}

// undoubled returns a word without its doubled characters: account becomes acount.
func undoubled(word string) string { return string(slices.Compact([]rune(word))) }

// inDocuments returns those of terms that documents in allow have, with these documents, in the
// order of CompareNear. own is the term that they are near to; empty: none.
func (v *view) inDocuments(ctx context.Context, terms []NearTerm, own string, allow *roaring.Bitmap) (out []NearTerm, err error) {
	own = undoubled(own)
	for _, t := range terms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		have := roaring.New()
		for _, s := range v.segments {
			docs := roaring.New()
			for _, field := range v.largest() {
				list, err := s.list(field, t.Term)
				if err == nil {
					err = orInto(docs, list)
				}
				if err != nil {
					return nil, err
				}
			}
			s.addNumbers(have, s.live(docs))
		}
		if allow != nil {
			have.And(allow)
		}
		t.DF = int(have.GetCardinality())
		for it := have.Iterator(); it.HasNext() && len(t.First) < MaxNearRefs; {
			t.First = append(t.First, it.Next())
		}
		if t.DF > 0 {
			t.Doubled = undoubled(t.Term) == own
			out = append(out, t)
		}
	}
	slices.SortFunc(out, CompareNear)
	return out[:min(len(out), MaxNear)], nil
}
