package position

import (
	"math"
	"testing"
)

func TestBucket(t *testing.T) {
	// The integer table of T5 and MPNet with 32 buckets and distance 128: the first distance of
	// each bucket from 8 on.
	first := []int{8, 12, 16, 23, 32, 46, 64, 91}
	for n := range 300 {
		want := n
		for i, at := range first {
			if n >= at {
				want = 8 + i
			}
		}
		if got := Bucket(-n, 32, 128); got != want {
			t.Errorf("Bucket(%d) = %d, want %d", -n, got, want)
		}
		if got := Bucket(n, 32, 128); n > 0 && got != want+16 {
			t.Errorf("Bucket(%d) = %d, want %d", n, got, want+16)
		}
	}
}

func TestALiBiSlopes(t *testing.T) {
	half := math.Pow(2, -.5)
	for heads, want := range map[int][]float64{
		8:  {1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256},
		12: {1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256, half, half / 2, half / 4, half / 8},
		1:  {1. / 256},
	} {
		got := AlibiSlopes(heads)
		if len(got) != len(want) {
			t.Fatalf("AlibiSlopes(%d) has %d slopes", heads, len(got))
		}
		for i := range want {
			if math.Abs(float64(got[i])-want[i]) > 1e-7 {
				t.Errorf("AlibiSlopes(%d) = %v, want %v", heads, got, want)
				break
			}
		}
	}
}
