package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/internal/lines"
	"example.com/searchd/models"
)

func newRerankCommand() *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "rerank", Short: "Score pairs from standard input with a cross-encoder or a ColBERT model",
		Long: `Reads a line {"query": "...", "text": "..."} for each pair and writes a line {"score": raw logit, or mean of the best cosines} for each, in order.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.addModel(cmd, "cross-encoder or ColBERT model: its folder, or OWNER/NAME of a pulled one; needed") // and no pooling: its head has its own
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.model == "" {
			return errors.New("name a cross-encoder: --model DIR, or OWNER/NAME of a pulled one")
		}
		o, err := f.options()
		if err != nil {
			return err
		}
		m, err := models.Open(f.model, o)
		if err != nil {
			return err
		}
		var scored atomic.Int64
		defer outputProgress(cmd, "pairs", &scored)()
		w := bufio.NewWriter(cmd.OutOrStdout())
		enc := json.NewEncoder(w)
		var pairs [][2]string
		size := 0
		flush := func() error {
			batch := pairs
			pairs, size = nil, 0
			scores, err := m.Score(context.WithoutCancel(cmd.Context()), batch)
			if err != nil {
				return err
			}
			scored.Add(int64(len(batch)))
			for _, s := range scores.Logits {
				if err := enc.Encode(map[string]float32{"score": s}); err != nil {
					return err
				}
			}
			return nil
		}
		err = lines.Read(lines.Until(cmd.Context(), cmd.InOrStdin()), maxInputLine, func(n int, line []byte) error {
			var p struct{ Query, Text *string }
			if err := json.Unmarshal(line, &p); err != nil || p.Query == nil || p.Text == nil {
				return fmt.Errorf("line %d: want {\"query\": ..., \"text\": ...}: %v", n, err)
			}
			pairs, size = append(pairs, [2]string{*p.Query, *p.Text}), size+len(*p.Query)+len(*p.Text)
			if len(pairs) == embedBatch || size >= embedBytes {
				return flush()
			}
			return nil
		})
		if len(pairs) > 0 { // what was read before an error is scored, too
			err = errors.Join(err, flush())
		}
		return errors.Join(err, w.Flush())
	}
	return cmd
}
