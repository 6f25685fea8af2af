package encoder

import (
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/encoder/safetensors"
	"example.com/searchd/pooling"
)

// tolerance is the greatest difference from the reference vectors in any component.
const tolerance = 2e-5

// expectation is an entry of expected.json: a text with its vector, or a pair with its logit.
type expectation struct {
	Text      string
	Prompt    string // of jina-v3
	Query     string
	IDs       []int32
	TypeIDs   []int32 `json:"type_ids"`
	Embedding []float32
	Logit     *float32
}

// fixtures returns the folders that hold an expected.json, those of this package and those of the
// shared folder where it is there.
func fixtures(t testing.TB) []string {
	var dirs []string
	for _, pattern := range []string{"testdata/*/expected.json", "../../shared/fixtures/*/expected.json", "../../shared/training/checkpoint/expected.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			dirs = append(dirs, filepath.Dir(f))
		}
	}
	return dirs
}

func readExpectations(t testing.TB, dir string) []expectation {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []expectation
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// openStack loads the transformer of a checkpoint alone.
func openStack(t *testing.T, fsys fs.FS) *stack {
	t.Helper()
	f, err := readFields(fsys, "config.json")
	if err != nil {
		t.Fatal(err)
	}
	a, err := readArchitecture(f)
	if err != nil {
		t.Fatal(err)
	}
	ck, err := safetensors.Open(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	s, err := loadStack(ck, a, Float32)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStack runs the ids of every fixture through the stack, all texts as one batch.
func TestStack(t *testing.T) {
	for _, dir := range fixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			fsys := os.DirFS(dir)
			s := openStack(t, fsys)
			b := &batch{offsets: []int{0}}
			list := readExpectations(t, dir)
			for _, e := range list {
				b.ids = append(b.ids, e.IDs...)
				b.types = append(b.types, append(e.TypeIDs, make([]int32, len(e.IDs)-len(e.TypeIDs))...)...)
				b.offsets = append(b.offsets, len(b.ids))
			}
			w := &workspace{}
			if err := s.forward(context.Background(), w, b, 2, nil); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, e := range list {
				states := w.states[b.offsets[i]*s.hidden : b.offsets[i+1]*s.hidden]
				if e.Logit != nil {
					got := s.head.logits(states, s.hidden)
					worst = max(worst, math.Abs(float64(got[0]-*e.Logit)))
					continue
				}
				got := make([]float32, s.hidden)
				pooling.Sequence(got, states, s.hidden, 0, []pooling.Mode{fixturePooling(dir)})
				if !strings.Contains(dir, "sqrt") {
					pooling.Normalize(got)
				}
				worst = max(worst, difference(got, e.Embedding))
			}
			t.Logf("max difference %.2g", worst)
			if worst > tolerance {
				t.Errorf("max difference %.2g, want at most %g", worst, tolerance)
			}
		})
	}
}

func fixturePooling(dir string) pooling.Mode {
	for _, m := range []pooling.Mode{pooling.CLSMode, pooling.MaxMode, pooling.MeanSqrtLenMode, pooling.WeightedMeanMode, pooling.LastTokenMode} {
		if strings.HasSuffix(filepath.Base(dir), "-"+strings.TrimSuffix(m.String(), "_tokens")) {
			return m
		}
	}
	return pooling.MeanMode
}

func difference(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range want {
		d := math.Abs(float64(got[i] - want[i]))
		if !(d <= worst) {
			worst = d
		}
	}
	return worst
}
