package eval

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// The judgments of a worked example: log2(2) = 1, log2(3) = 1.58496, log2(4) = 2, log2(5) =
// 2.32193.
var judged = Judgments{"a": 3, "b": 2, "c": 1, "x": 0}

func TestMeasures(t *testing.T) {
	ideal := 3 + 2/1.5849625007211562 + 1/2.
	tests := []struct {
		name           string
		ranked         []string
		k              int
		ndcg, rec, mrr float64
	}{
		{"ideal order", []string{"a", "b", "c"}, 10, 1, 1, 1},
		{"by hand", []string{"x", "b", "y", "a"}, 10, (2/1.5849625007211562 + 3/2.321928094887362) / ideal, 2. / 3, 0.5},
		{"cut at k", []string{"x", "b", "y", "a"}, 3, 2 / 1.5849625007211562 / ideal, 1. / 3, 0.5},
		{"ideal is cut too", []string{"a"}, 1, 1, 1. / 3, 1},
		{"twice counts once", []string{"a", "a", "b"}, 2, (3 + 2/1.5849625007211562) / (3 + 2/1.5849625007211562), 2. / 3, 1},
		{"nothing found", nil, 10, 0, 0, 0},
		{"grade 0 is not relevant", []string{"x"}, 10, 0, 0, 0},
		{"k 0", []string{"a"}, 0, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, m := range []struct {
				name      string
				got, want float64
			}{
				{"NDCG", NDCG(tt.ranked, judged, tt.k), tt.ndcg},
				{"Recall", Recall(tt.ranked, judged, tt.k), tt.rec},
				{"ReciprocalRank", ReciprocalRank(tt.ranked, judged, tt.k), tt.mrr},
			} {
				if math.Abs(m.got-m.want) > 1e-12 {
					t.Errorf("%s(%v, %d) = %v, want %v", m.name, tt.ranked, tt.k, m.got, m.want)
				}
			}
		})
	}
	if got := NDCG([]string{"a"}, Judgments{"a": 0}, 10); got != 0 {
		t.Errorf("NDCG without relevant documents = %v, want 0", got)
	}
}

func TestMeasureAverages(t *testing.T) {
	qrels := map[string]Judgments{"q1": {"a": 1}, "q2": {"b": 1}, "nothing relevant": {"c": 0}}
	got := Measure(map[string][]string{"q1": {"z", "a"}}, qrels)
	want := Quality{NDCG10: 1 / math.Log2(3) / 2, Recall100: 0.5, MRR10: 0.25, Queries: 2}
	if got != want {
		t.Errorf("Measure = %+v, want %+v", got, want)
	}
}

func TestCorrelations(t *testing.T) {
	tests := []struct {
		name              string
		x, y              []float64
		pearson, spearman float64
	}{
		{"rising", []float64{1, 2, 3}, []float64{10, 20, 30}, 1, 1},
		{"falling", []float64{1, 2, 3}, []float64{3, 2, 1}, -1, -1},
		// Deviations -1.5 -0.5 0.5 1.5 and -276.75 -267.75 -177.75 722.25.
		{"monotone, not linear", []float64{1, 2, 3, 4}, []float64{1, 10, 100, 1000}, 1543.5 / math.Sqrt(5*701520.75), 1},
		// Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: 4.5/sqrt(4.5*5).
		{"ties", []float64{1, 2, 2, 3}, []float64{1, 3, 2, 4}, 0.9486832980505138, 0.9486832980505138},
	}
	for _, tt := range tests {
		p, err1 := Pearson(tt.x, tt.y)
		s, err2 := Spearman(tt.x, tt.y)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if math.Abs(p-tt.pearson) > 1e-9 || math.Abs(s-tt.spearman) > 1e-9 {
			t.Errorf("%s: Pearson = %.13f, Spearman = %.13f, want %v, %v", tt.name, p, s, tt.pearson, tt.spearman)
		}
	}
	if _, err := Spearman([]float64{1}, []float64{1}); err == nil {
		t.Error("Spearman of one pair: no error")
	}
	if _, err := Pearson([]float64{1, 2}, []float64{1}); err == nil {
		t.Error("Pearson of different lengths: no error")
	}
	if p, err := Pearson([]float64{1, 1}, []float64{1, 2}); err != nil || !math.IsNaN(p) {
		t.Errorf("Pearson of a constant = %v, %v, want NaN", p, err)
	}
}

