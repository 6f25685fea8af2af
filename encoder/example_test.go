package encoder_test

import (
	"context"
	"fmt"
	"os"

	"example.com/searchd/encoder"
)

func ExampleLoad() {
	model, err := encoder.Load(os.DirFS("testdata/bert-mean"), encoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Info().Family, model.Dim(), model.MaxSeqLength(), model.Info().Pooling)
	// Output: bert 48 64 [mean]
}

func ExampleModel_Encode() {
	model, err := encoder.Load(os.DirFS("testdata/bert-mean"), encoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := model.Encode(context.Background(), []string{"A man is playing a guitar.", "The cat sat on the mat."}, encoder.EncodeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cosine := float32(0) // the vectors have unit length
	for i, v := range r.Vectors[0] {
		cosine += v * r.Vectors[1][i]
	}
	fmt.Printf("%d vectors, %d tokens, cosine %.2f\n", len(r.Vectors), r.Tokens, cosine)
	// Output: 2 vectors, 20 tokens, cosine 0.93
}

func ExampleModel_Score() {
	model, err := encoder.Load(os.DirFS("testdata/cross-xlmr"), encoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	const query = "how many people live in berlin"
	scores, err := model.Score(context.Background(), [][2]string{
		{query, "Berlin has a population of 3.5 million registered inhabitants."},
		{query, "New York City is famous for its museums."},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", scores.Logits)
	// Output: [0.493 0.510]
}
