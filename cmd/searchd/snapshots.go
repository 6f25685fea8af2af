package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
)

func newSnapshotsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshots", Short: "List and remove the snapshots that a server keeps",
		Long: `Snapshots are backups that a running server writes into its data folder on POST /v1/snapshots; it keeps at most 8.
"searchd backup --server" deletes its own after downloading it.`,
	}
	cmd.AddCommand(newSnapshotsListCommand(), newSnapshotsRemoveCommand())
	return cmd
}

// serverFlags name a server.
type serverFlags struct {
	server, key string
}

func (f *serverFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server, "server", "", "URL of a running server")
	cmd.Flags().StringVar(&f.key, "key", "", "API key of the server, with the scope collections:admin for all collections")
}

func (f *serverFlags) client() (*client.Client, error) {
	if f.server == "" {
		return nil, errors.New("name the server: --server URL, or SEARCHD_SERVER in the environment; without a server they are the files in DATA/snapshots")
	}
	return openServer(f.server, f.key)
}

func newSnapshotsListCommand() *cobra.Command {
	var f serverFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the snapshots, newest first",
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := f.client()
		if err != nil {
			return err
		}
		list, err := c.Snapshots(cmd.Context())
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
		}
		return printSnapshots(cmd.OutOrStdout(), list)
	}
	return cmd
}

func printSnapshots(w io.Writer, list []client.Snapshot) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tCREATED\tSIZE")
	for _, s := range list {
		damaged := ""
		if s.Damaged {
			damaged = "damaged"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.ID, s.Created.Format(time.RFC3339), megabytes(s.Bytes), damaged)
	}
	return t.Flush()
}

func newSnapshotsRemoveCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use: "rm ID...", Aliases: []string{"remove"}, Short: "Remove snapshots",
		Args: cobra.MinimumNArgs(1), PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		c, err := f.client()
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := c.DeleteSnapshot(cmd.Context(), id); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
