package keyword

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/index/keyword/analysis"
)

// Bounds on joining and splitting words.
const (
	maxCompoundWords = 12  // of a query; the words of longer ones say less by themselves
	maxCompoundBytes = 512 // of its text
	maxParts         = 10  // of a word
	maxSplits        = 8   // ways to split a word
	minSplitLetters  = 4   // of a word
	minJoinedDigits  = 7   // of a number: 2 3 is not 23
	maxJoinedDigits  = 16
	maxBorders       = 3 // between letters and digits of a word
	blockDigits      = 4 // of the blocks in which IBANs and card numbers are written
)

// alternativeBytes is about the memory of an alternative.
const alternativeBytes = 400

// guessedShare is the share of its idf for which a word counts that no document has and that is
// found by its parts: they may not be meant.
const guessedShare = 0.75

// compounds returns the words of the text of q, except those with an expansion by rules, that
// documents may write together or in parts, in order:
//
//  1. Adjacent words that documents write as one: data base matches data or database, and base or
//     database, so that a text with database matches both. More than two words are joined only with
//     digits among them, or if they are single letters.
//  2. A word with two parts that are adjacent in documents: icecream matches icecream or "ice
//     cream", 16gb 16gb or "16 gb". Numbers, and what is written in blocks of four, may have more
//     parts. The parts do not count in documents that have the word. A word of letters that no
//     document has counts for guessedShare of its idf.
func (x *Index) compounds(ctx context.Context, l lexicon, q Query, rules []expansion) (out []expansion, err error) {
	words, err := x.compoundWords(ctx, l, q, rules)
	if err != nil {
		return nil, err
	}
	known := map[string]*meaning{}
	for _, w := range words {
		if l.collect != nil {
			w.found = w.possible // to be counted, whatever other indexes have
		}
		if len(w.found) == 0 {
			continue
		}
		own := &meaning{alternatives: []alternative{{text: w.token.Term}}}
		syn := &synonym{name: w.token.Term, meaning: own.with(w.found, known)}
		if l.global != nil {
			syn.statistics = own.with(w.possible, known).key
		}
		out = append(out, expansion{w.token.Start, w.token.End, w.parts, syn})
	}
	return out, nil
}

// compoundWord is a word of a query with what stands for it in documents.
type compoundWord struct {
	token    analysis.Token
	possible []alternative // that texts may have, as far as the statistics of several indexes need them
	found    []alternative // of these, what documents have
	parts    bool          // the query also asks for parts of the word
}

func (w *compoundWord) add(alt alternative, found bool) {
	if w.possible = append(w.possible, alt); found {
		w.found = append(w.found, alt)
	}
}

