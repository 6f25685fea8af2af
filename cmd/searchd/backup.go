package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"searchd/search"
)

func newBackupCommand() *cobra.Command {
	var f engineFlags
	cmd := &cobra.Command{
		Use: "backup --data DIR FILE", Short: "Write a backup of a data folder to a file",
		Long: `Writes documents, passages, vectors and settings to FILE, which must not exist, with a checksum over all.
The indexes are not in it: restoring builds them anew.`,
		Args: cobra.ExactArgs(1), PreRunE: fillSettings,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		e, err := f.open(true, tell)
		if err != nil {
			return err
		}
		defer e.Close()
		part := args[0] + ".part"
		if _, err := os.Lstat(args[0]); err == nil {
			return fmt.Errorf("%s exists; name a new file", args[0])
		}
		file, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer os.Remove(part) // gone already where all went well
		n, err := e.Backup(cmd.Context(), file)
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return err
		}
		if err := os.Rename(part, args[0]); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d bytes in %s\n", n, args[0])
		return syncFolder(filepath.Dir(args[0]))
	}
	return cmd
}

// syncFolder makes a rename in a folder last.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func newRestoreCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "restore FILE --data DIR", Short: "Make a data folder from a backup",
		Args: cobra.ExactArgs(1), PreRunE: fillSettings,
	}
	cmd.Flags().StringVar(&data, "data", "", "new data folder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if data == "" {
			return errors.New("--data: the new data folder is missing")
		}
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		return search.Restore(cmd.Context(), file, data)
	}
	return cmd
}
