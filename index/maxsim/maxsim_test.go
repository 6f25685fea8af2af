package maxsim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// vectors returns a random table of vocab vectors: token 0 has no direction, token 1 is that of
// token 2, twice as long.
func vectors(vocab, dim int) [][]float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	v := make([][]float32, vocab)
	for id := range v {
		v[id] = make([]float32, dim)
		for i := range v[id] {
			v[id][i] = float32(rng.NormFloat64())
		}
	}
	clear(v[0])
	for i, x := range v[2] {
		v[1][i] = 2 * x
	}
	return v
}

func table(v [][]float32) *Table {
	return NewTable(len(v), len(v[0]), func(dst []float32, id int) { copy(dst, v[id]) })
}

// centred takes the mean of all vectors off those that are not zero.
func centred(v [][]float32) [][]float32 {
	mean, out := make([]float64, len(v[0])), make([][]float32, len(v))
	for _, row := range v {
		for i, x := range row {
			mean[i] += float64(x) / float64(len(v))
		}
	}
	for id, row := range v {
		out[id] = slices.Clone(row)
		if slices.ContainsFunc(row, func(x float32) bool { return x != 0 }) {
			for i := range row {
				out[id][i] -= float32(mean[i])
			}
		}
	}
	return out
}

// slow is Match by its definition, in float64.
func slow(v [][]float32, query []int32, x Text) float64 {
	norm := func(id int32) (s float64) {
		for _, c := range v[id] {
			s += float64(c) * float64(c)
		}
		return math.Sqrt(s)
	}
	cosine := func(a, b int32) (s float64) {
		for i := range v[a] {
			s += float64(v[a][i]) * float64(v[b][i])
		}
		return s / norm(a) / norm(b)
	}
	var windows [][]int32
	parts := max(1, (len(x.Body)+Window-1)/Window)
	step := (len(x.Body) + parts - 1) / parts
	for p := range parts {
		windows = append(windows, append(append([]int32{}, x.Title...), x.Body[p*step:min((p+1)*step, len(x.Body))]...))
	}
	best, found := 0.0, false
	for _, w := range windows {
		sum, total, any := 0.0, 0.0, false
		for _, a := range query {
			if norm(a) == 0 {
				continue
			}
			nearest := math.Inf(-1)
			for _, b := range w {
				if norm(b) > 0 {
					nearest, any = max(nearest, cosine(a, b)), true
				}
			}
			w := norm(a) * rarity(a)
			sum, total = sum+w*nearest, total+w
		}
		if any && (!found || sum/total > best) {
			best, found = sum/total, true
		}
	}
	return best
}

func random(rng *rand.Rand, n, vocab int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(rng.IntN(vocab))
	}
	return ids
}

// TestMatch compares with the definition: windows of every kind, titles, repeated tokens, tokens
// without a direction.
func TestMatch(t *testing.T) {
	const vocab, dim = 500, 48
	v := vectors(vocab, dim)
	tab := table(v)
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 30 {
		query := append(random(rng, 1+rng.IntN(12), vocab), 5, 5)
		var texts []Text
		for _, n := range []int{0, 1, 7, Window - 1, Window, Window + 1, 2*Window + 3, 200} {
			texts = append(texts, Text{Body: random(rng, n, vocab)}, Text{random(rng, rng.IntN(9), vocab), random(rng, n, vocab)})
		}
		texts = append(texts, Text{}, Text{Body: []int32{0, 0}}, Text{Title: []int32{0}, Body: query})
		for i, got := range tab.Query(query).Match(texts) {
			if want := slow(centred(v), query, texts[i]); math.Abs(got-want) > 0.01 {
				t.Errorf("round %d, text %d: %v, by the definition %v", round, i, got, want)
			}
		}
	}
}

