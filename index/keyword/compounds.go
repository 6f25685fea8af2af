package keyword

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"example.com/searchd/index/keyword/analysis"
)

// Bounds on joining and splitting words.
const (
	maxCompoundWords = 12  // of a query; the words of longer ones say less by themselves
	maxCompoundBytes = 512 // of its text
	maxParts         = 10  // of a word
	maxSplits        = 16  // ways to split a word
	minSplitLetters  = 4   // of a word
	minJoinedDigits  = 7   // of a number: 2 3 is not 23
	maxJoinedDigits  = 16
	maxBorders       = 4  // between letters and digits of a word
	maxNumberSplits  = 48 // ways to split a number
	maxNumberParts   = 5
	maxGroup         = 7  // digits of a part of a number
	maxParticle      = 16 // bytes of a stop word that begins or ends another word
	blockDigits      = 4  // of the blocks in which IBANs and card numbers are written
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
//
// A stop word may be joined to the word beside it, and be the first or the last part of a word, but
// not the only one: set up, setup, on line, online.
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
	all := x.analyzer.WholeWords(q.Text)
	words := slices.DeleteFunc(slices.Clone(all), func(w analysis.Token) bool { return w.Kind == analysis.Stop })
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
		at := slices.IndexFunc(all, func(t analysis.Token) bool { return t.Start == w.Start && t.End == w.End })
		for _, pair := range []int{at - 1, at} {
			if taken(w) || pair < 0 || pair+1 >= len(all) || all[pair].Kind != analysis.Stop && all[pair+1].Kind != analysis.Stop {
				continue
			}
			if err := x.addParticle(l, q, asked, &out[i], all[pair], all[pair+1], len(all) == 2); err != nil {
				return nil, err
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

// addParticle adds to a word of a query what it is as one word with the stop word beside it: before
// and after are one of both each. Single letters, as in vitamin a, are joined only if the query has
// no other words.
func (x *Index) addParticle(l lexicon, q Query, asked map[string]bool, w *compoundWord, before, after analysis.Token, only bool) error {
	between := q.Text[before.End:max(before.End, after.Start)]
	first, second := q.Text[before.Start:before.End], q.Text[after.Start:after.End]
	single := utf8.RuneCountInString(first) == 1 || utf8.RuneCountInString(second) == 1
	if !canJoin(between) || !mayBeOneWord(first+second, between, 2) || single && !only {
		return nil
	}
	term, ok := oneTerm(x.analyzer, first+second)
	if !ok || asked[term] {
		return nil
	}
	have, err := l.has(term)
	if err == nil && (have || !l.local()) {
		w.add(alternative{text: term, part: w.token.Term}, have)
	}
	return err
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

var withoutApostrophes = strings.NewReplacer("'", "", "’", "", "ʼ", "")

// addSplits adds to a word its parts, as phrases that documents have. While the terms of other
// indexes are unknown, it only notes that the word can be split.
func (x *Index) addSplits(ctx context.Context, l lexicon, q Query, w *compoundWord) error {
	text := withoutApostrophes.Replace(norm.NFKC.String(q.Text[w.token.Start:w.token.End]))
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
	known := map[string]splitPart{}
	limit := maxSplits
	if !strings.ContainsFunc(text, unicode.IsLetter) {
		limit = maxNumberSplits
	}
	ways = splitWord(text, limit, func(part string) bool {
		p, seen := known[part]
		if !seen && err == nil {
			p, err = x.splitPart(l, part, strings.HasSuffix(text, part) || strings.HasPrefix(text, part))
			known[part] = p
		}
		return p.found
	})
	return slices.DeleteFunc(ways, func(parts []string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !known[p].stop })
	}), err
}

// splitPart is a part that a word may be split into.
type splitPart struct {
	found bool // documents have it
	stop  bool // it is a stop word
}

// splitPart looks a part up. At the edge of a word it may be a stop word.
func (x *Index) splitPart(l lexicon, part string, edge bool) (p splitPart, err error) {
	cached := edge && l.local()
	if cached {
		if p, ok := l.view.parts.Get(part); ok {
			return p, nil
		}
	}
	term, ok := oneTerm(x.analyzer, part)
	if !ok && edge {
		term, ok = x.particle(part)
		p.stop = ok
	}
	if ok {
		if p.found, err = l.has(term); err != nil {
			return p, err
		}
		p.found = p.found || l.firstRound()
	}
	if cached {
		l.view.parts.Put(part, p, len(part)+partBytes)
	}
	return p, nil
}

// particle returns the term of a stop word that may begin or end a word: on of online, up of setup.
func (x *Index) particle(text string) (string, bool) {
	if len(text) > maxParticle {
		return "", false
	}
	words := x.analyzer.WholeWords(text)
	if len(words) != 1 || words[0].Kind != analysis.Stop || words[0].End-words[0].Start != len(text) {
		return "", false
	}
	return words[0].Term, true
}

// splitWord returns at most limit ways to split a word into known parts, those of numbers with the
// fewest parts first. One of letters and digits is split between these, and once between letters:
// galaxy s24.
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
			if longer := word[i:]; i > 0 && utf8.RuneCountInString(word[i:]) > 1 {
				if 2*i > len(word) {
					longer = word[:i]
				}
				if known(longer) { // first, as it rarely is
					add(word[:i], word[i:])
				}
			}
		}
	case letters == 0 && digits >= minJoinedDigits && digits <= maxJoinedDigits:
		for parts := 2; parts <= maxNumberParts && len(ways) < limit; parts++ {
			splitNumber(word, parts, nil, known, func(parts []string) { add(parts...) })
		}
	case len(borders) == 0 || len(borders) > maxBorders:
	default:
		if len(borders) == 1 {
			ways = append(ways, []string{word[:borders[0]], word[borders[0]:]}) // every document with the word has these terms
		} else {
			splitAt(word, borders, -1, add)
		}
		for i := range word {
			if isInside(word, i) {
				splitAt(word, slices.Sorted(slices.Values(append([]int{i}, borders...))), i, add)
			}
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

// splitAt calls f with the ways to split a word at one or more of some places, which ascend, and at
// must, if that is one of them.
func splitAt(word string, places []int, must int, f func(parts ...string)) {
	needed := 0
	if k := slices.Index(places, must); k >= 0 {
		needed = 1 << k
	}
	for chosen := 1; chosen < 1<<len(places); chosen++ {
		if chosen&needed != needed {
			continue
		}
		var parts []string
		at := 0
		for k, p := range places {
			if chosen>>k&1 == 1 {
				parts, at = append(parts, word[at:p]), p
			}
		}
		f(append(parts, word[at:])...)
	}
}

// isInside reports whether a word of letters and digits may be split between two letters at i: what
// is before has minInside letters, and what is after has two characters.
func isInside(word string, i int) bool {
	const minInside = 3
	n := 0
	for j := i; j > 0 && !analysis.IsDigit(word[j-1]); {
		_, size := utf8.DecodeLastRuneInString(word[:j])
		j -= size
		n++
	}
	return n >= minInside && !analysis.IsDigit(word[i]) && utf8.RuneCountInString(word[i:]) > 1
}

// splitNumber calls f with the ways to split a number into as many known groups of at most seven
// digits, after parts. Single digits are groups only at the ends and behind four digits, as in
// telephone numbers: 0043 1 58858 0.
func splitNumber(number string, groups int, parts []string, known func(part string) bool, f func(parts []string)) {
	if groups == 1 {
		if len(number) <= maxGroup && known(number) {
			f(append(parts, number))
		}
		return
	}
	for n := 1; n <= min(maxGroup, len(number)-1); n++ {
		if n == 1 && len(parts) > 0 && len(parts[len(parts)-1]) < blockDigits {
			continue
		}
		if known(number[:n]) {
			splitNumber(number[n:], groups-1, append(parts, number[:n]), known, f)
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
