package analytics

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// MaxQuery is how many bytes the query of a logged search may have.
const MaxQuery = 512

// Kind says what an event is.
type Kind string

// The kinds.
const (
	Search Kind = "search" // a query was answered
	Click  Kind = "click"  // a hit was opened
	View   Kind = "view"   // the answer to an unfinished query was read; not logged itself
)

// Event is one line of the log.
type Event struct {
	Time       time.Time `json:"time"`
	Kind       Kind      `json:"event"`
	Collection string    `json:"collection"`
	SearchID   string    `json:"search_id"` // of the search, or of that whose hit was opened
	Tenant     string    `json:"tenant,omitempty"`

	// Of a search.
	Query string  `json:"q,omitempty"`
	Mode  string  `json:"mode,omitempty"`
	Hits  int     `json:"hits,omitempty"`  // documents found
	Score float64 `json:"score,omitempty"` // of the best hit, where scores are probabilities

	// Of a click.
	Document string `json:"document,omitempty"`
	Position int    `json:"position,omitempty"` // of the hit, from 1
}

// weak reports whether a search found nothing that is more likely relevant than not.
func (e *Event) weak() bool {
	return e.Hits > 0 && e.Mode != "keyword" && e.Score < 0.5
}

// Tenant returns what stands for the documents that a tenant may see, given as a filter.
func Tenant(filter string) string {
	sum := sha256.Sum256([]byte("tenant\n" + filter))
	return hex.EncodeToString(sum[:8])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendLine appends e as a line of a segment: the CRC-32C of the JSON in hexadecimal, a space, the
// JSON.
func appendLine(b []byte, e *Event) ([]byte, error) {
	j, err := json.Marshal(e)
	if err != nil {
		return b, err
	}
	b = fmt.Appendf(b, "%08x ", crc32.Checksum(j, castagnoli))
	return append(append(b, j...), '\n'), nil
}

// parseLine reads a line without its end.
func parseLine(line []byte) (e Event, ok bool) {
	if len(line) < 9 || line[8] != ' ' {
		return e, false
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || crc32.Checksum(line[9:], castagnoli) != uint32(sum) {
		return e, false
	}
	return e, json.Unmarshal(line[9:], &e) == nil
}
