// Command searchd serves a search engine and operates its data.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"searchd/internal/heap"
)

// Exit codes.
const (
	exitDone   = 0
	exitSome   = 1 // some items failed
	exitFailed = 2 // could not run
)

// errSome ends a command with exitSome; what failed has been told already.
var errSome = errors.New("some items failed")

func main() {
	heap.Pace()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	err := newRootCommand().ExecuteContext(ctx)
	switch {
	case err == nil:
		return
	case errors.Is(err, errSome):
		os.Exit(exitSome)
	default:
		tellFailure(err)
		os.Exit(exitFailed)
	}
}
