package remote

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"searchd/search/backend"
)

// The messages of the methods. What has no type of its own here is sent as the seam has it.

// none says nothing.
type none struct{}

// named is a question about a collection.
type named struct {
	Collection string `json:"collection"`
}

type configured struct {
	Collection string         `json:"collection"`
	Config     backend.Config `json:"config"`
}

type document struct {
	Ref      backend.Ref `json:"ref"`
	ID       text        `json:"id"`
	Revision uint64      `json:"revision"`
	Hash     []byte      `json:"hash"`
	Fields   []byte      `json:"fields"`
	Passages []passage   `json:"passages"`
}

type passage struct {
	Field text `json:"field"`
	Start int  `json:"start"`
	End   int  `json:"end"`
}

func passageOf(p backend.Passage) passage { return passage{text(p.Field), p.Start, p.End} }

func (p passage) passage() backend.Passage {
	return backend.Passage{Field: string(p.Field), Start: p.Start, End: p.End}
}

func documentOf(d *backend.Document) *document {
	if d == nil {
		return nil
	}
	return &document{d.Ref, text(d.ID), d.Revision, d.Hash[:], d.Fields, convert(d.Passages, passageOf)}
}

func (d *document) document() (*backend.Document, error) {
	if d == nil {
		return nil, nil
	}
	hash, err := hashOf(d.Hash)
	return &backend.Document{Ref: d.Ref, ID: string(d.ID), Revision: d.Revision, Hash: hash, Fields: json.RawMessage(d.Fields),
		Passages: convert(d.Passages, passage.passage)}, err
}

func hashOf(b []byte) (hash [32]byte, err error) {
	if copy(hash[:], b) != len(b) || len(b) != len(hash) {
		return hash, fmt.Errorf("%w: a hash of %d bytes: allowed: %d", backend.ErrInvalid, len(b), len(hash))
	}
	return hash, nil
}

type write struct {
	ID         text      `json:"id"`
	Delete     bool      `json:"delete,omitempty"`
	Fields     []byte    `json:"fields"`
	Hash       []byte    `json:"hash"`
	Passages   []passage `json:"passages"`
	Vectors    [][]byte  `json:"vectors"`
	IfRevision *uint64   `json:"if_revision"`
}

func writeOf(w backend.Write) write {
	return write{text(w.ID), w.Delete, w.Fields, w.Hash[:], convert(w.Passages, passageOf), convert(w.Vectors, vector.pack), w.IfRevision}
}

func (w write) write() (out backend.Write, err error) {
	out = backend.Write{ID: string(w.ID), Delete: w.Delete, Fields: json.RawMessage(w.Fields), Passages: convert(w.Passages, passage.passage), IfRevision: w.IfRevision}
	if out.Hash, err = hashOf(w.Hash); err != nil {
		return out, err
	}
	out.Vectors, err = parse(w.Vectors, vector.unpack)
	return out, err
}

type applied struct {
	Collection string  `json:"collection"`
	Writes     []write `json:"writes"`
}

type lookedUp struct {
	Collection string `json:"collection"`
	IDs        []text `json:"ids"`
}

// ofRefs is a question about documents.
type ofRefs struct {
	Collection string `json:"collection"`
	Refs       []byte `json:"refs"`
}

type page struct {
	Collection string `json:"collection"`
	Cursor     text   `json:"cursor"`
	Limit      int    `json:"limit"`
}

type pageAnswer struct {
	Documents []*document `json:"documents"`
	Next      text        `json:"next"`
}

// heads are heads of documents: without an id where there is none.
type heads struct {
	IDs      []text `json:"ids"`
	Hashes   []byte `json:"hashes"`
	Passages []byte `json:"passages"`
}

type headsAnswer struct {
	Heads heads `json:"heads"`
	Next  text  `json:"next"`
}

func headsOf(list []backend.Head) heads {
	h := heads{IDs: make([]text, len(list)), Hashes: make([]byte, 0, sha256.Size*len(list))}
	for i, one := range list {
		h.IDs[i], h.Hashes = text(one.ID), append(h.Hashes, one.Hash[:]...)
	}
	h.Passages = numbers.pack(convert(list, func(h backend.Head) uint64 { return uint64(h.Passages) }))
	return h
}

