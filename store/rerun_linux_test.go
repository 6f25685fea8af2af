package store

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// rerun runs one test in a process of its own with another environment.
func rerun(t *testing.T, name string, env ...string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(exe, "-test.run", "^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// ignoreFileSizeSignal makes a write beyond the limit an error instead of a signal.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
