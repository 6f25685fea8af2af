package keyword

// Statistics are what an index knows of the words of a query. Where a collection is spread over several indexes, what all of them know together is
// what each must score with, so that a document has the score that it would have in one index of all documents.
type Statistics struct {
	Documents uint64            `json:"documents"`
	Tokens    map[string]uint64 `json:"tokens"` // by text field: how many its documents have in it, together
	Complete  bool              `json:"complete"`
}

// Add adds what another index knows.
func (s *Statistics) Add(other Statistics) {
	s.Documents += other.Documents
}
