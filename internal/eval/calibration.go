package eval

import "math"

// CalibrationError returns the expected calibration error of probabilities: over ten bins of equal
// width, the mean difference between the probabilities of a bin and the share of it that is true,
// each bin weighted by its size. 0 without probabilities.
func CalibrationError(probabilities []float64, truth []bool) float64 {
	var sum, hits, n [10]float64
	for i, p := range probabilities {
		b := min(9, max(0, int(p*10)))
		sum[b] += p
		n[b]++
		if truth[i] {
			hits[b]++
		}
	}
	off := 0.0
	for b := range n {
		off += math.Abs(sum[b] - hits[b])
	}
	return off / float64(max(1, len(probabilities)))
}
