package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/internal/settings"
	"example.com/searchd/search/embedded"
	"example.com/searchd/store"
)

func newCompactCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "compact", Short: "Free the disk space of deleted documents",
		Long: `Copies the store of a data folder that no process uses into a new file, verifies every record, and replaces the old file once the new one is
complete and on the disk. If interrupted, the old file stays. It needs disk space for both files. Afterwards the file no longer has any bytes of
deleted texts. Indexes and snapshots do not change.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	cmd.Flags().StringVar(&data, "data", "", dataUsage)
	settings.Folders(cmd, "data")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := command.UseDefaultData(cmd, &data); err != nil {
			return err
		}
		stop := progress.Doing(cmd.ErrOrStderr(), "compacting "+data).Stop
		before, after, err := embedded.Compact(cmd.Context(), data)
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
