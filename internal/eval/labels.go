package eval

import (
	"fmt"
	"io/fs"
	"strings"
)

// Labelled is a text with its class.
type Labelled struct {
	Label string
	Text  string
}

// ReadLabelled reads a file of label and text, separated by a tab. Errors of content match
// ErrFormat and name file and line.
func ReadLabelled(fsys fs.FS, name string) ([]Labelled, error) {
	var out []Labelled
	err := eachLine(fsys, name, func(_ int, line []byte) error {
		label, text, ok := strings.Cut(string(line), "\t")
		if !ok || label == "" {
			return fmt.Errorf("want a label, a tab and a text")
		}
		out = append(out, Labelled{label, text})
		return nil
	})
	return out, err
}

// Classes numbers the labels in the order in which they first occur.
func Classes(texts ...[]Labelled) map[string]int {
	classes := map[string]int{}
	for _, part := range texts {
		for _, t := range part {
			if _, ok := classes[t.Label]; !ok {
				classes[t.Label] = len(classes)
			}
		}
	}
	return classes
}
