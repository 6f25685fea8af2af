package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sugarme/tokenizer/spm"
	"golang.org/x/text/unicode/norm"
)

// atoms are characters and words that are hard for one step or another.
var atoms = strings.Split("a|B|hello|World|the| |  |\t|\n|\r\n|\u00a0|\u3000|.|!|'s|-|_|é|e\u0301|É|İ|ß|Σ|ﬁ|Ａ|中|中文|𠜎|カ\u3099|한|\u1100\u1161|हि|"+
	"\u0315\u0300|\u0323\u0307|\U0001D165\u302e|😀|👩\u200d👩|\x00|\x01|\x7f|\u00ad|\ufeff|\ufffd|\xff|\u202e|[CLS]|[SEP]|[MASK]|<s>|<mask>|▁|Ġ|3.14|"+
	"\u0344|\u1e9b\u0323|\u07fd|\u1ac1|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|abcdefghij", "|")

func randomText(r *rand.Rand) string {
	var sb strings.Builder
	for range 1 + r.IntN(12) {
		sb.WriteString(atoms[r.IntN(len(atoms))])
	}
	return sb.String()
}

// TestBertScannerReference compares the one pass with the steps one after the other.
func TestBertScannerReference(t *testing.T) {
	fast, slow := load(t, "testdata/wordpiece.json", Options{}), load(t, "testdata/wordpiece.json", Options{})
	if fast.bert == nil {
		t.Fatal("no scanner for BERT")
	}
	slow.bert = nil
	r := rand.New(rand.NewPCG(1, 2))
	for _, flags := range [][4]bool{{true, true, true, true}, {true, true, false, false}, {false, true, true, false}, {false, false, false, true}} {
		n := newBertNormalizer(flags[0], flags[1], flags[2], flags[3])
		fast.steps, slow.steps = []normalizer{n}, []normalizer{n}
		fast.bert = newBertScanner(fast.steps, fast.cuts)
		for range 3000 {
			text := randomText(r)
			if r.IntN(50) == 0 {
				text = strings.Repeat(text, 1+8000/len(text))
			}
			a, b := fast.Encode(text, 0), slow.Encode(text, 0)
			if !slices.Equal(a.IDs, b.IDs) || !slices.Equal(a.Spans, b.Spans) {
				t.Fatalf("Encode(%q) with %v\n one pass %v %v\n in steps %v %v", text, flags, a.IDs, a.Spans, b.IDs, b.Spans)
			}
		}
	}
}

// TestUnicodeFormReference compares the own composition, written for long runs of marks, with
// package norm on short ones.
func TestUnicodeFormReference(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
		u := newUnicodeForm(f)
		for range 3000 {
			s := strings.ToValidUTF8(randomText(r), "")
			if strings.ContainsAny(s, "\u07fd\u1ac1") { // inert, see there
				continue
			}
			var src, dst aligned
			src.set([]byte(s))
			if u.rewrite(&dst, &src, 0, len(s)); string(dst.b) != f.String(s) {
				t.Fatalf("rewrite(%q) = %q, want %q", s, dst.b, f.String(s))
			}
		}
		long := "e" + strings.Repeat("\u0315\u0323", 40)
		var src, dst aligned
		src.set([]byte(long))
		if u.normalize(&dst, &src); strings.ContainsRune(string(dst.b), 0x34F) || len(dst.b) > len(long)+2 {
			t.Errorf("form %d of 80 marks: %q", f, dst.b)
		}
	}
}

// TestMergeReference compares the heap with looking at every pair, and both with merging in the
// order of the list.
func TestMergeReference(t *testing.T) {
	tok := load(t, "testdata/bpe.json", Options{})
	b := tok.model.(*bpe)
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		w := make([]byte, 25+r.IntN(40))
		for i := range w {
			w[i] = "etaoin shrdlu"[r.IntN(13)]
		}
		var s scratch
		got := b.tokenize(nil, w, &s)
		s.symbols = s.symbols[:0]
		b.symbolsOfBytes(w, &s)
		var ids []int32
		for _, y := range s.symbols {
			ids = append(ids, y.id)
		}
		want := mergeNaively(b, ids)
		var gotIDs []int32
		for _, p := range got {
			gotIDs = append(gotIDs, p.id)
		}
		if !slices.Equal(gotIDs, want) {
			t.Fatalf("tokenize(%q) = %v, want %v", w, gotIDs, want)
		}
	}
}

