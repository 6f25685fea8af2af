// Package backend is the seam between the engine and what stores and finds: documents, passages and vectors in,
// matches out. The engine cuts, encodes, fuses and explains; a backend keeps, filters and ranks one leg at a time.
package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"searchd/index/filter"
	"searchd/index/keyword"
	"searchd/search/mapping"
)

// Errors of every backend, matched with errors.Is.
var (
	ErrCollectionNotFound = errors.New("collection not found")
	ErrCollectionExists   = errors.New("collection exists")
	ErrDocumentNotFound   = errors.New("document not found")
	ErrReadOnly           = errors.New("data folder read-only")
	ErrOutcomeUnknown     = fmt.Errorf("%w: the outcome of this write is unknown", ErrReadOnly) // of the write that made it so
	ErrClosed             = errors.New("data folder closed")
	ErrNoSpace            = errors.New("no space left")
	ErrInvalid            = errors.New("invalid request")
	ErrDamaged            = errors.New("collection damaged") // a stored value that is needed cannot be read
)

// DamagedError says that a collection cannot be opened, or a document of it not be read, and which value is damaged. It matches [ErrDamaged].
type DamagedError struct {
	Collection, Damage string
	Document           bool // the others can be read
}

func (e *DamagedError) Error() string {
	if e.Document {
		return fmt.Sprintf("%v: of %q one document cannot be read: %s", ErrDamaged, e.Collection, e.Damage)
	}
	return fmt.Sprintf("%v: %q cannot be opened: %s", ErrDamaged, e.Collection, e.Damage)
}

// Is makes errors.Is(err, ErrDamaged) true.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// ValuesError says which of the values under a prefix are damaged. It matches [ErrDamaged].
type ValuesError struct {
	Keys []string
	Err  error
}

func (e *ValuesError) Error() string { return fmt.Sprintf("%v: %v", ErrDamaged, e.Err) }

// Is makes errors.Is(err, ErrDamaged) true.
func (e *ValuesError) Is(target error) bool { return target == ErrDamaged }

// Config is what a backend must know of a collection. It is kept with the collection.
type Config struct {
	Dimension      int             `json:"dimension"`
	Language       string          `json:"language"`
	Mapping        mapping.Mapping `json:"mapping,omitempty"`
	M              int             `json:"m,omitempty"`
	EfConstruction int             `json:"ef_construction,omitempty"`
	EfSearch       int             `json:"ef_search,omitempty"`      // beam width of a search that names none; 0: chosen for TargetRecall
	TargetRecall   float64         `json:"target_recall,omitempty"`  // 0: 0.98
	Quantize       string          `json:"quantize,omitempty"`       // QuantizeNone, the default, or QuantizeInt8
	Synonyms       []string        `json:"synonyms,omitempty"`       // rules, see keyword.SynonymRule; they act on Words alone
	FirstSequence  uint64          `json:"first_sequence,omitempty"` // of a new collection: its sequence number before the first write
	Payload        json.RawMessage `json:"payload"`                  // the engine's own, opaque here
}

// Values of Config.Quantize.
const (
	QuantizeNone = "none" // the vector index holds float32
	QuantizeInt8 = "int8" // it holds a byte per component, and reads the best of a search from where the vectors are kept
)

// MaxPassages is how many passages a document may have.
const MaxPassages = 1 << 16

// Collection describes a collection as it stands.
type Collection struct {
	Name      string
	Config    Config
	Documents int
	Passages  int
	Sequence  uint64
	// DamagedDocuments have a value that cannot be read, as far as is known. They are told of, and left out of what needs the value.
	DamagedDocuments int

	Damaged string // why it cannot be opened; empty: it is open. One that is not can be dropped, and nothing else; its counts are 0
	Origin  string // of what keeps the collection: another after it was restored from a backup
}

// Ref names a document for the length of one query. Refs are ordered and stable while the document lives.
type Ref uint64

// Passage is a window [Start, End) of a field's text, in bytes.
type Passage struct {
	Field      string
	Start, End int
}

// In returns the text of the passage in the parts of its document; empty where it is out of place.
func (p Passage) In(parts mapping.Parts) string {
	f, ok := parts.Field(p.Field)
	if !ok || p.Start < 0 || p.Start > p.End || p.End > len(f.Text) {
		return ""
	}
	return f.Text[p.Start:p.End]
}

// Document is a stored document.
type Document struct {
	Ref      Ref
	ID       string
	Revision uint64
	Hash     [32]byte
	Fields   json.RawMessage
	Passages []Passage
}

// Write puts or deletes one document.
type Write struct {
	ID         string
	Delete     bool
	Fields     json.RawMessage
	Hash       [32]byte
	Passages   []Passage
	Vectors    [][]float32 // one per passage, unit length
	IfRevision *uint64     // nil: whatever is there; 0: only if absent
}

// Status says what became of a [Write].
type Status uint8

