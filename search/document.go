package search

import (
	"encoding/json"
	"fmt"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/passage"
)

// Document is what a client puts in: an id and a JSON object of fields.
type Document struct {
	ID     string          `json:"id"` // valid UTF-8, 1..512 bytes, no control characters; empty: the hash of the content
	Fields json.RawMessage `json:"fields"`
	// Blocks are the structure of texts, by the name of a text field. Without them it is read from
	// the text, see [passage.Markdown].
	Blocks map[string][]passage.Block `json:"blocks,omitempty"`
	// KeepVectors keeps the stored vectors of a document without vectors of its own, where the
	// vectors of the collection are given.
	KeepVectors bool    `json:"-"`
	IfRevision  *uint64 `json:"-"` // only if the stored revision is this one; 0: only if absent
	Within      string  `json:"-"` // the member of what a client sent that the fields were in, for errors to name; empty: they were beside the id
}

// StoredDocument is what a client gets back.
type StoredDocument struct {
	ID       string                     `json:"id"`
	Revision uint64                     `json:"revision"`
	Fields   json.RawMessage            `json:"document"`
	Passages []PassageHit               `json:"passages,omitempty"`
	Blocks   map[string][]passage.Block `json:"blocks,omitempty"`

	// The vectors where they are given, as they can be written again: one of the whole document, or
	// all others.
	Vector  []float32      `json:"vector,omitempty"`
	Vectors []StoredVector `json:"vectors,omitempty"`
}

// StoredVector is a given vector and the part of a text that it stands for; without Field it stands
// for the document.
type StoredVector struct {
	Vector []float32 `json:"vector"`
	Field  string    `json:"field,omitempty"`
	Start  int       `json:"start,omitempty"`
	End    int       `json:"end,omitempty"`
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

	// CopyOf is the incarnation of the collection that this one is being copied from; until that
	// has ended, documents are missing and other writes are refused.
	CopyOf string `json:"copy_of,omitempty"`
}

func itemResult(w backend.Write, o backend.Outcome) ItemResult {
	r := ItemResult{ID: w.ID, Revision: o.Revision, Passages: len(w.Passages)}
	switch o.Status {
	case backend.Created:
		r.Status = Created
	case backend.Updated:
		r.Status = Updated
	case backend.Unchanged:
		r.Status = Unchanged
	case backend.Deleted:
		r.Status = Deleted
	case backend.Missing:
		r.Status, r.Err = Failed, fmt.Errorf("%w: %s", ErrDocumentNotFound, w.ID)
	case backend.Conflict:
		r.Status, r.Err = Failed, fmt.Errorf("%w: document %s has revision %d", ErrConflict, w.ID, o.Revision)
	default:
		r.Status, r.Err = Failed, fmt.Errorf("document %s: unknown status %d", w.ID, o.Status)
	}
	return r
}
