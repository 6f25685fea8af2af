package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"example.com/searchd/api"
	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/migrate"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/search"
	"example.com/searchd/store"
)

func newMigrateCommand() *cobra.Command {
	var f modelFlags
	var from, to migrationSide
	var collections []string
	var as string
	cmd := &cobra.Command{
		Use: "migrate --from DIR|URL --to DIR|URL", Short: "Copy collections between data folders, servers and clusters, with their vectors",
		Long: `Copies collections with their settings, documents, passages and vectors, and the aliases that lead to them, between a data folder that no program
uses and a running server, which may be a node of a cluster, or between two of either. Nothing is encoded again. At the end every document is the
same on both sides to the last bit of its vectors, or the command fails and says why. An interrupted run is continued by the same command. What is
written to the source meanwhile is copied, too, as long as there are pauses; until its copy is complete a collection takes no other writes. A
collection that the target has already is left as it is, and an error if it is not the same. API keys are not copied.`,
		Example: "  searchd migrate --from data/mine --to http://127.0.0.1:8081\n  searchd migrate --from http://127.0.0.1:8081 --to data/back",
		Args:    cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&from.place, "from", "", "data folder, or URL of a server, to copy from")
	cmd.Flags().StringVar(&to.place, "to", "", "data folder, or URL of a server, to copy to")
	cmd.Flags().StringVar(&from.key, "from-key", "", "API key of the server --from, with the scope collections:admin")
	cmd.Flags().StringVar(&to.key, "to-key", "", "API key of the server --to, with the scope collections:admin")
	cmd.Flags().StringSliceVar(&collections, "collection", nil, "collections to copy (default all)")
	cmd.Flags().StringVar(&as, "as", "", "name of the copy of the only --collection, without its aliases (default its own)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if from.place == "" || to.place == "" {
			return errors.New("name where to copy from and to: --from DIR|URL --to DIR|URL")
		}
		for _, side := range []struct {
			*migrationSide
			flag      string
			mustExist bool
		}{{&from, "--from", true}, {&to, "--to", false}} {
			done, err := side.open(cmd, f, side.mustExist)
			if err != nil {
				return fmt.Errorf("%s: %w", side.flag, err)
			}
			defer func() { err = errors.Join(err, done()) }()
		}
		var looked, total atomic.Int64
		display := progress.Show(cmd.ErrOrStderr(), func() progress.State {
			return progress.State{Text: "copying documents", Done: looked.Load(), Total: total.Load()}
		})
		defer display.Stop()
		err = migrate.Migration{From: from.client, To: to.client, Collections: collections, As: as,
			Done: func(text string) {
				display.Clear()
				fmt.Fprintln(cmd.OutOrStdout(), text)
			},
			Progress: func(d, n int64) { looked.Store(d); total.Store(n) }}.Run(cmd.Context())
		if ctx := cmd.Context(); err != nil && ctx.Err() != nil {
			return errors.New("stopped; the same command continues")
		}
		return err
	}
	return cmd
}

// migrationSide is a data folder or a server.
type migrationSide struct {
	place, key string
	client     *client.Client
}

// open sets the client; done closes the folder.
func (m *migrationSide) open(cmd *cobra.Command, f modelFlags, mustExist bool) (done func() error, err error) {
	if strings.Contains(m.place, "://") {
		m.client, err = client.New(m.place, client.Options{Key: m.key, Retries: 12}) // a cluster may have to elect leaders
		if err == nil {
			warnAbsent(cmd, m.client)
		}
		return func() error { return nil }, err
	}
	if _, _, err := net.SplitHostPort(m.place); err == nil {
		if _, err := os.Stat(m.place); err != nil {
			return nil, fmt.Errorf("got %q, allowed: a data folder, or the URL of a server, such as http://%s", m.place, m.place)
		}
	}
	if m.key != "" {
		return nil, fmt.Errorf("%s is a folder, which needs no key", m.place)
	}
	ef := engineFlags{modelFlags: f, data: m.place}
	e, err := ef.openWith(cmd.Context(), search.Options{Notice: notices(cmd), NoTasks: mustExist, MustExist: mustExist})
	switch {
	case errors.Is(err, store.ErrNoStore):
		return nil, fmt.Errorf("%s is no data folder", m.place)
	case errors.Is(err, store.ErrLocked):
		return nil, fmt.Errorf("%w; if it is a server, give its URL, such as http://127.0.0.1:8080", errors.Unwrap(err))
	case err != nil:
		return nil, err
	}
	if m.client, err = ownClient(e); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e.Close, nil
}

// ownClient returns a client of an engine of this process.
func ownClient(e *search.Engine) (*client.Client, error) {
	s, err := api.New(api.Options{Engine: e, Inference: e.Inference(), Copies: search.CopiesOf(e), Versions: search.VersionsOf(e), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return client.New("http://127.0.0.1", client.Options{HTTP: &http.Client{Transport: inProcess{s.Handler()}}, Retries: -1})
}

// warnAbsent reports that no server answers yet: the copy tries for two minutes.
func warnAbsent(cmd *cobra.Command, c *client.Client) {
	var answer *client.Error
	if err := c.Ready(cmd.Context()); err != nil && !errors.As(err, &answer) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%v; trying for two minutes\n", err)
	}
}

// inProcess answers requests with a handler of this process.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &recorder{header: http.Header{}, status: http.StatusOK}
	own := r.Clone(r.Context())
	if own.Body == nil {
		own.Body = http.NoBody
	}
	own.RemoteAddr, own.RequestURI = "127.0.0.1:1", r.URL.RequestURI()
	t.handler.ServeHTTP(a, own)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r}, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *recorder) Header() http.Header         { return a.header }
func (a *recorder) WriteHeader(status int)      { a.status = status }
func (a *recorder) Write(b []byte) (int, error) { return a.body.Write(b) }
