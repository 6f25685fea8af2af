package querytext

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/index/keyword"
	"example.com/searchd/internal/edits"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// Respelling is a word of a query that was read as another: a misspelled one, or the last one of a
// text that is being typed.
//
// A word is read so where no document of the collection has it, in any of its forms, nor it and the
// next one as one, nor its parts side by side, where a document that may be found has one that is
// spelled much like it, and where the checkpoint does not know the word: one that it knows is
// right, though it is nowhere. One edit makes such a word of five letters and more, two one of nine
// and more: a letter left out, put in or exchanged for another, or neighbours that changed places;
// the first letter stays, and accents may be left out. Only words of small letters, the first one
// apart, are read so, no numbers, no names with dots or underscores, no word of a phrase.
//
// Of an unfinished query the last word, of three letters and more, is read as one that
// begins with it, of those that there are the one in most documents. One that the checkpoint knows
// stays as it is by meaning.
type Respelling struct {
	Word string `json:"word"`
	As   string `json:"as"`
}

// Bounds of respelling.
const (
	oneEdit, twoEdits = 5, 9     // letters of a word from which it may have so many edits
	leastBegun        = 3        // letters of an unfinished word that is completed
	longestWord       = 40       // letters
	maxTyped          = 64       // words of a query; longer ones are not typed
	maxRespelled      = 8        // words of a query that are looked for, beside those that are known
	nearTerms         = 16       // terms that are looked at for each
	respellFirst      = 8        // documents of a term that are looked through at first; where nothing fits, up to [backend.MaxNearRefs]
	respellBytes      = 64 << 10 // of a field that are looked through
	respellRead       = 2 << 20  // bytes of documents that are looked through for one word; one document may be longer
	respellAhead      = 8        // documents that are read at once
)

// mayHave is how many edits a word of so many letters may have.
func mayHave(letters int) int {
	switch {
	case letters < oneEdit:
		return 0
	case letters < twoEdits:
		return 1
	}
	return 2
}

// Corrector replaces misspelled and unfinished words of a query by words of the documents.
type Corrector struct {
	Backend    backend.Backend
	Collection string
	Fields     mapping.Mapping
	Selection  *backend.Selection // documents that may be found; nil: all
	Alone      bool               // a word is correct only if a document of Selection has it
	Analysis   *keyword.Analysis
	Knows      func(word string) bool // whether the checkpoint's vocabulary has a word
	Expand     func(ctx context.Context) ([]backend.Expansion, error)
	Unfinished bool // the last word may be incomplete
	ByWords    bool // keyword search takes part
	ByMeaning  bool // vector search takes part
}

// Correct corrects the words of a query, and returns the text for keyword search: in a hybrid
// search it may have a completed word where the checkpoint reads the word as it is.
func (c *Corrector) Correct(ctx context.Context, t *Text) (words string, err error) {
	text := t.Text
	typed := c.typed(t)
	if len(typed) == 0 {
		return text, nil
	}
	others, err := c.Expand(ctx)
	if err != nil {
		return "", err
	}
	var spans []passage.Span // of the words that were looked up
	var lookups []*reading
	as := map[string]*reading{}
	for _, w := range typed { // in the order of the text
		expanded := slices.ContainsFunc(others, func(e backend.Expansion) bool { return e.Start < w.End && w.Start < e.End })
		word, last := text[w.Start:w.End], c.Unfinished && w.End == len(text)
		if expanded && !last {
			continue
		}
		if spans = append(spans, w); as[word] != nil || len(lookups) == maxRespelled {
			continue
		}
		as[word] = &reading{word: word, unfinished: last, right: expanded}
		correct, err := c.correct(ctx, word, last)
		if err != nil {
			return "", err
		}
		if !correct {
			lookups = append(lookups, as[word])
		}
	}
	for _, r := range lookups {
		if err := c.read(ctx, t, r); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	written := 0 // bytes of text
	for _, w := range spans {
		if r := as[text[w.Start:w.End]]; r != nil && r.as != "" {
			out.WriteString(text[written:w.Start] + r.as)
			written = w.End
		}
	}
	t.Text = out.String() + text[written:]
	if done := t.Completed; done != nil && as[done.Word].as == "" {
		return strings.TrimSuffix(t.Text, done.Word) + done.As, nil
	}
	return t.Text, nil
}

// reading is a word of the query and how it is read.
type reading struct {
	word       string
	unfinished bool
	right      bool   // it is not misspelled
	as         string // the word in its place; "" for itself
}

// correct reports whether a word needs no correction: documents have it or, unless it is
// unfinished, the checkpoint knows it.
func (c *Corrector) correct(ctx context.Context, word string, unfinished bool) (bool, error) {
	if !unfinished && c.Knows(word) {
		return true, nil
	}
	near, err := c.Backend.Suggest(ctx, backend.SuggestRequest{Collection: c.Collection, Word: word, Selection: c.Selection, Alone: c.Alone})
	return near.Correct, err
}

// read completes or corrects a word, and records that in t.
func (c *Corrector) read(ctx context.Context, t *Text, r *reading) (err error) {
	if r.unfinished {
		if r.as, err = c.completed(ctx, r.word); r.as != "" || err != nil {
			t.Completed = &Respelling{r.word, r.as}
			if c.ByWords && c.ByMeaning && c.Knows(r.word) {
				r.as = ""
			}
			return err
		}
	}
	if r.right {
		return nil
	}
	if r.as, err = c.spelled(ctx, r.word); r.as != "" {
		t.Respelled = append(t.Respelled, Respelling{r.word, r.as})
	}
	return err
}

// typed returns the words of the query that may be misspelled, by what they look like.
func (c *Corrector) typed(t *Text) (out []passage.Span) {
	text := t.Text
	phrases := map[string]bool{}
	for _, p := range t.Phrases {
		for _, w := range strings.Fields(p) {
			phrases[w] = true
		}
	}
	n := 0
	for rest := text; rest != ""; {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		chunk := rest
		if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
			chunk = rest[:i]
		}
		start := len(text) - len(rest)
		rest = rest[len(chunk):]
		if n++; n > maxTyped {
			return nil
		}
		word := strings.TrimRightFunc(chunk, unicode.IsPunct)
		end := start + len(word)
		word = strings.TrimLeftFunc(word, unicode.IsPunct)
		least := oneEdit
		if c.Unfinished && end == len(text) {
			least = leastBegun
		}
		if n := utf8.RuneCountInString(word); !phrases[chunk] && n >= least && n <= longestWord && plainWord(word) {
			out = append(out, passage.Span{Start: end - len(word), End: end})
		}
	}
	return out
}

