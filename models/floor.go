package models

import (
	"context"
	"math"

	"searchd/encoder"
	"searchd/internal/simd"
)

// unrelated are sentences on different subjects.
var unrelated = []string{
	"The harbour was closed because of the storm.",
	"Stir the sauce until it thickens.",
	"Interest rates rose for the third time this year.",
	"A triangle has three sides.",
	"The orchestra tuned its instruments.",
	"Install the driver and restart the computer.",
	"Bees collect nectar from flowers.",
	"The goalkeeper saved a penalty.",
	"He signed the lease for a small flat.",
	"The vaccine protects against measles.",
	"Glaciers carve deep valleys.",
	"The treaty ended a war of thirty years.",
	"She sewed a new button on the coat.",
	"Photons have no mass.",
	"The train to the airport leaves at noon.",
	"The novel tells of two brothers.",
}

// measureFloor returns the mean cosine of unrelated texts.
func measureFloor(m *encoder.Model) (float64, error) {
	r, err := m.Encode(context.Background(), unrelated, encoder.EncodeOptions{})
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
