package eval

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/fstest"
)

func TestReadLabelled(t *testing.T) {
	files := fstest.MapFS{
		"good.tsv":  {Data: []byte("1\tfine day\n0\ta\ttab in the text\n\n")},
		"noTab.tsv": {Data: []byte("1\tfine\nbroken\n")},
		"empty.tsv": {Data: []byte("\tno label\n")},
	}
	got, err := ReadLabelled(files, "good.tsv")
	if want := []Labelled{{"1", "fine day"}, {"0", "a\ttab in the text"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, name := range []string{"noTab.tsv", "empty.tsv"} {
		if _, err := ReadLabelled(files, name); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// blobs returns n points around each of k axes of dim dimensions, and the axis of each.
func blobs(n, k, dim int, noise float64) (Dense, []int) {
	r := rand.New(rand.NewPCG(1, 2))
	var vectors [][]float32
	var class []int
	for i := range n * k {
		v := make([]float32, dim)
		v[i%k] = 1
		for j := range v {
			v[j] += float32(noise * r.NormFloat64())
		}
		vectors, class = append(vectors, v), append(class, i%k)
	}
	return Unit(vectors), class
}

func TestClusterFindsBlobs(t *testing.T) {
	p, class := blobs(50, 4, 8, 0.1)
	if v := VMeasure(class, Cluster(p, 4, 1)); v != 1 {
		t.Errorf("V-measure of blobs far apart is %v", v)
	}
	p, class = blobs(50, 4, 8, 2)
	if v := VMeasure(class, Cluster(p, 4, 1)); v > 0.5 {
		t.Errorf("V-measure of noise is %v", v)
	}
	if a, b := Cluster(p, 4, 7), Cluster(p, 4, 7); !slices.Equal(a, b) {
		t.Error("one seed, two results")
	}
}

func TestVMeasure(t *testing.T) {
	for _, c := range []struct {
		name           string
		class, cluster []int
		want           float64
	}{
		{"equal but for the names", []int{0, 0, 1, 1}, []int{5, 5, 3, 3}, 1},
		{"one cluster", []int{0, 0, 1, 1}, []int{0, 0, 0, 0}, 0},
		{"one class, one cluster", []int{0, 0}, []int{0, 0}, 1},
		{"independent", []int{0, 0, 1, 1}, []int{0, 1, 0, 1}, 0},
		{"each its own", []int{0, 0, 1, 1}, []int{0, 1, 2, 3}, 2.0 / 3}, // homogeneity 1, completeness 1/2
	} {
		if got := VMeasure(c.class, c.cluster); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAccuracy(t *testing.T) {
	p, class := blobs(40, 3, 6, 0.1)
	if a := CrossValidated(p, class, 3); a != 1 {
		t.Errorf("blobs far apart: %v", a)
	}
	few, fewClasses := blobs(2, 3, 6, 0.1)
	if a := CrossValidated(few, fewClasses, 3); few.Len() >= Folds || a != 1 {
		t.Errorf("%d points far apart: %v", few.Len(), a)
	}
	wrong := slices.Clone(class)
	for i := 100; i < len(wrong); i++ {
		wrong[i] = (wrong[i] + 1) % 3
	}
	all := make([]int, len(class))
	for i := range all {
		all[i] = i
	}
	if a := Accuracy(p, wrong, 3, all[:100], all[100:]); a != 0 {
		t.Errorf("labels moved by one: %v", a)
	}
}

func TestBags(t *testing.T) {
	b := NewBags([]string{"The red cat", "the RED dog, red", "", "a sparrow"})
	centre := make([]float64, b.Dim())
	b.AddTo(centre, 0)
	if b.Dim() != 6 || b.Len() != 4 {
		t.Errorf("%d words, %d texts", b.Dim(), b.Len())
	}
	if d := b.Dot(0, centre); math.Abs(d-1) > 1e-12 {
		t.Errorf("a text with itself: %v", d)
	}
	if d := b.Dot(1, centre); d <= 0 || d >= 1 {
		t.Errorf("texts that share words: %v", d)
	}
	if b.Dot(2, centre) != 0 || b.Dot(3, centre) != 0 {
		t.Error("texts that share none are alike")
	}
}
