package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"searchd/access"
)

// adminKeyEnv holds a key that may do everything. It has no flag: a command line can be read by everybody on the machine.
const adminKeyEnv = "SEARCHD_ADMIN_KEY"

// guardFlags say who may send requests.
type guardFlags struct {
	insecure, requireKey bool
}

func (f *guardFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.requireKey, "require-key", false, "do not start without an API key, on loopback too")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "start without any API key on an address that other machines can reach: everybody may do everything")
}

// errNoKey says why serve does not start.
var errNoKey = errors.New("there is no API key that has not expired")

// keys opens the keys of the vault and refuses what would be open to the world or closed to everybody.
func (f *guardFlags) keys(vault access.Vault, addr net.Addr) (*access.Keyring, error) {
	ring, err := access.Open(vault, access.Options{Admin: os.Getenv(adminKeyEnv), Require: f.requireKey})
	if errors.Is(err, access.ErrShort) {
		return nil, fmt.Errorf("%s: %w", adminKeyEnv, err)
	}
	if err != nil {
		return nil, err
	}
	const next = "make one with `searchd keys create --data DIR --name NAME --scopes all`, or set " + adminKeyEnv
	a, _ := addr.(*net.TCPAddr)
	switch loopback := a != nil && a.IP.IsLoopback(); {
	case ring.Usable():
		return ring, nil
	case f.requireKey:
		return nil, fmt.Errorf("--require-key: %w; %s", errNoKey, next)
	case ring.Guarded():
		return nil, fmt.Errorf("every request needs an API key, but %w; %s", errNoKey, next)
	case !loopback && !f.insecure:
		return nil, fmt.Errorf("--addr %s: other machines can reach it and %w; %s, or start with --insecure", addr, errNoKey, next)
	}
	return ring, nil
}
