package eval

import "math"

// Folds is the number of parts of a set without a test part, each tested by a classifier of the
// others; less if there are fewer points.
const Folds = 10

// Accuracy is the share of the points test whose class is that of the nearest centroid of the
// points train. class [points] holds numbers below classes.
func Accuracy(p Points, class []int, classes int, train, test []int) float64 {
	centres := centroids(p, class, classes, train)
	right := 0
	for _, i := range test {
		if nearestCentre(p, i, centres) == class[i] {
			right++
		}
	}
	return float64(right) / float64(max(len(test), 1))
}

// CrossValidated is the mean accuracy over Folds parts; point i is in part i mod their number.
func CrossValidated(p Points, class []int, classes int) float64 {
	var sum float64
	folds := min(Folds, max(1, p.Len()))
	for fold := range folds {
		var train, test []int
		for i := range p.Len() {
			if i%folds == fold {
				test = append(test, i)
			} else {
				train = append(train, i)
			}
		}
		sum += Accuracy(p, class, classes, train, test)
	}
	return sum / float64(folds)
}

// centroids returns the mean directions of the classes among the given points.
func centroids(p Points, class []int, classes int, of []int) [][]float64 {
	centres := make([][]float64, classes)
	for c := range centres {
		centres[c] = make([]float64, p.Dim())
	}
	for _, i := range of {
		p.AddTo(centres[class[i]], i)
	}
	for _, c := range centres {
		scaleToUnit(c)
	}
	return centres
}

func scaleToUnit(v []float64) {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	if sum == 0 {
		return
	}
	for i := range v {
		v[i] /= math.Sqrt(sum)
	}
}

// nearestCentre returns the centre of the largest cosine with point i, the first of equals.
func nearestCentre(p Points, i int, centres [][]float64) int {
	best, at := math.Inf(-1), 0
	for c, centre := range centres {
		if d := p.Dot(i, centre); d > best {
			best, at = d, c
		}
	}
	return at
}
