package keyword

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// slowly is each without chunks: a text of less than pieceBytes is analysed at once.
func slowly(a analyzer, text string) (all []string) {
	tokens, _ := a.chain.tokens(text)
	for _, t := range tokens {
		all = append(all, fmt.Sprint(t))
	}
	return all
}

func byChunks(a analyzer, text string) (all []string) {
	a.each(text, func(t token) bool {
		all = append(all, fmt.Sprint(t))
		return true
	})
	return all
}

// eachWord calls yield with the terms of text that a length counts, and covered ones.
func eachWord(a analyzer, text string, yield func(t token) bool) {
	a.each(text, func(t token) bool { return t.kind != plainTerm && t.kind != coveredTerm || yield(t) })
}

func sameTokens(t *testing.T, language string, a analyzer, text string) {
	t.Helper()
	got, want := byChunks(a, text), slowly(a, text)
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Fatalf("%s: %q gives\n%s\nwant\n%s", language, text, g, w)
	}
}

// TestChunksTwin: chunk by chunk, kept or not, a text has the tokens that it has at once.
func TestChunksTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	var pool []string
	for _, words := range wordsOf {
		pool = append(pool, strings.Fields(words)...)
	}
	pool = append(pool, strings.Fields("os.path.join max_seq_length e.g. U.S. 3.14 C++ --flag a/b std::io it's don't “so” (see) x_ _y 10² ™ ( \" ... (the, [end]) word. WORD Word, İzmir, the of und et 😀 1️⃣")...)
	between := []string{" ", " ", " ", "\n", "\t", "\r\n", "  ", "", "-", ".", "_", "\u00a0", "\u3000", "\u200b", "\u200d", " \u0301", "\u0301", "\v", "\f", "\u2028", "\xff", " \xff", "\ufeff", " \ufe0f", "、", "—"}
	for _, language := range Languages() {
		a, err := newAnalyzer(language)
		if err != nil {
			t.Fatal(err)
		}
		for range 300 {
			var b strings.Builder
			for range r.IntN(20) {
				w := pool[r.IntN(len(pool))]
				if r.IntN(6) == 0 {
					w = norm.NFD.String(w)
				}
				b.WriteString(w + between[r.IntN(len(between))])
			}
			sameTokens(t, language, a, b.String())
		}
	}
}

func FuzzChunks(f *testing.F) {
	f.Add("The quick brown fox's os.path.join, naïve  東京都 \u0301x")
	analyzers := map[string]analyzer{}
	for _, l := range []string{"en", "cjk", "fr", "fa", "standard"} {
		a, err := newAnalyzer(l)
		if err != nil {
			f.Fatal(err)
		}
		analyzers[l] = a
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) >= pieceBytes {
			return
		}
		for l, a := range analyzers {
			sameTokens(t, l, a, text)
		}
	})
}

// TestChunksAreBounded: what is kept does not grow with the texts, and is right while others keep
// and drop.
func TestChunksAreBounded(t *testing.T) {
	a, err := newAnalyzer("standard")
	if err != nil {
		t.Fatal(err)
	}
	a.chunks = chunksFor("bounded")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 60_000 {
				word := fmt.Sprintf("word%d", (i*7+g)%90_000)
				if got := byChunks(a, word); len(got) != 3 || !strings.HasPrefix(got[0], "{"+word+" ") {
					t.Errorf("%s gives %q", word, got)
					return
				}
			}
		})
	}
	wg.Wait()
	spent := 0
	for i := range a.chunks.shards {
		for _, generation := range []map[uint64]sized[*recentChunk]{a.chunks.shards[i].now, a.chunks.shards[i].before} {
			for _, k := range generation {
				spent += k.bytes
			}
		}
	}
	if spent > chunksBudget || spent < chunksBudget/4 {
		t.Errorf("%d bytes kept, at most %d", spent, chunksBudget)
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
	a, err := newAnalyzer("en")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			for at := 0; at < len(text); at += 1 << 16 {
				a.chain.tokens(text[at:min(len(text), at+1<<16)])
			}
		}
	})
	b.Run("chunks", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			a.each(text, func(token) bool { return true })
		}
	})
}
