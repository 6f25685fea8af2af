package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

// How often it is told how far a long command is.
const (
	tellEvery = 10 * time.Second // a line of its own
	drawEvery = time.Second      // the same line of a terminal
)

// showProgress tells on w what text returns, and how long it has taken, until stop is called: on a
// terminal in a line that changes, elsewhere in a line every ten seconds. text is called from
// another goroutine. What is written meanwhile begins where the line of a terminal does.
func showProgress(w io.Writer, text func() string) (stop func()) {
	every, begin, end := tellEvery, "", "\n"
	if isTerminal(w) {
		every, begin, end = drawEvery, "\x1b[K", "\r"
	}
	return showEvery(w, every, begin, end, text)
}

func showEvery(w io.Writer, every time.Duration, begin, end string, text func() string) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		for began := time.Now(); ; {
			select {
			case <-quit:
				fmt.Fprint(w, begin)
				return
			case <-ticks.C:
				fmt.Fprintf(w, "%s%s, %v%s", begin, text(), time.Since(began).Round(time.Second), end)
			}
		}
	})
	return sync.OnceFunc(func() {
		close(quit)
		wg.Wait()
	})
}

// doing is what showProgress tells of work whose parts are not counted.
func doing(what string) func() string { return func() string { return what } }

// moved is what showProgress tells of a file that is read or written from its beginning.
func moved(file *os.File, done string) func() string {
	return func() string {
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil { // a pipe
			return "some " + done
		}
		return megabytes(at) + " " + done
	}
}

// outputProgress is showProgress for a command that writes its output as it goes: on a terminal
// that is seen.
func outputProgress(cmd *cobra.Command, unit string, done *atomic.Int64) (stop func()) {
	if isTerminal(cmd.OutOrStdout()) {
		return func() {}
	}
	return showProgress(cmd.ErrOrStderr(), func() string { return fmt.Sprintf("%d %s", done.Load(), unit) })
}
