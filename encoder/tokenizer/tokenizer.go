package tokenizer

import (
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	sugar "github.com/sugarme/tokenizer"
)

// Options override settings of tokenizer.json. The zero value changes nothing.
type Options struct {
	// LowerCase lower-cases a text before all other steps (do_lower_case of
	// sentence_bert_config.json).
	LowerCase bool
	// Truncate is the end at which a text is cut (truncation_side of tokenizer_config.json).
	Truncate Side
	// Bert replaces the settings of a BertNormalizer, as the classes of transformers do by
	// tokenizer_config.json. It has no effect on other normalizers.
	Bert *BertSettings
	// PrefixSpace replaces add_prefix_space of a ByteLevel pre_tokenizer. Nil: that of
	// tokenizer.json.
	PrefixSpace *bool
	// Begin and End are special tokens that are added around each text unless the template of
	// tokenizer.json has them (add_bos_token and add_eos_token of tokenizer_config.json). Empty:
	// none.
	Begin, End string
	// NotBegin and NotEnd are special tokens that are removed from the template (add_bos_token and
	// add_eos_token are false). Empty, or not in the vocabulary: none.
	NotBegin, NotEnd string
}

// BertSettings are those of a BertNormalizer.
type BertSettings struct {
	LowerCase    bool
	StripAccents *bool // nil: as LowerCase
	ChineseChars bool  // blanks around ideographs
}

// Span is a range of bytes [Start, End) of the text given to Encode.
type Span struct{ Start, End int }

// Encoding is a text as the model reads it. IDs, TypeIDs and Spans have the same length.
type Encoding struct {
	IDs     []int32
	TypeIDs []int32
	// Spans are the places of the tokens in the text, in whole characters; tokens of byte-level and
	// byte-fallback models may share a character. Special tokens of the template have the zero
	// Span. In a pair the spans of the second text refer to that text.
	Spans     []Span
	Truncated bool // ids were left out because of the limit
}

// maxText bounds the bytes of one text; what lies behind is left out as by truncation.
const maxText = 1 << 29

// Tokenizer turns text into ids and back. It is read-only after New and safe for concurrent use.
type Tokenizer struct {
	vocab     *vocab
	model     model
	lower     bool
	left      bool         // texts are cut at their beginning
	replaced  string       // see Replaced
	stored    int          // see StoredLength
	raw       *addedTokens // matched in the text as it is
	normed    *addedTokens // matched in the normalised text
	steps     []normalizer
	cuts      []preTokenizer
	bert      *bertScanner // does steps and cuts in one pass; nil: not those of BERT
	template  *template
	decoder   sugar.Decoder // nil: tokens joined by blanks
	byToken   map[string]int32
	byID      map[int32]addedToken
	size      int
	cache     *wordCache
	scratches sync.Pool
}

