package tokenizer

import (
	"strings"
	"testing"
)

const english = `The quick brown fox jumps over the lazy dog, and nobody knows why it does so again and again. In the course of
human events it becomes necessary for one people to dissolve the political bands which have connected them with another.
Transformers replaced recurrent networks in many tasks of natural language processing; attention lets each token look at
every other token, so that the order of the words is given by positions alone. "What is a vector database?", she asked.
It keeps embeddings of passages, finds those nearest to a query, and returns the documents that they were cut from.
Prices rose by 3.5% in 2023 (from $1,200 to $1,242), which was less than economists had expected before the summer. `

// corpus is about 64 KB of English, its sentences shifted against each other.
func corpus() string {
	var sb strings.Builder
	words := strings.Fields(english)
	for i := 0; sb.Len() < 64<<10; i += 7 {
		for j := range words {
			sb.WriteString(words[(i+j*j)%len(words)])
			sb.WriteByte(' ')
		}
	}
	return sb.String()
}

func BenchmarkEncode(b *testing.B) {
	text := corpus()
	for _, kind := range []string{"wordpiece", "bpe", "unigram"} {
		tok := load(b, "testdata/"+kind+".json", Options{})
		n := tok.Count(text)
		b.Run("kind="+kind+"/impl=ours", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Encode(text, 0)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
		b.Run("kind="+kind+"/impl=count", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tok.Count(text)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
