package remote

import (
	"context"
	"errors"

	"searchd/search/backend"
)

// What a search asks one after another is asked in one call, and answered where it is near: see [backend.Joined].

type openedAnswer struct {
	Collection backend.Collection  `json:"collection"`
	Statistics *backend.Statistics `json:"statistics"`
}

type legs struct {
	Collection string  `json:"collection"`
	Words      *words  `json:"words"`
	Vector     []byte  `json:"vector"`
	Documents  int     `json:"documents"`
	Passages   int     `json:"passages"`
	Least      float64 `json:"least,omitempty"`
	Selection  *chosen `json:"selection"`
}

type legsAnswer struct {
	Words  foundAnswer `json:"words"`
	Near   []byte      `json:"near"`
	All    bool        `json:"all,omitempty"`
	Best   []byte      `json:"best"`
	Scores []byte      `json:"scores"`
	Names  []byte      `json:"names"`
}

type passageText struct {
	Name  uint64 `json:"name"`
	Title text   `json:"title,omitempty"`
	Text  text   `json:"text,omitempty"`
}

func passageTextOf(p backend.PassageText) passageText {
	return passageText{p.Name, text(p.Title), text(p.Text)}
}

func (p passageText) passageText() (backend.PassageText, error) {
	return backend.PassageText{Name: p.Name, Title: string(p.Title), Text: string(p.Text)}, nil
}

type show struct {
	Collection string `json:"collection"`
	Refs       []byte `json:"refs"`
	Vector     []byte `json:"vector"`
	Words      *words `json:"words"`
	Every      bool   `json:"every,omitempty"`
}

type shown struct {
	Document  *document   `json:"document"`
	Cosines   []byte      `json:"cosines"`
	Terms     []termScore `json:"terms,omitempty"`
	Explained bool        `json:"explained,omitempty"`
}

func shownOf(s backend.Shown) shown {
	return shown{documentOf(s.Document), floats.pack(s.Cosines), convert(s.Terms, termScoreOf), s.Explained}
}

func (s shown) shown() (out backend.Shown, err error) {
	out.Terms, out.Explained = convert(s.Terms, termScore.termScore), s.Explained
	if out.Document, err = s.Document.document(); err == nil {
		out.Cosines, err = floats.unpack(s.Cosines)
	}
	return out, err
}

// optionalWords writes words that may be none.
func optionalWords(q *backend.Words) *words {
	if q == nil {
		return nil
	}
	return new(wordsOf(*q))
}

func (q *words) optional() *backend.Words {
	if q == nil {
		return nil
	}
	return new(q.words())
}

// Opened implements backend.Opener.
func (s *Shard) Opened(ctx context.Context, collection string, q backend.Words) (backend.Collection, *backend.Statistics, error) {
	got, err := methodOpened.call(ctx, s, scored{Collection: collection, Words: wordsOf(q)})
	return got.Collection, got.Statistics, err
}

// Legs implements backend.Joined.
func (s *Shard) Legs(ctx context.Context, collection string, q backend.Legs, sel backend.Selection) (out backend.LegMatches, err error) {
	got, err := withSet(sel, func(c *chosen) (legsAnswer, error) {
		return methodLegs.call(ctx, s, legs{collection, optionalWords(q.Words), vector.pack(q.Vector), q.Documents, q.Passages, q.Least, c})
	})
	if err != nil {
		return out, err
	}
	if out, err = s.legMatches(got, q); err != nil {
		return backend.LegMatches{}, err
	}
	return out, nil
}

// legMatches reads the answer to Legs.
func (s *Shard) legMatches(got legsAnswer, q backend.Legs) (out backend.LegMatches, err error) {
	if out.Words, err = s.wordMatches(got.Words, nil); err != nil {
		return out, err
	}
	if out.Near, err = unpacked(s, passageMatches, anyLength, got.Near, nil); err != nil {
		return out, err
	}
	out.All = got.All
	first := len(out.Firsts(q.Documents))
	if out.Names, err = unpacked(s, numbers, first, got.Names, nil); err != nil || q.Words == nil {
		return out, err
	}
	if out.Best, err = unpacked(s, bests, len(out.Words.Matches), got.Best, nil); err != nil {
		return out, err
	}
	out.Scores, err = unpacked(s, floats, first, got.Scores, nil)
	return out, err
}

// Texts implements backend.Joined.
func (s *Shard) Texts(ctx context.Context, collection string, list []backend.PassageRef) ([]backend.PassageText, error) {
	got, err := methodTexts.call(ctx, s, ofPassages{collection, passages.pack(list)})
	return answers(s, len(list), got, err, passageText.passageText)
}

// Shown implements backend.Joined.
func (s *Shard) Shown(ctx context.Context, collection string, list []backend.Ref, q backend.Show) ([]backend.Shown, error) {
	got, err := methodShown.call(ctx, s, show{collection, refs.pack(list), vector.pack(q.Vector), optionalWords(q.Words), q.Every})
	return answers(s, len(list), got, err, shown.shown)
}

func (h *handler) serveJoined(t map[string]route) {
	n := h.node
	served(t, methodOpened, func(ctx context.Context, q scored) (a openedAnswer, err error) {
		a.Collection, a.Statistics, err = backend.OpenFor(ctx, n, q.Collection, q.Words.words())
		return a, err
	})
	served(t, methodLegs, h.legs)
	served(t, methodTexts, func(ctx context.Context, q ofPassages) ([]passageText, error) {
		list, err := passageRefs(q.Passages)
		if err != nil {
			return nil, err
		}
		texts, err := backend.ReadTexts(ctx, n, q.Collection, list)
		for i := range texts {
			texts[i].Name = h.named(texts[i].Name)
		}
		return convert(texts, passageTextOf), err
	})
	served(t, methodShown, func(ctx context.Context, q show) ([]shown, error) {
		list, err := documentRefs(q.Refs)
		if err != nil {
			return nil, err
		}
		asked := backend.Show{Words: q.Words.optional(), Every: q.Every}
		if q.Vector != nil {
			if asked.Vector, err = h.query(ctx, q.Collection, q.Vector); err != nil {
				return nil, err
			}
		}
		out, err := backend.ShowDocuments(ctx, n, q.Collection, list, asked)
		return convert(out, shownOf), err
	})
}

// legs answers Legs.
func (h *handler) legs(ctx context.Context, q legs) (a legsAnswer, err error) {
	if err := errors.Join(within("documents", q.Documents, 0, maxFound), within("passages", q.Passages, 1, maxFound)); err != nil {
		return a, err
	}
	query, err := h.query(ctx, q.Collection, q.Vector)
	if err != nil {
		return a, err
	}
	sel, err := h.selection(ctx, q.Collection, q.Selection)
	if err != nil {
		return a, err
	}
	asked := backend.Legs{Words: q.Words.optional(), Vector: query, Documents: q.Documents, Passages: q.Passages, Least: q.Least}
	got, err := backend.FindLegs(ctx, h.node, q.Collection, asked, sel)
	if err != nil {
		return a, err
	}
	for i, name := range got.Names {
		got.Names[i] = h.named(name)
	}
	for i, best := range got.Best {
		got.Best[i].Name = h.named(best.Name)
	}
	a = legsAnswer{Near: passageMatches.pack(got.Near), All: got.All, Best: bests.pack(got.Best), Scores: floats.pack(got.Scores), Names: numbers.pack(got.Names)}
	a.Words, err = h.foundAnswer(q.Collection, got.Words)
	return a, err
}
