package search

import (
	"encoding/json"
	"time"

	"searchd/search/mapping"
	"searchd/search/passage"
)

// Document is what a client puts in: an id and a JSON object of fields.
type Document struct {
	ID     string          `json:"id"` // valid UTF-8, 1..512 bytes, no control characters; empty: the hash of the content
	Fields json.RawMessage `json:"fields"`
	// Blocks are the structure of texts, by the name of a text field. Without them it is read from
	// the text, see [passage.Markdown].
	Blocks     map[string][]passage.Block `json:"blocks,omitempty"`
	IfRevision *uint64                    `json:"-"` // only if the stored revision is this one; 0: only if absent
	Within     string                     `json:"-"` // the member of what a client sent that the fields were in, for errors to name; empty: they were beside the id
}

// StoredDocument is what a client gets back.
type StoredDocument struct {
	ID       string                     `json:"id"`
	Revision uint64                     `json:"revision"`
	Fields   json.RawMessage            `json:"document"`
	Passages []PassageHit               `json:"passages,omitempty"`
	Blocks   map[string][]passage.Block `json:"blocks,omitempty"`
}

// Status says what became of one document of an ingest.
type Status string

// The statuses.
const (
	Created   Status = "created"
	Updated   Status = "updated"
	Unchanged Status = "unchanged"
	Deleted   Status = "deleted"
	Failed    Status = "error"
)

// ItemResult answers one document of an ingest or one deletion, in the order of the request.
type ItemResult struct {
	ID       string
	Status   Status
	Revision uint64
	Passages int
	Err      error  // not nil exactly when Status is Failed
	Warning  string // of a document that is stored: what of it is not searched as its name says; empty: nothing
}

// Settings are a collection's. The zero value is the documented default; what a PUT leaves out
// keeps its default.
type Settings struct {
	Language string          `json:"language,omitempty"` // of the keyword leg's analysis; default "en"; "ja" is kept as "cjk", "pt-BR" as "pt"
	Fields   mapping.Mapping `json:"fields,omitempty"`   // empty: dynamic, see [FieldSettings]
	Synonyms []string        `json:"synonyms,omitempty"` // rules by which the keyword leg reads queries, see [keyword.SynonymRule]
	Passages PassageSettings `json:"passages,omitzero"`
	Index    IndexSettings   `json:"index,omitzero"`
}

// FieldSettings says what a field is: text (searched by words and by meaning), filter (exact values
// only) or stored (neither). Without an entry a field is dynamic: title, name, heading, headline,
// subject, text, body, content, abstract, summary, description, question and answer are text; where
// a document has none of these, all its strings are. Other strings, and lists of them, are searched
// by words alone, dates and long ASCII without white space left out. Every string of at most 256
// bytes, number, boolean and list of these can be filtered on; of longer strings EXISTS knows, and
// in a filter field they are values as well.
type FieldSettings = mapping.Field

// PassageSettings say how texts are cut.
type PassageSettings struct {
	MaxTokens int  `json:"max_tokens,omitempty"` // per passage, special tokens included; default: what suits the checkpoint; cap: what it takes
	NoTitle   bool `json:"no_title,omitempty"`   // true: the title is not put in front of each passage before it is encoded
}

// IndexSettings tune the vector index.
type IndexSettings struct {
	M              int `json:"m,omitempty"`               // links per node and layer, default 16
	EfConstruction int `json:"ef_construction,omitempty"` // default 200
	EfSearch       int `json:"ef_search,omitempty"`       // beam width of a search; default: chosen for TargetRecall
	// TargetRecall is the part of the ten nearest passages that a search is to find; default 0.98.
	// The graph finds the beam width for it.
	TargetRecall float64 `json:"target_recall,omitempty"`
	Quantize     string  `json:"quantize,omitempty"` // none (default): float32 in memory; int8: a byte per dimension, the best scored again in float32
}

// CollectionInfo describes a collection.
type CollectionInfo struct {
	Name      string    `json:"name"`
	Settings  Settings  `json:"settings"`
	Model     ModelInfo `json:"model"`
	Documents int       `json:"documents"`
	Passages  int       `json:"passages"`
	Sequence  uint64    `json:"sequence"`
	Created   time.Time `json:"created"`
	Damaged   string    `json:"damaged,omitempty"` // why it cannot be opened, and everything but dropping it returns [ErrDamaged]

	// DamagedDocuments have a stored value that cannot be read, as far as is known, and are left
	// out of searches. Put again they are whole.
	DamagedDocuments int `json:"damaged_documents,omitempty"`

	// Incarnation is another one after the collection was made anew or its data folder was restored
	// from a backup: what is known of another one's documents says nothing of these. It is opaque.
	Incarnation string `json:"incarnation"`
}
