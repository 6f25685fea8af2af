// Package longtest marks the tests that run before a change lands, not after each edit.
package longtest

import (
	"os"
	"testing"
)

// Enabled reports whether LONG_TESTS=1 is set, as .ci/run does.
func Enabled() bool { return os.Getenv("LONG_TESTS") == "1" }

// Skip skips the test unless LONG_TESTS=1.
func Skip(tb testing.TB) {
	tb.Helper()
	if !Enabled() {
		tb.Skip("a long test: set LONG_TESTS=1 to run it")
	}
}
