// Command ingest brings documents into a data folder or a running server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"searchd/internal/heap"
	"searchd/internal/terminal"
)

// Exit codes.
const (
	exitSome   = 1 // some items failed
	exitFailed = 2 // could not run
)

// errSome ends the program with exitSome; what failed has been told already.
var errSome = errors.New("some items failed")

// errTold ends the program with exitFailed, like any other error; why has been told when the data
// folder was opened.
var errTold = errors.New("could not run")

func main() {
	heap.Pace()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	err := newCommand().ExecuteContext(ctx)
	switch {
	case err == nil:
		return
	case errors.Is(err, errSome):
		os.Exit(exitSome)
	case errors.Is(err, errTold):
		os.Exit(exitFailed)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "ingest: interrupted; the next run goes on from here")
		os.Exit(exitFailed)
	default:
		fmt.Fprintln(os.Stderr, "ingest:", terminal.Printable(err.Error()))
		os.Exit(exitFailed)
	}
}
