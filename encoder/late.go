package encoder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/searchd/encoder/tokenizer"
	"example.com/searchd/internal/simd"
	"example.com/searchd/pooling"
)

// ErrNotLate means that the checkpoint gives one vector for a text, not one for each token.
var ErrNotLate = errors.New("encoder: the checkpoint is not one of late interaction")

// late turns token states into the vectors that late interaction compares, as ColBERT does:
// projected token by token, of unit length, without the tokens on a list of documents; queries are
// filled up with mask tokens. Source: arXiv:2004.12832, and sentence-transformers
// MultiVectorEncoder, which also reads the checkpoints of PyLate.
type late struct {
	dense     []*dense
	normalize bool
	skip      map[int32]bool // tokens of documents that do not count
	skipQuery bool           // nor in queries
	query     lateSide
	document  lateSide
	fill      int   // least number of tokens of a query
	cut       bool  // and also the largest
	attend    bool  // whether the other tokens see those that fill up
	mask      int32 // which fills up
	dim       int
}

// lateSide is how texts of one kind begin, and where they end.
type lateSide struct {
	marker int32 // a token after the first; -1: none
	prompt string
	limit  int
}

// isLate reports whether modules are those of late interaction.
func isLate(refs []Module) bool {
	return len(refs) > 1 && refs[0].Class == "Transformer" && (refs[1].Class == "Dense" || refs[1].Class == "MultiVectorMask")
}

