package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"searchd/internal/version"
)

func newRootCommand() *cobra.Command {
	v, revision := version.Read()
	root := &cobra.Command{
		Use: "searchd", Short: "Search documents by meaning and by words", Version: strings.TrimSpace(v + " " + revision),
		SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().String("config", "", "`file` of settings, a line name = value each")
	root.AddCommand(newServeCommand(), newShardCommand(), newQueryCommand(), newEmbedCommand(), newRerankCommand(), newEvalCommand(),
		newCheckCommand(), newReembedCommand(), newBackupCommand(), newRestoreCommand(), newCompactCommand(), newSpreadCommand(), newSnapshotsCommand(), newModelsCommand(), newKeysCommand(), newConfigCommand(), newBenchCommand(),
		newMCPCommand(), newHealthCommand(), newManCommand())
	root.InitDefaultCompletionCmd() // which cobra makes later otherwise
	sayUsage(root)
	return root
}

// sayUsage makes the commands under cmd say how they are called where their arguments are wrong, and those that only stand for others refuse
// what is none of them, for which cobra shows their help as if that were what was asked for.
func sayUsage(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if args := sub.Args; args != nil {
			sub.Args = func(cmd *cobra.Command, given []string) error {
				if err := args(cmd, given); err != nil {
					return fmt.Errorf("%w; it is called as %s", err, cmd.UseLine())
				}
				return nil
			}
		}
		if !sub.Runnable() {
			sub.DisableFlagsInUseLine = true
			sub.Args = cobra.ArbitraryArgs // that of completion has words of its own
			sub.RunE = func(cmd *cobra.Command, given []string) error {
				if len(given) == 0 {
					return cmd.Help()
				}
				var names []string
				for _, c := range cmd.Commands() {
					names = append(names, c.Name())
				}
				return fmt.Errorf("%s: got %q, allowed: %s", cmd.CommandPath(), given[0], strings.Join(names, ", "))
			}
		}
		sayUsage(sub)
	}
}
