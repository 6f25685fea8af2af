package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/access"
	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/index/filter"
	"example.com/searchd/internal/terminal"
	"example.com/searchd/search/embedded"
)

func newKeysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Create, list and revoke API keys, sign tenant tokens",
		Long: `Works on a data folder that no process uses (--data), or on a running server (--server, with --key or SEARCHD_KEY).
A key is shown once, when it is made; only its SHA-256 is kept.`,
	}
	cmd.AddCommand(newKeysCreateCommand(), newKeysListCommand(), newKeysRevokeCommand(), newKeysTokenCommand())
	return cmd
}

// keyring is where keys are: a data folder or a server.
type keyring interface {
	create(context.Context, access.Spec) (access.Key, string, error)
	list(context.Context) ([]access.Key, error)
	revoke(ctx context.Context, id string) error
}

// keysFlags name the data folder or server with the keys.
type keysFlags struct {
	data, server, key string
}

func (f *keysFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.data, "data", "", dataUsage)
	cmd.Flags().StringVar(&f.server, "server", "", "URL of a running server, instead of --data")
	cmd.Flags().StringVar(&f.key, "key", "", "API key of the server, with the scope keys:admin")
}

// with runs fn on the keys.
func (f *keysFlags) with(mustExist bool, fn func(keyring) error) error {
	if f.server != "" {
		c, err := openServer(f.server, f.key)
		if err != nil {
			return err
		}
		return fn(remoteKeys{c})
	}
	if !mustExist {
		if err := command.CheckDataFolder(f.data); err != nil {
			return err
		}
	}
	vault, err := embedded.OpenVault(f.data, mustExist)
	if err != nil {
		return fmt.Errorf("%w; for a running server use --server URL", err)
	}
	ring, err := access.Open(vault, access.Options{})
	if err == nil {
		err = fn(folderKeys{ring})
	}
	return errors.Join(err, vault.Close())
}

// useDefaultData sets the data folder where neither it nor a server is named.
func (f *keysFlags) useDefaultData(cmd *cobra.Command) error {
	if f.server != "" {
		return nil
	}
	return command.UseDefaultData(cmd, &f.data)
}

// isNew reports whether there is no data folder yet where one is named.
func (f *keysFlags) isNew() bool {
	if f.data == "" || f.server != "" {
		return false
	}
	_, err := os.Stat(filepath.Join(f.data, "searchd.db"))
	return errors.Is(err, fs.ErrNotExist)
}

type folderKeys struct{ ring *access.Keyring }

func (k folderKeys) create(ctx context.Context, s access.Spec) (access.Key, string, error) {
	return k.ring.Create(ctx, s)
}
func (k folderKeys) list(context.Context) ([]access.Key, error)  { return k.ring.Keys(), nil }
func (k folderKeys) revoke(ctx context.Context, id string) error { return k.ring.Revoke(ctx, id) }

// remoteKeys are those of a server. They have the JSON form of ours.
type remoteKeys struct{ c *client.Client }

func (k remoteKeys) create(ctx context.Context, s access.Spec) (key access.Key, token string, err error) {
	var spec client.KeySpec
	if err = convert(s, &spec); err != nil {
		return key, "", err
	}
	made, err := k.c.CreateKey(ctx, spec)
	if err != nil {
		return key, "", err
	}
	return key, made.Token, convert(made.Key, &key)
}

func (k remoteKeys) list(ctx context.Context) (keys []access.Key, err error) {
	found, err := k.c.Keys(ctx)
	if err != nil {
		return nil, err
	}
	return keys, convert(found, &keys)
}

func (k remoteKeys) revoke(ctx context.Context, id string) error { return k.c.RevokeKey(ctx, id) }

