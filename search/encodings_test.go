package search

import (
	"errors"
	"testing"
)

// TestEncodingsForget: why a checkpoint could not be loaded is kept as long as a collection needs that checkpoint, and until it is loaded.
func TestEncodingsForget(t *testing.T) {
	s := &encodings{own: &encoding{embedder: &slowEmbedder{}}, source: "own", load: func(source, _, _ string) (Embedder, error) { return nil, errors.New(source + " is not there") }}
	s.mu.others, s.mu.why = map[string]*encoding{}, map[string]error{}
	record := func(sum string) record {
		return record{Model: ModelInfo{Name: sum, SHA256: sum, Dimension: 8}}
	}
	for _, sum := range []string{"a", "b", "c"} {
		if err := s.require("docs", record(sum)); !errors.Is(err, ErrModelMismatch) {
			t.Fatalf("require(%s) = %v, want ErrModelMismatch", sum, err)
		}
	}
	s.keep(map[string]bool{record("b").key(): true, record("c").key(): true})
	if len(s.mu.why) != 2 || s.mu.why[record("a").key()] != nil {
		t.Errorf("of two checkpoints that are needed is kept why they could not be loaded: %v", s.mu.why)
	}
	s.add(record("b"), &encoding{})
	if len(s.mu.why) != 1 || s.mu.why[record("c").key()] == nil {
		t.Errorf("when one of them was loaded it is kept of the other: %v", s.mu.why)
	}
}
