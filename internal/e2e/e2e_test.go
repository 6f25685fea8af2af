// Package e2e tests the whole path, from files to answers, with the programs as they are shipped.
package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"example.com/searchd/extract/pdf"
)

// root is the repository's, from here.
const root = "../.."

// programs builds the commands once and returns the folder that holds them.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "searchd-e2e-")
	if err != nil {
		return "", err
	}
	endPrograms = func() error { return os.RemoveAll(dir) }
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return dir, nil
})

var endPrograms = func() error { return nil }

// pdfReader is that of all servers of tests, so that PDFium is compiled once.
var pdfReader pdf.Reader

// TestMain removes the programs at the end and ends the browser.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "searchd-e2e-home-") // the data folder of commands without --data
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_DATA_HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	if err := errors.Join(endPrograms(), endBrowser()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// command returns a call of one of the programs.
func command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), filepath.Join(dir, name), args...)
}

// run runs a program and returns its exit code and what it wrote.
func run(t testing.TB, stdin, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewBufferString(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// mustRun is run for what has to end with code 0.
func mustRun(t testing.TB, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t, "", name, args...)
	if code != 0 {
		t.Fatalf("%s %v: exit code %d\n%s%s", name, args, code, stdout, stderr)
	}
	return stdout, stderr
}
