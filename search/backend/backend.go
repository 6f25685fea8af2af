// Package backend states what the engine asks of a storage engine: documents, passages and vectors
// in, matches out. The engine cuts, encodes, fuses and explains; a backend keeps, filters and
// ranks, one retriever at a time.
//
// [Storage] has a call for each phase of a query and of a write, [Admin] what else an operator
// needs. Requests and responses are plain bounded data, so that a call can travel over a network as
// it is. A response never depends on an earlier call but for what was written.
package backend

import (
	"context"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
)

// Backend is a storage engine. All methods are safe for concurrent use; a write that returned is
// committed.
type Backend interface {
	Storage
	Admin
}

// Storage keeps the documents of collections and finds them. A collection that does not exist is
// [ErrCollectionNotFound], one that cannot be opened a [DamagedError].
type Storage interface {
	// Open describes a collection, with statistics of the words that a query is about to ask for.
	Open(ctx context.Context, r OpenRequest) (OpenResponse, error)
	// Select returns the documents that pass a filter, contain phrases and lack others.
	Select(ctx context.Context, r SelectRequest) (*Selection, error)
	// RetrieveWords returns the documents with the largest BM25, best first.
	RetrieveWords(ctx context.Context, r WordsRequest) (WordsResponse, error)
	// RetrieveVectors returns the passages with the largest cosine, best first, or an even sample
	// of all passages.
	RetrieveVectors(ctx context.Context, r VectorsRequest) (VectorsResponse, error)
	// Aggregate counts values over a selection, returns its first documents in an order, and says
	// which fields are missing.
	Aggregate(ctx context.Context, r AggregateRequest) (AggregateResponse, error)
	// Fetch returns what is known of given documents and passages.
	Fetch(ctx context.Context, r FetchRequest) (FetchResponse, error)
	// Suggest returns how a word may be spelled, and what the words of a query are expanded to.
	Suggest(ctx context.Context, r SuggestRequest) (SuggestResponse, error)
	// Apply writes documents, all in one transaction, and answers each write in order.
	Apply(ctx context.Context, r ApplyRequest) ([]Outcome, error)
	// Lookup returns documents by id, nil where there is none: a page of the first of them, see
	// [LookupPages].
	Lookup(ctx context.Context, r LookupRequest) ([]*Document, error)
	// List returns a page of documents in an order that does not change.
	List(ctx context.Context, r ListRequest) (ListResponse, error)
}

// OpenRequest asks for a collection.
type OpenRequest struct {
	Collection string
	Words      *Words // nil: no statistics
}

// OpenResponse describes a collection. Statistics are of this backend's documents; nil where they
// were not asked for.
type OpenResponse struct {
	Collection Collection
	Statistics *Statistics
}

// Statistics are what BM25 must know of all documents where they are spread over several backends.
// Whoever asks adds up what each returns, asks all of them again with the sum as Words.Statistics
// until that is Complete, and then retrieves with it: every document gets the score that it has in
// one backend of all documents.
type Statistics struct {
	Parts     int
	Documents uint64
	Tokens    map[string]uint64 // of the documents, by text field that is searched
	Terms     map[string]uint64 // documents with a term of the query, or with anything that it may be expanded to
	Found     map[string]bool   // those of the words and phrases that the query may be expanded to that any document has
	Open      []string          // words that no backend has and that may be several
	Complete  bool              // Open is empty
}

// SelectRequest asks for the documents that pass Filter, contain every phrase of With and none of
// Without.
type SelectRequest struct {
	Collection string
	Filter     filter.Expr // nil: all
	With       []string    // phrases, each in one of Fields; one without terms is ignored
	Fields     []string    // empty: all text fields
	Without    []string    // phrases, each in any text field
	Rank       Words       // where too many texts would have to be read for phrases: the best of these are, the rest is left out
	NoVectors  bool        // the selection is not for RetrieveVectors, and costs less
}

// Words is a query by words.
type Words struct {
	Text       string
	Exact      []string      // words of Text that are not expanded to synonyms
	Fields     []FieldWeight // empty: all text fields with the weights they were indexed with
	And        bool          // all terms must occur
	Statistics *Statistics   // of all documents, where the backend has some of them; nil: it has all
}

// FieldWeight is a text field with its weight in one query.
type FieldWeight struct {
	Name   string
	Weight float64
}

// WordsRequest asks for the Limit best documents of a selection.
type WordsRequest struct {
	Collection string
	Words      Words
	Limit      int
	Selection  *Selection // nil: all documents
	All        bool       // return the set of all documents that match, too
}