// New reads a tokenizer.json. The length in it is checked, and used by EncodeStored only; padding
// is ignored. An error names the field, its value and what is allowed.
func New(tokenizerJSON []byte, o Options) (*Tokenizer, error) {
	f, err := readFile(tokenizerJSON)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	t, err := build(f, o)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

func build(f *file, o Options) (*Tokenizer, error) {
	t := &Tokenizer{lower: o.LowerCase, left: o.Truncate == Left, cache: new(wordCache)}
	side, err := f.truncation(&t.stored)
	if err != nil {
		return nil, err
	}
	if o.Truncate == SideOfFile {
		t.left = side == Left
	}
	if t.steps, err = parseSteps(f.normalizer, "normalizers", 0, parseNormalizer); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if o.Bert != nil && len(t.steps) == 1 {
		if n, ok := t.steps[0].(*bertNormalizer); ok {
			t.steps[0], t.replaced = n.with(o.Bert)
		}
	}
	if t.cuts, err = parseSteps(f.preTokenizer, "pretokenizers", 0, parsePreTokenizer); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if err := checkGrowth(t.steps, t.cuts); err != nil {
		return nil, err
	}
	last := lastByteLevel(t.cuts)
	if o.PrefixSpace != nil && last != nil && len(t.cuts) == 1 && last.prefix != *o.PrefixSpace {
		last.prefix = *o.PrefixSpace
		t.replaced += fmt.Sprintf(" prefix=%t", *o.PrefixSpace)
	}
	if t.model, t.vocab, err = f.model.build(last != nil); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if b, ok := t.model.(*bpe); ok && last != nil {
		last.raw = b.fromBytes
	}
	added, err := readAdded(f.added)
	if err != nil {
		return nil, err
	}
	if t.byToken, err = checkAdded(added, t.vocab); err != nil {
		return nil, err
	}
	t.index(added)
	t.raw = newAddedTokens(added, false, nil)
	t.normed = newAddedTokens(added, true, t.steps)
	if t.template, err = parseTemplate(f.postProcessor, t.Token, 0); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	t.unwrap(o.NotBegin, o.NotEnd)
	if err := t.wrap(o.Begin, o.End); err != nil {
		return nil, err
	}
	if t.decoder, err = parseDecoder(f.decoder); err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	if t.normed.trie == nil {
		t.bert = newBertScanner(t.steps, t.cuts)
	}
	t.scratches.New = func() any { return new(scratch) }
	return t, nil
}

func (t *Tokenizer) index(added []addedToken) {
	t.byID = make(map[int32]addedToken, len(added))
	t.size = len(t.vocab.tokens)
	for _, a := range added {
		t.byID[a.id] = a
		t.size = max(t.size, int(a.id)+1)
	}
}

func lastByteLevel(cuts []preTokenizer) *byteLevel {
	if len(cuts) == 0 {
		return nil
	}
	b, _ := cuts[len(cuts)-1].(*byteLevel)
	return b
}

// Replaced describes how Options.Bert, PrefixSpace, Begin, End, NotBegin and NotEnd changed
// tokenizer.json, differently for each change; empty if they did not.
func (t *Tokenizer) Replaced() string { return t.replaced }

// StoredLength is max_length of the truncation in tokenizer.json, 0 if there is none. Only
// EncodeStored goes by it.
func (t *Tokenizer) StoredLength() int { return t.stored }

// Size returns one more than the largest id.
func (t *Tokenizer) Size() int { return t.size }

// Token returns the token of an id as the vocabulary writes it.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if a, ok := t.byID[id]; ok {
		return a.Content, true
	}
	if id < 0 || int(id) >= len(t.vocab.tokens) {
		return "", false
	}
	s := t.vocab.tokens[id]
	return s, s != "" || t.vocab.id("") == id
}

// ID returns the id of a token as the vocabulary writes it.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.byToken[token]; ok {
		return id, true
	}
	id := t.vocab.id(token)
	return max(id, 0), id >= 0
}

// Encode returns the ids of text with the special tokens of the template. If there are more than
// maxLen, ids of the text are left out, at the left if texts are cut there, and the special tokens
// stay; 0 means no limit. With a maxLen below the number of special tokens only the first maxLen of
// these stay.
func (t *Tokenizer) Encode(text string, maxLen int) Encoding {
	return t.encode(text, t.template.single, maxLen, t.left)
}

// EncodeBare returns the ids of text alone.
func (t *Tokenizer) EncodeBare(text string) Encoding {
	return t.encode(text, bareTemplate().single, 0, t.left)
}

func (t *Tokenizer) encode(text string, parts []templatePart, maxLen int, left bool) Encoding {
	limit := math.MaxInt
	if maxLen > 0 {
		limit = max(0, maxLen-special(parts))
	}
	return assemble(parts, maxLen, t.run(text, output{limit: limit, left: left, keep: true}))
}

// EncodePair returns the ids of two texts in the template for pairs. If there are more than maxLen,
// ids are taken from the longer text, at the end where texts are cut; if both must be cut, both
// keep half (the strategy longest_first).
func (t *Tokenizer) EncodePair(a, b string, maxLen int) Encoding {
	parts := t.template.pair
	limit := math.MaxInt
	if maxLen > 0 {
		limit = max(0, maxLen-special(parts))
	}
	// The longer text keeps an odd id, so both are counted to the end.
	x, y := t.run(a, output{limit: limit, left: t.left, keep: true, count: true}), t.run(b, output{limit: limit, left: t.left, keep: true, count: true})
	if x.n+y.n > limit {
		n, m := longestFirst(x.n, y.n, limit)
		x.cut(n)
		y.cut(m)
	}
	return assemble(parts, maxLen, x, y)
}

