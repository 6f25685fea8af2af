package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/encoder"
	"example.com/searchd/models"
)

func newModelsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "models", Short: "List, describe, pull, remove and compare checkpoints"}
	cmd.AddCommand(newModelsListCommand(), newModelsInfoCommand(), newModelsPullCommand(), newModelsRemoveCommand(), newModelsCompareCommand())
	return cmd
}

// listedModel is a line of `models list`.
type listedModel struct {
	Name      string `json:"name"`
	Family    string `json:"family"`
	Dimension int    `json:"dimension"`
	Bytes     int64  `json:"bytes"`
	Commit    string `json:"commit,omitempty"`
	Dir       string `json:"dir,omitempty"`
}

func newModelsListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the checkpoints that need no path: the embedded one and those that were pulled", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			builtIn, err := models.EmbeddedManifest()
			if err != nil {
				return err
			}
			list := []listedModel{{Name: models.Embedded, Family: builtIn.Family, Dimension: builtIn.Dimension, Bytes: builtIn.Bytes}}
			pulled, faults := models.List()
			for _, p := range pulled {
				list = append(list, listedModel{p.Repo, p.Family, p.Dimension, p.Bytes, p.Commit, p.Dir})
			}
			if err := writeModels(cmd.OutOrStdout(), list, asJSON); err != nil {
				return err
			}
			if faults != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "searchd:", faults)
				return command.ErrSome
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON array")
	return cmd
}

// writeModels writes a line for each: name, family, dimension, size, commit.
func writeModels(out io.Writer, list []listedModel, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range list {
		commit := "-"
		if m.Commit != "" {
			commit = m.Commit[:min(len(m.Commit), 12)]
		}
		fmt.Fprintf(w, "%s\t%s\t%d dimensions\t%s\t%s\n", m.Name, m.Family, m.Dimension, megabytes(m.Bytes), commit)
	}
	return w.Flush()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func newModelsInfoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "info NAME|DIR", Short: "Describe a checkpoint as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := models.Open(args[0], encoder.Options{})
			if err != nil {
				return err
			}
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			i := m.Info()
			return enc.Encode(struct {
				Name         string             `json:"name"`
				Family       string             `json:"family"`
				Layers       int                `json:"layers"`
				Hidden       int                `json:"hidden_size"`
				Heads        int                `json:"attention_heads"`
				Vocabulary   int                `json:"vocabulary"`
				Parameters   int                `json:"parameters"`
				Dimension    int                `json:"dimension"`
				MaxSeqLength int                `json:"max_seq_length"`
				Pooling      []string           `json:"pooling"`
				Normalize    bool               `json:"normalize"`
				Labels       int                `json:"labels"`
				Embeds       []string           `json:"embeds"`
				Late         bool               `json:"late_interaction,omitempty"`
				Prompts      map[string]string  `json:"prompts"`
				SHA256       string             `json:"sha256"`
				Calibration  models.Calibration `json:"calibration"`
				Card         models.Card        `json:"card"`
			}{m.Name, i.Family, i.Layers, i.Hidden, i.Heads, i.Vocab, i.Parameters, m.Dim(), m.MaxSeqLength(),
				i.Pooling, i.Normalize, i.Labels, m.Embeds(), i.Late, i.Prompts, hex.EncodeToString(i.SHA256[:]), m.Calibration, m.Card})
		},
	}
}

func newModelsPullCommand() *cobra.Command {
	var o models.PullOptions
	var maxSize int64
	cmd := &cobra.Command{
		Use: "pull OWNER/NAME[@REVISION]", Short: "Fetch a checkpoint from a hub",
		Long: `Fetches what the encoder reads of a checkpoint (JSON and safetensors, nothing that can hold code), checks it against the
digests of the hub's list, loads it once and puts it in place. A checkpoint that is not supported is refused before its weights are fetched.
An interrupted pull continues when it is run again. Afterwards --model OWNER/NAME finds it.

The hub is --hub, or else SEARCHD_HUB, HF_ENDPOINT, ` + models.DefaultHub + `. A token for private repositories is read from
HF_TOKEN and sent to the hub only. Checkpoints go to the folder that SEARCHD_MODELS names (default: searchd/models in the user's
cache folder), or to --into.`,
		Args: cobra.ExactArgs(1), PreRunE: command.Fill,
	}
	cmd.Flags().StringVar(&o.Hub, "hub", "", "URL of the hub; http for loopback addresses only (default "+models.DefaultHub+")")
	cmd.Flags().StringVar(&o.Into, "into", "", "folder of the checkpoint (default: in the folder of pulled checkpoints)")
	cmd.Flags().StringSliceVar(&o.CDN, "cdn", nil, "host, with those below it, that the hub may redirect to besides itself; may be repeated")
	cmd.Flags().BoolVar(&o.AllowPrivate, "allow-private", false, "connect to private networks too: the hub is a mirror inside")
	cmd.Flags().Int64Var(&maxSize, "max-size", models.DefaultMaxBytes>>30, "greatest size of all files together, in GiB")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if maxSize < 1 || maxSize > 1<<20 {
			return fmt.Errorf("--max-size: got %d, allowed: 1 to %d (GiB)", maxSize, 1<<20)
		}
		o.MaxBytes = maxSize << 30
		if o.Hub == "" {
			o.Hub = os.Getenv("HF_ENDPOINT")
		}
		o.Token = os.Getenv("HF_TOKEN")
		got, err := pull(cmd, args[0], o)
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w: run it again to continue", err)
		}
		if err != nil {
			return err
		}
		verb := "pulled"
		if !got.New {
			verb = "already there:"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s@%s, %s, %d dimensions, %s, %s\n", verb, got.Repo, got.Commit[:12], got.Family, got.Dimension, megabytes(got.Bytes), got.Dir)
		return nil
	}
	return cmd
}

// pull fetches a checkpoint and shows its progress.
func pull(cmd *cobra.Command, repo string, o models.PullOptions) (*models.Pulled, error) {
	var last atomic.Pointer[models.Progress]
	last.Store(&models.Progress{})
	display := progress.Show(cmd.ErrOrStderr(), func() progress.State {
		p := last.Load()
		return progress.State{Text: fmt.Sprintf("%s: %s", cmp.Or(p.File, repo), megabytes(p.Done)), Done: p.Done, Total: p.Total}
	})
	defer display.Stop()
	o.Progress = func(p models.Progress) {
		switch {
		case p.Waiting:
			display.Clear()
			fmt.Fprintln(cmd.ErrOrStderr(), "another process is pulling this checkpoint; waiting for it")
		case p.Retry != nil:
			display.Clear()
			fmt.Fprintf(cmd.ErrOrStderr(), "trying again: %v\n", p.Retry)
		default:
			last.Store(&p)
		}
	}
	return models.Pull(cmd.Context(), repo, o)
}

func newModelsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm OWNER/NAME", Aliases: []string{"remove"}, Short: "Remove a pulled checkpoint, or what an interrupted pull has left", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return models.Remove(cmd.Context(), args[0]) },
	}
}
