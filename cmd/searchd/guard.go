package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"example.com/searchd/access"
)

// adminKeyEnv holds a key that may do anything. It has no flag, as anyone on the machine can read a
// command line.
const adminKeyEnv = "SEARCHD_ADMIN_KEY"

// guardFlags are about keys, rates and TLS.
type guardFlags struct {
	tlsFlags
	insecure, requireKey bool
	origins              []string
	rate                 float64
	burst                int
}

func (f *guardFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.requireKey, "require-key", false, "do not start without an API key, on loopback too")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "start without an API key on an address that other machines can reach: anyone can read and write everything")
	f.tlsFlags.add(cmd)
	cmd.Flags().StringSliceVar(&f.origins, "cors-origin", nil, "origins whose pages may use the server from a browser, e.g. https://app.example.com; \"*\" for all, which needs an API key, or --insecure (default none)")
	cmd.Flags().Float64Var(&f.rate, "rate-limit", 0, "requests per second of a key that names no rate, and of an address without a key (default not bounded)")
	cmd.Flags().IntVar(&f.burst, "rate-burst", 0, "requests at once under --rate-limit (default those of one second)")
}

// errNoKey is why serve does not start.
var errNoKey = errors.New("there is no API key that has not expired")

// makeKey is advice on how to make a key.
const makeKey = "make one with `searchd keys create --data DIR --name NAME --scopes all`, or set " + adminKeyEnv

// keys opens the keys of the vault. It refuses a server that would be open to the world or that
// nobody could use.
func (f *guardFlags) keys(vault access.Vault, addr net.Addr) (*access.Keyring, error) {
	ring, err := access.Open(vault, access.Options{Admin: os.Getenv(adminKeyEnv), Require: f.requireKey})
	if errors.Is(err, access.ErrShort) {
		return nil, fmt.Errorf("%s: %w", adminKeyEnv, err)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case ring.Usable():
		return ring, nil
	case slices.Contains(f.origins, "*") && !f.insecure:
		return nil, fmt.Errorf("--cors-origin *: every page in a browser that reaches this server could use it, and %w; %s, name the origins, or start with --insecure", errNoKey, makeKey)
	case f.requireKey:
		return nil, fmt.Errorf("--require-key: %w; %s", errNoKey, makeKey)
	case ring.Guarded():
		return nil, fmt.Errorf("every request needs an API key, but %w; %s", errNoKey, makeKey)
	case !isLoopback(addr) && !f.insecure:
		return nil, fmt.Errorf("--addr %s: other machines can reach it and %w; %s, or start with --insecure", addr, errNoKey, makeKey)
	}
	return ring, nil
}

func isLoopback(addr net.Addr) bool {
	a, ok := addr.(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}