// longestFirst returns how many of n and m ids stay within limit.
func longestFirst(n, m, limit int) (int, int) {
	short := min(n, m)
	long := max(short, limit-short)
	if short+long > limit {
		short = limit / 2
		long = short + limit%2
	}
	if n > m {
		return long, short
	}
	return short, long
}

// Count returns the number of ids of text without special tokens.
func (t *Tokenizer) Count(text string) int { return t.run(text, output{count: true}).n }

// assemble puts the sequences into their places in the template.
func assemble(parts []templatePart, maxLen int, seqs ...output) Encoding {
	n := special(parts)
	for _, s := range seqs {
		n += len(s.ids)
	}
	if len(parts) == 1 { // nothing to add
		s := seqs[0]
		return Encoding{s.ids, fill(make([]int32, 0, n), parts[0].typeID, n), s.spans, s.truncated}
	}
	e := Encoding{make([]int32, 0, n), make([]int32, 0, n), make([]Span, 0, n), false}
	for _, p := range parts {
		if p.sequence < 0 {
			e.IDs = append(e.IDs, p.id)
			e.TypeIDs = append(e.TypeIDs, p.typeID)
			e.Spans = append(e.Spans, Span{})
			continue
		}
		s := seqs[p.sequence]
		e.IDs = append(e.IDs, s.ids...)
		e.TypeIDs = fill(e.TypeIDs, p.typeID, len(s.ids))
		e.Spans = append(e.Spans, s.spans...)
		e.Truncated = e.Truncated || s.truncated
	}
	if maxLen > 0 && len(e.IDs) > maxLen {
		e.IDs, e.TypeIDs, e.Spans, e.Truncated = e.IDs[:maxLen], e.TypeIDs[:maxLen], e.Spans[:maxLen], true
	}
	return e
}

func fill(dst []int32, v int32, n int) []int32 {
	for range n {
		dst = append(dst, v)
	}
	return dst
}

// output collects the ids of one text.
type output struct {
	ids       []int32
	spans     []Span
	limit     int  // ids to keep
	left      bool // the last ones, not the first
	keep      bool // ids are wanted, not only their number
	count     bool // go on counting where limit is reached
	n         int  // ids counted
	truncated bool
}

// add takes one id and reports whether to go on.
func (o *output) add(id int32, sp Span) bool {
	if o.keep && (o.n < o.limit || o.left) {
		if len(o.ids) > o.limit && len(o.ids)/2 >= o.limit { // not for each id
			o.cut(o.limit)
		}
		o.ids = append(o.ids, id)
		o.spans = append(o.spans, sp)
	} else if o.keep {
		o.truncated = true
		if !o.count {
			return false
		}
	}
	o.n++
	return true
}

// cut leaves n ids.
func (o *output) cut(n int) {
	if n >= len(o.ids) {
		return
	}
	if o.left {
		copy(o.ids, o.ids[len(o.ids)-n:])
		copy(o.spans, o.spans[len(o.spans)-n:])
	}
	o.ids, o.spans, o.truncated = o.ids[:n], o.spans[:n], true
}

// scratch is the memory that one call works in.
type scratch struct {
	a, b    aligned
	text    []byte // the text
	lowered aligned
	word    []byte
	pipe    pipe
	pieces  []piece
	steps   []step
	symbols []symbol
	heap    mergeHeap
	join    []byte
}

// maxScratch bounds the text, in bytes, whose memory is reused by the next call.
const maxScratch = 1 << 20

// run encodes text into out and returns it.
func (t *Tokenizer) run(text string, out output) output {
	if len(text) > maxText {
		i := maxText
		for i > maxText-utf8.UTFMax && !utf8.RuneStart(text[i]) {
			i--
		}
		text, out.truncated = text[:i], true
	}
	if out.keep {
		n := min(out.limit, len(text)/4+8)
		out.ids, out.spans = make([]int32, 0, n), make([]Span, 0, n)
	}
	s := t.scratches.Get().(*scratch)
	s.text = append(s.text[:0], text...)
	outer := (*aligned)(nil)
	if t.lower || t.bert == nil && !utf8.ValidString(text) {
		outer = t.prepare(s)
	}
	t.text(s, &out)
	if out.left {
		out.cut(out.limit)
	}
	if outer != nil {
		for i, sp := range out.spans {
			o := outer.source(sp.Start, sp.End)
			out.spans[i] = Span{int(o.start), int(o.end)}
		}
	}
	if len(text) <= maxScratch {
		t.scratches.Put(s)
	}
	return out
}

