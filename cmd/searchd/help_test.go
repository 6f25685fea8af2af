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
