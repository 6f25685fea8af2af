package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestShowProgress shows what a long command has done: lines where nobody watches, one line on a
// terminal, nothing once it is stopped.
func TestShowProgress(t *testing.T) {
	for name, c := range map[string]struct {
		show func(w *strings.Builder, text func() string) func()
		want string
	}{
		"lines": {func(w *strings.Builder, text func() string) func() { return showProgress(w, text) }, "0 done, 10s\n5 done, 20s\n"},
		"terminal": {func(w *strings.Builder, text func() string) func() { return showEvery(w, tellEvery, "<", "\r", text) },
			"<0 done, 10s\r<5 done, 20s\r<"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w strings.Builder
				var n atomic.Int64
				stop := c.show(&w, func() string { return fmt.Sprintf("%d done", n.Load()) })
				time.Sleep(tellEvery + time.Second)
				n.Store(5)
				time.Sleep(tellEvery)
				stop()
				stop()
				time.Sleep(tellEvery)
				if w.String() != c.want {
					t.Errorf("got %q, want %q", w.String(), c.want)
				}
			})
		})
	}
}
