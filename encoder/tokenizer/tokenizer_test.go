package tokenizer

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

func ExampleNew() {
	file, err := os.ReadFile("testdata/wordpiece.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	tok, err := New(file, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := "The café."
	e := tok.Encode(text, 0)
	for i, id := range e.IDs {
		token, _ := tok.Token(id)
		s := e.Spans[i]
		fmt.Printf("%d %s %q\n", id, token, text[s.Start:s.End])
	}
	fmt.Println(tok.Decode(e.IDs, true))
	// Output:
	// 2 [CLS] ""
	// 207 the "The"
	// 44 c "c"
	// 143 ##a "a"
	// 148 ##f "f"
	// 147 ##e "é"
	// 18 . "."
	// 3 [SEP] ""
	// the cafe.
}

func TestEncodeLimits(t *testing.T) {
	tok := load(t, "testdata/wordpiece.json", Options{})
	cls, _ := tok.ID("[CLS]")
	sep, _ := tok.ID("[SEP]")
	text := "the the the the"
	the := tok.EncodeBare("the").IDs[0]
	for _, c := range []struct {
		max       int
		want      []int32
		truncated bool
	}{
		{0, []int32{cls, the, the, the, the, sep}, false},
		{6, []int32{cls, the, the, the, the, sep}, false},
		{5, []int32{cls, the, the, the, sep}, true},
		{3, []int32{cls, the, sep}, true},
		{2, []int32{cls, sep}, true},
		{1, []int32{cls}, true},
	} {
		e := tok.Encode(text, c.max)
		if !slices.Equal(e.IDs, c.want) || e.Truncated != c.truncated {
			t.Errorf("Encode(%q, %d) = %v %v, want %v %v", text, c.max, e.IDs, e.Truncated, c.want, c.truncated)
		}
	}
	if e := tok.EncodePair("the", text, 6); e.IDs[len(e.IDs)-1] != sep || !e.Truncated || !slices.Equal(e.TypeIDs, []int32{0, 0, 0, 1, 1, 1}) {
		t.Errorf("EncodePair = %+v", e)
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		o          Options
		want       []string // source of each id
	}{
		{"wordpiece", "Thé [MASK] t\u0301he", Options{}, []string{"Thé", "[MASK]", "t\u0301he"}},
		{"wordpiece", "İ the", Options{LowerCase: true}, []string{"İ", "the"}},
		{"bpe", "the the", Options{}, []string{"the", "the"}},
		{"bpe", "é", Options{}, []string{"é", "é"}}, // two bytes
		{"unigram", "the the", Options{}, []string{"the", " the"}},
		{"unigram", "ﬁ", Options{}, []string{"ﬁ", "ﬁ"}},
	} {
		tok := load(t, "testdata/"+c.kind+".json", c.o)
		var got []string
		for _, s := range tok.EncodeBare(c.text).Spans {
			got = append(got, c.text[s.Start:s.End])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: spans of %q are %q, want %q", c.kind, c.text, got, c.want)
		}
	}
}

func TestLowerCase(t *testing.T) {
	tok := load(t, "testdata/unigram.json", Options{LowerCase: true})
	plain := load(t, "testdata/unigram.json", Options{})
	for text, lower := range map[string]string{
		"THE Cat": "the cat", "ΑΣ": "ας", "ΑΣΑ": "ασα", "Σ": "σ", "ΑΣ.": "ας.", "ΑΣ'Α": "ασ'α", "İ": "i\u0307",
	} {
		if got, want := tok.Encode(text, 0).IDs, plain.Encode(lower, 0).IDs; !slices.Equal(got, want) {
			t.Errorf("Encode(%q) = %v, want that of %q, %v", text, got, lower, want)
		}
	}
	for text, lower := range map[string]string{"ΑΣ": "ς", "ΑΣΑ": "σ", "Σ": "σ", "Α.Σ.": "ς", "Α\u0301Σ\u0301 Α": "ς"} {
		i := len(text[:indexSigma(text)])
		if got := lowerSigma([]byte(text), i); got != lower {
			t.Errorf("lowerSigma(%q) = %s, want %s", text, got, lower)
		}
	}
}

func indexSigma(s string) int {
	for i, r := range s {
		if r == 'Σ' {
			return i
		}
	}
	return -1
}

func TestTokenAndID(t *testing.T) {
	for _, kind := range []string{"wordpiece", "bpe", "unigram"} {
		tok := load(t, "testdata/"+kind+".json", Options{})
		for id := int32(0); int(id) < tok.Size(); id++ {
			token, ok := tok.Token(id)
			if back, found := tok.ID(token); !ok || !found || back != id {
				t.Errorf("%s: Token(%d) = %q %v, ID of it %d %v", kind, id, token, ok, back, found)
			}
		}
		for _, id := range []int32{-1, int32(tok.Size())} {
			if token, ok := tok.Token(id); ok {
				t.Errorf("%s: Token(%d) = %q", kind, id, token)
			}
		}
		if _, ok := tok.ID("no such token"); ok {
			t.Errorf("%s: ID of no such token", kind)
		}
	}
}

func TestWordCache(t *testing.T) {
	c := new(wordCache)
	words := []string{"ab", "cd", "ef"}
	for i, w := range words { // all in one slot
		if p := c.get([]byte(w), 7); p != nil {
			t.Fatalf("get(%q) before put = %v", w, p)
		}
		c.put([]byte(w), 7, []piece{{int32(i), 0, 2}})
		if p := c.get([]byte(w), 7); len(p) != 1 || p[0].id != int32(i) {
			t.Errorf("get(%q) = %v", w, p)
		}
	}
	if p := c.get([]byte("cd"), 7); len(p) != 1 || p[0].id != 1 {
		t.Errorf("the word in the slot beside is gone: %v", p)
	}
	if p := c.get([]byte("ab"), 7); p != nil {
		t.Errorf("the displaced word is still there: %v", p)
	}
}

// TestUnigramPenalty has an unknown x before a y with a high score: without the penalty that would
// beat xy.
func TestUnigramPenalty(t *testing.T) {
	tok, err := New([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["y",3],["xy",-5]]}}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.EncodeBare("xy").IDs; !slices.Equal(got, []int32{2}) {
		t.Errorf("EncodeBare(xy) = %v, want [2]", got)
	}
}
