package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"example.com/searchd/internal/settings"
)

func flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.String("config", "", "")
	fs.String("data", "", "")
	fs.String("server", "", "")
	fs.Int("limit", 10, "")
	fs.StringSlice("host-names", nil, "")
	return fs
}

// TestFill wants each value and its origin, or the error.
func TestFill(t *testing.T) {
	known := map[string]bool{"config": true, "data": true, "server": true, "limit": true, "host-names": true, "other": true}
	for _, c := range []struct {
		name       string
		args       []string
		env        map[string]string
		file, want string
	}{
		{"defaults", nil, nil, "", "config= default, data= default, host-names= default, limit=10 default, server= default"},
		{"flag before environment before file", []string{"--limit", "1"}, map[string]string{"LIMIT": "2", "HOST_NAMES": "a,b"}, "limit = 3\nhost-names = c\ndata = d\nother = 1", "data=d FILE:3, host-names=a,b environment, limit=1 flag, server= default"},
		{"comments", nil, nil, "# a comment\n\n  limit =  7  ", "limit=7 FILE:3"},
		{"--server is not contradicted by SEARCHD_DATA", []string{"--server", "u"}, map[string]string{"DATA": "d"}, "", "data= default, host-names= default, limit=10 default, server=u flag"},
		{"--data is not contradicted by a file", []string{"--data", "d"}, nil, "server = u", "data=d flag, host-names= default, limit=10 default, server= default"},
		{"both", []string{"--data", "d", "--server", "u"}, nil, "", "error: --data and --server: name one of them"},
		{"wrong in the environment", nil, map[string]string{"LIMIT": "x"}, "", "error: SEARCHD_LIMIT: got \"x\", allowed: a whole number"},
		{"wrong in the file", nil, nil, "limit = x", "error: FILE:1: limit: got \"x\", allowed: a whole number"},
		{"too large in the file", nil, nil, "limit = 99999999999999999999", "error: FILE:1: limit: got \"99999999999999999999\", allowed: one nearer to 0"},
		{"too small in the environment", nil, map[string]string{"LIMIT": "-99999999999999999999"}, "", "error: SEARCHD_LIMIT: got \"-99999999999999999999\", allowed: one nearer to 0"},
		{"unknown in the file", nil, nil, "nonsense = 1", "error: FILE:1: unknown setting \"nonsense\""},
		{"twice in the file", nil, nil, "limit = 1\nlimit = 2", "error: FILE:2: \"limit\" is set before, at FILE:1"},
		{"a long line", nil, nil, "data = " + strings.Repeat("d", 100_000) + "\nlimit = 3", "limit=3 FILE:2"},
		{"a long file", nil, nil, strings.Repeat("#\n", 1<<19) + "limit = 3", "error: config file: FILE is longer than the 1048576 bytes that are allowed"},
		{"no value in the file", nil, nil, "limit", "error: FILE:1: got \"limit\", want name = value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := flags()
			if err := fs.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			for name, v := range c.env {
				t.Setenv("SEARCHD_"+name, v)
			}
			path := filepath.Join(t.TempDir(), "settings")
			if c.file != "" {
				if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Setenv("SEARCHD_CONFIG", path)
			}
			values, err := settings.Fill(fs, known)
			var got []string
			for _, v := range values {
				got = append(got, v.Name+"="+v.Value+" "+string(v.Origin))
			}
			text := strings.Join(got, ", ")
			if err != nil {
				text = "error: " + err.Error()
			}
			if text = strings.ReplaceAll(text, path, "FILE"); !strings.Contains(text, c.want) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}
