package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"searchd/index/maxsim"
	"searchd/search/backend"
)

const (
	// matchWindow is how many candidates are compared token by token, those that the legs put first. Chosen on eleven retrieval sets with an
	// earlier built-in checkpoint (mean nDCG@10 of semantic search with none: .558, 20: .609, 50: .620, 100: .625; of hybrid search the same with any).
	matchWindow = 50
	// matchNothing is the best match of a query's candidates, times the root of 1 + how many tokens it is a mean of, up to which it says nothing, and matchFully that
	// from which it has its whole share: where the words of a query, or words like them, are nowhere, what is nearest by tokens is chance, and the mean of a few
	// cosines is above its due more easily than that of many. Chosen on eleven retrieval sets, where it is above 1.4 of nine queries in ten of most of them, and 43 queries that share
	// no content word with their document, where it is below 1.1 of nine in ten.
	matchNothing, matchFully = 0.9, 1.4
	// titleNothing is the cosine of a title up to which it says nothing, so that documents with a title are hardly ahead of those without one: the median of those that are
	// compared is .03 of the bundled notes, and .08 to .23 of the four retrieval sets that have titles.
	titleNothing = 0.1
	// Tokens of a passage that are compared: of its title and of the rest.
	matchTitle, matchBody = 40, 1024
	// matchTokenBytes is how many bytes are read for each of these tokens at most: a field of the name of a title may hold megabytes.
	matchTokenBytes = 64

	matchBudget = 64 << 20 // bytes of tokens kept of passages compared earlier
)

// matched is what the comparison token by token says of a query.
type matched struct {
	share float64                     // that it has in the vector leg
	least float64                     // of the candidates that were compared
	texts map[backend.Ref]maxsim.Text // of these
}

// matches says whether the query is compared token by token: where the vector leg has a share in the score that is not a rank, and where
// there is a text to compare.
func (s *search) matches() bool {
	p := s.plan
	return (p.Mode == Semantic || p.Mode == Hybrid && p.Fusion == Relative) && !p.given && s.encoding.Matcher() != nil
}

// match compares the first candidates with the query token by token and ranks all of them again. What a candidate behind them would have
// is not known: it counts with the least value of those that were compared.
func (s *search) match(ctx context.Context) error {
	if len(s.candidates) == 0 || s.vector == nil {
		return nil
	}
	s.learnt = s.lesson.within(ctx)
	first := s.candidates[:min(matchWindow, len(s.candidates))]
	texts, breadth, err := s.compare(ctx, first)
	if err != nil {
		return err
	}
	var all []float64
	for _, c := range first {
		if c.vector.match != nil {
			all = append(all, *c.vector.match)
		}
	}
	if len(all) == 0 {
		return nil
	}
	s.matched = &matched{
		share: s.encoding.Calibration.Match * ramp(slices.Max(all)*math.Sqrt(1+breadth), matchNothing, matchFully),
		least: slices.Min(all),
		texts: texts,
	}
	s.fuser().rank(s.candidates)
	return nil
}

// ramp is 0 up to nothing, 1 from fully on, and rises between them.
func ramp(x, nothing, fully float64) float64 {
	return math.Min(1, math.Max(0, (x-nothing)/(fully-nothing)))
}

// compare sets what the comparison token by token says of candidates, of each by its passage nearest to the query and by its title, and returns the tokens of these and
// how many tokens of the query count. A query without a token that has a direction says nothing, and neither does a document that is gone.
func (s *search) compare(ctx context.Context, cs []candidate) (compared map[backend.Ref]maxsim.Text, breadth float64, err error) {
	m := s.encoding.Matcher()
	table := m.TokenTable()
	if table == nil {
		return nil, 0, nil
	}
	query := table.Query(m.Tokens(s.plan.text.Text), rarity(s.learnt))
	if query == nil {
		return nil, 0, nil
	}
	texts, there, err := s.passageTokens(ctx, cs)
	if err != nil {
		return nil, 0, err
	}
	compared = make(map[backend.Ref]maxsim.Text, len(cs))
	for i, like := range query.Match(texts) {
		if !there[i] {
			continue
		}
		cs[i].vector.match = &like.Match
		if like.Titled && s.encoding.Calibration.Title > 0 {
			cs[i].vector.title = &like.Title
		}
		compared[cs[i].ref] = texts[i]
	}
	return compared, query.Breadth(), nil
}

// passageTokens returns the tokens of the best passage of each candidate, and which are still there.
func (s *search) passageTokens(ctx context.Context, cs []candidate) (texts []maxsim.Text, there []bool, err error) {
	passages, names, err := s.passageNames(ctx, cs)
	if err != nil {
		return nil, nil, err
	}
	texts, there = make([]maxsim.Text, len(cs)), make([]bool, len(cs))
	var missing []backend.PassageRef
	var places []int
	for i, name := range names {
		if texts[i], there[i] = s.encoding.Known(name); !there[i] && name != 0 {
			missing, places = append(missing, passages[i]), append(places, i)
		}
	}
	if len(missing) == 0 {
		return texts, there, nil
	}
	found, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Passages: missing, Texts: true})
	if err != nil {
		return nil, nil, err
	}
	for k, i := range places {
		if found := found.Texts[k]; found.Name == names[i] { // else its document was written meanwhile
			texts[i], there[i] = s.encoding.Tokens(s.record.titled(found.Title, found.Text)), true
			s.encoding.Remember(names[i], texts[i])
		}
	}
	return texts, there, ctx.Err()
}

// passageNames returns the best passage of each candidate and its name.
func (s *search) passageNames(ctx context.Context, cs []candidate) (passages []backend.PassageRef, names []uint64, err error) {
	passages, names = make([]backend.PassageRef, len(cs)), make([]uint64, len(cs))
	var unknown []backend.PassageRef
	var places []int
	for i, c := range cs {
		if passages[i] = (backend.PassageRef{Ref: c.ref, Ordinal: c.best}); c.vector.known {
			unknown, places = append(unknown, passages[i]), append(places, i)
		}
	}
	if len(unknown) == 0 {
		return passages, names, nil
	}
	found, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Passages: unknown, Names: true})
	if err != nil {
		return nil, nil, err
	}
	for k, i := range places {
		names[i] = found.Names[k]
	}
	return passages, names, nil
}

// titled returns the title over the text of a passage and the text without it, where passages are encoded with their titles.
func (r record) titled(over, text string) (title, rest string) {
	if title = strings.TrimSpace(over); r.Settings.Passages.NoTitle || title == "" {
		return "", text
	}
	if rest, ok := strings.CutPrefix(text, title); ok && !startsInWord(rest) {
		return title, rest
	}
	return title, text
}

// startsInWord reports whether a text begins with a letter, digit or a mark of the letter before, so that what was cut off in front of it ended within a word.
func startsInWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// title returns the whole title over the text of a passage; "" where the text begins with it, or passages are encoded without.
func (r record) title(over, text string) string {
	title := strings.TrimSpace(over)
	if r.Settings.Passages.NoTitle || strings.HasPrefix(text, title) {
		return ""
	}
	return title
}
