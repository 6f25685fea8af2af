package eval

import (
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// Pair is two sentences and how similar people found them.
type Pair struct {
	Score float64
	A, B  string
}

// ReadPairs reads a file of score, sentence and sentence, separated by tabs; a first line whose
// score is no number is a header. Errors of content match ErrFormat and name file and line.
func ReadPairs(fsys fs.FS, name string) ([]Pair, error) {
	var pairs []Pair
	err := eachLine(fsys, name, func(n int, line []byte) error {
		parts := strings.Split(string(line), "\t")
		if len(parts) != 3 {
			return fmt.Errorf("%d columns, want 3 separated by tabs: score, sentence, sentence", len(parts))
		}
		score, err := strconv.ParseFloat(strings.TrimSpace(parts[0]), 64)
		if err != nil && n == 1 {
			return nil
		}
		if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
			return fmt.Errorf("score %q is not a number", parts[0])
		}
		pairs = append(pairs, Pair{score, parts[1], parts[2]})
		return nil
	})
	return pairs, err
}
