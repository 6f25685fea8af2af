package keyword

import (
	"unsafe"

	index "github.com/blevesearch/bleve_index_api"

	"searchd/index/filter"
)

// Field is a text of a document that can be searched. Fields of one name count as one, their texts
// joined. An index keeps MaxTextFields names apart, the first that it is given; the texts of all
// further ones are joined under the name OtherFields.
type Field struct {
	Name string
	Text string
}

// Entry is what the index shall hold of document No from now on, in place of what it held; with
// Delete, nothing.
type Entry struct {
	No     uint32
	Text   []Field        // searched
	Values map[string]any // filtered by; what filter.Values takes. Anything else has no values.
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

// docField is a field whose terms are known: it implements index.Field. length is never 0, because
// a segment cannot tell a term's only posting with norm 0 from none.
type docField struct {
	name    string
	value   []byte // of _id only, which is stored
	options index.FieldIndexingOptions
	length  int
	terms   index.TokenFrequencies
	spare   []index.TokenFreq // for terms to come
}

// Of an English text there is one different term for so many bytes; room is made for at most so
// many ahead.
const termBytes, mostTermsAhead = 12, 1024

// newDocument analyses e. fieldOf says under which name the text of a field is indexed.
func newDocument(e *Entry, a analyzer, fieldOf func(name string) string) *document {
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
	for _, t := range e.Text {
		f := field(textPrefix + fieldOf(t.Name))
		if f.terms == nil {
			f.terms = make(index.TokenFrequencies, min(len(t.Text)/termBytes, mostTermsAhead))
		}
		d.plainText += uint64(len(t.Text))
		words, commons := 0, 0
		a.each(t.Text, func(t token) bool {
			f.word(t.term)
			switch t.kind {
			case plainTerm:
				words++
			case commonTerm:
				commons++
			}
			return true
		})
		f.length += lengthOf(words, commons)
	}
	lengths := docField{name: lengthField, options: index.IndexField, length: 1, terms: index.TokenFrequencies{}}
	for _, f := range d.fields {
		if f.length > 0 {
			name := []byte(f.name[len(textPrefix):])
			lengths.add(name).SetFrequency(f.length)
		}
	}
	if len(lengths.terms) > 0 {
		d.fields = append(d.fields, &lengths)
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

// word counts one more occurrence of a term of a text, whose bytes it uses.
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

// add counts one more occurrence of term. The map is asked with a conversion that does not
// allocate.
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

// set makes term occur once.
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

// AddIDField adds the field from which a segment answers DocID. bleve calls it once for each
// document.
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