// prepare makes s.text valid UTF-8, in lower case if asked, and returns the source of each byte.
func (t *Tokenizer) prepare(s *scratch) *aligned {
	s.lowered.reset()
	var buf [utf8.UTFMax]byte
	for i := 0; i < len(s.text); {
		r, n := utf8.DecodeRune(s.text[i:])
		sp := span{int32(i), int32(i + n)}
		switch {
		case t.lower && r == 'Σ':
			s.lowered.putString(lowerSigma(s.text, i), sp)
		case t.lower:
			s.lowered.put(appendLower(buf[:0], r), sp)
		default:
			s.lowered.put(utf8.AppendRune(buf[:0], r), sp)
		}
		i += n
	}
	s.text = append(s.text[:0], s.lowered.b...)
	return &s.lowered
}

// text encodes s.text.
func (t *Tokenizer) text(s *scratch, out *output) {
	t.raw.find(s.text, func(i, j int) bool {
		if t.bert != nil {
			return t.bert.scan(t, s, i, j, out)
		}
		return t.gap(s, i, j, out)
	}, func(a *addedToken, i, j int) bool {
		return out.add(a.id, Span{i, j})
	})
}

// gap encodes bytes [i, j) of s.text, which hold no added tokens but normalised ones.
func (t *Tokenizer) gap(s *scratch, i, j int, out *output) bool {
	s.a.set(s.text[i:j])
	cur, next := normalizeAll(t.steps, &s.a, &s.b)
	if t.normed.trie == nil {
		return t.words(s, cur, next, span{0, int32(len(cur.b))}, i, out)
	}
	more := true
	whole := cur // pre-tokenisation may rewrite cur: each stretch works on a copy
	t.normed.find(whole.b, func(x, y int) bool {
		var part, spare aligned
		part.keep(whole, x, y)
		more = t.words(s, &part, &spare, span{0, int32(y - x)}, i, out)
		return more
	}, func(a *addedToken, x, y int) bool {
		sp := whole.source(x, y)
		more = out.add(a.id, Span{i + int(sp.start), i + int(sp.end)})
		return more
	})
	return more
}

// words cuts range w of cur into words and encodes them. origin is where the source of cur begins
// in s.text.
func (t *Tokenizer) words(s *scratch, cur, next *aligned, w span, origin int, out *output) bool {
	if w.start == w.end {
		return true
	}
	p := &s.pipe
	p.cur, p.tmp, p.origin = cur, next, origin
	p.words = append(p.words[:0], w)
	for _, c := range t.cuts {
		c.split(p)
	}
	for _, w := range p.words {
		if !t.word(s, p.cur, int(w.start), int(w.end), origin, out) {
			return false
		}
	}
	return true
}

// word encodes the word that is bytes [i, j) of cur.
func (t *Tokenizer) word(s *scratch, cur *aligned, i, j, origin int, out *output) bool {
	for _, p := range t.pieces(s, cur.b[i:j]) {
		x, y := i+int(p.start), i+int(p.end)
		if t.template.trim {
			x, y = trimSpace(cur.b, x, y)
		}
		sp := cur.source(x, y)
		if !out.add(p.id, Span{origin + int(sp.start), origin + int(sp.end)}) {
			return false
		}
	}
	return true
}

// pieces returns the tokens of the word w, valid until the next call.
func (t *Tokenizer) pieces(s *scratch, w []byte) []piece {
	if len(w) > cacheMaxWord {
		s.pieces = t.model.tokenize(s.pieces[:0], w, s)
		return s.pieces
	}
	hash := hashWord(w)
	if p := t.cache.get(w, hash); p != nil {
		return p
	}
	s.pieces = t.model.tokenize(s.pieces[:0], w, s)
	if len(s.pieces) > 0 {
		t.cache.put(w, hash, s.pieces)
	}
	return s.pieces
}