func mergeNaively(b *bpe, ids []int32) []int32 {
	for {
		best, at, id := int32(-1), 0, int32(0)
		for i := 0; i+1 < len(ids); i++ {
			if m, ok := b.merges[[2]int32{ids[i], ids[i+1]}]; ok && (best < 0 || m.rank < best) {
				best, at, id = m.rank, i, m.id
			}
		}
		if best < 0 {
			return ids
		}
		ids = append(append(slices.Clone(ids[:at]), id), ids[at+2:]...)
	}
}

// TestWordPieceReference compares the trie with the definition.
func TestWordPieceReference(t *testing.T) {
	tok := load(t, "testdata/wordpiece.json", Options{})
	m := tok.model.(*wordPiece)
	ids := tok.vocab.ids()
	r := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		w := make([]byte, 1+r.IntN(14))
		for i := range w {
			w[i] = "etaoinshrdluz"[r.IntN(13)]
		}
		var want []int32
		for start := 0; start < len(w); {
			end := len(w)
			for ; end > start; end-- {
				sub := string(w[start:end])
				if start > 0 {
					sub = "##" + sub
				}
				if id, ok := ids[sub]; ok {
					want = append(want, int32(id))
					break
				}
			}
			if end == start {
				want = []int32{m.unk}
				break
			}
			start = end
		}
		var got []int32
		for _, p := range m.tokenize(nil, w, nil) {
			got = append(got, p.id)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("tokenize(%q) = %v, want %v", w, got, want)
		}
	}
}

// TestPrecompiledReference compares the charsmap, on single characters, with package sugarme's.
func TestPrecompiledReference(t *testing.T) {
	ours, err := newPrecompiled(spm.NmtNfkc())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := spm.NewPrecompiledFrom(spm.NmtNfkc())
	if err != nil {
		t.Fatal(err)
	}
	mapped := 0
	for r := rune(1); r < 0x20000; r++ {
		if r >= 0xD800 && r < 0xE000 {
			continue
		}
		got, _ := ours.lookup([]byte(string(r)))
		if got != "" {
			mapped++
		}
		if want := theirs.Transform(string(r)); got != want {
			t.Fatalf("lookup(%U) = %q, want %q", r, got, want)
		}
	}
	if mapped < 4000 {
		t.Errorf("%d characters are mapped", mapped)
	}
}

// TestConcurrent encodes from several goroutines, with the caches cold and shared.
func TestConcurrent(t *testing.T) {
	for _, kind := range []string{"wordpiece", "bpe", "unigram"} {
		raw, err := os.ReadFile("testdata/" + kind + ".json")
		if err != nil {
			t.Fatal(err)
		}
		tok, err := New(raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		alone := load(t, "testdata/"+kind+".json", Options{})
		r := rand.New(rand.NewPCG(9, 10))
		texts := make([]string, 200)
		want := make([][]int32, len(texts))
		for i := range texts {
			texts[i] = randomText(r)
			want[i] = alone.Encode(texts[i], 0).IDs
		}
		var wg sync.WaitGroup
		errs := make(chan error, 4)
		for g := range 4 {
			wg.Go(func() {
				for i := range texts {
					i = (i*7 + g*50) % len(texts)
					if got := tok.Encode(texts[i], 0).IDs; !slices.Equal(got, want[i]) {
						errs <- fmt.Errorf("%s: Encode(%q) = %v, want %v", kind, texts[i], got, want[i])
						return
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			t.Error(err)
		}
	}
}

// TestNoAllocations holds the fast path to the slices that it returns.
func TestNoAllocations(t *testing.T) {
	tok := load(t, "testdata/wordpiece.json", Options{})
	text := strings.Repeat("the quick brown fox jumps over the lazy dog. ", 20)
	tok.Count(text)
	if n := testing.AllocsPerRun(20, func() { tok.Count(text) }); n > 1 {
		t.Errorf("Count allocates %v times", n)
	}
}
