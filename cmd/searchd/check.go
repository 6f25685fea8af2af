package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"searchd/search"
)

func newCheckCommand() *cobra.Command {
	var f engineFlags
	var deep, repair, drop bool
	cmd := &cobra.Command{
		Use: "check", Short: "Look for faults in a data folder",
		Long: `Opens the data folder, which replays or rebuilds derived indexes that are behind or damaged, and compares
them with the store. With --deep every stored byte is checked against its checksum, every vector is compared, and every text is
analysed again and compared with the keyword index.
Prints each difference on a line; exit code 1 if there is one, also after a repair that leaves some.

--repair makes the indexes anew. A damaged value of the store cannot be made anew, and while there is one --repair leaves everything as it is:
with --drop-damaged the document that the value belongs to is deleted, and named. Ingest it again afterwards.`,
		Args: cobra.NoArgs, PreRunE: fillSettings,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "where there are differences, set the indexes aside and build them anew from the store; implies --deep")
	cmd.Flags().BoolVar(&deep, "deep", false, "check every stored byte")
	cmd.Flags().BoolVar(&drop, "drop-damaged", false, "with --repair: delete each document of which a stored value is damaged")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if drop && !repair {
			return errors.New("--drop-damaged: deletes documents; give it together with --repair")
		}
		deep = deep || repair // an index may be all that is left of a damaged value
		n, stored, err := checkOnce(cmd, f, deep)
		if err != nil || n == 0 {
			return err
		}
		if !repair {
			return errSome
		}
		if stored > 0 && !drop {
			fmt.Fprintln(cmd.ErrOrStderr(), "searchd: nothing was repaired: the store is damaged, and the indexes are made from it; "+
				"restore a backup, or delete the documents named above with --repair --drop-damaged")
			return errSome
		}
		setAside := search.SetAsideIndexes
		if drop {
			setAside = func(dir string) (string, error) {
				return search.DropDamaged(cmd.Context(), dir, func(text string) { fmt.Fprintf(cmd.OutOrStdout(), "deleted: %s\n", text) })
			}
		}
		to, err := setAside(f.data)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "the indexes are kept as %s and built anew\n", to)
		if n, _, err = checkOnce(cmd, f, deep); err == nil && n > 0 {
			return errSome
		}
		return err
	}
	return cmd
}

// checkOnce opens the data folder, prints the differences and returns their number, and how many of them are damage of the store.
func checkOnce(cmd *cobra.Command, f engineFlags, deep bool) (n, stored int, err error) {
	e, err := f.open(true, tell)
	if err != nil {
		return 0, 0, err
	}
	defer e.Close()
	problems, err := e.Check(cmd.Context(), deep)
	if err != nil {
		return 0, 0, err
	}
	for _, p := range problems {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", p.Where, p.What)
		if p.Where == "store" {
			stored++
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d differences\n", len(problems))
	return len(problems), stored, nil
}
