package lsi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// plain is a vocabulary in which each token is a term.
func plain(vocab int) *Terms {
	return NewTerms(vocab, func(id int) string { return fmt.Sprint(id) })
}

// about makes n texts, each about one of some subjects, whose words are apart.
func about(rng *rand.Rand, n, subjects, words, length int) [][]int32 {
	texts := make([][]int32, n)
	for i := range texts {
		for range 1 + rng.IntN(length) {
			word := rng.IntN(words)
			if rng.IntN(4) > 0 {
				word = i%subjects + subjects*rng.IntN(words/subjects)
			}
			texts[i] = append(texts[i], int32(word))
		}
	}
	return texts
}

// slow is the specification: the whole decomposition of the dense matrix. It returns the rarities and the projector on the leading k topics.
func slow(vocab int, texts [][]int32, k int) (rarity []float64, projector *mat.Dense, values []float64) {
	df := make([]float64, vocab)
	tf := make([]map[int32]float64, len(texts))
	for i, ids := range texts {
		tf[i] = map[int32]float64{}
		for _, id := range ids {
			tf[i][id]++
		}
		for id := range tf[i] {
			df[id]++
		}
	}
	n := float64(len(texts))
	for _, d := range df {
		rarity = append(rarity, math.Log(1+(n-d+0.5)/(d+0.5)))
	}
	w := mat.NewDense(len(texts), vocab, nil)
	for i := range texts {
		sum := 0.0
		for id, f := range tf[i] {
			v := (1 + math.Log(f)) * rarity[id]
			w.Set(i, int(id), v)
			sum += v * v
		}
		for id := range tf[i] {
			w.Set(i, int(id), w.At(i, int(id))/math.Sqrt(sum))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(w, mat.SVDThin) {
		panic("no decomposition")
	}
	var v mat.Dense
	svd.VTo(&v)
	lead := v.Slice(0, vocab, 0, k)
	projector = mat.NewDense(vocab, vocab, nil)
	projector.Mul(lead, lead.T())
	return rarity, projector, svd.Values(nil)
}

// slowPlaces is where texts are in the space of a projector, and slowHeld how much of one lies in it.
func slowPlaces(rarity []float64, projector *mat.Dense, texts ...[]int32) (places []*mat.VecDense, lengths []float64) {
	for _, ids := range texts {
		tf := map[int32]float64{}
		for _, id := range ids {
			tf[id]++
		}
		x := mat.NewVecDense(len(rarity), nil)
		for id, f := range tf {
			x.SetVec(int(id), (1+math.Log(f))*rarity[id])
		}
		lengths = append(lengths, x.Norm(2))
		x.MulVec(projector, x)
		places = append(places, x)
	}
	return places, lengths
}

func slowHeld(rarity []float64, projector *mat.Dense, text []int32) float64 {
	places, lengths := slowPlaces(rarity, projector, text)
	return places[0].Norm(2) / lengths[0]
}

func slowCosine(rarity []float64, projector *mat.Dense, a, b []int32) float64 {
	p, _ := slowPlaces(rarity, projector, a, b)
	return mat.Dot(p[0], p[1]) / (p[0].Norm(2) * p[1].Norm(2))
}

// place is the place of a text that has one.
func place(m *Model, ids ...int32) []float32 {
	p, _ := m.Place(ids)
	return p
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestAgainstTheWholeDecomposition(t *testing.T) {
	const vocab, subjects = 240, 12
	rng := rand.New(rand.NewPCG(3, 4))
	texts := about(rng, 90, subjects, vocab, 40)
	m, err := Learn(context.Background(), plain(vocab), texts)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(texts) / 4; m.Dim() != want {
		t.Fatalf("got %d topics, want %d", m.Dim(), want)
	}
	rarity, projector, _ := slow(vocab, texts, m.Dim())
	for id, want := range rarity {
		if got := m.Rarity(int32(id)); math.Abs(got-want) > 1e-5 {
			t.Fatalf("rarity of %d: got %v, want %v", id, got, want)
		}
	}
	mean, pairs := 0.0, float64(len(texts)*(len(texts)-1)/2)
	for i := range texts {
		for j := range i {
			got, want := dot(place(m, texts[i]...), place(m, texts[j]...)), slowCosine(rarity, projector, texts[i], texts[j])
			if mean += math.Abs(got-want) / pairs; math.Abs(got-want) > 0.1 { // the last directions have not quite settled
				t.Fatalf("cosine of %d and %d: got %v, want %v", i, j, got, want)
			}
		}
	}
	for i, x := range texts {
		if _, held := m.Place(x); math.Abs(held-slowHeld(rarity, projector, x)) > 0.05 {
			t.Errorf("of text %d %v is held, want %v", i, held, slowHeld(rarity, projector, x))
		}
	}
	if mean > 0.01 {
		t.Errorf("cosines are %.3f off in the mean", mean)
	}
}

// TestNamesOfOneSubject is what it is for: two names of a thing that no text has together, but beside the same further words.
func TestNamesOfOneSubject(t *testing.T) {
	const subjects, beside = 90, 12
	rng := rand.New(rand.NewPCG(5, 6))
	name := func(subject, which int) int32 { return int32(subject*(beside+2) + which) }
	var texts [][]int32
	for i := range 10 * subjects {
		subject := i % subjects
		text := []int32{name(subject, i/subjects%2)}
		for _, word := range rng.Perm(beside)[:6] {
			text = append(text, name(subject, 2+word))
		}
		texts = append(texts, text)
	}
	m, err := Learn(context.Background(), plain(subjects*(beside+2)), texts)
	if err != nil {
		t.Fatal(err)
	}
	like, unlike := 0.0, 0.0
	for s := range subjects {
		one := place(m, name(s, 0))
		like += dot(one, place(m, name(s, 1))) / subjects
		unlike += dot(one, place(m, name((s+1)%subjects, 1))) / subjects
	}
	if like < 0.6 || unlike > 0.1 {
		t.Errorf("mean cosine of two names of one thing %.2f, of two things %.2f", like, unlike)
	}
}

func TestTerms(t *testing.T) {
	terms := NewTerms(4, func(id int) string { return []string{"", "fly", "fly", "tree"}[id] })
	m, err := Learn(context.Background(), terms, [][]int32{{1, 0, 0}, {2}, {3, -1, 99}, {1, 3}})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.Rarity(1), m.Rarity(2); a != b || math.Abs(a-math.Log(1+1.5/3.5)) > 1e-6 {
		t.Errorf("one term in three of four texts: rarity %v and %v", a, b)
	}
	for _, id := range []int32{0, -1, 4, math.MaxInt32, math.MinInt32} {
		if r := m.Rarity(id); r != 0 {
			t.Errorf("rarity of %d, which is no term: %v", id, r)
		}
		if p, held := m.Place([]int32{id}); p != nil || held != 0 {
			t.Errorf("place of %d, which is no term: %v, of which %v is held", id, p, held)
		}
	}
	a, heldA := m.Place([]int32{1, 3, 2})
	b, heldB := m.Place([]int32{1}, nil, []int32{2, 3})
	if !slices.Equal(a, b) || heldA != heldB {
		t.Errorf("in one part %v, in parts %v", a, b)
	}
}

// TestUnknownTerm: a term that the vocabulary has and the texts do not is as rare as can be, and is nowhere.
func TestUnknownTerm(t *testing.T) {
	m, err := Learn(context.Background(), plain(5), [][]int32{{0, 1}, {0, 2}, {1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if !(m.Rarity(4) > m.Rarity(0)) || place(m, 4) != nil {
		t.Errorf("rarity %v beside %v, place %v", m.Rarity(4), m.Rarity(0), place(m, 4))
	}
	_, known := m.Place([]int32{0})
	if _, held := m.Place([]int32{0, 4}); !(held > 0 && held < known) {
		t.Errorf("%v of a text is held, and with a word that no text has %v", known, held)
	}
}

// TestDim: there is a topic for every four texts and for every four terms, and no more than there are directions in which the texts differ.
func TestDim(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	kinds := func(n, kinds int) (texts [][]int32) {
		for i := range n {
			var text []int32
			for word := range int32(10) {
				text = append(text, 10*int32(i%kinds)+word)
			}
			texts = append(texts, text)
		}
		return texts
	}
	for _, tc := range []struct {
		name  string
		texts [][]int32
		want  int
	}{
		{"few texts", about(rng, 20, 5, 100, 40), 5},
		{"few terms", about(rng, 100, 2, 8, 20), 2},
		{"texts of two kinds", kinds(40, 2), 2},
		{"texts of one kind", kinds(40, 1), 1},
	} {
		m, err := Learn(context.Background(), plain(100), tc.texts)
		if err != nil || m.Dim() != tc.want {
			t.Errorf("%s: %d topics, want %d, %v", tc.name, m.Dim(), tc.want, err)
		}
	}
}

// TestTextsWithoutTerms count where it is asked how rare a term is.
func TestTextsWithoutTerms(t *testing.T) {
	m, err := Learn(context.Background(), plain(5), [][]int32{{0, 1}, {1}, {}, {-1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Rarity(1), math.Log(1+2.5/2.5); math.Abs(got-want) > 1e-6 {
		t.Errorf("rarity of a term in two of four texts: %v, want %v", got, want)
	}
}

// TestBytes: a model takes what its topics do, and what is known of each term of the vocabulary.
func TestBytes(t *testing.T) {
	const vocab = 10_000
	m, err := Learn(context.Background(), plain(vocab), [][]int32{{0, 1}, {1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Bytes(), vocab*(4+4)+3*m.Dim()*4; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestTooManyTermsApart: of more terms than are kept, none of which is in two texts, none is kept.
func TestTooManyTermsApart(t *testing.T) {
	texts := make([][]int32, 2)
	for id := range int32(2 * MaxTerms) {
		texts[id%2] = append(texts[id%2], id)
	}
	if _, err := Learn(context.Background(), plain(2*MaxTerms), texts); !errors.Is(err, ErrTexts) {
		t.Errorf("got %v", err)
	}
}

func TestLearnLittle(t *testing.T) {
	for _, texts := range [][][]int32{nil, {{}}, {{0}}, {{0}, {}}, {{-1}, {99}}} {
		if _, err := Learn(context.Background(), plain(5), texts); !errors.Is(err, ErrTexts) {
			t.Errorf("%v: got %v", texts, err)
		}
	}
	for _, texts := range [][][]int32{{{0}, {0}}, {{0, 1}, {1, 0}, {0, 1}}, {{0}, {1}}} { // all the same, or nothing in common
		m, err := Learn(context.Background(), plain(5), texts)
		if err != nil {
			t.Fatalf("%v: %v", texts, err)
		}
		for _, x := range texts {
			p, held := m.Place(x)
			if math.IsNaN(held) || held > 1 || slices.ContainsFunc(p, func(v float32) bool { return math.IsNaN(float64(v)) }) {
				t.Fatalf("%v: place %v, of which %v is held", texts, p, held)
			}
		}
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := Learn(ended, plain(5), [][]int32{{0}, {1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: got %v", err)
	}
}

// TestSameOnEveryRun: also where the texts come in another order.
func TestSameOnEveryRun(t *testing.T) {
	texts := about(rand.New(rand.NewPCG(7, 8)), 60, 5, 200, 50)
	a, err := Learn(context.Background(), plain(200), texts)
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(texts)
	slices.Reverse(other)
	given := slices.Clone(other)
	b, err := Learn(context.Background(), plain(200), other)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(other, given, slices.Equal) {
		t.Error("the texts have another order now")
	}
	for _, x := range texts {
		if !slices.Equal(place(a, x...), place(b, x...)) {
			t.Fatalf("%v and %v", place(a, x...), place(b, x...))
		}
	}
}

func TestMaxTerms(t *testing.T) {
	const vocab = MaxTerms + 1000
	var texts [][]int32
	for i := range 64 {
		text := []int32{int32(i % 8)} // eight that are in many texts
		for j := i; j < vocab; j += 64 {
			text = append(text, int32(j))
		}
		texts = append(texts, text)
	}
	m, err := Learn(context.Background(), plain(vocab), texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.topics)/m.k > MaxTerms || place(m, 3) == nil || m.Rarity(vocab-1) == 0 {
		t.Errorf("%d terms have a row; place of a frequent one %v, rarity of a rare one %v", len(m.topics)/m.k, place(m, 3) != nil, m.Rarity(vocab-1))
	}
}

func BenchmarkLearn(b *testing.B) {
	for _, n := range []int{200, 2000} {
		texts := about(rand.New(rand.NewPCG(1, 2)), n, 50, 12000, 200)
		b.Run(fmt.Sprintf("texts=%d", n), func(b *testing.B) {
			terms := plain(12000)
			for b.Loop() {
				if _, err := Learn(context.Background(), terms, texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlace(b *testing.B) {
	texts := about(rand.New(rand.NewPCG(1, 2)), 2000, 50, 12000, 200)
	m, err := Learn(context.Background(), plain(12000), texts)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		m.Place(texts[i%len(texts)])
	}
}