// WordsResponse answers a [WordsRequest].
type WordsResponse struct {
	Matches []Match
	Total   int        // documents that match, beyond Limit too
	Ceiling float64    // a score that no document can exceed; terms that no document has count too, unless all are such
	Partial bool       // the index is being filled or cannot write: documents may be missing
	All     *Selection // nil where it was not asked for
}

// Match is a document found by words.
type Match struct {
	Ref   Ref
	Score float64
}

// VectorsRequest asks for the Limit nearest passages of a selection, or without a Vector for Limit
// passages spread evenly over the collection in the order in which they came, the same ones as long
// as nothing changes.
type VectorsRequest struct {
	Collection string
	Vector     []float32
	Limit      int
	Selection  *Selection // nil: all documents
}

// VectorsResponse answers a [VectorsRequest].
type VectorsResponse struct {
	Matches []PassageMatch
	Spread  Spread          // of the cosines of Vector with all passages, measured with a sample of them
	Sample  []PassageVector // without a Vector

	Passages int // of the collection, where a Vector was given
}

// Spread is the mean and the standard deviation of a query's cosines with a sample of a collection.
type Spread struct {
	Mean, Deviation float64
	Passages        int // of the sample
}

// PassageRef names a passage by its document and its place in it.
type PassageRef struct {
	Ref     Ref
	Ordinal int
}

// PassageMatch is a passage found by vector.
type PassageMatch struct {
	Ref     Ref
	Ordinal int // of the passage in its document
	Cosine  float64
}

// PassageVector is a passage with its vector, of unit length.
type PassageVector struct {
	Ref     Ref
	Ordinal int // of the passage in its document
	Vector  []float32
}

// AggregateRequest asks for any of: how values are spread over a selection, its first documents in
// an order, and which fields no document of the collection has.
type AggregateRequest struct {
	Collection string
	Selection  *Selection // of Facets and Order
	Facets     []Facet
	Order      *Order
	Fields     FieldNames
}

// AggregateResponse answers an [AggregateRequest].
type AggregateResponse struct {
	Facets  []FacetCounts
	Order   []Ref
	Keys    [][]string // of the documents of Order, by sort key, see keyword.CompareOrderKeys
	Missing FieldNames // those of Fields that no document has
	Partial bool       // the index is being filled: documents may have fields of Missing after all
}

// Facet asks for the most frequent values of a field.
type Facet struct {
	Field  string
	Limit  int     // values to return
	Ranges []Range // not empty: instead of values, how many documents have one in each
}

// Range is a half-open interval [From, To) of numbers or of dates; a nil end is open.
type Range struct{ From, To *filter.Value }

// FacetCounts answers a [Facet].
type FacetCounts struct {
	Values   []ValueCount // by falling count, equal counts in the order of their values
	Distinct int          // different values, those beyond Limit too
	Ranges   []int        // by range, the documents with a value in it
	Missing  int          // documents without a value
}

// ValueCount is a value of a field and the number of documents that have it.
type ValueCount struct {
	Value filter.Value // String, Number or Bool; of a long string, its Key
	Count int
}

// Order asks for the first documents in the order of keys: numbers before dates, booleans, strings
// and documents without a value, whichever the direction; equal ones by ref.
type Order struct {
	Keys   []SortKey
	Limit  int
	Words  *Words          // the score is their BM25
	Scores map[Ref]float64 // without Words: the score, 0 where it is missing

	WithKeys bool // return what the documents are ordered by, so that the orders of several backends can be merged
}

// SortKey is one key of an order; an empty Field is the score.
type SortKey struct {
	Field  string
	Desc   bool
	Origin *geo.Point // not nil: by the distance of the field's points, documents without one last
}

// FieldNames names fields that have values and fields that are searched.
type FieldNames struct{ Values, Texts []string }

// FetchRequest asks for any of the following of documents, by Refs, and of passages.
type FetchRequest struct {
	Collection string

	Refs      []Ref
	Documents bool          // the documents themselves: then a page of the first refs is answered, see [FetchPages]
	Vector    []float32     // not nil: the cosines of their passages with it
	Words     *Words        // for Scores and Terms
	Scores    bool          // their BM25
	Terms     Terms         // the share of each term in that
	First     string        // a field: its first value, always the same while it does not change
	Numbers   []NumberField // fields: their numbers or dates
	Points    []string      // fields: their points
	Passing   []filter.Expr // filters: whether the documents pass

	Passages []PassageRef
	Names    bool // a name for the content of each passage, which no other passage of any collection has while the process runs
	Texts    bool // its text, and the title of its document
	Vectors  bool // its vector, the caller's to keep
}

// Terms selects the documents whose terms are explained.
type Terms uint8