func (h heads) heads() ([]backend.Head, error) {
	counts, err := numbers.unpack(h.Passages)
	if err != nil {
		return nil, err
	}
	if len(counts) != len(h.IDs) || len(h.Hashes) != sha256.Size*len(h.IDs) {
		return nil, fmt.Errorf("%w: %d numbers of passages and %d bytes of hashes for %d documents", backend.ErrInvalid, len(counts), len(h.Hashes), len(h.IDs))
	}
	out := make([]backend.Head, len(h.IDs))
	for i, id := range h.IDs {
		out[i] = backend.Head{ID: string(id), Hash: [sha256.Size]byte(h.Hashes[sha256.Size*i:]), Passages: int(counts[i])}
	}
	return out, nil
}

// keyed are values by their keys.
type keyed struct {
	Keys   []text   `json:"keys"`
	Values [][]byte `json:"values"`
}

func keyedOf(values map[string][]byte) (k keyed) {
	if values == nil {
		return k
	}
	k.Keys, k.Values = make([]text, 0, len(values)), make([][]byte, 0, len(values))
	for key, v := range values {
		k.Keys, k.Values = append(k.Keys, text(key)), append(k.Values, v)
	}
	return k
}

func (k keyed) values() (map[string][]byte, error) {
	if len(k.Keys) != len(k.Values) {
		return nil, fmt.Errorf("%w: %d values for %d keys", backend.ErrInvalid, len(k.Values), len(k.Keys))
	}
	if k.Keys == nil {
		return nil, nil
	}
	out := make(map[string][]byte, len(k.Keys))
	for i, key := range k.Keys {
		out[string(key)] = k.Values[i]
	}
	return out, nil
}

// valuesAnswer has the values that can be read, and what is wrong with the others.
type valuesAnswer struct {
	Values keyed  `json:"values"`
	Fault  *fault `json:"fault,omitempty"`
}

type nearest struct {
	Collection string  `json:"collection"`
	Query      []byte  `json:"query"`
	K          int     `json:"k"`
	Selection  *chosen `json:"selection"`
}

type cosines struct {
	Collection string `json:"collection"`
	Query      []byte `json:"query"`
	Refs       []byte `json:"refs"`
}

// ofPassages is a question about passages.
type ofPassages struct {
	Collection string `json:"collection"`
	Passages   []byte `json:"passages"`
}

type sample struct {
	Collection string `json:"collection"`
	N          int    `json:"n"`
}

type sampleAnswer struct {
	Passages []byte   `json:"passages"`
	Vectors  [][]byte `json:"vectors"`
}

// words is a keyword query.
type words struct {
	Text   text                `json:"text"`
	Exact  []text              `json:"exact"`
	Fields []weighted          `json:"fields"`
	And    bool                `json:"and,omitempty"`
	All    bool                `json:"all,omitempty"`
	Global *backend.Statistics `json:"global,omitempty"`
}

type weighted struct {
	Name   text    `json:"name"`
	Weight float64 `json:"weight"`
}

func wordsOf(q backend.Words) words {
	return words{text(q.Text), textsOf(q.Exact), convert(q.Fields, func(f backend.FieldWeight) weighted { return weighted{text(f.Name), f.Weight} }), q.And, q.All, q.Global}
}

func (q words) words() backend.Words {
	return backend.Words{Text: string(q.Text), Exact: stringsOf(q.Exact), And: q.And, All: q.All, Global: q.Global,
		Fields: convert(q.Fields, func(f weighted) backend.FieldWeight {
			return backend.FieldWeight{Name: string(f.Name), Weight: f.Weight}
		})}
}

type subset struct {
	Collection string `json:"collection"`
	Filter     []part `json:"filter"`
	With       []text `json:"with"`
	Fields     []text `json:"fields"`
	Without    []text `json:"without"`
	Rank       words  `json:"rank"`
	NoVectors  bool   `json:"no_vectors,omitempty"`
}

// found asks for the best documents of a keyword query.
type found struct {
	Collection string  `json:"collection"`
	Words      words   `json:"words"`
	K          int     `json:"k"`
	Selection  *chosen `json:"selection"`
}

type foundAnswer struct {
	Matches []byte  `json:"matches"`
	Total   int     `json:"total"`
	Ceiling float64 `json:"ceiling"`
	Partial bool    `json:"partial,omitempty"`
	All     *chosen `json:"all"`
}

// scored is a question about a keyword query, and documents.
type scored struct {
	Collection string `json:"collection"`
	Words      words  `json:"words"`
	Refs       []byte `json:"refs"`
}

