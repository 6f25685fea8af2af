package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"searchd/cmd/internal/command"
	"searchd/cmd/internal/progress"
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

--repair makes the indexes anew. A damaged value of the store is not in them, and while there is one --repair leaves everything as it is:
with --drop-damaged a document with a damaged vector is encoded again from its text, by the checkpoint of its collection, and one of which anything
else is damaged is deleted. Each is named. Ingest what was deleted again afterwards. Where the page that names the last commit is damaged, so that nothing
opens, that commit is given up and all before it stay.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "where there are differences, set the indexes aside and build them anew from the store; implies --deep")
	cmd.Flags().BoolVar(&deep, "deep", false, "check every stored byte")
	cmd.Flags().BoolVar(&drop, "drop-damaged", false, "with --repair: encode each document with a damaged vector again, and delete those of which another value is damaged")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if drop && !repair {
			return errors.New("--drop-damaged: deletes documents; give it together with --repair")
		}
		if drop {
			switch done, err := search.RollBack(f.data); {
			case err != nil:
				return err
			case done:
				fmt.Fprintln(cmd.OutOrStdout(), "the last commit was damaged and is given up; what was written last is to be ingested again")
			}
		}
		deep = deep || repair // an index may be all that is left of a damaged value
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
		if n, _, err = checkOnce(cmd, f, deep, drop); err == nil && n > 0 {
			return command.ErrSome
		}
		return err
	}
	return cmd
}

// checkOnce opens the data folder, encodes documents with damaged vectors again if it is to, prints
// the differences and returns their number, and how many of them are damage of the store.
func checkOnce(cmd *cobra.Command, f engineFlags, deep, encode bool) (n, stored int, err error) {
	stop := progress.Doing(cmd.ErrOrStderr(), "checking "+f.data).Stop
	defer stop()
	e, err := f.openWith(cmd.Context(), search.Options{Notice: notices(cmd), NoTasks: true, MustExist: true})
	if err != nil {
		return 0, 0, err
	}
	defer e.Close()
	if encode {
		if err := e.EncodeDamaged(cmd.Context(), func(text string) { fmt.Fprintln(cmd.OutOrStdout(), text) }); err != nil {
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
	fmt.Fprintf(cmd.OutOrStdout(), "%d differences\n", len(problems))
	return len(problems), stored, nil
}
