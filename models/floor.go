package models

import (
	"context"
	"math"

	"example.com/searchd/encoder"
	"example.com/searchd/internal/simd"
)

// measureFloor returns the mean cosine of texts on different subjects.
func measureFloor(m *encoder.Model) (float64, error) {
	r, err := m.Encode(context.Background(), encoder.CalibrationTexts, encoder.EncodeOptions{})
	if err != nil {
		return 0, err
	}
	sum, n := 0.0, 0
	for i, a := range r.Vectors {
		for _, b := range r.Vectors[:i] {
			length := math.Sqrt(float64(simd.Dot(a, a)) * float64(simd.Dot(b, b)))
			if length > 0 {
				sum += float64(simd.Dot(a, b)) / length
				n++
			}
		}
	}
	if n == 0 || !(sum/float64(n) > -1 && sum/float64(n) < 0.99) {
		return 0, nil // vectors without a direction, or all alike: nothing can be said
	}
	return sum / float64(n), nil
}
