package inference_test

import (
	"math"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search/inference"
)

// TestLateReranker re-ranks with a checkpoint of late interaction: the relevance is the score, a
// mean of cosines, whatever batch a pair is in.
func TestLateReranker(t *testing.T) {
	c, err := models.Open("../../encoder/testdata/late/native", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := inference.NewReranker(c)
	if err != nil {
		t.Fatal(err)
	}
	pairs := [][2]string{{"river harbour", "the river"}, {"river harbour", ""}, {"", "quantum"}, {"engine", "the river"}}
	all, err := r.Score(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, pair := range pairs {
		one, err := r.Score(t.Context(), [][2]string{pair})
		if err != nil {
			t.Fatal(err)
		}
		if d := math.Abs(float64(one.Logits[0] - all.Logits[i])); d > 1e-6 {
			t.Errorf("pair %d: %v alone, %v with others", i, one.Logits[0], all.Logits[i])
		}
		if got := r.Relevance(all.Logits[i]); got != float64(all.Logits[i]) || got < -1 || got > 1+1e-6 {
			t.Errorf("pair %d: relevance %v of score %v", i, got, all.Logits[i])
		}
	}
	if i := r.Model(); i.Sigmoid || i.MaxTokens != 100 {
		t.Errorf("re-ranker %+v, want no sigmoid and 100 tokens", i)
	}
}
