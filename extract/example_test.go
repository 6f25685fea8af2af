package extract_test

import (
	"context"
	"fmt"
	"strings"

	"example.com/searchd/extract"
)

func ExampleReader() {
	in := strings.NewReader("id,title,year\na1,Flat tyres,2021\na2,too,many,fields\na3,Squeaky brakes,2023\n")
	err := extract.Reader(context.Background(), in, "bikes.csv", extract.Auto, extract.Options{},
		func(d extract.Document) error {
			fmt.Println(d.ID, d.Fields["title"], d.Fields["year"])
			return nil
		},
		func(e extract.ItemError) error {
			fmt.Println(e)
			return nil
		})
	fmt.Println(err)
	// Output:
	// a1 Flat tyres 2021
	// bikes.csv:3: row has 4 fields, the header has 3
	// a3 Squeaky brakes 2023
	// <nil>
}

func ExampleDetect() {
	fmt.Println(extract.Detect("notes.md.gz", nil))
	fmt.Println(extract.Detect("-", []byte(`{"text": "from a pipe"}`)))
	fmt.Println(extract.Detect("film.mp4", nil))
	// Output:
	// md true
	// jsonl true
	// auto false
}
