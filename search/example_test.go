package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"searchd/search"
)

// The engine as a library: open a folder, put documents in, ask.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "notes-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	engine, err := search.Open(dir, search.Options{}) // the built-in checkpoint
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	if _, err := engine.CreateCollection(ctx, "notes", search.Settings{}); err != nil {
		log.Fatal(err)
	}
	_, err = engine.Ingest(ctx, "notes", []search.Document{
		{ID: "bread", Fields: json.RawMessage(`{"title":"Sourdough","text":"Feed the starter with flour and water every day.","year":2021}`)},
		{ID: "bike", Fields: json.RawMessage(`{"title":"Punctures","text":"Take off the tyre and patch the tube.","year":2023}`)},
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := engine.Search(ctx, "notes", search.Query{Q: "how to bake a loaf", Filter: "year < 2022"})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range answer.Hits {
		fmt.Println(hit.ID, hit.Passages[0].Text)
	}
	// Output: bread Feed the starter with flour and water every day.
}
