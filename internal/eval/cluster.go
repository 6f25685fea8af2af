package eval

import (
	"math"
	"math/rand/v2"
)

const (
	clusterRounds   = 50
	clusterRestarts = 5
)

// Cluster divides the points into k clusters by spherical k-means, from several k-means++ starts of
// which the one with the largest sum of cosines is used. The same seed gives the same clusters.
func Cluster(p Points, k int, seed uint64) []int {
	r := rand.New(rand.NewPCG(seed, 0))
	var kept []int
	best := math.Inf(-1)
	for range clusterRestarts {
		cluster, sum := lloyd(p, spread(p, k, r))
		if sum > best {
			best, kept = sum, cluster
		}
	}
	return kept
}

// spread chooses k points as centres, each with a probability that grows with its distance from the
// previous ones.
func spread(p Points, k int, r *rand.Rand) [][]float64 {
	far := make([]float64, p.Len())
	for i := range far {
		far[i] = 1
	}
	centres := make([][]float64, 0, k)
	for len(centres) < k {
		var sum float64
		for _, d := range far {
			sum += d
		}
		at, left := 0, r.Float64()*sum
		for at < len(far)-1 && left >= far[at] {
			left -= far[at]
			at++
		}
		centre := make([]float64, p.Dim())
		p.AddTo(centre, at)
		centres = append(centres, centre)
		for i := range far {
			far[i] = min(far[i], max(0, 1-p.Dot(i, centre)))
		}
	}
	return centres
}

// lloyd moves the centres to the mean of their points until no point changes its cluster, and
// returns the cluster of each point and the sum of the cosines.
func lloyd(p Points, centres [][]float64) ([]int, float64) {
	cluster, all := make([]int, p.Len()), make([]int, p.Len())
	for i := range all {
		all[i], cluster[i] = i, -1
	}
	for range clusterRounds {
		moved := 0
		for i := range cluster {
			if c := nearestCentre(p, i, centres); c != cluster[i] {
				cluster[i] = c
				moved++
			}
		}
		if moved == 0 {
			break
		}
		centres = centroids(p, cluster, len(centres), all)
	}
	var sum float64
	for i, c := range cluster {
		sum += p.Dot(i, centres[c])
	}
	return cluster, sum
}

// VMeasure is the agreement of clusters and classes, 0 to 1: the harmonic mean of homogeneity and
// completeness (Rosenberg and Hirschberg 2007). Both slices hold a small number for each point.
func VMeasure(class, cluster []int) float64 {
	n := float64(len(class))
	if n == 0 {
		return 0
	}
	both, a, b := map[[2]int]float64{}, map[int]float64{}, map[int]float64{}
	for i := range class {
		both[[2]int{class[i], cluster[i]}]++
		a[class[i]]++
		b[cluster[i]]++
	}
	mutual := entropy(a, n) + entropy(b, n) - entropy(both, n)
	if h := entropy(a, n) + entropy(b, n); h > 0 {
		return 2 * mutual / h
	}
	return 1
}

func entropy[K comparable](counts map[K]float64, n float64) (h float64) {
	for _, c := range counts {
		h -= c / n * math.Log(c/n)
	}
	return h
}
