package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
)

// nodePoll is how often commands look how far a node is.
const nodePoll = 500 * time.Millisecond

func newClusterDrainCommand() *cobra.Command {
	var f serverFlags
	var undo bool
	cmd := &cobra.Command{
		Use: "drain NODE", Short: "Move the partitions of a node to others",
		Long: `Waits until the node has no partition left; others then serve them. The node keeps its copies of the logs, so start it again, or another one with its
--node-addr, after the maintenance: a node that is started gets partitions again.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.openNode()
			if err != nil {
				return err
			}
			change := client.Drain
			if undo {
				change = client.Undrain
			}
			if err := c.ChangeNode(cmd.Context(), args[0], change); err != nil {
				return err
			}
			if undo {
				fmt.Fprintf(cmd.OutOrStdout(), "node %s gets partitions again\n", args[0])
				return nil
			}
			reported := -1
			return untilNode(cmd, c, args[0], func(n *client.ClusterNode) (done string) {
				if n == nil || n.Serving == 0 {
					return "drained"
				}
				if n.Serving != reported {
					reported = n.Serving
					fmt.Fprintf(cmd.ErrOrStderr(), "%d partitions are left on node %s\n", reported, args[0])
				}
				return ""
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&undo, "undo", false, "let the node have partitions again")
	return cmd
}

// untilNode waits until ended returns how a node, nil if it is not in the cluster, has ended, and
// prints that.
func untilNode(cmd *cobra.Command, c *client.Client, node string, ended func(*client.ClusterNode) string) error {
	for {
		s, err := c.ClusterStatus(cmd.Context())
		if err != nil {
			return err
		}
		var n *client.ClusterNode
		if at := slices.IndexFunc(s.Nodes, func(n client.ClusterNode) bool { return n.Name == node }); at >= 0 {
			n = &s.Nodes[at]
		}
		if how := ended(n); how != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "node %s is %s\n", node, how)
			return nil
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(nodePoll):
		}
	}
}

func newClusterRemoveCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use: "remove NODE", Short: "Take a node out of a cluster for good",
		Long: `The node was drained, or is gone. Waits until other nodes have its copies of the logs, as far as there are others. Then stop the node; its data folder is not
needed any more. To replace a node that is gone, add the new one first or afterwards: logs get their third copy when there are three nodes again.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.openNode()
			if err != nil {
				return err
			}
			if err := c.ChangeNode(cmd.Context(), args[0], client.Remove); err != nil {
				return err
			}
			return untilNode(cmd, c, args[0], func(n *client.ClusterNode) (done string) {
				if n == nil {
					return "removed"
				}
				return ""
			})
		},
	}
	f.add(cmd)
	return cmd
}
