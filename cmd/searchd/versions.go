package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
)

func newVersionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "versions", Short: "List, show and restore former versions of documents",
		Long: `A collection with the setting "versions", such as {"versions": {"keep": 10, "for": "30d"}}, keeps what its documents were before they were
replaced or deleted. These commands read and restore it, of a running server (--server) or in a data folder that no program uses.`,
	}
	cmd.AddCommand(newVersionsListCommand(), newVersionsShowCommand(), newVersionsRestoreCommand(), newVersionsDeleteCommand())
	return cmd
}

// versionFlags say whose versions.
type versionFlags struct{ queryFlags }

// open returns the versions of the collection of the flags; done closes the data folder.
func (f *versionFlags) open(cmd *cobra.Command) (v *client.Versions, done func() error, err error) {
	done = func() error { return nil }
	var c *client.Client
	if f.server != "" {
		c, err = f.openCollection(cmd)
	} else {
		e, failed := f.openToRead(cmd)
		if failed != nil {
			return nil, nil, failed
		}
		done = e.Close
		if c, err = ownClient(e); err == nil {
			f.collection, err = folderCollection(cmd.Context(), e, f.collection)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return client.VersionsOf(c, f.collection), done, nil
}

// run opens the versions for f and closes what was opened.
func (f *versionFlags) run(cmd *cobra.Command, do func(v *client.Versions) error) error {
	v, done, err := f.open(cmd)
	if err != nil {
		return err
	}
	return errors.Join(do(v), done())
}

// revisionOf reads the argument REVISION.
func revisionOf(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("REVISION: got %q, allowed: a number of the list of versions", text)
	}
	return n, nil
}

func newVersionsListCommand() *cobra.Command {
	var f versionFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list ID", Short: "List the former versions of a document, newest first",
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, func(v *client.Versions) error {
				list, err := v.List(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if asJSON {
					e := json.NewEncoder(cmd.OutOrStdout())
					e.SetIndent("", "  ")
					return e.Encode(list)
				}
				if list.Keep == 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "collection %s keeps no versions: its settings lack \"versions\"\n", f.collection)
				}
				return printVersions(cmd.OutOrStdout(), list)
			})
		},
	}
	f.addServer(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printVersions(w io.Writer, list *client.VersionList) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "revision\tbytes\t  until\n")
	if list.Revision != 0 {
		fmt.Fprintf(t, "%d\t\t  now\n", list.Revision)
	}
	for _, v := range list.Versions {
		fmt.Fprintf(t, "%d\t%d\t  %s %s\n", v.Revision, v.Bytes, map[bool]string{true: "deleted", false: "replaced"}[v.Deleted], v.Until.Local().Format(time.DateTime))
	}
	return t.Flush()
}

func newVersionsShowCommand() *cobra.Command {
	var f versionFlags
	cmd := &cobra.Command{
		Use: "show ID REVISION", Short: "Print a former version of a document as JSON",
		Args: cobra.ExactArgs(2), PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, args []string) error {
			revision, err := revisionOf(args[1])
			if err != nil {
				return err
			}
			return f.run(cmd, func(v *client.Versions) error {
				one, err := v.Get(cmd.Context(), args[0], revision)
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", one.Fields)
				}
				return err
			})
		},
	}
	f.addServer(cmd)
	return cmd
}

func newVersionsRestoreCommand() *cobra.Command {
	var f versionFlags
	var ifRevision uint64
	cmd := &cobra.Command{
		Use: "restore ID REVISION", Short: "Write a former version of a document again",
		Long: `Writes the version as any other write does: it gets a new revision, and what it replaces becomes a version. A document that was deleted is
there again.`,
		Args: cobra.ExactArgs(2), PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, args []string) error {
			revision, err := revisionOf(args[1])
			if err != nil {
				return err
			}
			return f.run(cmd, func(v *client.Versions) error {
				res, err := v.Restore(cmd.Context(), args[0], revision, client.Condition{Revision: ifRevision})
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, revision %d\n", args[0], res.Status, res.Revision)
				}
				return err
			})
		},
	}
	f.addServer(cmd)
	cmd.Flags().Uint64Var(&ifRevision, "if-revision", 0, "only while the document has this revision (default: any)")
	return cmd
}

func newVersionsDeleteCommand() *cobra.Command {
	var f versionFlags
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete all former versions of a document",
		Long: `The document stays as it is. To leave nothing of it, delete it before.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, func(v *client.Versions) error { return v.Delete(cmd.Context(), args[0]) })
		},
	}
	f.addServer(cmd)
	return cmd
}
