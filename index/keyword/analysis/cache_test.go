package analysis

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// atOnce returns the tokens of a text of less than pieceBytes that is analysed as a whole.
func atOnce(a *Analyzer, text string) (all []string) {
	tokens, _ := a.pipeline.tokens(text)
	for _, t := range tokens {
		all = append(all, fmt.Sprint(t))
	}
	return all
}

func inChunks(a *Analyzer, text string) (all []string) {
	for t := range a.Tokens(text) {
		if t.Kind != Name || !strings.Contains(text[t.Start:t.End], " ") { // see withLetter
			all = append(all, fmt.Sprint(t))
		}
	}
	return all
}

func sameTokens(t *testing.T, a *Analyzer, text string) {
	t.Helper()
	got, want := inChunks(a, text), atOnce(a, text)
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Fatalf("%s: %q gives\n%s\nwant\n%s", a.Language(), text, g, w)
	}
}

// TestChunks: chunk by chunk, cached or not, a text has the tokens that it has as a whole.
func TestChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	list, err := os.ReadFile("testdata/accents.txt")
	if err != nil {
		t.Fatal(err)
	}
	pool := strings.FieldsFunc(string(list), func(r rune) bool { return strings.ContainsRune(" \n;/", r) })
	r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	pool = append(pool[:200], strings.Fields("東京都 パソコン がっこう ﾊﾟﾅｿﾆｯｸ 佐々木 한국어 K팝 3월에 ภาษาไทย น้ำ कتाब ＡＢＣ １２３ می‌روم مُدَرِّس İstanbul'da ΟΔΥΣΣΕΥΣ")...)
	pool = append(pool, strings.Fields("os.path.join max_seq_length e.g. U.S. 3.14 C++ --flag a/b std::io it's don't “so” (see) x_ _y 10² ™ ( \" ... (the, [end]) word. WORD Word, İzmir, the of und et 😀 1️⃣")...)
	between := []string{" ", " ", " ", "\n", "\t", "\r\n", "  ", "", "-", ".", "_", "\u00a0", "\u3000", "\u200b", "\u200d", " \u0301", "\u0301", "\v", "\f", "\u2028", "\xff", " \xff", "\ufeff", " \ufe0f", "、", "—"}
	for _, language := range Languages() {
		a := newAnalyzer(t, language)
		for range 300 {
			var b strings.Builder
			for range r.IntN(20) {
				w := pool[r.IntN(len(pool))]
				if r.IntN(6) == 0 {
					w = norm.NFD.String(w)
				}
				b.WriteString(w + between[r.IntN(len(between))])
			}
			sameTokens(t, a, b.String())
		}
	}
}

func FuzzChunks(f *testing.F) {
	f.Add("The quick brown fox's os.path.join, naïve  東京都 \u0301x")
	var analyzers []*Analyzer
	for _, l := range []string{"en", "cjk", "fr", "fa", "standard"} {
		analyzers = append(analyzers, newAnalyzer(f, l))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) >= pieceBytes {
			return
		}
		for _, a := range analyzers {
			sameTokens(t, a, text)
		}
	})
}

// TestChunksAreBounded: the cache does not grow with the texts, and is right under concurrent use.
func TestChunksAreBounded(t *testing.T) {
	a := newAnalyzer(t, "standard")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 60_000 {
				word := fmt.Sprintf("word%d", (i*7+g)%90_000)
				if got := inChunks(a, word); len(got) != 3 || !strings.HasPrefix(got[0], "{"+word+" ") {
					t.Errorf("%s gives %q", word, got)
					return
				}
			}
		})
	}
	wg.Wait()
	bytes := 0
	for _, shard := range a.chunks.shards {
		bytes += shard.Bytes()
	}
	if bytes > chunkBudget || bytes < chunkBudget/4 {
		t.Errorf("%d bytes cached, want at most %d", bytes, chunkBudget)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.05, 2.7, 60_000)
	words := make([]string, 60_000)
	for i := range words {
		w := make([]byte, 2+r.IntN(9))
		for j := range w {
			w[j] = 'a' + byte(r.IntN(26))
		}
		words[i] = string(w)
	}
	var t strings.Builder
	for t.Len() < 1<<20 {
		t.WriteString(words[zipf.Uint64()] + []string{" ", " ", " ", ", ", ". ", "\n"}[r.IntN(6)])
	}
	text := t.String()
	a := newAnalyzer(b, "en")
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			for at := 0; at < len(text); at += 1 << 16 {
				a.pipeline.tokens(text[at:min(len(text), at+1<<16)])
			}
		}
	})
	b.Run("chunks", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			for range a.Tokens(text) {
			}
		}
	})
}