// TestMatchOfItself has 1, whatever the lengths of the vectors, and no more by rounding.
func TestMatchOfItself(t *testing.T) {
	tab := table(vectors(100, 33))
	q := tab.Query([]int32{1, 7, 9})
	for i, got := range q.Match([]Text{{Body: []int32{9, 1, 7, 50}}, {Title: []int32{7}, Body: []int32{1, 9}}}) {
		if math.Abs(got-1) > 1e-5 {
			t.Errorf("text %d: %v, want 1", i, got)
		}
	}
	for id := range int32(100) {
		if tab.has(id) {
			if got := tab.Query([]int32{id}).Match([]Text{{Body: []int32{id}}}); got[0] > 1 {
				t.Errorf("token %d: %v", id, got)
			}
		}
	}
}

// TestNoDirection: a vector that is no number, or beyond all of them, is like no other.
func TestNoDirection(t *testing.T) {
	v := vectors(10, 16)
	v[3][5], v[4][5], v[5][5] = float32(math.NaN()), float32(math.Inf(-1)), 1e30
	tab := table(v)
	for id := range int32(10) {
		if want := id != 0 && (id < 3 || id > 5); tab.has(id) != want {
			t.Errorf("token %d has a direction: %v", id, !want)
		}
	}
	for _, x := range tab.Query([]int32{3, 7}).Match([]Text{{Title: []int32{4, 7}, Body: []int32{3}}}) {
		if math.Abs(x-1) > 1e-5 {
			t.Errorf("beside them: %v", x)
		}
	}
}

// TestQueryBounds: what has no direction is nothing, what is no token is left out, and of too many
// tokens the heaviest count.
func TestQueryBounds(t *testing.T) {
	v := vectors(300, 16)
	tab := table(v)
	if q := tab.Query([]int32{0, -1, 300, 1 << 30}); q != nil {
		t.Errorf("a query without a token: %v", q)
	}
	var all []int32
	for id := range int32(300) {
		all = append(all, id)
	}
	q := tab.Query(append(all, 299, 299, 299))
	weight := func(id int32) float64 { return float64(tab.length[id]) * rarity(id) }
	sum, least := float32(0), math.Inf(1)
	for k, id := range q.ids {
		sum += q.weight[k]
		if id != 299 {
			least = min(least, weight(id))
		}
	}
	if len(q.ids) != MaxQueryTokens || math.Abs(float64(sum)-1) > 1e-5 || q.ids[0] != 299 {
		t.Errorf("%d tokens of weight %v, first %d", len(q.ids), sum, q.ids[0])
	}
	heavier := 0
	for id := range int32(300) {
		if weight(id) > least {
			heavier++
		}
	}
	if heavier > MaxQueryTokens {
		t.Errorf("%d tokens are heavier than one that was kept", heavier)
	}
	strange := Text{Title: []int32{-1, 7, 300, 1 << 30}, Body: []int32{-1, 9, 300}}
	if got, want := q.Match([]Text{strange}), q.Match([]Text{{Title: []int32{7}, Body: []int32{9}}}); got[0] != want[0] {
		t.Errorf("a text with tokens that are none: %v, without them %v", got, want)
	}
	if got := q.Match([]Text{{Body: []int32{-1, 300, 1 << 30}}}); got[0] != 0 {
		t.Errorf("a text without tokens: %v", got)
	}
}

// TestRounds lets the counter of rounds overflow: tokens of the text before must not be taken for
// the present one's.
func TestRounds(t *testing.T) {
	tab := table(vectors(100, 16))
	m := tab.marks.New().(*marks)
	m.round, m.of[7] = math.MaxUint32, mark{round: 1} // token 7 was in a text of the first round, long ago
	m.next()
	if ids := tab.number(m, nil, []int32{3, 7, 3}); len(ids) != 2 || m.round != 1 {
		t.Fatalf("round %d: %v", m.round, ids)
	}
}

func BenchmarkMatch(b *testing.B) {
	const vocab, dim = 28_000, 384
	tab := table(vectors(vocab, dim))
	rng := rand.New(rand.NewPCG(5, 6))
	texts := make([]Text, 50)
	for i := range texts {
		texts[i] = Text{random(rng, 8, vocab), random(rng, 120, 4000)}
	}
	query := random(rng, 10, vocab)
	for b.Loop() {
		tab.Query(query).Match(texts)
	}
}
