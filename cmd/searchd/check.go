package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"searchd/search"
)

func newCheckCommand() *cobra.Command {
	var f engineFlags
	var deep, repair bool
	cmd := &cobra.Command{
		Use: "check", Short: "Look for faults in a data folder",
		Long: `Opens the data folder, which replays or rebuilds derived indexes that are behind or damaged, and compares
them with the store. With --deep every stored byte is checked against its checksum, every vector is compared, and every text is
analysed again and compared with the keyword index.
Prints each difference on a line; exit code 1 if there is one.`,
		Args: cobra.NoArgs, PreRunE: fillSettings,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "where there are differences, set the indexes aside and build them anew from the store")
	cmd.Flags().BoolVar(&deep, "deep", false, "check every stored byte")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		n, err := checkOnce(cmd, f, deep)
		if err != nil || n == 0 {
			return err
		}
		if !repair {
			return errSome
		}
		to, err := search.SetAsideIndexes(f.data)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "the indexes are kept as %s and built anew\n", to)
		if n, err = checkOnce(cmd, f, deep); err == nil && n > 0 {
			return errSome
		}
		return err
	}
	return cmd
}

// checkOnce opens the data folder, prints the differences and returns their number.
func checkOnce(cmd *cobra.Command, f engineFlags, deep bool) (int, error) {
	e, err := f.open(true, tell)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	problems, err := e.Check(cmd.Context(), deep)
	if err != nil {
		return 0, err
	}
	for _, p := range problems {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", p.Where, p.What)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d differences\n", len(problems))
	return len(problems), nil
}
