package store_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/searchd/store"
)

// A folder is opened, a document written and read again.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	col, err := s.CreateCollection(ctx, "recipes", []byte(`{"language":"en"}`), 0)
	if err != nil {
		log.Fatal(err)
	}

	outcomes, seq, err := s.Apply(ctx, col.ID, []store.Write{{
		ID:       "breakfast/pancakes.md",
		Fields:   []byte(`{"body":"Flip the pancake when bubbles appear."}`),
		Passages: []store.Passage{{Field: "body", Start: 0, End: 37}},
		Vectors:  [][]float32{{0.6, 0.8}},
	}, {
		ID:     "no such thing",
		Delete: true,
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcomes[0].Status, outcomes[0].NewSlots, outcomes[1].Status, seq)

	err = s.View(ctx, col.ID, func(tx *store.Tx) error {
		doc, err := tx.DocumentByNo(outcomes[0].No)
		if err != nil {
			return err
		}
		fmt.Println(doc.ID, doc.Revision, doc.Passages[0])
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// created [0] missing 1
	// breakfast/pancakes.md 1 {0 body 0 37}
}

// A derived index remembers a sequence number and the store's ID, and catches up from there.
func ExampleStore_Changes() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	col, err := s.CreateCollection(ctx, "notes", []byte(`{}`), 0)
	if err != nil {
		log.Fatal(err)
	}
	_, applied, err := s.Apply(ctx, col.ID, []store.Write{{ID: "a", Fields: []byte(`{}`)}})
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err = s.Apply(ctx, col.ID, []store.Write{{ID: "b", Fields: []byte(`{}`)}, {ID: "a", Delete: true}}); err != nil {
		log.Fatal(err)
	}

	err = s.Changes(ctx, col.ID, applied, func(c store.Change) error {
		fmt.Println(c.Seq, c.Op, c.ID)
		applied = c.Seq
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.TrimChanges(ctx, col.ID, applied); err != nil { // when the index has saved what it applied
		log.Fatal(err)
	}
	// Output:
	// 2 put b
	// 3 delete a
}