// compoundWords returns the words of the text of q with their alternatives, see compounds.
func (x *Index) compoundWords(ctx context.Context, l lexicon, q Query, rules []expansion) (out []compoundWord, err error) {
	if len(q.Text) > maxCompoundBytes {
		return nil, nil
	}
	words := x.analyzer.WholeTokens(q.Text, noName)
	if len(words) > maxCompoundWords {
		return nil, nil
	}
	exact, asked := x.exact(q), map[string]bool{}
	var parts []analysis.Token // or words
	for t := range x.analyzer.QueryTokens(q.Text) {
		asked[t.Term] = true
		if t.Kind != analysis.Name {
			parts = append(parts, t)
		}
	}
	taken := func(w analysis.Token) bool {
		return exact[w.Term] || slices.ContainsFunc(rules, func(e expansion) bool { return w.Start < e.end && e.start < w.End })
	}
	hasParts := func(w analysis.Token) bool {
		return slices.ContainsFunc(parts, func(t analysis.Token) bool { return w.Start <= t.Start && t.End <= w.End && t.Term != w.Term })
	}
	out = make([]compoundWord, len(words))
	for i, w := range words {
		out[i].token = w
		joined := ""
		for j := i; j < min(len(words), i+maxParts) && !taken(words[j]); j++ {
			between := ""
			if j > i {
				if between = q.Text[words[j-1].End:max(words[j-1].End, words[j].Start)]; !canJoin(between) {
					break
				}
			}
			joined += q.Text[words[j].Start:words[j].End]
			if j == i || !mayBeOneWord(joined, between, j-i+1) {
				continue
			}
			term, ok := oneTerm(x.analyzer, joined)
			if !ok || asked[term] {
				continue
			}
			have, err := l.has(term)
			if err != nil {
				return nil, err
			}
			if !have && l.local() {
				continue
			}
			for k := i; k <= j; k++ {
				out[k].add(alternative{text: term, part: words[k].Term}, have)
			}
		}
		out[i].parts = hasParts(w)
		if q.Texts != nil && !taken(w) {
			if err := x.addSplits(ctx, l, q, &out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func noName(string) bool { return false }

// canJoin reports whether the text between two words may be inside one.
func canJoin(between string) bool {
	return between != "" && strings.Trim(between, " -.()/\u2010\u2011\u00a0") == "" && utf8.RuneCountInString(between) <= 2
}

// oneTerm returns the term of a text that is one word.
func oneTerm(a *analysis.Analyzer, text string) (string, bool) {
	words := a.WholeTokens(text, noName)
	if len(text) > analysis.MaxJoined || len(words) != 1 || words[0].End-words[0].Start != len(text) || words[0].Term == "us" { // U.S. is not us
		return "", false
	}
	return words[0].Term, true
}

// mayBeOneWord reports whether a number of parts may be written as one word, see compounds.
func mayBeOneWord(joined, between string, parts int) bool {
	letters, digits := strings.ContainsFunc(joined, unicode.IsLetter), strings.ContainsFunc(joined, unicode.IsDigit)
	switch {
	case !letters:
		return len(joined) >= minJoinedDigits
	case digits:
		return true
	}
	single := utf8.RuneCountInString(joined) == parts
	return single || parts == 2 && utf8.RuneCountInString(between) == 1
}

// addSplits adds to a word its parts, as phrases that documents have. While the terms of other
// indexes are unknown, it only notes that the word can be split.
func (x *Index) addSplits(ctx context.Context, l lexicon, q Query, w *compoundWord) error {
	text := q.Text[w.token.Start:w.token.End]
	if l.local() {
		if found, ok := l.view.splits.Get(text); ok {
			for _, alt := range found {
				w.add(alt, true)
			}
			return nil
		}
	}
	splits, err := x.splits(l, text, w.parts)
	if err != nil {
		return err
	}
	own, err := l.has(w.token.Term)
	if err != nil {
		return err
	}
	if l.firstRound() {
		if len(splits) > 0 {
			l.collect.Open = append(l.collect.Open, w.token.Term)
		}
		return nil
	}
	var found []alternative
	letters := !strings.ContainsFunc(text, unicode.IsDigit)
	for _, parts := range splits {
		split := strings.Join(parts, " ")
		alt := alternative{text: split, phrase: newPhrase(x.analyzer, split), without: w.token.Term, unlikely: letters, guessed: letters && !own}
		have, err := l.hasPhrase(ctx, alt)
		if err != nil {
			return err
		}
		if w.add(alt, have); have {
			found = append(found, alt)
		}
	}
	if l.local() {
		l.view.splits.Put(text, found, len(text)+alternativeBytes*len(found))
	}
	return nil
}

// splits returns the ways to split a word into terms that documents have. One whose parts are asked
// for anyway is split between letters and digits only.
func (x *Index) splits(l lexicon, text string, parts bool) (ways [][]string, err error) {
	if parts && !strings.ContainsFunc(text, unicode.IsDigit) {
		return nil, nil
	}
	known := map[string]bool{}
	ways = splitWord(text, maxSplits, func(part string) bool {
		is, seen := known[part]
		if term, ok := oneTerm(x.analyzer, part); !seen && ok && err == nil {
			is, err = l.has(term)
			is = is || l.firstRound()
		}
		known[part] = is
		return is
	})
	return ways, err
}

// splitWord returns at most limit ways to split a word into known parts.
func splitWord(word string, limit int, known func(part string) bool) (ways [][]string) {
	add := func(parts ...string) {
		if len(ways) < limit && !slices.ContainsFunc(parts, func(p string) bool { return !known(p) }) {
			ways = append(ways, slices.Clone(parts))
		}
	}
	letters, digits := 0, 0
	var borders []int // between letters and digits
	for i, r := range word {
		digit := '0' <= r && r <= '9'
		switch {
		case digit:
			digits++
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		default:
			return nil
		}
		if i > 0 && digit != analysis.IsDigit(word[i-1]) {
			borders = append(borders, i)
		}
	}
	switch {
	case len(word) > analysis.MaxJoined:
	case digits == 0 && letters >= minSplitLetters:
		for i := range word {
			if i > 0 && utf8.RuneCountInString(word[i:]) > 1 {
				add(word[:i], word[i:])
			}
		}
	case letters == 0 && digits >= minJoinedDigits && digits <= maxJoinedDigits:
		splitNumber(word, nil, known, func(parts []string) { add(parts...) })
	case len(borders) == 1:
		ways = append(ways, []string{word[:borders[0]], word[borders[0]:]}) // every document with the word has these terms
	case len(borders) <= maxBorders:
		for chosen := 1; chosen < 1<<len(borders); chosen++ {
			var parts []string
			at := 0
			for k, b := range borders {
				if chosen>>k&1 == 1 {
					parts, at = append(parts, word[at:b]), b
				}
			}
			add(append(parts, word[at:])...)
		}
	}
	if digits > 2*blockDigits && len(word) <= maxParts*blockDigits && len(word) == letters+digits {
		var blocks []string
		for b := range slices.Chunk([]byte(word), blockDigits) {
			blocks = append(blocks, string(b))
		}
		add(blocks...)
	}
	return ways
}

// splitNumber calls f with the ways to split a number, after parts, into two to five known groups
// of two to seven digits; the first may have one digit.
func splitNumber(number string, parts []string, known func(part string) bool, f func(parts []string)) {
	if number == "" && len(parts) > 1 {
		f(parts)
	}
	for n := min(1+len(parts), 2); n <= min(7, len(number)) && len(parts) < 5; n++ {
		if known(number[:n]) {
			splitNumber(number[n:], append(parts, number[:n]), known, f)
		}
	}
}

// hasPhrase reports whether a document has a phrase.
func (x *Index) hasPhrase(ctx context.Context, v *view, alt alternative, texts Texts) (bool, error) {
	for _, s := range v.segments {
		lists, err := x.phrasePostings(ctx, v, s, alt, v.fields, texts)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(lists, func(p *postings) bool { return len(p.docs) > 0 }) {
			return true, nil
		}
	}
	return false, nil
}
