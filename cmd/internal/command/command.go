// Package command holds what the programs searchd and ingest share: their main function, settings
// and notices.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/searchd/internal/heap"
	"example.com/searchd/internal/settings"
	"example.com/searchd/internal/terminal"
)

// ErrSome ends a program with exit code 1: some items failed, and they have been reported. Every
// other error ends it with exit code 2.
var ErrSome = errors.New("some items failed")

// Main runs the command of a program. The first signal ends its context, a second one the program.
func Main(cmd *cobra.Command) {
	heap.Pace()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return
	case errors.Is(err, ErrSome):
		os.Exit(1)
	}
	Failure(cmd, err)
	os.Exit(2)
}

// reported holds the notices that were written.
var reported sync.Map

// Notify writes a notice to the standard error of a command, whose program it names. Servers,
// documents and file names have a part in notices, so control characters are escaped.
func Notify(cmd *cobra.Command, text string) {
	reported.Store(text, true)
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cmd.Root().Name(), terminal.Printable(text))
}

// Failure writes why a command fails, unless that was a notice before.
func Failure(cmd *cobra.Command, err error) {
	if _, before := reported.Load(err.Error()); !before {
		Notify(cmd, err.Error())
	}
}

// Fill sets the flags of a command that were not given from the environment and the config file.
// It is the PreRunE of commands.
func Fill(cmd *cobra.Command, _ []string) error {
	_, err := settings.Fill(cmd.Flags(), KnownFlags(cmd.Root()))
	return err
}

// KnownFlags returns the names that a config file may have: the flags of all commands of both
// programs.
func KnownFlags(root *cobra.Command) map[string]bool {
	known := map[string]bool{}
	for _, name := range settings.OfSearchd {
		known[name] = true
	}
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		for _, name := range FlagNames(c) {
			known[name] = true
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(root)
	return known
}

// FlagNames returns the names of a command's flags, sorted.
func FlagNames(c *cobra.Command) (names []string) {
	for _, fs := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	return names
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
