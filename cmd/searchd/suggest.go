package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/search"
)

func newSuggestCommand() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use: "suggest TEXT...", Short: "Show what a query that is being typed may become: titles and phrases of documents",
		Args: cobra.MinimumNArgs(1), PreRunE: command.Fill,
	}
	f.addServer(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 8, "suggestions, 1 to 20")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the answer as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ask, done, err := f.suggester(cmd)
		if err != nil {
			return err
		}
		defer done()
		out := &search.Suggestions{}
		for {
			if out, err = ask(strings.Join(args, " ")); err != nil {
				return err
			}
			if !out.Building {
				break
			}
			select {
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
		if f.asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetEscapeHTML(false)
			return enc.Encode(out)
		}
		for _, s := range out.Suggestions {
			fmt.Fprintln(cmd.OutOrStdout(), printable(s.Text))
		}
		return nil
	}
	return cmd
}

// suggester returns what completes a text with the folder or the server of the flags.
func (f *queryFlags) suggester(cmd *cobra.Command) (ask func(typed string) (*search.Suggestions, error), done func() error, err error) {
	if f.server != "" {
		c, err := f.openCollection(cmd)
		return func(typed string) (*search.Suggestions, error) {
			found, err := c.Suggest(cmd.Context(), f.collection, typed, f.limit)
			if err != nil {
				return nil, err
			}
			out := &search.Suggestions{}
			return out, convert(found, out)
		}, func() error { return nil }, err
	}
	e, err := f.openToRead(cmd)
	if err != nil {
		return nil, nil, err
	}
	if f.collection, err = folderCollection(cmd.Context(), e, f.collection); err != nil {
		e.Close()
		return nil, nil, err
	}
	return func(typed string) (*search.Suggestions, error) {
		return e.Suggest(cmd.Context(), f.collection, search.Suggest{Q: typed, Limit: f.limit})
	}, e.Close, nil
}