func folder(corpus, queries, qrels string) fstest.MapFS {
	return fstest.MapFS{
		"corpus.jsonl":   {Data: []byte(corpus)},
		"queries.jsonl":  {Data: []byte(queries)},
		"qrels/test.tsv": {Data: []byte(qrels)},
	}
}

func TestReadCollection(t *testing.T) {
	c, err := ReadCollection(folder(
		"\ufeff{\"_id\":\"d1\",\"title\":\"T\",\"text\":\"x\"}\r\n\n{\"_id\":\"d2\",\"text\":\"y\"}",
		`{"_id":"q1","text":"first"}`+"\n"+`{"_id":"q2","text":"not judged"}`,
		"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\tgone\t1\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v", *c)
	want := "{Documents:[{ID:d1 Title:T Text:x} {ID:d2 Title: Text:y}] Queries:[{ID:q1 Text:first}] Qrels:map[q1:map[d1:2 gone:1]]}"
	if got != want {
		t.Errorf("ReadCollection mismatch (-want +got)\n-%s\n+%s", want, got)
	}
	if j := c.Documents[0].Joined(); j != "T x" {
		t.Errorf("Joined = %q, want %q", j, "T x")
	}
}

func TestReadersNameTheLine(t *testing.T) {
	const doc, query, qrels = `{"_id":"d","text":"x"}`, `{"_id":"q","text":"x"}`, "query-id\tcorpus-id\tscore\nq\td\t1\n"
	tests := []struct {
		name string
		fsys fstest.MapFS
		want string
	}{
		{"not JSON", folder(doc+"\n{", query, qrels), "corpus.jsonl:2: unexpected end"},
		{"no id", folder(`{"text":"x"}`, query, qrels), `corpus.jsonl:1: "_id" is missing`},
		{"id twice", folder(doc+"\n"+doc, query, qrels), `corpus.jsonl:2: _id "d" stands on line 1`},
		{"not UTF-8", folder(doc, "{\"_id\":\"\xff\"}", qrels), "queries.jsonl:1: not UTF-8"},
		{"columns", folder(doc, query, "q d 1"), "qrels/test.tsv:1: 1 columns"},
		{"grade", folder(doc, query, qrels+"q\td\tgood\n"), `qrels/test.tsv:3: grade "good"`},
		{"long line", folder(doc+"\n"+strings.Repeat(" ", MaxLine+1), query, qrels), "corpus.jsonl:2: line has more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadCollection(tt.fsys)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ReadCollection = %v, want ErrFormat with %q", err, tt.want)
			}
		})
	}
	if _, err := ReadCollection(fstest.MapFS{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReadCollection of nothing = %v, want ErrNotExist", err)
	}
}

func TestReadPairs(t *testing.T) {
	fsys := fstest.MapFS{
		"ok.tsv":      {Data: []byte("score\ta\tb\n4.75\tA child.\tA \"kid\".\n")},
		"columns.tsv": {Data: []byte("1\ta\tb\n2\tonly\n")},
		"score.tsv":   {Data: []byte("1\ta\tb\nNaN\ta\tb\n")},
	}
	pairs, err := ReadPairs(fsys, "ok.tsv")
	if err != nil || len(pairs) != 1 || pairs[0] != (Pair{4.75, "A child.", `A "kid".`}) {
		t.Errorf("ReadPairs = %+v, %v", pairs, err)
	}
	for _, name := range []string{"columns.tsv", "score.tsv"} {
		if _, err := ReadPairs(fsys, name); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), name+":2:") {
			t.Errorf("ReadPairs(%s) = %v, want ErrFormat at line 2", name, err)
		}
	}
}

func ExampleNDCG() {
	j := Judgments{"d1": 3, "d2": 1}
	fmt.Printf("%.4f %.4f\n", NDCG([]string{"d1", "d2"}, j, 10), NDCG([]string{"d2", "d1"}, j, 10))
	// Output: 1.0000 0.7967
}

func FuzzReadQrels(f *testing.F) {
	f.Add("query-id\tcorpus-id\tscore\nq\td\t1\n")
	f.Add("q\td\t-1\n\n\t\t\t")
	f.Fuzz(func(t *testing.T, s string) {
		qrels := map[string]Judgments{}
		if err := readQrels(fstest.MapFS{"x": {Data: []byte(s)}}, "x", qrels); err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("readQrels(%q) = %v, want ErrFormat", s, err)
		}
	})
}