// loadLate reads the modules after the transformer.
func (m *Model) loadLate(fsys fs.FS, refs []Module) error {
	l := &late{dim: m.stack.hidden, skip: map[int32]bool{}}
	f, err := readFields(fsys, "config_sentence_transformers.json")
	if errors.Is(err, fs.ErrNotExist) {
		f, err = parseFields("config_sentence_transformers.json", []byte("{}"))
	}
	if err != nil {
		return err
	}
	pylate := f.string("model_type", "") == "ColBERT"
	l.normalize = pylate
	for _, ref := range refs[1:] {
		if err := l.readModule(m, fsys, ref); err != nil {
			return ref.missing(err)
		}
	}
	if pylate {
		words := f.strings("skiplist_words")
		if !f.has("skiplist_words") {
			words = strings.Split("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "")
		}
		l.skipWords(m, words)
	}
	if err := l.readSides(m, fsys, refs[0].Dir, f); err != nil {
		return err
	}
	m.late, m.queryLen, m.maxLen = l, l.query.limit, l.document.limit
	return f.err()
}

func (l *late) readModule(m *Model, fsys fs.FS, ref Module) error {
	switch ref.Class {
	case "Dense":
		mod, err := readDense(fsys, ref.Dir, l.dim, m.dry, "token_embeddings")
		if err != nil {
			return err
		}
		l.dim = mod.width(l.dim)
		if d, ok := mod.(*dense); ok {
			l.dense = append(l.dense, d)
		}
		return nil
	case "MultiVectorMask":
		f, err := readFields(fsys, path.Join(ref.Dir, "config.json"))
		if err != nil {
			return err
		}
		f.absent("keep_only_token_ids")
		tasks := f.strings("skiplist_tasks")
		for _, task := range tasks {
			if task != "query" && task != "document" {
				f.fail("skiplist_tasks", "has %q, want query or document", task)
			}
		}
		l.skipQuery = slices.Contains(tasks, "query")
		if f.has("skiplist_tasks") && !slices.Contains(tasks, "document") {
			f.fail("skiplist_tasks", "is %s, want document among them", f.text("skiplist_tasks"))
		}
		l.skipWords(m, f.strings("skiplist_words"))
		return f.err()
	case "Normalize":
		l.normalize = true
		return nil
	case "Dropout":
		return nil
	}
	return fmt.Errorf("%w: modules.json: module %q in a checkpoint of late interaction is not supported, want Dense, MultiVectorMask, Normalize or Dropout",
		ErrConfig, ref.Class)
}

// skipWords puts the words that are single tokens on the list.
func (l *late) skipWords(m *Model, words []string) {
	for _, word := range words {
		if id, ok := m.tok.ID(word); ok {
			l.skip[id] = true
		}
	}
}

// readSides reads markers, prompts, lengths and the filling up of queries.
func (l *late) readSides(m *Model, fsys fs.FS, dir string, f *fields) error {
	lengths, err := readLengthConfig(fsys, dir)
	if err != nil {
		return err
	}
	l.document = l.side(m, f.string("document_prefix", ""), m.prompts.byName["document"])
	l.query = l.side(m, f.string("query_prefix", ""), m.prompts.byName["query"])
	most := least(m.stack.maxTokens, m.options.MaxSeqLength)
	limit := func(own ...int) int { return least(firstOf(append(own, m.maxLen)...), most) }
	l.document.limit = limit(f.int("document_length", 0, 1, maxPositions), lengths.document)
	l.query.limit = limit(f.int("query_length", 0, 1, maxPositions), lengths.query)
	if !f.has("query_length") && lengths.query == 0 {
		l.query.limit = limit(lengths.limit)
	}
	token := ""
	if e := lengths.expansion; e != nil {
		l.fill, l.attend = e.needInt("length", maxPositions), e.bool("attend", false)
		l.cut, token = e.oneOf("strategy", "fixed", "fixed", "min") == "fixed", e.string("token", "")
		if err := e.err(); err != nil {
			return err
		}
	} else if f.string("model_type", "") == "ColBERT" && f.bool("do_query_expansion", true) {
		l.fill, l.cut = f.int("query_length", 32, 1, maxPositions), true
		l.attend = f.bool(f.first("attend_to_expansion_tokens", "attend_to_mask_tokens"), false)
	}
	if l.fill = least(l.fill, most); l.fill == 0 {
		return nil
	}
	if l.query.limit = max(l.query.limit, l.fill); l.cut {
		l.query.limit = l.fill
	}
	for _, try := range []string{token, "[MASK]", "<mask>"} {
		if id, ok := m.tok.ID(try); ok && try != "" {
			l.mask = id
			return nil
		}
	}
	return fmt.Errorf("%w: queries are filled up with a mask token, but the tokenizer has none", ErrConfig)
}

// firstOf returns the first number above 0.
func firstOf(numbers ...int) int {
	for _, n := range numbers {
		if n > 0 {
			return n
		}
	}
	return 0
}

// side splits the beginning of texts into a marker, if it is a token, and text.
func (l *late) side(m *Model, prefix, prompt string) lateSide {
	if prefix == "" {
		return lateSide{marker: -1, prompt: prompt}
	}
	rest := strings.TrimPrefix(prompt, prefix)
	word, after, _ := strings.Cut(prefix, " ")
	if id, ok := m.tok.ID(prefix); ok {
		return lateSide{marker: id, prompt: rest}
	}
	if id, ok := m.tok.ID(word); ok {
		return lateSide{marker: id, prompt: after + rest}
	}
	return lateSide{marker: -1, prompt: prefix + rest}
}

// LateResult holds the token vectors of texts, in their order.
type LateResult struct {
	Dim       int
	Vectors   [][]float32 // [n*Dim] of each text, row by row
	IDs       [][]int32   // [n] of each text: the tokens of the rows
	Truncated []bool
	Tokens    int // of all texts, with those that do not count

	Tokenization time.Duration // as in Result
}

// EncodeLate returns the token vectors of queries or of documents. It returns ErrNotLate unless the
// checkpoint is one of late interaction, ErrNotFinite, or the error of ctx.
func (m *Model) EncodeLate(ctx context.Context, texts []string, query bool) (*LateResult, error) {
	l := m.late
	if l == nil {
		return nil, ErrNotLate
	}
	began := time.Now()
	side := l.document
	if query {
		side = l.query
	}
	seqs, err := m.tokenize(ctx, len(texts), func(i int) tokenizer.Encoding {
		if side.marker < 0 {
			return m.tok.Encode(strip(side.prompt+texts[i]), side.limit)
		}
		return withMarker(m.tok.Encode(strip(side.prompt+texts[i]), max(1, side.limit-1)), side.marker)
	})
	if err != nil {
		return nil, err
	}
	r := &LateResult{Dim: l.dim, Vectors: make([][]float32, len(texts)), IDs: make([][]int32, len(texts)), Tokenization: time.Since(began)}
	if query {
		for i := range seqs {
			l.expand(&seqs[i])
		}
	}
	r.Truncated, r.Tokens = lengths(seqs)
	err = m.eachText(ctx, seqs, func(n int, states []float32) error {
		r.Vectors[n], r.IDs[n] = l.vectors(states, seqs[n].ids, query)
		return checkFinite(r.Vectors[n], n)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// withMarker puts a token after the one that begins every text, or first.
func withMarker(e tokenizer.Encoding, marker int32) tokenizer.Encoding {
	at := 0
	if len(e.Spans) > 0 && e.Spans[0] == (tokenizer.Span{}) {
		at = 1
	}
	e.IDs = slices.Insert(slices.Clone(e.IDs), at, marker)
	if e.TypeIDs != nil {
		e.TypeIDs = slices.Insert(slices.Clone(e.TypeIDs), at, 0)
	}
	return e
}

// expand fills up a query.
func (l *late) expand(s *sequence) {
	n := len(s.ids)
	if n >= l.fill {
		return
	}
	s.ids = slices.Clone(s.ids)
	for len(s.ids) < l.fill {
		s.ids = append(s.ids, l.mask)
	}
	if s.types != nil {
		s.types = append(slices.Clone(s.types), make([]int32, l.fill-n)...)
	}
	if !l.attend {
		s.keys = n
	}
}

// vectors projects the states [L, H] of a text and drops the rows that do not count.
func (l *late) vectors(states []float32, ids []int32, query bool) ([]float32, []int32) {
	x, rows := states, len(ids)
	for _, d := range l.dense {
		x = d.apply(x, rows)
	}
	kept, tokens := make([]float32, 0, rows*l.dim), make([]int32, 0, rows)
	for i, id := range ids {
		if l.skip[id] && (!query || l.skipQuery) {
			continue
		}
		row := x[i*l.dim : (i+1)*l.dim]
		kept, tokens = append(kept, row...), append(tokens, id)
		if l.normalize {
			pooling.Normalize(kept[len(kept)-l.dim:])
		}
	}
	return kept, tokens
}

// MaxSim returns the mean over the rows of a query of the largest dot product with a row of a text;
// both have dim columns. Without rows on either side it is 0. The usual sum is this times the rows
// of the query.
func MaxSim(query, text []float32, dim int) float32 {
	rows, others := len(query)/dim, len(text)/dim
	if rows == 0 || others == 0 {
		return 0
	}
	dots := make([]float32, rows*others)
	simd.MulNT(dots, others, query, dim, text, dim, rows, others, dim, 1)
	sum := float32(0)
	for i := range rows {
		sum += simd.Largest(dots[i*others : (i+1)*others])
	}
	return sum / float32(rows)
}

// scoreLate is Score for checkpoints of late interaction: each different query and text is encoded
// once.
func (m *Model) scoreLate(ctx context.Context, pairs [][2]string) (*Scores, error) {
	r := &Scores{Logits: make([]float32, len(pairs)), Truncated: make([]bool, len(pairs))}
	var encoded [2]*LateResult
	var places [2][]int
	for side := range 2 {
		var texts []string
		seen := map[string]int{}
		for _, p := range pairs {
			at, ok := seen[p[side]]
			if !ok {
				at = len(texts)
				seen[p[side]], texts = at, append(texts, p[side])
			}
			places[side] = append(places[side], at)
		}
		var err error
		if encoded[side], err = m.EncodeLate(ctx, texts, side == 0); err != nil {
			return nil, err
		}
		r.Tokens += encoded[side].Tokens
		r.Tokenization += encoded[side].Tokenization
	}
	for i := range pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q, d := places[0][i], places[1][i]
		r.Logits[i] = MaxSim(encoded[0].Vectors[q], encoded[1].Vectors[d], m.late.dim)
		r.Truncated[i] = encoded[0].Truncated[q] || encoded[1].Truncated[d]
	}
	return r, nil
}
