package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
)

// drainPoll is how often drain looks how far it is.
const drainPoll = 500 * time.Millisecond

func newClusterDrainCommand() *cobra.Command {
	var f serverFlags
	var undo bool
	cmd := &cobra.Command{
		Use: "drain NODE", Short: "Move the partitions of a node to others",
		Long: `Waits until the node has no partition left; others then serve them. The node keeps its copies of the logs, so start it again, or another one with its
--node-addr, after the maintenance: a node that is started gets partitions again.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.server == "" {
				return errors.New("name a node: --server URL, or SEARCHD_SERVER in the environment")
			}
			c, err := openServer(f.server, f.key)
			if err != nil {
				return err
			}
			if err := c.DrainNode(cmd.Context(), args[0], undo); err != nil {
				return err
			}
			if undo {
				fmt.Fprintf(cmd.OutOrStdout(), "node %s gets partitions again\n", args[0])
				return nil
			}
			for told := -1; ; {
				s, err := c.ClusterStatus(cmd.Context())
				if err != nil {
					return err
				}
				at := slices.IndexFunc(s.Nodes, func(n client.ClusterNode) bool { return n.Name == args[0] })
				if at < 0 || s.Nodes[at].Serving == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "node %s is drained\n", args[0])
					return nil
				}
				if left := s.Nodes[at].Serving; left != told {
					told = left
					fmt.Fprintf(cmd.ErrOrStderr(), "%d partitions are left on node %s\n", left, args[0])
				}
				select {
				case <-cmd.Context().Done():
					return cmd.Context().Err()
				case <-time.After(drainPoll):
				}
			}
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&undo, "undo", false, "let the node have partitions again")
	return cmd
}
