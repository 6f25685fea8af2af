package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/internal/version"
	"example.com/searchd/mcp"
	"example.com/searchd/search"
)

func newMCPCommand() *cobra.Command {
	var f engineFlags
	var server, key string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let an assistant search, over the Model Context Protocol on standard input and output",
		Long: `Serves an assistant over the Model Context Protocol: one JSON-RPC message per line, on standard input and output. Assistants and editors start
this command themselves. It lists collections, searches, finds similar documents and reads documents; it changes nothing.

With --data the data folder stays open, and locked, for as long as the assistant runs. With --server any number of assistants can share a running
server, which also answers at POST /mcp.`,
		Example: "  searchd mcp --data data/mine\n  searchd mcp --server http://127.0.0.1:8080",
		Args:    cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&server, "server", "", "URL of a running server, instead of --data")
	cmd.Flags().StringVar(&key, "key", "", "API key of the server")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var e mcp.Engine
		if server != "" {
			c, err := openServer(server, key)
			if err != nil {
				return err
			}
			e = remoteEngine{c}
		} else {
			local, err := f.openToRead(cmd)
			if err != nil {
				return err
			}
			defer local.Close()
			e = local
		}
		if in, ok := cmd.InOrStdin().(*os.File); ok && command.IsTerminal(in) {
			command.Notify(cmd, "this command is for assistants, which start it themselves and speak JSON-RPC; to search, use `searchd query`")
		}
		v, _ := version.Read()
		return mcp.New(e, v).Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
	}
	return cmd
}

// remoteEngine sends queries to a server. Apart from optional numbers, the client's types have the
// JSON form of the engine's.
type remoteEngine struct{ c *client.Client }

// Collections implements mcp.Engine. What the key may use by an alias alone has that name.
func (e remoteEngine) Collections(ctx context.Context) (infos []search.CollectionInfo, err error) {
	list, err := e.c.Collections(ctx)
	if err != nil {
		return nil, remoteServer(err)
	}
	aliases, err := e.c.Aliases(ctx)
	if err != nil {
		return nil, remoteServer(err)
	}
	for _, a := range aliases {
		if slices.ContainsFunc(list, func(c client.Collection) bool { return c.Name == a.Collection }) {
			continue
		}
		if c, err := e.c.Collection(ctx, a.Alias); err == nil { // else it leads elsewhere by now, or to what cannot be searched
			c.Name = a.Alias
			list = append(list, *c)
		}
	}
	return infos, convert(list, &infos)
}

// Search implements mcp.Engine.
func (e remoteEngine) Search(ctx context.Context, collection string, q search.Query) (*search.Response, error) {
	var query client.Query
	if err := convert(q, &query); err != nil {
		return nil, err
	}
	query.Limit, query.Passages, query.NoHighlight = count(q.Limit), count(q.Passages), q.Highlight != nil && !*q.Highlight
	if q.Alpha != nil && *q.Alpha == 0 {
		query.Alpha = -1
	}
	return remoteResponse(e.c.Search(ctx, collection, query))
}

// Similar implements mcp.Engine.
func (e remoteEngine) Similar(ctx context.Context, collection string, q search.Similar) (*search.Response, error) {
	var query client.Similar
	if err := convert(q, &query); err != nil {
		return nil, err
	}
	query.Limit, query.Passages = count(q.Limit), count(q.Passages)
	return remoteResponse(e.c.Similar(ctx, collection, query))
}

// Document implements mcp.Engine.
func (e remoteEngine) Document(ctx context.Context, collection, id string) (*search.StoredDocument, error) {
	d, err := e.c.Document(ctx, collection, id)
	if err != nil {
		return nil, remoteServer(err)
	}
	var out search.StoredDocument
	return &out, convert(d, &out)
}

// count returns the client's form of an optional number: 0 for none, a negative one for 0.
func count(n *int) int {
	switch {
	case n == nil:
		return 0
	case *n == 0:
		return -1
	}
	return *n
}

func remoteResponse(answer *client.Response, err error) (*search.Response, error) {
	if err != nil {
		return nil, remoteServer(err)
	}
	var r search.Response
	return &r, convert(answer, &r)
}

// remoteServer turns an error of the server into one of the engine.
func remoteServer(err error) error {
	var e *client.Error
	switch {
	case !errors.As(err, &e) || e.Detail == "":
		return err
	case e.Code == "collection_not_found":
		return fmt.Errorf("%w%s", search.ErrCollectionNotFound, strings.TrimPrefix(e.Detail, search.ErrCollectionNotFound.Error()))
	case e.Status < 500:
		return errors.New(e.Detail)
	}
	return err
}
