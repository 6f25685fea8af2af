package backend

import (
	"encoding/json"

	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// Config is what a backend needs to know about a collection. It is stored with the collection.
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

// Collection describes a collection as it is now.
type Collection struct {
	Name             string
	Config           Config
	Documents        int
	Passages         int
	Sequence         uint64
	DamagedDocuments int // with a value that cannot be read, as far as is known; left out of what needs the value

	Damaged string // why it cannot be opened; empty: it is open. One that is not can only be dropped; its counts are 0
	Origin  string // id of the store that keeps the collection: another after it was restored from a backup
}

// Passage is a window [Start, End) of a field's text, in bytes.
type Passage struct {
	Field      string
	Start, End int
}

// In returns the text of the passage in the parts of its document; empty if it is out of range.
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
	Hash     [32]byte        // zero where a value of it is damaged: the same content is not the same
	Fields   json.RawMessage // nil where it was asked for without
	Passages []Passage
	Blocks   map[string][]passage.Block // the structure of texts by field, where the writer gave it
	Vectors  [][]float32                // of the passages, where they were asked for
}

// Write puts or deletes one document.
type Write struct {
	ID         string
	Delete     bool
	Fields     json.RawMessage
	Hash       [32]byte
	Passages   []Passage
	Blocks     map[string][]passage.Block // of fields that have passages
	Vectors    [][]float32                // one per passage, unit length
	IfRevision *uint64                    // nil: whatever is there; 0: only if absent
}

// Status is the outcome of a [Write].
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
