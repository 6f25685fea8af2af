package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/given"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// Limits on one commit, so that memory does not grow with the size of a request.
const (
	commitDocuments    = 1024
	commitBytes        = 32 << 20  // of fields and vectors
	maxDocumentVectors = 128 << 20 // bytes
	commitShort        = 8         // documents while searches run, as indexing a commit keeps all cores busy
	maxIDBytes         = 512
)

// Ingest writes documents to a collection: each is checked, skipped if it equals the stored one,
// cut into passages, encoded, committed and indexed. There is one result per document, in order. It
// returns an error only if it could not go on, together with the results committed so far. A result
// other than [Failed] is durable.
func (e *Engine) Ingest(ctx context.Context, collection string, docs []Document) (_ []ItemResult, err error) {
	ctx, span := e.tracer.Start(ctx, "ingest")
	span.Count("searchd.documents", len(docs))
	defer func() { span.End(err) }()
	c, r, release, err := e.openToWrite(ctx, collection)
	if err != nil {
		return nil, err
	}
	defer release()
	enc, err := e.encodings.Of(collection, r.made())
	if err != nil {
		return nil, err
	}
	in := &ingest{engine: e, collection: c, record: r, encoding: enc, pace: e.many, seen: map[string]bool{}}
	if len(docs) == 1 {
		in.pace = e.single
	}
	results := make([]ItemResult, len(docs))
	committed := make(chan error, 1) // the result of the commit that runs in the background
	committed <- nil
	done := 0 // documents whose commit has ended
	for at := 0; at < len(docs); {
		n := in.take(docs[at:])
		part := results[at : at+n]
		items, err := in.prepare(ctx, docs[at:at+n], part) // while the previous commit runs
		if before := <-committed; before != nil {
			return results[:done], before
		}
		if done = at; err != nil {
			return results[:done], err
		}
		go func() { committed <- fault.Protect(func() error { return in.apply(ctx, items, part) }) }()
		at += n
	}
	if err := <-committed; err != nil {
		return results[:done], err
	}
	return results, nil
}

// ingest is one call of [Engine.Ingest].
type ingest struct {
	engine     *Engine
	collection backend.Collection
	record     record
	encoding   *inference.Encoding
	pace       *inference.Pace
	background bool            // does not queue with other ingests, which would wait for it
	reuse      *reuse          // vectors that can be reused; nil: none
	from       string          // stored name of the collection that has the vectors that documents keep; empty: this one
	seen       map[string]bool // ids written by this call, whose stored hash is no longer what Lookup returned
}

// item is a document in the pipeline.
type item struct {
	write backend.Write
	parts mapping.Parts
	texts []string // to encode, one per passage; a document without text has none
	done  bool     // failed or unchanged

	given []given.Vector // where the vectors of the collection are given
	keeps bool           // the stored ones stay
	bare  bool           // there are none
}

// take returns how many of the documents make up the next commit, at least one.
func (in *ingest) take(docs []Document) int {
	size, most := 0, commitDocuments
	if in.engine.throttle.Wanted() {
		most = commitShort
	}
	for i, d := range docs {
		size += len(d.Fields) + (len(d.Fields)/(leastToken*in.record.budget())+1)*in.vectorBytes() // a given vector takes less than its JSON
		if i > 0 && (size > commitBytes || i >= most) {
			return i
		}
	}
	return len(docs)
}

// leastToken is the minimum number of bytes per token: a letter and a space.
const leastToken = 2

func (in *ingest) vectorBytes() int { return 4 * in.record.Model.Dimension }

