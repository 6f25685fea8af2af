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

	"searchd/internal/edits"
)

// Bounds of Near.
const (
	// MaxEdits of Near: more find words that have nothing to do with one another.
	MaxEdits = 2
	// MaxNear is the number of terms that are counted and returned, and MaxNearRefs of documents of
	// each.
	MaxNear, MaxNearRefs = 64, 64

	// Of a word whose end is misspelled the stem may be left, with so many characters or more and
	// so many less than the word.
	stemLeast, stemLess = 4, 6

	nearFields = 16     // that are looked at, those with most tokens
	nearLooked = 20_000 // terms that are looked at
	keptTerms  = 256    // of which it is kept whether a document has them
)

// NearTerm is a term that is spelled much like another.
type NearTerm struct {
	Term  string
	Edits int      // from the other: characters left out, put in or exchanged for others, and neighbours that changed places; 1 where the word begins with it
	DF    int      // documents that have it, among those allowed
	First []uint32 // the lowest numbers of them

	Doubled bool // it differs in doubled characters alone
}

// CompareNear orders the better term first: fewest edits, of equals those that differ in nothing
// but doubled characters, then those in more documents.
func CompareNear(a, b NearTerm) int {
	differs := func(t NearTerm) int {
		if t.Doubled {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Edits, b.Edits), cmp.Compare(differs(a), differs(b)), cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
}

// Near returns terms that documents of allow (nil: all) have and that are spelled much like the
// term of word, or that word begins with, as with the stem of a word whose end is misspelled, in
// the order of [CompareNear]. The word stands, and there are none, where a document of the whole
// index has its term itself, and where it is not exactly one term. The first character is always
// the same. most is at most [MaxEdits].
func (x *Index) Near(ctx context.Context, word string, most int, allow *roaring.Bitmap) (near []NearTerm, stands bool, err error) {
	if most < 0 || most > MaxEdits {
		return nil, false, fmt.Errorf("%w: edits is %d, must be from 0 to %d", ErrQuery, most, MaxEdits)
	}
	term, ok := x.onlyTerm(word)
	if !ok {
		return nil, true, nil
	}
	own := []byte(term)
	err = x.read(func(v *view) (err error) {
		if stands, err = v.has(own); stands || err != nil || most == 0 {
			return err
		}
		found, err := v.near(ctx, own, most)
		if err != nil {
			return err
		}
		for _, spelling := range spellings(word) {
			stems := stems(spelling)
			found = slices.DeleteFunc(found, func(t NearTerm) bool {
				return slices.ContainsFunc(stems, func(s NearTerm) bool { return s.Term == t.Term })
			})
			found = append(stems, found...)
		}
		near, err = v.inDocuments(ctx, found, string(own), allow)
		return err
	})
	return near, stands, err
}

// Beginning returns terms that documents of allow (nil: all) have and that begin with word, with
// its accents or without, or that word begins with, as with the stem of an unfinished word; those
// in most documents first. At most 20,000 terms are looked at. The word stands where it does for
// [Index.Near].
func (x *Index) Beginning(ctx context.Context, word string, allow *roaring.Bitmap) (begin []NearTerm, stands bool, err error) {
	term, ok := x.onlyTerm(word)
	if !ok {
		return nil, true, nil
	}
	err = x.read(func(v *view) (err error) {
		if stands, err = v.has([]byte(term)); stands || err != nil {
			return err
		}
		candidates := map[string]NearTerm{}
		for _, prefix := range spellings(word) {
			found, err := v.beginning(ctx, []byte(prefix))
			if err != nil {
				return err
			}
			for _, t := range append(stems(prefix), found...) {
				candidates[t.Term] = t
			}
		}
		begin, err = v.inDocuments(ctx, slices.Collect(maps.Values(candidates)), "", allow)
		return err
	})
	return begin, stands, err
}

// beginning returns terms of the largest fields that begin with prefix.
func (v *view) beginning(ctx context.Context, prefix []byte) (out []NearTerm, err error) {
	end := bytes.Clone(prefix)
	end[len(end)-1]++ // the last byte of a character is below 0xff
	return v.terms(ctx, letters{}, prefix, end, func(string) int { return 1 })
}

// letters is an automaton that accepts terms without digits and signs of ASCII, so that numbers and
// names of code, of which very many may begin alike, are not looked at.
type letters struct{}

func (letters) Start() int               { return 0 }
func (letters) IsMatch(state int) bool   { return state == 0 }
func (letters) CanMatch(state int) bool  { return state == 0 }
func (letters) WillAlwaysMatch(int) bool { return false }
func (letters) Accept(state int, c byte) int {
	if c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) {
		return state
	}
	return 1
}