func newKeysCreateCommand() *cobra.Command {
	var f keysFlags
	var s access.Spec
	var scopes []string
	var expires string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "create", Short: "Create a key and print it",
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&s.Name, "name", "", "what it is for")
	cmd.Flags().StringSliceVar(&scopes, "scopes", nil, "all, or some of "+strings.Join(access.ScopeNames(), ","))
	cmd.Flags().StringSliceVar(&s.Collections, "collections", nil, "names of collections, '*' for any text, e.g. docs,team-* (default: all)")
	cmd.Flags().StringVar(&expires, "expires", "", "a time from now (90d, 12h) or a date (2030-01-31, 2030-01-31T12:00:00Z); default never")
	cmd.Flags().Float64Var(&s.Rate, "rate", 0, "requests per second (default: the server's)")
	cmd.Flags().IntVar(&s.Burst, "burst", 0, "requests at once (default: those of one second)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the key with its permissions as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if s.Scopes, err = access.ParseScopes(scopes); err != nil {
			return fmt.Errorf("--%w", err)
		}
		if s.Expires, err = parseExpiry(expires, time.Now()); err != nil {
			return err
		}
		if err := s.Check(time.Now()); err != nil { // before a folder is made for it
			return err
		}
		if err := f.useDefaultData(cmd); err != nil {
			return err
		}
		isNew := f.isNew()
		return f.with(false, func(k keyring) error {
			key, token, err := k.create(cmd.Context(), s)
			if err != nil {
				return err
			}
			if isNew {
				fmt.Fprintln(cmd.ErrOrStderr(), "searchd: new data folder", f.data)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
					access.Key
					Token string `json:"key"`
				}{key, token})
			}
			fmt.Fprintf(os.Stderr, "key %s (%s): %s; keep it, it is not shown again\n", key.ID, key.Name, key.Scopes)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		})
	}
	return cmd
}

func newKeysTokenCommand() *cobra.Command {
	var key, expires string
	var t client.TenantToken
	cmd := &cobra.Command{
		Use: "token", Short: "Sign a tenant token and print it",
		Long: `A tenant token searches on behalf of the key that signs it, but finds only the documents that pass its filter.
It is stored nowhere and ends when it expires or when the key is revoked. No server is asked.`,
		Example: "  searchd keys token --filter \"tenant = 'acme'\" --collections docs --expires 1h",
		Args:    cobra.NoArgs, PreRunE: command.Fill,
	}
	cmd.Flags().StringVar(&key, "key", "", "API key that signs, with the scope search")
	cmd.Flags().StringVar(&t.Filter, "filter", "", "documents that it finds (default: all)")
	cmd.Flags().StringSliceVar(&t.Collections, "collections", nil, "names of collections, '*' for any text (default: those of the key)")
	cmd.Flags().StringVar(&expires, "expires", "1h", "a time from now (90d, 12h) or a date (2030-01-31, 2030-01-31T12:00:00Z)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := filter.Parse(t.Filter); cmd.Flags().Changed("filter") && err != nil {
			return fmt.Errorf("--filter: %w", err)
		}
		at, err := parseExpiry(expires, time.Now())
		if err != nil {
			return err
		}
		if at == nil {
			return errors.New("--expires: got nothing, allowed: a time from now such as 90d or 12h, or a date such as 2030-01-31")
		}
		t.Expires = *at
		token, err := client.SignTenantToken(key, t)
		if err != nil {
			return fmt.Errorf("--key: %w", err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
		return err
	}
	return cmd
}

// parseExpiry reads a span from now or a date; an empty text means never.
func parseExpiry(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return &t, nil
		}
	}
	span, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		span = time.Duration(min(n, 100*366)) * 24 * time.Hour
	}
	if err != nil || span <= 0 {
		return nil, fmt.Errorf("--expires: got %q, allowed: a time from now such as 90d or 12h, or a date such as 2030-01-31", text)
	}
	t := now.Add(span)
	return &t, nil
}

func newKeysListCommand() *cobra.Command {
	var f keysFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the keys, without their secrets",
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.useDefaultData(cmd); err != nil {
			return err
		}
		return f.with(true, func(k keyring) error {
			keys, err := k.list(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(keys)
			}
			return printKeys(cmd.OutOrStdout(), keys)
		})
	}
	return cmd
}

func printKeys(w io.Writer, keys []access.Key) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tSCOPES\tCOLLECTIONS\tCREATED\tMADE BY\tEXPIRES\tLAST USED")
	for _, k := range keys {
		cells := []string{k.ID, k.Name, strings.Join(k.Scopes.Names(), ","), strings.Join(k.Collections, ","), day(&k.Created), cmp.Or(k.MadeBy, "-"), day(k.Expires), day(k.LastUsed)}
		for i, text := range cells { // of a server, perhaps
			cells[i] = terminal.Printable(oneLine(text))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// day returns the date of t, or "never".
func day(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Format(time.DateOnly)
}

func newKeysRevokeCommand() *cobra.Command {
	var f keysFlags
	cmd := &cobra.Command{
		Use: "revoke ID...", Short: "Revoke keys",
		Args: cobra.MinimumNArgs(1), PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if err := f.useDefaultData(cmd); err != nil {
			return err
		}
		return f.with(true, func(k keyring) error {
			for _, id := range ids {
				if err := k.revoke(cmd.Context(), id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmd
}
