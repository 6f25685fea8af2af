package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOneDefault: no flag's help names two defaults.
func TestOneDefault(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Flags().FlagUsages()) {
			if strings.Count(line, "(default") > 1 {
				t.Errorf("%s: %s", c.CommandPath(), strings.TrimSpace(line))
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand())
}

// TestRerankNeedsModel: the embedded checkpoint is no cross-encoder, so there is none to take.
func TestRerankNeedsModel(t *testing.T) {
	if _, _, err := execute(t, `{"query":"a","text":"b"}`+"\n", "rerank"); err == nil || !strings.Contains(err.Error(), "--model") {
		t.Errorf("rerank without a model: %v, want an error that names --model", err)
	}
}

// TestWrongArguments: a command that is none fails, where it stands behind another one too, and
// wrong arguments are answered with the right ones.
func TestWrongArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"nosuch", `command: got "nosuch", allowed: analytics, backup, `},
		{"querry x", "command: got \"querry\"; did you mean query? `searchd --help` lists all"},
		{"search bread", "did you mean query?"},
		{"start", "did you mean serve?"},
		{"backup", "got 0 arguments; it is called as searchd backup"},
		{"serve --port 80", "unknown flag: --port; did you mean --addr?"},
		{"query --data . x", "--data: . is not a data folder; `searchd ingest --data DIR PATH` makes one"},
		{"query --data none x", "--data: no documents yet in none; `searchd ingest --data none PATH` reads some"},
		{"ingest --format word .", `--format: got "word", allowed: auto, jsonl`},
		{"keys list x", `argument: got "x", allowed: none; it is called as searchd keys list`},
		{"health --addr http://127.0.0.1:8080", `--addr: got "http://127.0.0.1:8080", allowed: HOST:PORT`},
		{"keys revok x", `keys: got "revok"; did you mean revoke?`},
		{"completion nosuch", `completion: got "nosuch", allowed: bash, fish, powershell, zsh`},
		{"completion bash x", "searchd completion bash"},
		{"snapshots delete x", `got "delete", allowed: list, rm`},
		{"models pull", "searchd models pull OWNER/NAME[@REVISION]"},
		{"restore --data x", "searchd restore FILE|s3://BUCKET/KEY --data DIR [flags]"},
		{"check stray", "searchd check"},
		{"help nosuch", `command: got "nosuch", allowed: analytics, backup, `},
		{"help keys revok", "keys: got \"revok\"; did you mean revoke? `searchd keys --help` lists all"},
		{"help serve x", `unknown command "x" for "searchd serve"`},
		{"rerank --model x --pooling max", "unknown flag: --pooling; `searchd rerank --help` names the flags"},
		{"query --colection docs x", "unknown flag: --colection; did you mean --collection?"},
		{"query -bread", "; -- goes before a text that begins with a minus"},
		{"ingest nowhere nothing", "nowhere, nothing: no such file or folder"},
		{"serve --nosuch", "unknown flag: --nosuch; `searchd serve --help` names the flags"},
		{"serve --addr", "flag needs an argument: --addr"},
		{"serve --rate-limit x", `--rate-limit: got "x", allowed: a number`},
		{"query --limit 1.5 x", `--limit: got "1.5", allowed: a whole number`},
		{"health --timeout 3", `--timeout: got "3", allowed: a time such as`},
		{"query --json=maybe x", `--json: got "maybe", allowed: true, false`},
	} {
		if _, _, err := execute(t, "", strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.args, err, c.want)
		}
	}
	if out, _, err := execute(t, "", "keys"); err != nil || !strings.Contains(out, "Available Commands") {
		t.Errorf("keys: %q, %v, want its help", out, err)
	}
	if out, _, err := execute(t, "", "help", "keys", "create"); err != nil || !strings.Contains(out, "searchd keys create") {
		t.Errorf("help keys create: %q, %v, want its help", out, err)
	}
}
