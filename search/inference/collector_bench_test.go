package inference

import (
	"context"
	"sync/atomic"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
)

// BenchmarkConcurrentQueries compares 32 clients that each embed one short text at a time, through
// the collector and without it.
func BenchmarkConcurrentQueries(b *testing.B) {
	c, err := models.Open("", encoder.Options{})
	if err != nil {
		b.Fatal(err)
	}
	direct := NewEmbedder(c)
	texts := []string{"how to flip pancakes", "engine oil of a car", "population of berlin", "why is the sky blue in the morning"}
	for _, impl := range []struct {
		name  string
		embed Embedder
	}{{"direct", direct}, {"collector", collectedEmbedder{newCollector(direct), direct}}} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			var n atomic.Int64
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := impl.embed.Embed(b.Context(), texts[n.Add(1)%4:][:1], EmbedOptions{Query: true}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// collectedEmbedder is a collector as an Embedder.
type collectedEmbedder struct {
	*collector
	Embedder
}

func (c collectedEmbedder) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	return c.collector.Embed(ctx, texts, o)
}
