package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/searchd/analytics"
	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/internal/eval"
	"example.com/searchd/search"
)

// corpus is a collection whose documents are exported.
type corpus interface {
	settings(ctx context.Context) (search.Settings, error)
	each(ctx context.Context, fn func(id string, fields json.RawMessage) error) error
}

type folderCorpus struct {
	e          *search.Engine
	collection string
}

func (c folderCorpus) settings(ctx context.Context) (search.Settings, error) {
	info, err := c.e.Collection(ctx, c.collection)
	return info.Settings, err
}

func (c folderCorpus) each(ctx context.Context, fn func(id string, fields json.RawMessage) error) error {
	for cursor := ""; ; {
		docs, next, err := c.e.Documents(ctx, c.collection, cursor, 200)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := fn(d.ID, d.Fields); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

type remoteCorpus struct {
	c          *client.Client
	collection string
}

func (c remoteCorpus) settings(ctx context.Context) (s search.Settings, err error) {
	info, err := c.c.Collection(ctx, c.collection)
	if err != nil {
		return s, err
	}
	return s, convert(info.Settings, &s)
}

func (c remoteCorpus) each(ctx context.Context, fn func(id string, fields json.RawMessage) error) error {
	for d, err := range c.c.Export(ctx, c.collection) {
		if err == nil {
			err = fn(d.ID, d.Fields)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newAnalyticsExportCommand() *cobra.Command {
	var f analyticsFlags
	var least int
	cmd := &cobra.Command{
		Use: "export DIR", Short: "Write queries, the documents that users chose, and the collection as a test set for eval",
		Long: `Writes a folder in the BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv) for "searchd eval --dataset DIR". The grade of a
document for a query is 2 if it was opened in at least half of the searches in which any was, else 1. Of a server it needs a key with the
scopes analytics:read and documents:read.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().IntVar(&least, "min-clicks", 2, "searches of a query in which a document was opened, at least")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if least < 1 {
			return fmt.Errorf("--min-clicks: got %d, allowed: 1 or more", least)
		}
		corpus, done, err := f.choose(cmd)
		if err != nil {
			return err
		}
		defer done()
		t, _, err := f.tally(cmd)
		if err != nil {
			return err
		}
		judged := t.Judgments(least)
		if len(judged) == 0 {
			return errors.New("no document was opened often enough; see --min-clicks and --days")
		}
		queries, documents, err := exportSet(cmd.Context(), args[0], corpus, judged)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d queries with judgments, %d documents\n", args[0], queries, documents)
		return err
	}
	return cmd
}

// exportSet writes a test set into a folder that is empty or does not exist. Judgments of documents
// that are gone are left out.
func exportSet(ctx context.Context, dir string, from corpus, judged []analytics.Judgments) (queries, documents int, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return 0, 0, fmt.Errorf("%s: is not empty", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, "qrels"), 0o777); err != nil {
		return 0, 0, err
	}
	s, err := from.settings(ctx)
	if err != nil {
		return 0, 0, err
	}
	there := map[string]bool{}
	err = writeBuffered(filepath.Join(dir, "corpus.jsonl"), func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return from.each(ctx, func(id string, fields json.RawMessage) error {
			parts, err := s.Fields.SplitStored(fields)
			if err != nil {
				return fmt.Errorf("document %s: %w", id, err)
			}
			d := eval.Document{ID: id, Title: parts.Title}
			for _, t := range append(parts.Text, parts.Words...) {
				if !parts.IsTitle(t.Name) {
					d.Text = strings.TrimSpace(d.Text + "\n\n" + t.Text)
				}
			}
			there[id] = true
			documents++
			return enc.Encode(d)
		})
	})
	if err != nil {
		return 0, 0, err
	}
	var kept []analytics.Judgments
	for _, j := range judged {
		maps.DeleteFunc(j.Documents, func(id string, _ int) bool { return !there[id] })
		if len(j.Documents) > 0 {
			kept = append(kept, j)
		}
	}
	return len(kept), documents, writeJudgments(dir, kept)
}

func writeJudgments(dir string, judged []analytics.Judgments) error {
	err := writeBuffered(filepath.Join(dir, "queries.jsonl"), func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for i, j := range judged {
			if err := enc.Encode(map[string]string{"_id": fmt.Sprintf("q%d", i+1), "text": j.Query}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return writeBuffered(filepath.Join(dir, "qrels", "test.tsv"), func(w io.Writer) error {
		fmt.Fprintln(w, "query-id\tcorpus-id\tscore")
		for i, j := range judged {
			for _, id := range slices.Sorted(maps.Keys(j.Documents)) {
				fmt.Fprintf(w, "q%d\t%s\t%d\n", i+1, id, j.Documents[id])
			}
		}
		return nil
	})
}

// writeBuffered writes a file through a buffer.
func writeBuffered(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	err = cmp.Or(write(w), w.Flush())
	return errors.Join(err, file.Close())
}
