// Command client talks to a running server with the Go client: it writes documents and searches
// them.
//
//	go run ./examples/client http://127.0.0.1:8080
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"example.com/searchd/client"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string) error {
	c, err := client.New(url, client.Options{Key: os.Getenv("SEARCHD_KEY")})
	if err != nil {
		return err
	}
	if _, err := c.EnsureCollection(ctx, "recipes", client.Settings{Language: "en"}); err != nil {
		return err
	}

	// Import sends any number of documents in batches, and again where the server is busy.
	recipes := []client.Document{
		{ID: "soup", Fields: json.RawMessage(`{"title":"Lentil soup","text":"Simmer red lentils with cumin.","minutes":30}`)},
		{ID: "bread", Fields: json.RawMessage(`{"title":"Rye bread","text":"Let the dough rise overnight.","minutes":600}`)},
		{ID: "salad", Fields: json.RawMessage(`{"title":"Greek salad","text":"Cucumber, tomato, feta and olives.","minutes":10}`)},
	}
	documents := func(yield func(client.Document, error) bool) {
		for _, r := range recipes {
			if !yield(r, nil) {
				return
			}
		}
	}
	sum, err := c.Import(ctx, "recipes", documents, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%d created, %d unchanged\n", sum.Created, sum.Unchanged)

	answer, err := c.Search(ctx, "recipes", client.Query{Q: "quick vegetable dish", Filter: "minutes <= 30", Limit: 3})
	if err != nil {
		return err
	}
	for _, hit := range answer.Hits {
		fmt.Printf("%.2f  %s  %s\n", hit.Score, hit.ID, hit.Document)
	}
	if !slices.ContainsFunc(answer.Hits, func(h client.Hit) bool { return h.ID == "salad" }) {
		return fmt.Errorf("the salad was not found: %d hits", len(answer.Hits))
	}
	return nil
}
