package models_test

import (
	"context"
	"fmt"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
)

// The built-in checkpoint needs no download; "OWNER/NAME" stands for one that was pulled, and a
// path for a folder.
func ExampleOpen() {
	checkpoint, err := models.Open("embedded", encoder.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := checkpoint.Encode(context.Background(), []string{"a cat", "a kitten", "a tax return"}, encoder.EncodeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	near := func(i, j int) (cosine float32) { // the vectors have unit length
		for k, v := range r.Vectors[i] {
			cosine += v * r.Vectors[j][k]
		}
		return cosine
	}
	fmt.Println(checkpoint.Name, checkpoint.Dim(), near(0, 1) > near(0, 2))
	// Output: embedded 384 true
}
