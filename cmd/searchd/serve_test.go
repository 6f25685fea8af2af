package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/internal/settings"
)

// TestServeRefusesBeforeOpening gives serve values that are not allowed: the error names the flag,
// and no data folder is made.
func TestServeRefusesBeforeOpening(t *testing.T) {
	for flag, want := range map[string]string{
		"--max-conns=-1":      "--max-conns: got -1",
		"--max-collections=0": "--max-collections: got 0",
		"--drain-grace=-5s":   "--drain-grace: got -5s",
		"--rate-limit=NaN":    "--rate-limit: got NaN",
		"--rate-burst=-2":     "--rate-burst: got -2",
		"--cors-origin=here":  `--cors-origin: got "here"`,
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

func TestServeWhereTheAddressIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := runCommand(t, "serve", "--data", t.TempDir(), "--addr", l.Addr().String()); err == nil || !strings.Contains(err.Error(), "--addr: ") || !strings.HasSuffix(err.Error(), "or choose another address") {
		t.Errorf("%v, want the way on", err)
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

// TestConfigShowsTheDrainGrace that serve would have at its address.
func TestConfigShowsTheDrainGrace(t *testing.T) {
	for want, args := range map[string][]string{
		`"5s" default`: {"--addr", ":8080"},
		`"0s" default`: {"--addr", "127.0.0.1:8080"},
		`"0s" flag`:    {"--addr", ":8080", "--drain-grace", "0s"},
	} {
		out := strings.Join(strings.Fields(mustCommand(t, append([]string{"config"}, args...)...)), " ")
		if !strings.Contains(out, `drain-grace `+want) {
			t.Errorf("config %q: %s, want drain-grace %s", args, out, want)
		}
	}
}

// TestConfigShowsSecrets as set or not, and never what they are.
func TestConfigShowsSecrets(t *testing.T) {
	t.Setenv(adminKeyEnv, "a-key-that-nobody-sees")
	out := strings.Join(strings.Fields(mustCommand(t, "config")), " ")
	if strings.Contains(out, "nobody") || !strings.Contains(out, `SEARCHD_ADMIN_KEY "(secret)" environment`) {
		t.Errorf("config: %s", out)
	}
}

func TestCollectionsWithinTheOpenFiles(t *testing.T) {
	for _, tt := range []struct {
		files       uint64
		asked, want int
	}{{1 << 63, 10_000, 10_000}, {20_000, 10_000, 5_000}, {1024, 10_000, 256}, {1024, 3, 3}, {2, 10_000, 1}} {
		if got := collectionsWithin(tt.files, tt.asked); got != tt.want {
			t.Errorf("collectionsWithin(%d, %d) = %d, want %d", tt.files, tt.asked, got, tt.want)
		}
	}
}

// TestOneFileForBothPrograms: the settings that ingest takes for searchd's are those of all its
// commands, and its own stop nothing here.
func TestOneFileForBothPrograms(t *testing.T) {
	var have []string
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		have = append(have, command.FlagNames(c)...)
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "ingest" { // which has its own, and cobra's, which reads none
				add(sub)
			}
		}
	}
	add(newRootCommand())
	slices.Sort(have)
	if have = slices.Compact(have); !slices.Equal(have, settings.OfSearchd) {
		t.Errorf("settings.OfSearchd is not the flags of all commands:\n%s\n%s", settings.OfSearchd, have)
	}
	file := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(file, []byte("max-conns = 7\nworkers = 2\npdf-time = 3s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := mustCommand(t, "config", "--config", file); !strings.Contains(out, `"7"`) || strings.Contains(out, "workers") {
		t.Errorf("config: %s", out)
	}
}
