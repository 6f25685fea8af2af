package main

import "github.com/spf13/cobra"

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "bench", Short: "Measure speed on this machine", Args: cobra.NoArgs}
	cmd.AddCommand(newBenchEncodeCommand(), newBenchANNCommand(), newBenchServeCommand())
	return cmd
}