// plainWord reports whether a word has letters alone, none of them but the first a capital.
func plainWord(word string) bool {
	for i, r := range word {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) || i > 0 && unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// spelled returns how a word is read; "" as it stands.
func (c *Corrector) spelled(ctx context.Context, word string) (as string, err error) {
	letters := utf8.RuneCountInString(word)
	allowed := mayHave(letters)
	if allowed == 0 || c.Knows(word) {
		return "", nil
	}
	bare := edits.Bare(strings.ToLower(word))
	letters = utf8.RuneCountInString(bare)
	like := func(w string) (int, bool) {
		w = edits.Bare(w)
		if n := utf8.RuneCountInString(w); n < letters-allowed || n > letters+allowed {
			return 0, false
		}
		n := edits.Between(bare, w)
		return n, n <= allowed
	}
	var near backend.SuggestResponse
	for most := 1; most <= backend.MaxEdits && as == ""; most++ { // of terms, whose stems can be further apart than the words
		if near, err = c.Backend.Suggest(ctx, backend.SuggestRequest{Collection: c.Collection, Word: word, Edits: most, Selection: c.Selection, Alone: c.Alone}); err != nil || near.Correct {
			return "", err
		}
		near.Terms = near.Terms[:min(len(near.Terms), nearTerms)]
		terms := slices.DeleteFunc(withDocuments(near.Terms, 0, respellFirst), func(t backend.NearTerm) bool { return t.Edits < most }) // seen before
		if as, err = c.wordOf(ctx, bare, terms, like); err != nil {
			return "", err
		}
	}
	if as == "" {
		as, err = c.wordOf(ctx, bare, withDocuments(near.Terms, respellFirst, backend.MaxNearRefs), like)
	}
	return matchCase(as, word), err
}

// completed returns as what an unfinished word is read; "" as it stands. By words alone one that no
// document has finds nothing, be it known or not.
func (c *Corrector) completed(ctx context.Context, word string) (as string, err error) {
	if !c.ByWords && c.Knows(word) {
		return "", nil
	}
	begin, err := c.Backend.Suggest(ctx, backend.SuggestRequest{Collection: c.Collection, Word: word, Beginning: true, Selection: c.Selection, Alone: c.Alone})
	if err != nil {
		return "", err
	}
	bare := edits.Bare(strings.ToLower(word))
	terms := begin.Terms[:min(len(begin.Terms), nearTerms)]
	begins := func(w string) (int, bool) { return 0, strings.HasPrefix(edits.Bare(w), bare) }
	if as, err = c.wordOf(ctx, bare, withDocuments(terms, 0, respellFirst), begins); as == "" && err == nil {
		as, err = c.wordOf(ctx, bare, withDocuments(terms, respellFirst, backend.MaxNearRefs), begins)
	}
	return matchCase(as, word), err
}

// withDocuments returns terms with those of their documents that are from the first index to below
// the second.
func withDocuments(terms []backend.NearTerm, from, to int) []backend.NearTerm {
	terms = slices.Clone(terms)
	for i, t := range terms {
		terms[i].Refs = t.Refs[min(from, len(t.Refs)):min(to, len(t.Refs))]
	}
	return terms
}

// wordOf returns the word with fewest edits that like accepts and whose term is one of near, out of
// the documents that have these; of equals that of the first of near, and "" where there is none.
// Only words with the first letter of bare, and no more documents than [respellRead] allows are
// looked at.
func (c *Corrector) wordOf(ctx context.Context, bare string, near []backend.NearTerm, like func(word string) (edits int, ok bool)) (as string, err error) {
	place := map[string]int{} // of a term in near
	for i, t := range near {
		place[t.Term] = i
	}
	fewest, first := math.MaxInt, len(near) // edits of as, and the place of its term
	texts := &texts{Corrector: c, near: near, seen: map[backend.Ref]bool{}, batch: 1}
	for i, t := range near {
		for _, ref := range t.Refs {
			fields, more, err := texts.of(ctx, ref)
			if err != nil || !more {
				return as, err
			}
			for _, f := range fields {
				for w := range wordsLike(f.Text, bare) {
					n, ok := like(w)
					if !ok || n > fewest {
						continue
					}
					tokens := c.Analysis.Occurrences(w, nil)
					if len(tokens) != 1 {
						continue
					}
					if at, ok := place[tokens[0].Term]; ok && (n < fewest || at < first) {
						as, fewest, first = w, n, at
					}
				}
			}
			if fewest <= 1 && first <= i {
				return as, nil
			}
		}
	}
	return as, nil
}

// texts reads the documents that have terms, in the order of the terms: one at first, as that has
// the word most often, and each time twice as many ahead.
type texts struct {
	*Corrector
	near  []backend.NearTerm
	seen  map[backend.Ref]bool
	ahead []*backend.Document // read, the first of refs
	refs  []backend.Ref       // that are read next, in the order of near
	batch int                 // documents that are read the next time
	bytes int                 // of documents that were given
}

// of returns the fields of a document that have words, none where it is gone or was given before.
// more is false when enough was read.
func (t *texts) of(ctx context.Context, ref backend.Ref) (fields []mapping.TextField, more bool, err error) {
	if t.seen[ref] {
		return nil, true, nil
	}
	if t.bytes >= respellRead {
		return nil, false, nil
	}
	if len(t.refs) == 0 {
		t.refs = t.unseen(t.batch)
		t.batch = min(2*t.batch, respellAhead)
	}
	if len(t.ahead) == 0 {
		page, err := t.Backend.Fetch(ctx, backend.FetchRequest{Collection: t.Collection, Refs: t.refs, Documents: true})
		if err != nil {
			return nil, false, err
		}
		t.ahead = page.Documents
	}
	d := t.ahead[0]
	t.seen[ref], t.ahead, t.refs = true, t.ahead[1:], t.refs[1:]
	if d == nil {
		return nil, true, nil
	}
	t.bytes += len(d.Fields)
	parts, err := t.Fields.SplitStored(d.Fields)
	return slices.Concat(parts.Text, parts.Words), err == nil, err
}

// unseen returns the next n documents, in the order in which they are asked for.
func (t *texts) unseen(n int) (refs []backend.Ref) {
	for _, term := range t.near {
		for _, ref := range term.Refs {
			if len(refs) < n && !t.seen[ref] && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// wordsLike yields the different words of text, in small letters, that have the first letter of
// bare, be it with an accent.
func wordsLike(text, bare string) iter.Seq[string] {
	first, _ := utf8.DecodeRuneInString(bare)
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for w := range strings.FieldsFuncSeq(text[:passage.RuneEnd(text, min(len(text), respellBytes))], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
			r, size := utf8.DecodeRuneInString(w)
			if own, _ := utf8.DecodeRuneInString(edits.Bare(w[:size])); unicode.ToLower(r) != first && unicode.ToLower(own) != first {
				continue
			}
			if w = strings.ToLower(w); !seen[w] {
				if seen[w] = true; !yield(w) {
					return
				}
			}
		}
	}
}

// matchCase returns word with a first letter as big as that of like.
func matchCase(word, like string) string {
	r, _ := utf8.DecodeRuneInString(like)
	if word == "" || !unicode.IsUpper(r) {
		return word
	}
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}
