package main

import (
	"github.com/spf13/cobra"

	"example.com/searchd/internal/manual"
	"example.com/searchd/internal/version"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man [DIR]", Short: "Write manual pages",
		Long: `Writes the manual page of searchd to standard output, or, with DIR, those of searchd and of each of its commands into that folder.
"ingest --man" writes the page of ingest.`,
		Example: "  searchd man | man -l -\n  searchd man ~/.local/share/man/man1 && ingest --man >~/.local/share/man/man1/ingest.1",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, _ := version.Read()
			if len(args) == 1 {
				return manual.WriteAll(args[0], cmd.Root(), v)
			}
			manual.Write(cmd.OutOrStdout(), cmd.Root(), v)
			return nil
		},
	}
}
