package encoder

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder/tokenizer"
)

// TestFixtures goes from texts to vectors, and from pairs to logits, and compares the ids on the
// way.
func TestFixtures(t *testing.T) {
	for _, dir := range fixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := load(t, dir, Options{Threads: 2})
			list := readExpectations(t, dir)
			if m.Info().Labels > 0 {
				testPairs(t, m, list)
				return
			}
			texts := make([]string, len(list))
			for i, e := range list {
				texts[i] = e.Text
			}
			got, err := m.Encode(context.Background(), texts, EncodeOptions{KeepIDs: true})
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for i, e := range list {
				if !slices.Equal(got.IDs[i], e.IDs) {
					t.Errorf("ids of %q:\n got %v\nwant %v", e.Text, got.IDs[i], e.IDs)
				}
				worst = math.Max(worst, difference(got.Vectors[i], e.Embedding))
			}
			t.Logf("max difference %.2g", worst)
			if worst > tolerance {
				t.Errorf("max difference %.2g, want at most %g", worst, tolerance)
			}
		})
	}
}

func testPairs(t *testing.T, m *Model, list []expectation) {
	pairs := make([][2]string, len(list))
	for i, e := range list {
		pairs[i] = [2]string{e.Query, e.Text}
	}
	got, err := m.Score(context.Background(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		if d := math.Abs(float64(got.Logits[i] - *e.Logit)); d > tolerance {
			t.Errorf("Score(%q) = %v, want %v", pairs[i], got.Logits[i], *e.Logit)
		}
	}
}

func TestStrip(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a b\t\n": "a b", "\u00a0\u2003a\u3000\u2028": "a", "\x1c\x1d\x1e\x1fa\x85": "a\x85", "\u0085a\v\f\r": "a",
		"\u200ba\x00": "\u200ba\x00", // zero width space and NUL are no white space
	} {
		if got := strip(in); got != want {
			t.Errorf("strip(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestScoreStrips scores pairs with white space around them; the tokenizer of this checkpoint would
// make tokens of it.
func TestScoreStrips(t *testing.T) {
	m := load(t, "testdata/cross-xlmr", Options{})
	const query, text = "onion", "A woman is slicing an onion."
	got, err := m.Score(context.Background(), [][2]string{{query, text}, {"\t" + query + " \n", "  " + text + " \u00a0"}})
	if err != nil || got.Logits[0] != got.Logits[1] {
		t.Errorf("Score = %v, %v, want the same twice", got, err)
	}
	if got.Tokens != 2*len(m.Tokenizer().EncodePair(query, text, 0).IDs) {
		t.Errorf("Score counts %d tokens, want twice those of the pair without white space", got.Tokens)
	}
	if e := m.Tokenizer().EncodePair(query+" x ", text, 0); len(e.IDs) == len(m.Tokenizer().EncodePair(query, text, 0).IDs) {
		t.Error("the tokenizer does not see the difference that this test is about")
	}
}

// TestScoreCounts compares what Score says of its pairs with the tokens of each.
func TestScoreCounts(t *testing.T) {
	m := load(t, "testdata/cross-xlmr", Options{})
	var pairs [][2]string
	for n := range 100 {
		pairs = append(pairs, [2]string{"onion", strings.Repeat("an onion ", n)})
	}
	r, err := m.Score(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	for i, p := range pairs {
		e := m.Tokenizer().EncodePair(p[0], strings.TrimSpace(p[1]), m.MaxSeqLength())
		if tokens += len(e.IDs); r.Truncated[i] != e.Truncated {
			t.Errorf("pair %d: truncated %v, want %v", i, r.Truncated[i], e.Truncated)
		}
	}
	if r.Tokens != tokens || len(r.Logits) != len(pairs) || !(r.Tokenization > 0) {
		t.Errorf("%d logits, %d tokens in %v, want %d and %d", len(r.Logits), r.Tokens, r.Tokenization, len(pairs), tokens)
	}
}

// TestTokenizeEnds: each text may be long, so that none is begun once the context has ended.
func TestTokenizeEnds(t *testing.T) {
	m := load(t, "testdata/modernbert", Options{Threads: 1})
	ctx := &countdown{Context: t.Context()}
	ctx.left.Store(5)
	read := 0
	_, err := m.tokenize(ctx, 100, func(int) tokenizer.Encoding { read++; return tokenizer.Encoding{} })
	if !errors.Is(err, context.Canceled) || read != 5 {
		t.Errorf("%v after %d texts, want 5", err, read)
	}
}
