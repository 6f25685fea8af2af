package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"searchd/access"
	"searchd/internal/certfile"
)

// adminKeyEnv holds a key that may do everything. It has no flag: a command line can be read by everybody on the machine.
const adminKeyEnv = "SEARCHD_ADMIN_KEY"

// guardFlags say who may send requests, how many, and how they travel.
type guardFlags struct {
	insecure, requireKey bool
	tlsCert, tlsKey      string
	origins              []string
	rate                 float64
	burst                int
}

func (f *guardFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.requireKey, "require-key", false, "do not start without an API key, on loopback too")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "start without any API key on an address that other machines can reach: everybody may do everything")
	cmd.Flags().StringVar(&f.tlsCert, "tls-cert", "", "PEM file of the TLS certificate and its chain; with --tls-key, serves HTTPS. Both are read again when they change")
	cmd.Flags().StringVar(&f.tlsKey, "tls-key", "", "PEM file of the certificate's key")
	cmd.Flags().StringSliceVar(&f.origins, "cors-origin", nil, "origins whose pages may use the server from a browser, e.g. https://app.example.com; \"*\" for all, which needs an API key (default none)")
	cmd.Flags().Float64Var(&f.rate, "rate-limit", 0, "requests per second of a key that names no rate, and of an address without a key (default not bounded)")
	cmd.Flags().IntVar(&f.burst, "rate-burst", 0, "requests at once under --rate-limit (default those of one second)")
}

// errNoKey says why serve does not start.
var errNoKey = errors.New("there is no API key that has not expired")

// keys opens the keys of the vault and refuses what would be open to the world or closed to everybody. Those of a replica are its primary's.
func (f *guardFlags) keys(vault access.Vault, addr net.Addr, replica bool) (*access.Keyring, error) {
	ring, err := access.Open(vault, access.Options{Admin: os.Getenv(adminKeyEnv), Require: f.requireKey})
	if errors.Is(err, access.ErrShort) {
		return nil, fmt.Errorf("%s: %w", adminKeyEnv, err)
	}
	if err != nil {
		return nil, err
	}
	next := "make one with `searchd keys create --data DIR --name NAME --scopes all`, or set " + adminKeyEnv
	if replica { // it takes what the primary has at the first copy, and after that while it serves
		next = "make one on the primary and begin again in an empty folder, or set " + adminKeyEnv
	}
	switch {
	case ring.Usable():
		return ring, nil
	case slices.Contains(f.origins, "*") && !f.insecure:
		return nil, fmt.Errorf("--cors-origin *: every page in a browser that reaches this server could use it, and %w; %s, name the origins, or start with --insecure", errNoKey, next)
	case f.requireKey:
		return nil, fmt.Errorf("--require-key: %w; %s", errNoKey, next)
	case ring.Guarded():
		return nil, fmt.Errorf("every request needs an API key, but %w; %s", errNoKey, next)
	case !isLoopback(addr) && !f.insecure:
		return nil, fmt.Errorf("--addr %s: other machines can reach it and %w; %s, or start with --insecure", addr, errNoKey, next)
	}
	return ring, nil
}

// tls returns how to speak TLS, nil where there is no certificate.
func (f *guardFlags) tls(notice func(string)) (*tls.Config, error) {
	switch {
	case f.tlsCert == "" && f.tlsKey == "":
		return nil, nil
	case f.tlsCert == "" || f.tlsKey == "":
		return nil, errors.New("--tls-cert and --tls-key: name both or none")
	}
	files, err := certfile.Open(f.tlsCert, f.tlsKey, notice)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return files.Config(), nil
}

func isLoopback(addr net.Addr) bool {
	a, ok := addr.(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}