// The choices of terms.
const (
	NoTerms        Terms = iota
	TermsOfSeveral       // of documents with several passages, among which something is to be chosen; with Documents only
	AllTerms
)

// NumberField asks for the numbers of a field, or for its dates in microseconds since 1970.
type NumberField struct {
	Field string
	Dates bool
}

// FetchResponse answers a [FetchRequest]. What was not asked for is nil; everything else has one
// element per ref, filter or passage. With Documents it is about the first refs alone, as many as
// Documents has.
type FetchResponse struct {
	Documents []*Document     // nil for a missing one, and for one with damaged fields
	Cosines   [][]float64     // by passage; nil for a missing document
	Scores    []float64       // 0 for a missing document
	Terms     [][]TermScore   //
	Firsts    []*filter.Value // nil where it has no value
	Numbers   [][]Number      // by field, in no particular order; a document may have several
	Points    [][]Point       // likewise
	Passing   [][]bool        // by filter, by ref

	Names   []uint64 // 0 for a missing passage
	Texts   []PassageText
	Vectors [][]float32 // nil for a missing passage
}

// TermScore is the share of one term of a query in a document's score.
type TermScore struct {
	Term  string
	For   string // the words of the query that Term is a synonym of; "" where they are the same
	Field string
	TF    int     // occurrences in the field
	DF    int     // documents with the term in one of the fields searched
	IDF   float64 // of the term
	Score float64 // the term's score, shared out among fields by weighted occurrences
}

// Number is a number of the document with this index in FetchRequest.Refs.
type Number struct {
	Index int
	Value float64
}

// Point is a point of the document with this index in FetchRequest.Refs.
type Point struct {
	Index int
	At    geo.Code
}

// PassageText is the text of a passage, and the title of its document.
type PassageText struct {
	Name  uint64 // of the passage; 0 if it is missing
	Title string // of its document, also where the passage is of the title itself
	Text  string
}

// SuggestRequest asks how Word may be spelled, or what a query is expanded to, or both.
type SuggestRequest struct {
	Collection string

	Word      string     // empty: none
	Edits     int        // how far terms may be from Word, up to [MaxEdits]
	Beginning bool       // instead: terms that begin with Word, or that Word begins with
	Selection *Selection // documents that must have the terms; nil: any
	Alone     bool       // Word is correct only if one of these documents has its term

	Expand *Words // nil: none
}

// Bounds of suggestions.
const (
	MaxEdits    = 2
	MaxNear     = 64 // terms
	MaxNearRefs = 64 // documents of a term
)

// SuggestResponse answers a [SuggestRequest].
type SuggestResponse struct {
	// Terms are fewest edits first, of equals those that differ in doubled characters alone, then
	// those in more documents.
	Terms []NearTerm
	// Correct says that there are none because Word is not to be read as another: a document has
	// its term, it has synonyms, it is not one term, or that is not known yet.
	Correct bool

	Expansions []Expansion // in the order of the text
}

// NearTerm is a term that is spelled much like another.
type NearTerm struct {
	Term      string
	Edits     int   // 1 where the word begins with it
	Doubled   bool  // it differs in doubled characters alone
	Documents int   // that have it, of those that may be found
	Refs      []Ref // some of these, always the same, rising
}

// Expansion is a part of a query's text that stands for other terms, too: synonyms, or words as
// documents write them.
type Expansion struct {
	Start, End   int
	Name         string        // by which [TermScore] calls it
	Alternatives []Alternative // none where an earlier one has the name: they are the same
}

// Alternative is what an [Expansion] stands for: a term, or several at the distances that their
// positions have.
type Alternative struct {
	Text  string // by which [TermScore] calls it
	Terms []Token
}

// Token is a term of a text with its place.
type Token struct {
	Term       string
	Start, End int
	Position   int
	Next       int // the position after it
	Covered    bool
	Name       bool
	Common     bool // a stop word
}

// ApplyRequest asks for writes.
type ApplyRequest struct {
	Collection string
	Writes     []Write
	Keep       *Keep // former versions, of a [Versioned] backend; nil: none is added or removed
}

// LookupRequest asks for documents by id.
type LookupRequest struct {
	Collection string
	IDs        []string
	NoFields   bool // the documents come without their fields, which are not read
	Vectors    bool // with the vectors of their passages; nil for a document of which one cannot be read
}

// ListRequest asks for the documents after a cursor, empty at first and then ListResponse.Next.
type ListRequest struct {
	Collection string
	Cursor     string
	Limit      int
	NoFields   bool // the documents come without their fields, which are not read
}

// ListResponse is a page of documents, of about [PageBytes] at most. Next is empty at the end
// alone.
type ListResponse struct {
	Documents []*Document
	Next      string
}