// spellings returns a word in small letters, with its accents and without: the analysis of most
// languages leaves them out.
func spellings(word string) []string {
	lower := strings.ToLower(word)
	return slices.Compact([]string{lower, edits.Bare(lower)})
}

// stems returns what may be the stem of a word.
func stems(word string) (out []NearTerm) {
	runes := []rune(word)
	for n := len(runes) - 1; n >= max(stemLeast, len(runes)-stemLess); n-- {
		out = append(out, NearTerm{Term: string(runes[:n]), Edits: 1})
	}
	return out
}

// has says whether a document has a term. It looks into each field of each segment, so the answers
// for the last words are kept.
func (v *view) has(term []byte) (have bool, err error) {
	v.had.Lock()
	have, known := v.had.terms[string(term)]
	v.had.Unlock()
	if known {
		return have, nil
	}
	if have, err = v.look(term); err != nil {
		return false, err
	}
	v.had.Lock()
	defer v.had.Unlock()
	if len(v.had.terms) >= keptTerms || v.had.terms == nil {
		v.had.terms = map[string]bool{}
	}
	v.had.terms[string(term)] = have
	return have, nil
}

func (v *view) look(term []byte) (bool, error) {
	scratch := roaring.New()
	for _, s := range v.segments {
		for field := range s.lengths {
			list, err := s.postings(field, term)
			if err != nil {
				return false, err
			}
			if list == nil {
				continue
			}
			if n, err := s.documents([]termPostings{{list: list}}, scratch); n > 0 || err != nil {
				return n > 0, err
			}
		}
	}
	return false, nil
}

// postings returns the documents that have a term in a field, nil where there is none. Terms that
// are not there cost little.
func (d *segmentData) postings(field string, term []byte) (segment.PostingsList, error) {
	dicts, err := d.dicts()
	if err != nil || dicts[field] == nil {
		return nil, err
	}
	if have, err := dicts[field].Contains(term); err != nil || !have {
		return nil, err
	}
	dict, err := d.segment.Dictionary(textPrefix + field)
	if err != nil {
		return nil, err
	}
	return dict.PostingsList(term, nil, nil)
}

// automata builds the automata of one edit and of two: a builder for more builds one that accepts
// more.
var automata = [MaxEdits]func() (*levenshtein.LevenshteinAutomatonBuilder, error){automataOf(1), automataOf(2)}

func automataOf(most uint8) func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
	return sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(most, true)
	})
}

// near returns the terms of the largest fields within most edits of own, nearest first.
func (v *view) near(ctx context.Context, own []byte, most int) ([]NearTerm, error) {
	builder, err := automata[most-1]()
	if err != nil {
		return nil, err
	}
	like, err := builder.BuildDfa(string(own), uint8(most))
	if err != nil {
		return nil, err
	}
	_, first := utf8.DecodeRune(own)
	end := bytes.Clone(own[:first])
	end[first-1]++ // the last byte of a character is below 0xff
	return v.terms(ctx, like, own[:first], end, func(term string) int { return edits.Between(string(own), term) })
}

// terms returns terms of the largest fields in [start, end) that like accepts: those with fewest
// edits, of equals those that seem to be in most documents.
func (v *view) terms(ctx context.Context, like segment.Automaton, start, end []byte, edits func(term string) int) (out []NearTerm, err error) {
	seen := map[string]int{} // term to the documents of segments and fields that have it, deleted ones too
	looked := 0
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
				if looked++; looked > nearLooked {
					break
				}
				if strings.ContainsFunc(e.Term, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
					continue // a number, or a name with stops or underscores: no word
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

// mostTokens returns the fields with most tokens that are looked at.
func (v *view) mostTokens() []string {
	fields := slices.Clone(v.fields)
	slices.SortStableFunc(fields, func(a, b string) int { return cmp.Compare(v.tokens[b], v.tokens[a]) })
	return fields[:min(nearFields, len(fields))]
}

// undoubled returns a word without its doubled characters: account is acount.
func undoubled(word string) string { return string(slices.Compact([]rune(word))) }

// inDocuments returns those of terms that documents of allow have, and which, in their order. own
// is the term that they are near to; empty: none.
func (v *view) inDocuments(ctx context.Context, terms []NearTerm, own string, allow *roaring.Bitmap) (out []NearTerm, err error) {
	fields := v.largest()
	own = undoubled(own)
	for _, t := range terms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		have := roaring.New()
		for _, s := range v.segments {
			docs := roaring.New()
			for _, field := range fields {
				pl, err := s.postings(field, []byte(t.Term))
				if pl != nil {
					err = orInto(docs, pl)
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
