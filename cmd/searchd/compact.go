package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"searchd/cmd/internal/command"
	"searchd/cmd/internal/progress"
	"searchd/internal/settings"
	"searchd/search"
	"searchd/store"
)

func newCompactCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "compact --data DIR", Short: "Give back the room of what was deleted",
		Long: `Writes the store of a data folder that no process uses into a new file, with every record verified, and puts it in the place of the old one
when it is whole and on the disk; interrupted or killed before, it leaves the old one. It needs room for the new file beside the old one.
The bytes of deleted texts are gone from the file then. Indexes and snapshots stay as they are.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	cmd.Flags().StringVar(&data, "data", "", "data folder")
	settings.Folders(cmd, "data")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if data == "" {
			return errNoData
		}
		stop := progress.Doing(cmd.ErrOrStderr(), "compacting "+data).Stop
		before, after, err := search.Compact(cmd.Context(), data)
		stop()
		if errors.Is(err, store.ErrLocked) {
			return fmt.Errorf("%w; one program at a time: if it is a server, stop it first", err)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "searchd.db: %s before, %s now\n", megabytes(before), megabytes(after))
		return nil
	}
	return cmd
}
