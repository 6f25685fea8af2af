package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"example.com/searchd/search"
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

// What a search counts, how it is ordered, and what an error says.
func ExampleEngine_Search() {
	dir, err := os.MkdirTemp("", "notes-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	engine, err := search.Open(dir, search.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	if _, err := engine.CreateCollection(ctx, "notes", search.Settings{}); err != nil {
		log.Fatal(err)
	}
	results, err := engine.Ingest(ctx, "notes", []search.Document{
		{ID: "rye", Fields: json.RawMessage(`{"text":"A loaf of rye bread.","topic":"food","year":2020}`)},
		{ID: "oat", Fields: json.RawMessage(`{"text":"A loaf of oat bread.","topic":"food","year":2024}`)},
		{ID: "bad", Fields: json.RawMessage(`{"text":`)},
	})
	if err != nil { // the rest was not tried
		log.Fatal(err)
	}
	for _, r := range results { // one document may be refused while the others are stored
		fmt.Println(r.ID, r.Status, errors.Is(r.Err, search.ErrInvalid))
	}

	answer, err := engine.Search(ctx, "notes", search.Query{
		Q:      "bread",
		Mode:   search.Keyword,
		Facets: []search.Facet{{Field: "topic"}},
		Boosts: []search.Boost{{Field: "year", Origin: 2024, Scale: 2, Weight: 0.5}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Total.Value, answer.Hits[0].ID, answer.Facets["topic"].Values)

	_, err = engine.Search(ctx, "notes", search.Query{Q: "bread", Filter: "year >"})
	var wrong *search.FieldError
	fmt.Println(errors.As(err, &wrong) && wrong.Field == "filter")
	// Output:
	// rye created false
	// oat created false
	// bad error true
	// 2 oat [{food 2}]
	// true
}
