package bench

import (
	"errors"
	"math"
	"testing"

	"searchd/internal/eval"
)

func TestCompareRounding(t *testing.T) {
	c := &eval.Collection{
		Documents: []eval.Document{{ID: "a", Text: "x"}, {ID: "b", Title: "y", Text: "z"}},
		Queries:   []eval.Query{{ID: "q", Text: "x"}},
		Qrels:     map[string]eval.Judgments{"q": {"a": 1}},
	}
	table := func(vectors map[string][]float32) func([]string) ([][]float32, error) {
		return func(texts []string) ([][]float32, error) {
			out := make([][]float32, len(texts))
			for i, text := range texts {
				out[i] = vectors[text]
			}
			return out, nil
		}
	}
	exact := table(map[string][]float32{"x": {1, 0}, "y z": {0, 1}})
	tests := []struct {
		name    string
		rounded func([]string) ([][]float32, error)
		want    Rounding
		good    bool
	}{
		{"same", exact, Rounding{"s", 3, 1, 1, 1}, true},
		{"a little off", table(map[string][]float32{"x": {1, 0}, "y z": {0.1, 0.995}}), Rounding{"s", 3, 0.995, 1, 1}, true},
		{"far off", table(map[string][]float32{"x": {1, 0}, "y z": {0.6, 0.8}}), Rounding{"s", 3, 0.8, 1, 1}, false},
		{"another order", table(map[string][]float32{"x": {0.8, 0.6}, "y z": {0.9, 0.9}}), Rounding{"s", 3, math.Sqrt(0.5), 1, 1 / math.Log2(3)}, false},
		{"zero", table(map[string][]float32{"x": {0, 0}, "y z": {0, 1}}), Rounding{"s", 3, math.NaN(), 1, 1}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := CompareRounding("s", c, exact, tt.rounded)
			if err != nil {
				t.Fatal(err)
			}
			near := func(a, b float64) bool { return a != a && b != b || math.Abs(a-b) < 1e-3 }
			if got.Set != "s" || got.Texts != 3 || !near(got.MinCosine, tt.want.MinCosine) || !near(got.Exact, tt.want.Exact) || !near(got.Rounded, tt.want.Rounded) {
				t.Errorf("CompareRounding = %+v, want %+v", got, tt.want)
			}
			if err := got.Err(); (err == nil) != tt.good {
				t.Errorf("Err = %v, want good to be %v", err, tt.good)
			}
		})
	}
	if err := (Rounding{MinCosine: 1, Exact: 0.5, Rounded: 0.494}).Err(); err == nil {
		t.Error("a loss of 0.6 points is not an error")
	}
	broken := errors.New("broken")
	fails := func([]string) ([][]float32, error) { return nil, broken }
	if _, err := CompareRounding("s", c, fails, exact); !errors.Is(err, broken) {
		t.Errorf("CompareRounding returns %v, want %v", err, broken)
	}
	if _, err := CompareRounding("s", c, exact, fails); !errors.Is(err, broken) {
		t.Errorf("CompareRounding returns %v, want %v", err, broken)
	}
}
