package eval

import (
	"math"
	"slices"
)

// Judgments has the grades of the documents judged for one query. A grade above 0 means relevant.
type Judgments map[string]int

// relevant returns the number of relevant documents.
func (j Judgments) relevant() int {
	n := 0
	for _, grade := range j {
		if grade > 0 {
			n++
		}
	}
	return n
}

// NDCG returns the normalised discounted cumulative gain of the first k of ranked, best first: sum
// of grade/log2(rank+1), divided by that of the best possible order. A document that comes twice
// counts once. It is 0 if nothing is relevant.
func NDCG(ranked []string, j Judgments, k int) float64 {
	grades := make([]int, 0, len(j))
	for _, grade := range j {
		if grade > 0 {
			grades = append(grades, grade)
		}
	}
	slices.SortFunc(grades, func(a, b int) int { return b - a })
	ideal := 0.0
	for i, grade := range grades[:min(k, len(grades))] {
		ideal += discounted(grade, i)
	}
	if ideal == 0 {
		return 0
	}
	sum := 0.0
	for i, id := range distinct(ranked, k) {
		if grade := j[id]; grade > 0 {
			sum += discounted(grade, i)
		}
	}
	return sum / ideal
}

func discounted(grade, i int) float64 { return float64(grade) / math.Log2(float64(i+2)) }

// Recall returns the share of the relevant documents among the first k of ranked; 0 if nothing is
// relevant.
func Recall(ranked []string, j Judgments, k int) float64 {
	relevant := j.relevant()
	if relevant == 0 {
		return 0
	}
	found := 0
	for _, id := range distinct(ranked, k) {
		if j[id] > 0 {
			found++
		}
	}
	return float64(found) / float64(relevant)
}

// ReciprocalRank returns 1/rank of the first relevant document among the first k of ranked, or 0.
// Its mean over queries is MRR@k.
func ReciprocalRank(ranked []string, j Judgments, k int) float64 {
	for i, id := range distinct(ranked, k) {
		if j[id] > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// distinct returns the first k different ids of ranked.
func distinct(ranked []string, k int) []string {
	ids := make([]string, 0, min(k, len(ranked)))
	seen := make(map[string]bool, cap(ids))
	for _, id := range ranked {
		if len(ids) >= k {
			break
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// Quality holds means over queries.
type Quality struct {
	NDCG10    float64 `json:"ndcg@10"`
	Recall100 float64 `json:"recall@100"`
	MRR10     float64 `json:"mrr@10"`
	Queries   int     `json:"queries"` // with at least one relevant document
}

// Measure returns the means over the queries of qrels. runs has the ranked documents of each query
// by its id; a query that is missing there found nothing.
func Measure(runs map[string][]string, qrels map[string]Judgments) Quality {
	var q Quality
	// In a fixed order, so that the sums are the same each time.
	ids := make([]string, 0, len(qrels))
	for id := range qrels {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		j := qrels[id]
		if j.relevant() == 0 {
			continue
		}
		q.Queries++
		q.NDCG10 += NDCG(runs[id], j, 10)
		q.Recall100 += Recall(runs[id], j, 100)
		q.MRR10 += ReciprocalRank(runs[id], j, 10)
	}
	if n := float64(q.Queries); n > 0 {
		q.NDCG10, q.Recall100, q.MRR10 = q.NDCG10/n, q.Recall100/n, q.MRR10/n
	}
	return q
}
