package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeRefusesBeforeOpening gives serve values that are not allowed: the error names the flag, and no data folder is made.
func TestServeRefusesBeforeOpening(t *testing.T) {
	for flag, want := range map[string]string{
		"--max-conns=-1":     "--max-conns: got -1",
		"--drain-grace=-5s":  "--drain-grace: got -5s",
		"--rate-limit=NaN":   "--rate-limit: got NaN",
		"--rate-burst=-2":    "--rate-burst: got -2",
		"--cors-origin=here": `--cors-origin: got "here"`,
	} {
		data := filepath.Join(t.TempDir(), "data")
		root := newRootCommand()
		root.SetArgs([]string{"serve", "--data", data, "--addr", "127.0.0.1:0", flag})
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flag, err, want)
		}
		if _, err := os.Stat(data); err == nil {
			t.Errorf("%s: the data folder was made", flag)
		}
	}
}

func TestConnsWithin(t *testing.T) {
	for _, tt := range []struct {
		files       uint64
		asked, want int
	}{
		{1024, 512, 512}, {1024, 5000, 768}, {64, 512, 32}, {20, 512, 1}, {1 << 63, 512, 512}, {64, 0, 0},
	} {
		if got := connsWithin(tt.files, tt.asked); got != tt.want {
			t.Errorf("connsWithin(%d, %d) = %d, want %d", tt.files, tt.asked, got, tt.want)
		}
	}
}
