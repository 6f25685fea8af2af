package tokenizer

import (
	"fmt"

	"golang.org/x/text/unicode/norm"
)

// Limits of a pipeline, through which every text passes.
const (
	maxSteps  = 64
	maxGrowth = 256 // bytes that one byte may become
)

// grower is a step that makes texts longer.
type grower interface {
	growth() int // bytes that one byte may become
}

func (p *replace) growth() int {
	n := 1 // a match may be as short
	if l, ok := p.find.(literal); ok {
		n = max(len(l), 1)
	}
	return max((len(p.content)+n-1)/n, 1)
}

// growth is the largest factor of each form in UTF-8, as Unicode's FAQ on normalization has it.
func (u unicodeForm) growth() int {
	if u.decompose == norm.NFKD {
		return 11
	}
	return 3
}

// A byte from 0x80 on becomes a character of two.
func (byteLevelNormalizer) growth() int { return 2 }
func (*byteLevel) growth() int          { return 2 }

// checkGrowth refuses steps that together could expand a text too much.
func checkGrowth(steps []normalizer, cuts []preTokenizer) error {
	if n := len(steps) + len(cuts); n > maxSteps {
		return fmt.Errorf("normalizer and pre_tokenizer have %d steps, allowed are at most %d", n, maxSteps)
	}
	if growth(cuts, growth(steps, 1)) > maxGrowth {
		return fmt.Errorf("normalizer and pre_tokenizer may make more than %d bytes of one", maxGrowth)
	}
	return nil
}

// growth returns how many bytes the steps may make of each of so many, or some number above
// maxGrowth.
func growth[S any](steps []S, of int) int {
	for _, s := range steps {
		if g, ok := any(s).(grower); ok && of <= maxGrowth {
			of *= g.growth()
		}
	}
	return of
}