// prepare checks, cuts and encodes the documents of one commit. It sets the results of those that
// failed or are unchanged.
func (in *ingest) prepare(ctx context.Context, docs []Document, results []ItemResult) ([]item, error) {
	items := make([]item, len(docs))
	for i := range docs {
		results[i].ID = docs[i].ID
		if err := in.check(&items[i], docs[i]); err != nil {
			items[i].done = true
			results[i].Status, results[i].Err = Failed, err
			continue
		}
		results[i].ID = items[i].write.ID
	}
	if err := in.keepVectors(ctx, items); err != nil {
		return nil, err
	}
	if err := in.skipUnchanged(ctx, items, results); err != nil {
		return nil, err
	}
	for i := range items {
		if items[i].done {
			continue
		}
		in.cut(&items[i])
		most := min(backend.MaxPassages, maxDocumentVectors/in.vectorBytes())
		if n := len(items[i].texts); n > most {
			items[i].done = true
			results[i].Status, results[i].Err = Failed, docs[i].wrong(mapping.Phrase(fmt.Sprintf("%d passages", n)), fmt.Sprintf("at most %d passages of %d tokens", most, in.record.budget()))
		}
	}
	if in.reuse != nil {
		if err := in.reuse.give(ctx, items); err != nil {
			return nil, err
		}
	}
	return items, in.encode(ctx, items)
}

// check reads one document: id, JSON, fields, hash.
func (in *ingest) check(it *item, d Document) error {
	split := in.record.Settings.Fields.Split
	if in.background { // these documents are stored already
		split = in.record.Settings.Fields.SplitStored
	}
	var own given.Members
	byGiven := in.record.Settings.GivenVectors()
	if byGiven && !in.background {
		d.Fields, own = given.Cut(d.Fields)
	}
	parts, err := split(d.Fields)
	var wrong *mapping.Refusal
	if errors.As(err, &wrong) {
		return &DocumentError{Within: d.Within, Path: wrong.Path, Value: wrong.Value, Allowed: wrong.Allowed}
	}
	if err != nil {
		return d.wrong(mapping.Phrase(d.Fields), strings.TrimPrefix(err.Error(), mapping.ErrDocument.Error()+": "))
	}
	it.keeps = byGiven && d.KeepVectors && own.Vector == nil && own.Vectors == nil
	if it.given, err = own.Read(in.record.Model.Dimension, parts); errors.As(err, &wrong) {
		return &DocumentError{Within: d.Within, Path: wrong.Path, Value: wrong.Value, Allowed: wrong.Allowed}
	}
	if parts.Blank && !in.background && len(it.given) == 0 && !it.keeps {
		return d.wrong(mapping.Phrase(d.Fields), "at least one field with a text that is not blank, a number or a boolean")
	}
	canonical, err := canonicalJSON(d.Fields)
	if err != nil {
		return d.wrong(mapping.Phrase(d.Fields), err.Error())
	}
	blocks, err := checkBlocks(d, parts)
	if err != nil {
		return err
	}
	it.parts, it.bare = parts, byGiven && len(it.given) == 0
	it.write = backend.Write{ID: d.ID, Fields: canonical, Blocks: blocks, IfRevision: d.IfRevision}
	it.hash()
	if len(canonical) > mapping.MaxDocument { // escapes may make it longer than the input
		return d.wrong(mapping.Phrase(fmt.Sprintf("%d bytes", len(canonical))), fmt.Sprintf("at most %d bytes of JSON as it is stored", mapping.MaxDocument))
	}
	if d.ID == "" {
		content := sha256.Sum256(given.AppendHash(canonical[:len(canonical):len(canonical)], it.given))
		it.write.ID = hex.EncodeToString(content[:16])
	}
	return CheckID(it.write.ID)
}

// hash sets the hash of a document's content.
func (it *item) hash() {
	canonical := it.write.Fields[:len(it.write.Fields):len(it.write.Fields)]
	it.write.Hash = sha256.Sum256(given.AppendHash(passage.Encode(canonical, it.write.Blocks), it.given))
}

// checkBlocks returns the blocks of a document's text fields, without those of other fields.
func checkBlocks(d Document, parts mapping.Parts) (map[string][]passage.Block, error) {
	var blocks map[string][]passage.Block
	for _, name := range slices.Sorted(maps.Keys(d.Blocks)) {
		f, ok := parts.Field(name)
		if !ok {
			if _, stored := parts.Values[name]; stored { // a field that is not searched as text
				continue
			}
			return nil, &DocumentError{Path: []any{"blocks"}, Value: name, Allowed: "names of fields of the document that are text"}
		}
		var wrong *passage.BlockError
		if errors.As(passage.Check(f.Text, d.Blocks[name]), &wrong) {
			return nil, &DocumentError{Path: []any{"blocks", name, wrong.Index, wrong.Member}, Value: wrong.Value, Allowed: wrong.Allowed}
		}
		if blocks == nil {
			blocks = map[string][]passage.Block{}
		}
		blocks[name] = d.Blocks[name]
	}
	return blocks, nil
}