// The statuses.
const (
	Created Status = iota + 1
	Updated
	Unchanged
	Deleted
	Missing  // nothing to delete
	Conflict // IfRevision did not hold
)

// Outcome answers one [Write].
type Outcome struct {
	Status   Status
	Revision uint64
}

// Subset says which documents may be found: those that pass Filter, hold every phrase of With and none of Without. A phrase is in
// a text where its terms stand in its order and at its distances; a phrase without terms says nothing.
type Subset struct {
	Filter  filter.Expr // nil: all
	With    []string    // each in one of Fields
	Fields  []string    // empty: all text fields
	Without []string    // each in any text field
	Rank    Words       // where too many texts would have to be read for phrases: the best of these are, and the others are left out

	NoVectors bool // the selection is not for Nearest, and costs less
}

// Selection is a set of documents that a [Subset] chose; only its backend can read it.
type Selection interface {
	Len() int              // documents in the set
	Contains(ref Ref) bool //
	Partial() bool         // some that belong to the set may be missing; none is in it wrongly
}

// Words is a keyword query.
type Words struct {
	Text   string
	Exact  []string      // words of Text that no synonyms are looked for of
	Fields []FieldWeight // empty: all text fields with the weights they were indexed with
	And    bool          // all terms must occur
	All    bool          // answer with the set of all documents that match, too

	Global *Statistics // of the whole collection, where the backend holds a part; nil: it holds all
}

// FieldWeight is a text field with its weight in one query.
type FieldWeight struct {
	Name   string
	Weight float64
}

// Match is a document found by words.
type Match struct {
	Ref   Ref
	Score float64
}

// WordMatches answers a keyword query.
type WordMatches struct {
	Matches []Match
	Total   int       // documents that match, beyond k too
	Ceiling float64   // a score that no document can exceed; terms that no document has count too
	Partial bool      // the index is being filled or cannot write: documents may be missing
	All     Selection // nil where it was not asked for
}

// Number is a number of a document.
type Number struct {
	Ref   Ref
	Value float64
}

// FieldNames names fields that have values and fields that are searched.
type FieldNames struct{ Values, Texts []string }

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

// What Analyze, Expand, WordTerms and Facets answer is the keyword index's, and what Facets and Order are asked.
type (
	Token       = keyword.Token
	Expansion   = keyword.Expansion
	Alternative = keyword.Alternative
	TermScore   = keyword.TermScore
	Facet       = keyword.Facet
	FacetRange  = keyword.Range
	FacetCounts = keyword.FacetCounts
	ValueCount  = keyword.ValueCount
	SortKey     = keyword.SortKey
)

// MaxEdits is the most edits that Near looks for.
const MaxEdits = 2

// NearTerm is a term that is spelled much like another.
type NearTerm struct {
	Term  string
	Edits int   // 1 where the word begins with it
	Refs  []Ref // some of the documents that have it, always the same, rising

	Doubled   bool // it differs in doubled characters alone
	Documents int  // that have it, of those that may be found
}

// NearTerms answers Near and Beginning: at most [MaxNear] terms.
type NearTerms struct {
	Terms  []NearTerm
	Stands bool // none, because the word is not to be read as another, and not because there is none like it
}

// Rebuild is a derived index that is being filled in the background.
type Rebuild struct {
	Collection  string
	Index       string // vector, keyword
	Done, Total int64  // passages, documents
	Began       time.Time
}

// Problem is a fault that [Backend.Check] found.
type Problem struct {
	Where string // file, collection or key
	What  string
}

// Backend stores and finds. All methods are safe for concurrent use; a write that returned is committed.
type Backend interface {
	Catalog
	Documents
	VectorFinder
	WordFinder
	FieldFinder
	SetReader
	Values
	ChangeFeed
	VectorKeeper
	HeadReader
	Gauges
	Backup(ctx context.Context, w io.Writer) (int64, error)
	Check(ctx context.Context, deep bool) ([]Problem, error)
	io.Closer
}

// Catalog keeps collections.
type Catalog interface {
	Create(ctx context.Context, name string, c Config) error
	Update(ctx context.Context, name string, c Config) error
	Drop(ctx context.Context, name string) error
	Collections(ctx context.Context) ([]Collection, error)
	Collection(ctx context.Context, name string) (Collection, error)
}

// Documents keeps documents. Apply answers each write in order; all of a call are committed together or none. List has an order that does not change.
//
// Lookup and Fetch answer the first of what they are asked for, at least one, and List may answer fewer than limit: a page ends at [PageBytes]. [InPages] goes
// on until all are there, List does with next, which is empty at the end alone.
type Documents interface {
	Apply(ctx context.Context, collection string, writes []Write) ([]Outcome, error)
	Lookup(ctx context.Context, collection string, ids []string) ([]*Document, error) // nil where there is none
	Fetch(ctx context.Context, collection string, refs []Ref) ([]*Document, error)    // nil where there is none any more
	List(ctx context.Context, collection, cursor string, limit int) (docs []*Document, next string, err error)
}

