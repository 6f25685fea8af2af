package settings

import "github.com/spf13/cobra"

// Choices gives shell completion the values of a flag of cmd. It panics if there is no such
// flag.
func Choices(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// Folders makes shell completion offer folders for flags of cmd. It panics if there is no
// such flag.
func Folders(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(err)
		}
	}
}
