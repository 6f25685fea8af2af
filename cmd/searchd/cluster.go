package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/search"
	"example.com/searchd/search/cluster"
	"example.com/searchd/search/embedded"
)

// clusterFlags are the flags of serve for a node of a cluster.
type clusterFlags struct {
	name, node, addr   string
	peers              []string
	nats, creds        string
	cert, key, ca      string
	partitions, copies int
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "cluster", "", "name of the cluster that this server is a node of (default none: a single server)")
	cmd.Flags().StringVar(&f.node, "node-name", "", "name of the node (default made of --node-addr)")
	cmd.Flags().StringVar(&f.addr, "node-addr", "", "HOST:PORT of this node, to which the other nodes connect")
	cmd.Flags().StringSliceVar(&f.peers, "peers", nil, "--node-addr of all nodes, this one too; three or five (default none: a cluster of one node)")
	cmd.Flags().StringVar(&f.nats, "nats", "", "URL of an existing NATS with JetStream, instead of the one inside searchd")
	cmd.Flags().StringVar(&f.creds, "nats-creds", "", "credentials file for --nats")
	cmd.Flags().StringVar(&f.cert, "node-cert", "", "certificate of this node in PEM, with which nodes prove who they are; needed unless all of --peers are loopback addresses")
	cmd.Flags().StringVar(&f.key, "node-key", "", "key of --node-cert")
	cmd.Flags().StringVar(&f.ca, "node-ca", "", "certificate of the authority that signs those of all nodes")
	cmd.Flags().IntVar(&f.partitions, "partitions", 8, "partitions of new collections of the cluster")
	cmd.Flags().IntVar(&f.copies, "copies", 2, "nodes that search each partition; the same on all nodes")
}

// check refuses flags of a cluster without its name.
func (f *clusterFlags) check(cmd *cobra.Command) error {
	if f.name != "" {
		return nil
	}
	for _, name := range []string{"node-name", "node-addr", "peers", "nats", "nats-creds", "node-cert", "node-key", "node-ca", "partitions", "copies"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s: name the cluster, too: --cluster NAME", name)
		}
	}
	return nil
}

// open opens a data folder as a node of the cluster, for an engine with the options so, which are
// those of a single server until then; without a cluster it does nothing.
func (f *clusterFlags) open(ctx context.Context, data string, so *search.Options) (*cluster.Backend, error) {
	if f.name == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(data, "searchd.db")); err == nil {
		return nil, fmt.Errorf("--data: %s is the data folder of a single server: give the node a folder of its own", data)
	}
	if _, err := os.Stat(filepath.Join(data, "replicas")); err != nil {
		if err := command.CheckDataFolder(data); err != nil {
			return nil, err
		}
	}
	b, err := cluster.Open(ctx, data, cluster.Options{
		Cluster: f.name, Node: f.node, Listen: f.addr, Peers: f.peers, NATS: f.nats, Credentials: f.creds, Partitions: f.partitions, Copies: f.copies,
		Security: cluster.Security{Certificate: f.cert, Key: f.key, Authority: f.ca},
		Embedded: embedded.Options{Notice: so.Notice, Alarm: so.Alarm},
		Tracer:   so.Tracer,
	})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", f.name, err)
	}
	so.Backend = b
	return b, nil
}

func newClusterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cluster", Short: "Show, drain and remove the nodes of a cluster"}
	cmd.AddCommand(newClusterStatusCommand(), newClusterDrainCommand(), newClusterRemoveCommand())
	return cmd
}

// openNode returns a client of the node that --server names.
func (f *serverFlags) openNode() (*client.Client, error) {
	if f.server == "" {
		return nil, errors.New("name a node: --server URL, or SEARCHD_SERVER in the environment")
	}
	return openServer(f.server, f.key)
}

func newClusterStatusCommand() *cobra.Command {
	var f serverFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show the nodes and partitions of a cluster, as one of its nodes sees them",
		Long: `Exits with 0 if every partition is served by all nodes that should and its log takes writes, and with 1 otherwise.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.openNode()
			if err != nil {
				return err
			}
			s, err := c.ClusterStatus(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				err = e.Encode(s)
			} else {
				err = printCluster(cmd.OutOrStdout(), s)
			}
			if n := lacking(s); err == nil && n > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d partitions are not served by all nodes that should, or their log takes no writes\n", n, len(s.Partitions))
				return command.ErrSome
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// lacking returns the number of partitions that lack a node or a leader.
func lacking(s *client.Cluster) (n int) {
	for _, p := range s.Partitions {
		if p.Leader == "" || p.Fault != "" || slices.ContainsFunc(p.Placed, func(node string) bool { return !slices.Contains(p.Serving, node) }) {
			n++
		}
	}
	return n
}

// printCluster prints the nodes of a cluster, and the partitions of its collections.
func printCluster(w io.Writer, s *client.Cluster) error {
	contact := ""
	if !s.InContact {
		contact = ", not in contact with a majority of the nodes"
	}
	fmt.Fprintf(w, "cluster %s as node %s sees it%s\n\n", s.Cluster, s.Node, contact)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tSTATE\tPARTITIONS")
	for _, n := range s.Nodes {
		fmt.Fprintf(t, "%s\t%s\t%d\n", n.Name, n.State, n.Serving)
	}
	fmt.Fprintln(t, "\nCOLLECTION\tPARTITION\tSERVED BY\tSHOULD BE\tLEADER\tLAST")
	for _, p := range s.Partitions {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%d\n", p.Collection, p.Partition, strings.Join(p.Serving, ","), strings.Join(p.Placed, ","), cmp.Or(p.Leader, "none"), p.Last)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range s.Partitions {
		if p.Fault != "" {
			fmt.Fprintf(w, "\nThe log of partition %d of %s takes no writes: %s\n", p.Partition, p.Collection, p.Fault)
		}
	}
	return nil
}