// Values keeps small values of the whole backend, for the engine's own use.
type Values interface {
	Values(prefix string) (map[string][]byte, error)               // where some are damaged, the others with a *ValuesError
	SetValues(ctx context.Context, values map[string][]byte) error // in one transaction; nil removes a key
}

// VectorFinder finds passages by vector.
type VectorFinder interface {
	// Nearest returns the k passages with the largest cosine, best first; sel nil means all.
	Nearest(ctx context.Context, collection string, q []float32, k int, sel Selection) ([]PassageMatch, error)
	// Cosines returns for each document the cosine of every passage, by ordinal; nil where the document is gone.
	Cosines(ctx context.Context, collection string, q []float32, refs []Ref) ([][]float64, error)
	// Vectors returns the vector of each passage, the caller's to keep; nil where it is gone.
	Vectors(ctx context.Context, collection string, passages []PassageRef) ([][]float32, error)
	// Names returns a name for the content of each passage, which no other passage of any collection has as long as the process runs; 0
	// where the passage is gone.
	Names(ctx context.Context, collection string, passages []PassageRef) ([]uint64, error)
	// Sample returns at most n passages with their vectors, spread evenly over the collection in the order in which they came; the same
	// ones as long as nothing changes.
	Sample(ctx context.Context, collection string, n int) ([]PassageVector, error)
}

// WordFinder finds documents by words and by filter.
type WordFinder interface {
	Select(ctx context.Context, collection string, s Subset) (Selection, error)
	// Words returns the k documents with the largest BM25, best first.
	Words(ctx context.Context, collection string, q Words, k int, sel Selection) (WordMatches, error)
	WordScores(ctx context.Context, collection string, q Words, refs []Ref) ([]float64, error)
	WordTerms(ctx context.Context, collection string, q Words, refs []Ref) ([][]TermScore, error)
	// Analyze returns the terms of a text, in order, those that wanted accepts (nil: all). Those of a part between white space do not depend on the rest.
	Analyze(ctx context.Context, collection, text string, wanted func(term string) bool) ([]Token, error)
	// Expand returns the parts of the text of q that are read as their synonyms, or as documents write them, in order.
	Expand(ctx context.Context, collection string, q Words) ([]Expansion, error)
	// Near returns the terms that documents of sel (nil: all) have and that are within edits of the term of word, or begin it, fewest edits first, of equals those that differ in
	// doubled characters alone, then those in more documents. The word stands where any document has that term itself, where it has synonyms, where word is not one term, or where that is not
	// known yet.
	Near(ctx context.Context, collection, word string, edits int, sel Selection) (NearTerms, error)
	// Beginning is Near for terms that begin with word, or that word begins with.
	Beginning(ctx context.Context, collection, word string, sel Selection) (NearTerms, error)
}

// FieldFinder knows which fields the documents have.
type FieldFinder interface {
	// Lacking returns the names of f that no document has a value of, or a word. partial: the index is being filled, so that documents
	// may have them after all.
	Lacking(ctx context.Context, collection string, f FieldNames) (lacking FieldNames, partial bool, err error)
}

// SetReader looks at the values of the documents of a set.
type SetReader interface {
	// Set returns the documents of sel, nil meaning none here, and those of refs.
	Set(ctx context.Context, collection string, sel Selection, refs []Ref) (Selection, error)
	// Refs returns the n lowest refs of a set that are not below from.
	Refs(ctx context.Context, collection string, set Selection, from Ref, n int) ([]Ref, error)
	// Facets counts values over a set.
	Facets(ctx context.Context, collection string, facets []Facet, set Selection) ([]FacetCounts, error)
	// Firsts returns for each document a value of a field, always the same while it does not change; nil where it has none.
	Firsts(ctx context.Context, collection, field string, refs []Ref) ([]*filter.Value, error)
	// Passing says which documents pass a filter.
	Passing(ctx context.Context, collection string, e filter.Expr, refs []Ref) ([]bool, error)
	// Numbers returns the numbers that documents have in a field, or with dates the dates in microseconds since 1970, in no particular order; a
	// document may have several.
	Numbers(ctx context.Context, collection, field string, dates bool, refs []Ref) ([]Number, error)
	// Order returns the first k documents of a set in the order of keys, as keyword.Index.Order has it, those without a value last, equal ones by ref.
	Order(ctx context.Context, collection string, keys []SortKey, set Selection, k int, by Scorer) ([]Ordered, error)
}

// Scorer says what the scores of documents are: their BM25 for Words, or else what Known has of them, 0 where it has nothing.
type Scorer struct {
	Words *Words
	Known map[Ref]float64

	Values bool // what is put in order is told with its Values, which costs some time
}

// Ordered is a document in an order and, with Scorer.Values, what it is ordered by: for each key the value that counts, of a long string its
// Key, or the score as a number; nil where it has none.
type Ordered struct {
	Ref    Ref
	Values []*filter.Value
}
