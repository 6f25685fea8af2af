// Package position holds the formulas of position encodings that depend on no weights.
package position

import "math"

// Sinusoids returns the table [rows, width] of "Attention Is All You Need" as transformers stores
// it for DistilBERT: sines at even columns, cosines at odd ones. With halves all sines come first,
// as in Marian and Pegasus.
func Sinusoids(rows, width int, halves bool) []float32 {
	t := make([]float32, rows*width)
	for i := range rows {
		for j := range width {
			sin, cos := math.Sincos(float64(i) / math.Pow(10000, float64(2*(j/2))/float64(width)))
			at, x := j, sin
			if j%2 == 1 {
				x = cos
			}
			if halves {
				at = j/2 + j%2*((width+1)/2)
			}
			t[i*width+at] = float32(x)
		}
	}
	return t
}

// AlibiSlopes returns the slopes of ALiBi: a geometric sequence from 2^(-8/n) for n a power of two;
// otherwise those of the power below, then every other one of the power above. Source:
// arXiv:2108.12409 and its reference code.
func AlibiSlopes(heads int) []float32 {
	power := func(n int) []float32 {
		slopes := make([]float32, n)
		start := math.Pow(2, -math.Pow(2, -(math.Log2(float64(n))-3)))
		for i := range slopes {
			slopes[i] = float32(start * math.Pow(start, float64(i)))
		}
		return slopes
	}
	n := 1
	for 2*n <= heads {
		n *= 2
	}
	slopes := power(n)
	if n < heads {
		more := power(2 * n)
		for i := 0; len(slopes) < heads; i += 2 {
			slopes = append(slopes, more[i])
		}
	}
	return slopes
}

// Bucket returns the row of a relative table for distance = key - query: half of the buckets for
// keys after the query; in each half, one bucket per distance up to a quarter of all, then wider
// and wider ones up to maxDistance. Source: transformers T5Attention._relative_position_bucket,
// bidirectional, in its float32 arithmetic.
func Bucket(distance, buckets, maxDistance int) int {
	half := buckets / 2
	at := 0
	if distance > 0 {
		at = half
	} else {
		distance = -distance
	}
	exact := half / 2
	if distance < exact {
		return at + distance
	}
	log := float32(math.Log(float64(float32(distance) / float32(exact))))
	span := float32(math.Log(float64(maxDistance) / float64(exact)))
	wide := exact + int(log/span*float32(half-exact))
	return at + min(wide, half-1)
}

// Llama3 returns the scaling of frequencies of Llama 3: low ones are slowed by factor, high ones
// stay, and those between are blended; low and high count the turns over the trained length.
// Source: transformers modeling_rope_utils.py, _compute_llama3_parameters.
func Llama3(factor, low, high, trained float64) func(freq float64) float64 {
	return func(freq float64) float64 {
		turns := trained * freq / (2 * math.Pi)
		switch {
		case turns < low:
			return freq / factor
		case turns > high:
			return freq
		}
		smooth := (turns - low) / (high - low)
		return (1-smooth)*freq/factor + smooth*freq
	}
}
