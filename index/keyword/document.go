package keyword

import (
	"unsafe"

	index "github.com/blevesearch/bleve_index_api"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/keyword/analysis"
)

// Field is a text of a document that can be searched. Fields of one name count as one, with their
// texts joined. An index keeps the first MaxTextFields names separate and joins the texts of all
// others under the name OtherFields.
type Field struct {
	Name string
	Text string
}

// Entry replaces what the index has of document No, or deletes it.
type Entry struct {
	No     uint32
	Text   []Field        // for searches
	Values map[string]any // for filters, see filter.Values
	Delete bool
}

// bytes estimates the memory that indexing e takes.
func (e *Entry) bytes() int {
	n := 64
	for i := range e.Text {
		n += len(e.Text[i].Text)
	}
	for _, v := range e.Values {
		n += 64
		switch v := v.(type) {
		case string:
			n += len(v)
		case []any:
			n += 64 * len(v)
			for _, e := range v {
				if s, ok := e.(string); ok {
					n += len(s)
				}
			}
		}
	}
	return n
}

// document is an analysed Entry as bleve indexes it: it implements index.Document.
type document struct {
	id        string
	fields    []*docField
	plainText uint64
}

// docField is an analysed field: it implements index.Field. length is never 0, because in a segment
// the only posting of a term with norm 0 looks like none.
type docField struct {
	name    string
	value   []byte // stored
	options index.FieldIndexingOptions
	length  int
	terms   index.TokenFrequencies
	spare   []index.TokenFreq // allocated ahead for terms
}

// English texts have a distinct term per bytesPerTerm. Maps of terms are allocated for up to
// maxTermsAhead.
const bytesPerTerm, maxTermsAhead = 12, 1024

// newDocument analyses e. fieldOf returns the name under which a text field is indexed.
func newDocument(e *Entry, a *analysis.Analyzer, fieldOf func(name string) string) *document {
	d := &document{id: docID(e.No)}
	byName := make(map[string]*docField, len(e.Text)+len(e.Values)+1)
	field := func(name string) *docField {
		f := byName[name]
		if f == nil {
			f = &docField{name: name, options: index.IndexField}
			byName[name] = f
			d.fields = append(d.fields, f)
		}
		return f
	}
	var next neighbours
	for _, t := range e.Text {
		f := field(textPrefix + fieldOf(t.Name))
		if f.terms == nil {
			f.terms = make(index.TokenFrequencies, min(len(t.Text)/bytesPerTerm, maxTermsAhead))
		}
		d.plainText += uint64(len(t.Text))
		var length analysis.Counter
		for t := range a.Tokens(t.Text) {
			f.word(t.Term)
			length.Add(t)
			next.add(t)
		}
		next.endText()
		f.length += length.Length()
	}
	lengths := docField{name: lengthField, options: index.IndexField, length: 1, terms: index.TokenFrequencies{}}
	for _, f := range d.fields {
		if f.length > 0 {
			name := []byte(f.name[len(textPrefix):])
			lengths.add(name).SetFrequency(f.length)
		}
	}
	if len(lengths.terms) > 0 {
		d.fields = append(d.fields, &lengths, &docField{name: neighbourField, value: next.filter(), options: index.StoreField, length: 1, terms: index.TokenFrequencies{}})
	}
	var values []filter.Value
	for name, v := range e.Values {
		values = filter.Values(values[:0], v)
		if len(values) == 0 {
			continue
		}
		f, key := field(valueField), valueKey(name)
		if f.terms == nil {
			f.terms = index.TokenFrequencies{}
		}
		set := func(term []byte) { f.set(append(key, term...)) }
		set([]byte{termExists})
		for _, v := range values {
			valueTerms(v, set)
		}
	}
	for _, f := range d.fields {
		f.length = max(f.length, 1)
	}
	return d
}

// word counts an occurrence of a term, whose bytes it keeps.
func (f *docField) word(term string) {
	tf := f.terms[term]
	if tf == nil {
		if len(f.spare) == 0 {
			f.spare = make([]index.TokenFreq, min(max(4, len(f.terms)), 64))
		}
		tf, f.spare = &f.spare[0], f.spare[1:]
		tf.Term = unsafe.Slice(unsafe.StringData(term), len(term)) // bleve only reads it
		f.terms[term] = tf
	}
	tf.SetFrequency(tf.Frequency() + 1)
}

// add counts an occurrence of a term, which it copies.
func (f *docField) add(term []byte) *index.TokenFreq {
	tf := f.terms[string(term)]
	if tf == nil {
		term = append([]byte(nil), term...)
		tf = &index.TokenFreq{Term: term}
		f.terms[unsafe.String(unsafe.SliceData(term), len(term))] = tf
	}
	tf.SetFrequency(tf.Frequency() + 1)
	return tf
}

// set counts one occurrence of a term, however often it is called.
func (f *docField) set(term []byte) { f.add(term).SetFrequency(1) }

func (d *document) ID() string                                 { return d.id }
func (d *document) Size() int                                  { return int(d.plainText) }
func (d *document) VisitComposite(index.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return d.plainText }
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }

func (d *document) VisitFields(visit index.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}

// AddIDField adds the field that a segment's DocID returns. bleve calls it once for each document.
func (d *document) AddIDField() {
	f := &docField{name: "_id", value: []byte(d.id), options: index.IndexField | index.StoreField, length: 1, terms: index.TokenFrequencies{}}
	f.set(f.value)
	d.fields = append(d.fields, f)
}

func (f *docField) Name() string                                     { return f.name }
func (f *docField) Value() []byte                                    { return f.value }
func (f *docField) ArrayPositions() []uint64                         { return nil }
func (f *docField) EncodedFieldType() byte                           { return 't' }
func (f *docField) Analyze()                                         {}
func (f *docField) Options() index.FieldIndexingOptions              { return f.options }
func (f *docField) AnalyzedLength() int                              { return f.length }
func (f *docField) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.terms }
func (f *docField) NumPlainTextBytes() uint64                        { return 0 }
