// Command embedded uses the engine as a library: a data folder, documents in, a question out. It
// needs no server.
//
//	go run ./examples/embedded FOLDER
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"example.com/searchd/search"
)

// articles are the documents: any JSON objects do.
var articles = map[string]any{
	"refunds":  map[string]any{"title": "Refunds", "text": "Money is returned to the card within five days.", "section": "payments"},
	"delivery": map[string]any{"title": "Delivery", "text": "Parcels arrive in two to four days.", "section": "shipping"},
	"password": map[string]any{"title": "Signing in", "text": "A forgotten password can be reset by mail.", "section": "account"},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: embedded FOLDER")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) (err error) {
	engine, err := search.Open(dir, search.Options{}) // the zero value: the built-in model
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()

	_, err = engine.CreateCollection(ctx, "help", search.Settings{})
	if err != nil && !errors.Is(err, search.ErrCollectionExists) {
		return err
	}
	var docs []search.Document
	for id, fields := range articles {
		b, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		docs = append(docs, search.Document{ID: id, Fields: b})
	}
	results, err := engine.Ingest(ctx, "help", docs)
	if err != nil {
		return err
	}
	for _, r := range results { // one document may be refused while the others are stored
		if r.Err != nil {
			return r.Err
		}
	}

	answer, err := engine.Search(ctx, "help", search.Query{Q: "how do I get my cash back", Filter: "section != 'account'"})
	if err != nil {
		return err
	}
	for _, hit := range answer.Hits {
		fmt.Printf("%.2f  %s  %s\n", hit.Score, hit.ID, hit.Passages[0].Text)
	}
	return nil
}
