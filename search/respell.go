package search

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"searchd/internal/edits"
	"searchd/search/backend"
)

// Spelling says what becomes of words of a query that no document has. The empty Spelling is Corrected, with [Plain] Exact.
type Spelling string

// The spellings.
const (
	Corrected Spelling = "corrected" // such a word is read as one of the documents that is spelled much like it, see [Respelling]
	Exact     Spelling = "exact"     // every word is taken as it stands
)

// Respelling is a word of a query that was read as another.
//
// A word is read so where no document of the collection has it, in any of its forms, where a document that may be found has one that is spelled much
// like it, and where the checkpoint does not know the word: one that it knows is right, though it is nowhere. One edit makes such a word of
// five letters and more, two one of nine and more: a letter left out, put in or exchanged for another, or neighbours that changed places; the first letter
// stays. Only words of small letters, the first one apart, are read so, no numbers, no names with dots or underscores, no word of a phrase.
type Respelling struct {
	Word string `json:"word"`
	As   string `json:"as"`
}

// Bounds of respelling.
const (
	oneEdit, twoEdits = 5, 9 // letters of a word from which it may have so many edits
	longestWord       = 40   // letters
	maxTyped          = 64   // words of a query; longer ones are not typed
	maxRespelled      = 8    // words of a query that are looked for
	respellBytes      = 64 << 10
)

// Speller is an [Embedder] that knows which words are spelled right.
type Speller interface {
	Knows(word string) bool
}

// mayHave is how many edits a word of so many letters may have.
func mayHave(letters int) int {
	switch {
	case letters < oneEdit || letters > longestWord:
		return 0
	case letters < twoEdits:
		return 1
	}
	return 2
}

// respell puts words that documents have in the place of misspelled ones of the query, for both legs.
func (s *search) respell(ctx context.Context) error {
	text := s.plan.text.Text
	var out strings.Builder
	written := 0                  // bytes of text
	as := map[string]string{}     // words that were looked for, and how they are read
	for _, w := range s.typed() { // in the order of the text
		word := text[w.start:w.end]
		other, known := as[word]
		if !known {
			if len(as) == maxRespelled {
				break
			}
			var err error
			if other, err = s.spelled(ctx, word); err != nil {
				return err
			}
			if as[word] = other; other != "" {
				s.plan.text.Respelled = append(s.plan.text.Respelled, Respelling{word, other})
			}
		}
		if other != "" {
			out.WriteString(text[written:w.start] + other)
			written = w.end
		}
	}
	if written > 0 {
		s.plan.text.Text = out.String() + text[written:]
		s.plan.words.Text = s.plan.text.Text
	}
	return nil
}

// typed returns the words of the query that may be misspelled, by what they look like.
func (s *search) typed() (out []span) {
	text := s.plan.text.Text
	phrases := map[string]bool{}
	for _, p := range s.plan.text.Phrases {
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
		if !phrases[chunk] && mayHave(utf8.RuneCountInString(word)) > 0 && plainWord(word) {
			out = append(out, span{end - len(word), end})
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
func (s *search) spelled(ctx context.Context, word string) (as string, err error) {
	if k, ok := s.encoding.embedder.(Speller); ok && k.Knows(word) {
		return "", nil
	}
	lower := strings.ToLower(word)
	allowed := mayHave(utf8.RuneCountInString(word))
	for most := 1; most <= backend.MaxEdits && as == ""; most++ { // of terms, whose stems can be further apart than the words
		near, err := s.engine.backend.Near(ctx, s.collection, word, most, s.selection)
		if err != nil {
			return "", err
		}
		near = slices.DeleteFunc(near, func(t backend.NearTerm) bool { return t.Edits < most }) // seen before
		if as, err = s.likestOf(ctx, near, lower, allowed); err != nil {
			return "", err
		}
	}
	return matchCase(as, word), nil
}

// likestOf returns the word with fewest edits from word, at most so many, whose term is one of near; of equals the first of near.
func (s *search) likestOf(ctx context.Context, near []backend.NearTerm, word string, most int) (as string, err error) {
	for _, t := range near {
		docs, err := s.engine.backend.Fetch(ctx, s.collection, t.Refs)
		if err != nil {
			return "", err
		}
		for _, d := range docs {
			if d == nil {
				continue
			}
			parts, err := s.record.Settings.Fields.SplitStored(d.Fields)
			if err != nil {
				return "", err
			}
			for _, f := range slices.Concat(parts.Text, parts.Words) {
				w, n, err := s.likest(ctx, f.Text, word, t.Term, most)
				if err != nil {
					return "", err
				}
				if w != "" {
					as, most = w, n-1
				}
				if most == 0 {
					return as, nil
				}
			}
		}
	}
	return as, nil
}

// likest returns the word of text with fewest edits from word, at most so many, whose term is the one given, and how many these are.
func (s *search) likest(ctx context.Context, text, word, term string, most int) (as string, fewest int, err error) {
	first, _ := utf8.DecodeRuneInString(word)
	letters := utf8.RuneCountInString(word)
	seen := map[string]bool{}
	for w := range strings.FieldsFuncSeq(text[:runeEnd(text, min(len(text), respellBytes))], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		r, _ := utf8.DecodeRuneInString(w)
		if unicode.ToLower(r) != first || max(letters-utf8.RuneCountInString(w), utf8.RuneCountInString(w)-letters) > most {
			continue
		}
		if w = strings.ToLower(w); seen[w] {
			continue
		}
		seen[w] = true
		n := edits.Between(word, w)
		if n > most {
			continue
		}
		tokens, err := s.engine.backend.Analyze(ctx, s.collection, w)
		if err != nil {
			return "", 0, err
		}
		if len(tokens) == 1 && tokens[0].Term == term {
			as, fewest, most = w, n, n-1
		}
	}
	return as, fewest, nil
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
