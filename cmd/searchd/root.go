package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"searchd/internal/settings"
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
	root.InitDefaultHelpCmd()       // likewise
	root.SetFlagErrorFunc(settings.FlagError)
	sayUsage(root)
	return root
}

// help shows the help of the command that args name. It fails where they name none, for which cobra's own shows that of searchd and succeeds.
func help(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
	}
	found.InitDefaultHelpFlag() // so that it is named, too
	return found.Help()
}

// sayUsage makes the commands under cmd say how they are called where their arguments are wrong, and those that only stand for others refuse
// what is none of them, for which cobra shows their help as if that were what was asked for.
func sayUsage(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Name() == "help" {
			sub.RunE = help
			continue
		}
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
