//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// words is how many words the text of a document has.
const words = 60

// subjects is how many groups of words documents are about.
const subjects = 2000

// record is a document, without a vector.
type record struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Lang  string   `json:"lang"`
	Year  int      `json:"year"`
	Price float64  `json:"price"`
	Date  string   `json:"date"`
	Tags  []string `json:"tags"`
}

// writer makes documents: the i-th is the same in every run. A third of the words of a text are
// those of its subject, a twentieth are names that few others have, and the rest are as frequent as
// the words of a language are.
type writer struct {
	common   []string
	subjects [][]string
}

// newWriter takes its words from the texts in dir.
func newWriter(dir string) (*writer, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for _, w := range strings.FieldsFunc(strings.ToLower(string(b)), func(r rune) bool { return r < 'a' || r > 'z' }) {
			seen[w]++
		}
	}
	w := &writer{}
	for s := range seen {
		w.common = append(w.common, s)
	}
	if len(w.common) < 1000 {
		return nil, fmt.Errorf("%s: %d different words in it, want 1,000 at least", dir, len(w.common))
	}
	slices.SortFunc(w.common, func(a, b string) int {
		if seen[a] != seen[b] {
			return seen[b] - seen[a]
		}
		return strings.Compare(a, b)
	})
	r := rand.New(rand.NewPCG(1, 1))
	for range subjects {
		s := make([]string, 12)
		for i := range s {
			s[i] = w.common[100+r.IntN(len(w.common)-100)]
		}
		w.subjects = append(w.subjects, s)
	}
	return w, nil
}

var syllables = []string{"ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu", "han", "mel", "rin", "tor", "wus"}

// text returns n words about a subject.
func (w *writer) text(r *rand.Rand, z *rand.Zipf, subject []string, n int) string {
	out := make([]string, n)
	for i := range out {
		switch k := r.IntN(60); {
		case k < 3:
			for range 4 {
				out[i] += syllables[r.IntN(len(syllables))]
			}
		case k < 23:
			out[i] = subject[r.IntN(len(subject))]
		default:
			out[i] = w.common[int(z.Uint64())]
		}
	}
	return strings.Join(out, " ")
}

func (w *writer) record(i int) record {
	r := rand.New(rand.NewPCG(2, uint64(i)))
	z := rand.NewZipf(r, 1.1, 5, uint64(len(w.common)-1))
	subject := w.subjects[r.IntN(len(w.subjects))]
	day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, r.IntN(9000))
	return record{
		ID: fmt.Sprintf("doc-%07d", i), Title: w.text(r, z, subject, 4), Text: w.text(r, z, subject, words),
		Lang: []string{"en", "de", "fr", "es", "it"}[min(r.IntN(8), 4)], Year: day.Year(), Price: float64(r.IntN(1_000_000)) / 100,
		Date: day.Format(time.DateOnly), Tags: []string{subject[0], fmt.Sprintf("tag%d", r.IntN(500))},
	}
}

// queries returns n queries of three words of the subject of a document.
func (w *writer) queries(n int) []string {
	r := rand.New(rand.NewPCG(3, 3))
	out := make([]string, n)
	for i := range out {
		s := w.subjects[r.IntN(len(w.subjects))]
		out[i] = s[r.IntN(len(s))] + " " + s[r.IntN(len(s))] + " " + s[r.IntN(len(s))]
	}
	return out
}

// write writes n documents as JSON lines.
func (w *writer) write(file string, n int) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	b := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(b)
	for i := range n {
		if err := enc.Encode(w.record(i)); err != nil {
			return err
		}
	}
	return b.Flush()
}