// wrong returns the error about a document as a whole.
func (d Document) wrong(value mapping.Phrase, allowed string) error {
	return &DocumentError{Within: d.Within, Value: value, Allowed: allowed}
}

// CheckID returns an error unless id is 1 to 512 bytes of UTF-8 without control characters.
func CheckID(id string) error {
	if id == "" || len(id) > maxIDBytes || !utf8.ValidString(id) || strings.IndexFunc(id, unicode.IsControl) >= 0 {
		return fault.Field("id", id, fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", maxIDBytes))
	}
	return nil
}

// canonicalJSON returns the object with sorted keys and without white space, so that equal objects
// have equal bytes. Numbers keep their text.
func canonicalJSON(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("a JSON object: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("a single JSON object")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// skipUnchanged marks the documents whose stored content is the same.
func (in *ingest) skipUnchanged(ctx context.Context, items []item, results []ItemResult) error {
	var ids []string
	var at []int
	for i := range items {
		if id := items[i].write.ID; !items[i].done {
			if !in.seen[id] {
				ids, at = append(ids, id), append(at, i)
			}
			in.seen[id] = true
		}
	}
	stored, err := in.lookup(ctx, ids)
	if err != nil {
		return err
	}
	for j, d := range stored {
		i := at[j]
		if w := &items[i].write; d != nil && d.Hash == w.Hash && (w.IfRevision == nil || *w.IfRevision == d.Revision) {
			items[i].done = true
			results[i] = ItemResult{ID: d.ID, Status: Unchanged, Revision: d.Revision, Passages: len(d.Passages), Warning: items[i].warning()}
		}
	}
	return nil
}

// lookup returns the stored documents without their fields. A damaged document is nil, like a
// missing one, as writing it again repairs it.
func (in *ingest) lookup(ctx context.Context, ids []string) ([]*backend.Document, error) {
	b := in.engine.backend
	stored := make([]*backend.Document, 0, len(ids))
	err := backend.LookupPages(ctx, b, backend.LookupRequest{Collection: in.collection.Name, IDs: ids}, func(_ []string, docs []*backend.Document) error {
		for _, d := range docs {
			if d != nil {
				d.Fields = nil // to save memory: each may have megabytes
			}
		}
		stored = append(stored, docs...)
		return nil
	})
	if !errors.Is(err, backend.ErrDamaged) {
		return stored, err
	}
	for _, id := range ids[len(stored):] {
		one, err := b.Lookup(ctx, backend.LookupRequest{Collection: in.collection.Name, IDs: []string{id}})
		switch {
		case errors.Is(err, backend.ErrDamaged):
			one = []*backend.Document{nil}
		case err != nil:
			return nil, err
		case one[0] != nil:
			one[0].Fields = nil
		}
		stored = append(stored, one[0])
	}
	return stored, nil
}

// cut sets the passages of a document and the texts to encode for them: each passage after its
// prefix.
func (in *ingest) cut(it *item) {
	if in.record.Settings.GivenVectors() {
		in.cutGiven(it)
		return
	}
	budget, count := max(in.record.budget(), 1), in.encoding.Embedder.CountTokens
	for _, f := range it.parts.Text {
		if it.parts.IsTitle(f.Name) && len(it.parts.Text) > 1 && !in.record.Settings.Passages.NoTitle {
			continue // it is in the prefix of every passage
		}
		prefix := in.record.prefix(it.parts.TitleOver(f.Name), count)
		for _, p := range (passage.Cutter{Budget: budget, Count: count, Prefix: prefix}).Cut(f.Text, it.write.Blocks[f.Name]) {
			it.texts = append(it.texts, behind(prefix(p.Context), f.Text[p.Start:p.End]))
			it.write.Passages = append(it.write.Passages, backend.Passage{Field: f.Name, Start: p.Start, End: p.End})
		}
	}
}

// prefix returns a function that gives the text encoded before a passage: the title, the headings
// above it, the header of its table or the language of its code, together at most a third of a
// passage's budget. It is empty if the settings say that passages are encoded without a title.
func (r record) prefix(title string, count func(string) int) func(passage.Context) string {
	var text, cut string // of the previous call, as neighbors share a prefix
	return func(c passage.Context) string {
		if r.Settings.Passages.NoTitle {
			return ""
		}
		if lead := c.Lead(title); lead != text {
			text, cut = lead, firstTokens(lead, r.budget()/3, count)
		}
		return cut
	}
}

// behind returns a passage with its prefix, unless it begins with the prefix itself.
func behind(prefix, text string) string {
	if prefix == "" || strings.HasPrefix(text, prefix) {
		return text
	}
	return prefix + "\n" + text
}

// firstTokens returns the longest prefix of text, cut at a word, that has at most n tokens.
func firstTokens(text string, n int, count func(string) int) string {
	if count(text) <= n {
		return text
	}
	end, _ := passage.Cutter{Budget: max(n, 1), Count: count}.Fit(text)
	return strings.TrimSpace(text[:end])
}

// encode sets the vectors of all passages that have none, in one call of the embedder.
func (in *ingest) encode(ctx context.Context, items []item) (err error) {
	var texts []string
	for i := range items {
		it := &items[i]
		if it.done {
			continue
		}
		if it.write.Vectors == nil {
			it.write.Vectors = make([][]float32, len(it.texts))
		}
		for j, v := range it.write.Vectors {
			if v == nil {
				texts = append(texts, it.texts[j])
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	ctx, span := in.engine.tracer.Start(ctx, "encode")
	span.Count("searchd.passages", len(texts))
	defer func() { span.End(err) }()
	if !in.background {
		done, err := in.pace.Turn(ctx)
		if err != nil {
			return err
		}
		defer done()
	}
	vectors, err := in.engine.throttle.Embed(ctx, in.pace, in.encoding.Embedder, texts)
	if err != nil {
		return fmt.Errorf("encoding %d passages: %w", len(texts), err)
	}
	for i := range items {
		it := &items[i]
		for j, v := range it.write.Vectors {
			if v != nil {
				continue
			}
			v, vectors = vectors[0], vectors[1:]
			if !inference.Normalize(v) {
				return fmt.Errorf("document %s: the model returned a zero vector for passage %d", it.write.ID, j)
			}
			it.write.Vectors[j] = v
		}
	}
	return nil
}

// apply commits the remaining items and sets their results.
func (in *ingest) apply(ctx context.Context, items []item, results []ItemResult) error {
	var writes []backend.Write
	var at []int
	for i := range items {
		if !items[i].done {
			writes, at = append(writes, items[i].write), append(at, i)
		}
	}
	if len(writes) == 0 {
		return nil
	}
	var outcomes []backend.Outcome
	ctx, span := in.engine.tracer.Start(ctx, "commit")
	span.Count("searchd.documents", len(writes))
	err := in.engine.throttle.Commit(ctx, in.pace, func() (err error) {
		outcomes, err = in.engine.backend.Apply(ctx, backend.ApplyRequest{Collection: in.collection.Name, Writes: writes, Keep: in.keep()})
		return err
	})
	if span.End(err); err != nil {
		return err
	}
	for j, o := range outcomes {
		r := itemResult(writes[j], o)
		if r.Err == nil {
			r.Warning = items[at[j]].warning()
		}
		results[at[j]] = r
	}
	return nil
}

// warnedFields is the number of fields that a warning names.
const warnedFields = 3

// warning says of a document that its collection's vectors are given and it has none, or names the
// fields of a document without searchable text that would be searched if they were strings.
func (it *item) warning() string {
	var text strings.Builder
	if it.bare {
		return "no vector, only words and filters can find this document"
	}
	for i, name := range it.parts.NotText {
		switch {
		case i == warnedFields:
			fmt.Fprintf(&text, " and %d more", len(it.parts.NotText)-i)
		case i > warnedFields:
		case i > 0:
			text.WriteString(", " + fault.Quote(name))
		default:
			text.WriteString("no searchable text, only filters can find this document; not text:  " + fault.Quote(name))
		}
	}
	return text.String()
}
