package inference

import (
	"errors"
	"testing"

	"example.com/searchd/search/fault"
)

// TestEncodingsForget: why a checkpoint could not be loaded is kept as long as a collection needs
// that checkpoint, and until it is loaded.
func TestEncodingsForget(t *testing.T) {
	s := &Registry{Own: &Encoding{Embedder: &slowEmbedder{}}, Source: "own", load: func(source, _, _ string) (Embedder, error) { return nil, errors.New(source + " is not there") }}
	s.mu.others, s.mu.why = map[string]*Encoding{}, map[string]error{}
	record := func(sum string) Made {
		return Made{Model: ModelInfo{Name: sum, SHA256: sum, Dimension: 8}}
	}
	for _, sum := range []string{"a", "b", "c"} {
		if err := s.Require("docs", record(sum)); !errors.Is(err, fault.ErrModelMismatch) {
			t.Fatalf("require(%s) = %v, want fault.ErrModelMismatch", sum, err)
		}
	}
	s.Keep(map[string]bool{record("b").Key(): true, record("c").Key(): true})
	if len(s.mu.why) != 2 || s.mu.why[record("a").Key()] != nil {
		t.Errorf("of two checkpoints that are needed is kept why they could not be loaded: %v", s.mu.why)
	}
	s.Add(record("b"), &Encoding{})
	if len(s.mu.why) != 1 || s.mu.why[record("c").Key()] == nil {
		t.Errorf("when one of them was loaded it is kept of the other: %v", s.mu.why)
	}
}
