package settings

import "github.com/spf13/cobra"

// Choices tells the shell's completion what a flag of cmd may be. It panics if there is no such
// flag.
func Choices(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// Folders tells the shell's completion that flags of cmd name folders. It panics if there is no
// such flag.
func Folders(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(err)
		}
	}
}
