package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
)

func newCheckCommand() *cobra.Command {
	var f engineFlags
	var deep, repair, drop bool
	cmd := &cobra.Command{
		Use: "check", Short: "Check a data folder for damage",
		Long: `Opens the data folder, waits until indexes that are behind or damaged are updated or rebuilt, and compares the
indexes with the store. --deep checks every stored byte against its checksum, compares every vector, and analyses every text again.
Each difference is printed on a line; the exit code is 1 if any is left.

--repair rebuilds the indexes. It does nothing while the store itself has damaged values. --drop-damaged re-encodes documents with a damaged
vector from their text, with the checkpoint of their collection, and deletes documents with other damage; each is named, so that you can ingest it
again. If the page of the last commit is damaged, so that nothing opens, it rolls that commit back.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "rebuild the indexes if there are differences; implies --deep")
	cmd.Flags().BoolVar(&deep, "deep", false, "check every stored byte")
	cmd.Flags().BoolVar(&drop, "drop-damaged", false, "with --repair: re-encode documents with a damaged vector, delete those with other damage")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if drop && !repair {
			return errors.New("--drop-damaged deletes documents: give it together with --repair")
		}
		if err := command.UseDefaultData(cmd, &f.data); err != nil {
			return err
		}
		if drop {
			switch done, err := embedded.RollBack(f.data); {
			case err != nil:
				return err
			case done:
				fmt.Fprintln(cmd.OutOrStdout(), "the last commit was damaged and was rolled back; ingest again what was written last")
			}
		}
		deep = deep || repair // the index may hold the only intact copy of a value
		n, stored, err := checkOnce(cmd, f, deep, false)
		if err != nil || n == 0 {
			return err
		}
		if !repair {
			return command.ErrSome
		}
		if stored > 0 && !drop {
			fmt.Fprintln(cmd.ErrOrStderr(), "searchd: nothing was repaired: the store is damaged, and the indexes are made from it; "+
				"restore a backup, or give --repair --drop-damaged: it encodes documents with a damaged vector again, and deletes the others named above")
			return command.ErrSome
		}
		setAside := embedded.QuarantineIndexes
		if drop {
			setAside = func(dir string) (string, error) {
				return embedded.DropDamaged(cmd.Context(), dir, func(text string) { fmt.Fprintf(cmd.OutOrStdout(), "deleted: %s\n", text) })
			}
		}
		to, err := setAside(f.data)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "the old indexes are kept as %s; new ones are built\n", to)
		if n, _, err = checkOnce(cmd, f, deep, drop); err == nil && n > 0 {
			return command.ErrSome
		}
		return err
	}
	return cmd
}

// checkOnce opens the data folder, re-encodes documents with damaged vectors if encode is set, and
// prints the differences. It returns their number, and how many of them are damage of the store.
func checkOnce(cmd *cobra.Command, f engineFlags, deep, encode bool) (n, stored int, err error) {
	stop := progress.Doing(cmd.ErrOrStderr(), "checking "+f.data).Stop
	defer stop()
	e, err := f.openWith(cmd.Context(), search.Options{Notice: notices(cmd), Complete: true, NoTasks: true, MustExist: true})
	if err != nil {
		return 0, 0, err
	}
	defer e.Close()
	if encode {
		if err := search.EncodeDamaged(cmd.Context(), e, func(text string) { fmt.Fprintln(cmd.OutOrStdout(), text) }); err != nil {
			return 0, 0, err
		}
	}
	problems, err := e.Check(cmd.Context(), deep)
	stop()
	if err != nil {
		return 0, 0, err
	}
	for _, p := range problems {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", p.Where, p.What)
		if p.Where == "store" {
			stored++
		}
	}
	plural := "s"
	if len(problems) == 1 {
		plural = ""
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d difference%s\n", len(problems), plural)
	return len(problems), stored, nil
}
