package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/ingest"
	"example.com/searchd/internal/settings"
	"example.com/searchd/internal/version"
)

func newRootCommand() *cobra.Command {
	v, revision := version.Read()
	root := &cobra.Command{
		Use: "searchd", Short: "Search documents by meaning and by words", Version: strings.TrimSpace(v + " " + revision),
		SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().String("config", "", "`file` of settings, a line name = value each")
	root.AddCommand(newServeCommand(), newQueryCommand(), newSuggestCommand(), newEmbedCommand(), newRerankCommand(), newGenerateCommand(), newScoreCommand(), newEvalCommand(),
		newCheckCommand(), newReembedCommand(), newMigrateCommand(), newBackupCommand(), newRestoreCommand(), newCompactCommand(), newSnapshotsCommand(), newVersionsCommand(), newModelsCommand(), newKeysCommand(), newAnalyticsCommand(), newClusterCommand(), newConfigCommand(), newBenchCommand(),
		newMCPCommand(), ingest.NewCommand(), newHealthCommand(), newManCommand(), newVersionCommand())
	root.InitDefaultCompletionCmd() // now, for addUsage
	root.InitDefaultHelpCmd()
	root.SetFlagErrorFunc(settings.FlagError)
	root.DisableFlagsInUseLine = true
	addUsage(root)
	choose(root)
	return root
}

// help prints the help of the command that args name. It fails for an unknown command, where
// cobra's own prints the help of searchd.
func help(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return unknown(found, rest[0])
	}
	found.InitDefaultHelpFlag() // so that it is listed
	return found.Help()
}

// addUsage adds the usage to the errors of wrong arguments of the commands under cmd. Commands that
// only group others refuse an unknown one, for which cobra would print their help and succeed.
func addUsage(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Name() == "help" {
			sub.RunE = help
			continue
		}
		if args := sub.Args; args != nil {
			sub.Args = func(cmd *cobra.Command, given []string) error {
				err := args(cmd, given)
				switch {
				case err == nil:
					return nil
				case strings.HasPrefix(err.Error(), "unknown command"): // cobra's error of commands without arguments
					return fmt.Errorf("argument: got %q, allowed: none; it is called as %s", given[0], cmd.UseLine())
				}
				if strings.HasPrefix(err.Error(), "accepts ") || strings.HasPrefix(err.Error(), "requires ") { // cobra's count
					err = fmt.Errorf("got %d arguments", len(given))
				}
				return fmt.Errorf("%w; it is called as %s", err, cmd.UseLine())
			}
		}
		if !sub.Runnable() {
			sub.DisableFlagsInUseLine = true
			choose(sub)
		}
		addUsage(sub)
	}
}

// choose makes a command that only groups others refuse an unknown one, and print its help without
// one.
func choose(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs // completion has its own
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		switch {
		case len(given) == 0 && !cmd.HasParent() && onTerminal(cmd.OutOrStdout()):
			return printGuide(cmd.OutOrStdout())
		case len(given) == 0:
			return cmd.Help()
		}
		return unknown(cmd, given[0])
	}
}

// unknown returns the error of an unknown subcommand of cmd.
func unknown(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("unknown command %q for %q", word, cmd.CommandPath())
	}
	where := "command"
	if cmd.HasParent() {
		where = strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	}
	cmd.SuggestionsMinimumDistance = 2 // changed letters
	if like := cmd.SuggestionsFor(word); len(like) > 0 {
		return fmt.Errorf("%s: got %q; did you mean %s? `%s --help` lists all", where, word, strings.Join(like, " or "), cmd.CommandPath())
	}
	return fmt.Errorf("%s: got %q, allowed: %s", where, word, strings.Join(names, ", "))
}

// onTerminal is a variable for tests.
var onTerminal = command.IsTerminal

// printGuide prints what a newcomer needs.
func printGuide(w io.Writer) error {
	data, err := command.DefaultData()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `searchd finds documents by meaning and by words.

  searchd ingest notes/              read a folder of documents
  searchd query "how do I ..."       search them
  searchd serve                      search in the browser, at http://127.0.0.1:8080/

They use the data folder %s; --data DIR names another one.
"searchd --help" lists all commands, "searchd COMMAND --help" their options.
`, data)
	return err
}
