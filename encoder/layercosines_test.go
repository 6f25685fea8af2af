package encoder

import (
	"errors"
	"math"
	"testing"
)

// TestLayerCosines wants the cosine of the vectors behind the last layer, and 1 for a text and
// itself behind every layer.
func TestLayerCosines(t *testing.T) {
	a, b := "A quick brown fox.", "The dog sleeps in the sun, and the fox does not."
	for _, mode := range []string{"mean", "cls", "max", "weightedmean", "lasttoken", "mean+max"} {
		t.Run(mode, func(t *testing.T) {
			m := mustLoad(t, variant(t, nil), Options{Pooling: mode})
			v := encode(t, m, EncodeOptions{}, a, b)
			want := dot64(v[0], v[1]) / math.Sqrt(dot64(v[0], v[0])*dot64(v[1], v[1]))
			got, err := m.LayerCosines(t.Context(), [2]string{a, b}, [2]string{})
			if err != nil {
				t.Fatal(err)
			}
			if n := m.Info().Layers; len(got) != n+1 || math.Abs(got[n]-want) > 1e-6 {
				t.Errorf("cosines %v of %d layers, the vectors have %v", got, n, want)
			}
			same, err := m.LayerCosines(t.Context(), [2]string{a, a}, [2]string{})
			if err != nil {
				t.Fatal(err)
			}
			for n, c := range same {
				if math.Abs(c-1) > 1e-6 {
					t.Errorf("a text and itself have %v after layer %d", c, n)
				}
			}
		})
	}
	m := mustLoad(t, variant(t, nil), Options{Pooling: "mean"})
	if _, err := m.LayerCosines(t.Context(), [2]string{a, b}, [2]string{"", "nothing"}); !errors.Is(err, ErrPrompt) {
		t.Errorf("an unknown prompt: %v, want ErrPrompt", err)
	}
}

// TestMaps compares the bytes of all layers and heads with the weights of each.
func TestMaps(t *testing.T) {
	m := mustLoad(t, variant(t, nil), Options{})
	const text = "The dog sleeps in the sun, and the fox does not."
	all, err := m.Inspect(t.Context(), text, InspectOptions{Maps: true, MaxTokens: 9})
	if err != nil {
		t.Fatal(err)
	}
	n := len(all.IDs)
	if n != 9 || !all.Truncated || len(all.Maps) != m.Info().Layers {
		t.Fatalf("%d tokens, truncated %v, %d layers", n, all.Truncated, len(all.Maps))
	}
	for layer, heads := range all.Maps {
		if len(heads) != m.Info().Heads {
			t.Fatalf("layer %d has %d heads", layer, len(heads))
		}
		for head, weights := range heads {
			one, err := m.Inspect(t.Context(), text, InspectOptions{Attention: true, Layer: layer, Head: head, MaxTokens: 9})
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range one.Attention {
				for j, want := range row {
					root := float64(weights[i*n+j]) / 255
					if d := math.Abs(root - math.Sqrt(float64(want))); d > 0.5/255+1e-6 {
						t.Errorf("layer %d, head %d, token %d on %d: %v, want %v", layer, head, i, j, root*root, want)
					}
				}
			}
		}
	}
}
