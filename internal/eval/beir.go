package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Document is a line of corpus.jsonl.
type Document struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Joined returns title and text as one, with a space between them if there are both.
func (d Document) Joined() string { return strings.TrimSpace(d.Title + " " + d.Text) }

// Query is a line of queries.jsonl.
type Query struct{ ID, Text string }

// Collection is a test collection. Queries has those of the file that are judged, in its order.
type Collection struct {
	Documents []Document
	Queries   []Query
	Qrels     map[string]Judgments // by query id
}

// ReadCollection reads a folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv
// with the header "query-id corpus-id score". Judgments of missing documents or queries are kept
// and count as not found. Errors of content match ErrFormat and name file and line.
func ReadCollection(fsys fs.FS) (*Collection, error) {
	c := &Collection{Qrels: map[string]Judgments{}}
	err := eachRecord(fsys, "corpus.jsonl", func(d Document) {
		c.Documents = append(c.Documents, d)
	})
	if err != nil {
		return nil, err
	}
	if err := readQrels(fsys, "qrels/test.tsv", c.Qrels); err != nil {
		return nil, err
	}
	err = eachRecord(fsys, "queries.jsonl", func(d Document) {
		if c.Qrels[d.ID] != nil {
			c.Queries = append(c.Queries, Query{ID: d.ID, Text: d.Text})
		}
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// eachRecord calls f with the JSON object of every line, which must have an _id of its own.
func eachRecord(fsys fs.FS, name string, f func(Document)) error {
	seen := map[string]int{}
	return eachLine(fsys, name, func(n int, line []byte) error {
		var d Document
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		if d.ID == "" {
			return errors.New(`"_id" is missing or empty`)
		}
		if first, ok := seen[d.ID]; ok {
			return fmt.Errorf("_id %q stands on line %d already", d.ID, first)
		}
		seen[d.ID] = n
		f(d)
		return nil
	})
}

// readQrels reads lines of query id, document id and grade, separated by tabs, after a header.
func readQrels(fsys fs.FS, name string, qrels map[string]Judgments) error {
	return eachLine(fsys, name, func(n int, line []byte) error {
		parts := strings.Split(string(line), "\t")
		if len(parts) != 3 {
			return fmt.Errorf("%d columns, want 3 separated by tabs: query, document, grade", len(parts))
		}
		query, doc := parts[0], parts[1]
		grade, err := strconv.Atoi(strings.TrimSpace(parts[2]))
		if err != nil {
			if n == 1 {
				return nil // the header
			}
			return fmt.Errorf("grade %q is not a whole number", parts[2])
		}
		if query == "" || doc == "" {
			return errors.New("query or document is empty")
		}
		if qrels[query] == nil {
			qrels[query] = Judgments{}
		}
		qrels[query][doc] = grade
		return nil
	})
}