type termScore struct {
	Term  text    `json:"term"`
	For   text    `json:"for"`
	Field text    `json:"field"`
	TF    int     `json:"tf"`
	DF    int     `json:"df"`
	IDF   float64 `json:"idf"`
	Score float64 `json:"score"`
}

func termScoreOf(t backend.TermScore) termScore {
	return termScore{text(t.Term), text(t.For), text(t.Field), t.TF, t.DF, t.IDF, t.Score}
}

func (t termScore) termScore() backend.TermScore {
	return backend.TermScore{Term: string(t.Term), For: string(t.For), Field: string(t.Field), TF: t.TF, DF: t.DF, IDF: t.IDF, Score: t.Score}
}

type analyzed struct {
	Collection string `json:"collection"`
	Text       text   `json:"text"`
}

type token struct {
	Term     text `json:"term"`
	Start    int  `json:"start"`
	End      int  `json:"end"`
	Position int  `json:"position"`
	Covered  bool `json:"covered,omitempty"`
	Name     bool `json:"name,omitempty"`
}

func tokenOf(t backend.Token) token {
	return token{text(t.Term), t.Start, t.End, t.Position, t.Covered, t.Name}
}

func (t token) token() backend.Token {
	return backend.Token{Term: string(t.Term), Start: t.Start, End: t.End, Position: t.Position, Covered: t.Covered, Name: t.Name}
}

type expansion struct {
	Start        int           `json:"start"`
	End          int           `json:"end"`
	Name         text          `json:"name"`
	Alternatives []alternative `json:"alternatives"`
}

type alternative struct {
	Text  text    `json:"text"`
	Terms []token `json:"terms"`
}

func expansionOf(e backend.Expansion) expansion {
	return expansion{e.Start, e.End, text(e.Name), convert(e.Alternatives, func(a backend.Alternative) alternative {
		return alternative{text(a.Text), convert(a.Terms, tokenOf)}
	})}
}

func (e expansion) expansion() backend.Expansion {
	return backend.Expansion{Start: e.Start, End: e.End, Name: string(e.Name), Alternatives: convert(e.Alternatives, func(a alternative) backend.Alternative {
		return backend.Alternative{Text: string(a.Text), Terms: convert(a.Terms, token.token)}
	})}
}

// near asks for terms that are spelled alike, or that begin alike.
type near struct {
	Collection string  `json:"collection"`
	Word       text    `json:"word"`
	Edits      int     `json:"edits,omitempty"`
	Selection  *chosen `json:"selection"`
}

type nearAnswer struct {
	Terms  []nearTerm `json:"terms"`
	Stands bool       `json:"stands,omitempty"`
}

type nearTerm struct {
	Term      text   `json:"term"`
	Edits     int    `json:"edits"`
	Refs      []byte `json:"refs"`
	Documents int    `json:"documents"`
	Doubled   bool   `json:"doubled,omitempty"`
}

func nearAnswerOf(n backend.NearTerms) nearAnswer {
	return nearAnswer{Stands: n.Stands, Terms: convert(n.Terms, func(t backend.NearTerm) nearTerm {
		return nearTerm{text(t.Term), t.Edits, refs.pack(t.Refs), t.Documents, t.Doubled}
	})}
}

func (n nearAnswer) nearTerms() (out backend.NearTerms, err error) {
	out.Stands = n.Stands
	out.Terms, err = parse(n.Terms, func(t nearTerm) (backend.NearTerm, error) {
		list, err := refs.unpack(t.Refs)
		return backend.NearTerm{Term: string(t.Term), Edits: t.Edits, Refs: list, Documents: t.Documents, Doubled: t.Doubled}, err
	})
	return out, err
}

type fieldNames struct {
	Values []text `json:"values"`
	Texts  []text `json:"texts"`
}

func fieldNamesOf(f backend.FieldNames) fieldNames {
	return fieldNames{textsOf(f.Values), textsOf(f.Texts)}
}

func (f fieldNames) fieldNames() backend.FieldNames {
	return backend.FieldNames{Values: stringsOf(f.Values), Texts: stringsOf(f.Texts)}
}

type lacking struct {
	Collection string     `json:"collection"`
	Names      fieldNames `json:"names"`
}

type lackingAnswer struct {
	Names   fieldNames `json:"names"`
	Partial bool       `json:"partial,omitempty"`
}
