package backend

import (
	"context"
	"time"

	"example.com/searchd/search/passage"
)

// Keep determines which former versions of the documents that a call of Apply writes are kept.
type Keep struct {
	Most   int       // versions of a document; older ones are removed
	At     time.Time // when the call is made
	Since  time.Time // versions that were replaced before are removed
	Forget bool      // instead: none is kept, and all of these documents are removed
}

// Version is a document as it was before a write.
type Version struct {
	Revision uint64
	Until    time.Time // when it was replaced or deleted
	Deleted  bool      // what followed was a deletion
	Size     int       // bytes of the fields

	Fields []byte                     // nil in lists
	Blocks map[string][]passage.Block // nil in lists
}

// VersionsRequest asks for the versions of a document, newest first, or for one with its content.
type VersionsRequest struct {
	Collection string
	ID         string
	Revision   uint64 // 0: a list
}

// TrimRequest asks for the removal of the versions that were replaced before a time; with the zero
// time, of all.
type TrimRequest struct {
	Collection string
	ID         string // empty: of all documents
	Before     time.Time
}

// Versioned is a backend that keeps former versions of documents. Others ignore
// [ApplyRequest.Keep], and collections whose settings ask for versions must not get to them.
type Versioned interface {
	// Versions returns the versions of a document, also of one that was deleted; none where there
	// are none.
	Versions(ctx context.Context, r VersionsRequest) ([]Version, error)
	// TrimVersions removes versions and returns how many.
	TrimVersions(ctx context.Context, r TrimRequest) (int, error)
	// CopyVersions copies those versions of a collection to another that this lacks.
	CopyVersions(ctx context.Context, from, to string) error
}
