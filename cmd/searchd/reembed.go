package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"example.com/searchd/api"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/progress"
	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
)

func newReembedCommand() *cobra.Command {
	var f engineFlags
	var collection, file string
	var keep bool
	cmd := &cobra.Command{
		Use: "reembed --model NAME|DIR | --settings FILE", Short: "Give a collection the vectors of another checkpoint, or other settings",
		Long: `Encodes every document of a collection with the checkpoint of --model and replaces the old vectors in one transaction. With --settings the
collection is rebuilt with these settings, which replace all of its old ones, and with its own checkpoint unless --model names another; passages
whose text stays the same then keep their vectors. An interrupted run leaves the collection as it was, and the next run continues it. For a folder
that a server has open use POST /v1/collections/COLLECTION/reembed; the server goes on answering searches.`,
		Args: cobra.NoArgs, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&collection, "collection", "", "collection (default: docs, or the only one)")
	cmd.Flags().StringVar(&file, "settings", "", "file with all settings of the collection as a JSON object; - for standard input (default: unchanged)")
	cmd.Flags().BoolVar(&keep, "keep-old", false, "keep the previous collection as COLLECTION-old")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o := search.ReembedOptions{KeepOld: keep}
		if file != "" {
			var err error
			if o.Settings, err = readSettings(cmd, file); err != nil {
				return fmt.Errorf("--settings: %w", err)
			}
			if cmd.Flags().Changed("model") || cmd.Flags().Changed("pooling") {
				o.Model = cmp.Or(f.model, models.Embedded)
				if _, err := models.ParseRepo(o.Model); err != nil && o.Model != models.Embedded {
					if o.Model, err = filepath.Abs(o.Model); err != nil { // as the engine names its own
						return fmt.Errorf("--model: %w", err)
					}
				}
			}
			if f.precision != encoder.Auto.String() {
				o.Precision = f.precision
			}
		}
		if err := command.UseDefaultData(cmd, &f.data); err != nil {
			return err
		}
		e, err := f.openWith(cmd.Context(), search.Options{Notice: notices(cmd), MustExist: true})
		if err != nil {
			return err
		}
		defer e.Close()
		name, err := folderCollection(cmd.Context(), e, collection)
		if err != nil {
			return err
		}
		t, err := e.Reembed(cmd.Context(), name, o)
		if errors.Is(err, search.ErrTaskRunning) { // of an earlier run, which goes on
			command.Notify(cmd, "continuing an earlier run, with its options")
			t, err = unfinishedTask(cmd, e, name)
		}
		if err != nil {
			return err
		}
		return watchTask(cmd, e, t)
	}
	return cmd
}

// readSettings reads the settings of a collection, and nothing else, from a file or standard input.
func readSettings(cmd *cobra.Command, path string) (*search.Settings, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	const most = 1 << 20 // as in a request
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, err
	}
	if len(b) > most {
		return nil, fmt.Errorf("%s: longer than the %d bytes that are allowed", path, most)
	}
	s, err := api.ParseSettings(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "body: "))
	}
	return &s, nil
}

func unfinishedTask(cmd *cobra.Command, e *search.Engine, collection string) (search.Task, error) {
	list, err := e.Tasks(cmd.Context())
	for _, t := range list {
		if t.Collection == collection && t.Kind == search.TaskReembed && !t.Ended() {
			return t, err
		}
	}
	return search.Task{}, errors.Join(err, errors.New("the task ended meanwhile; run it again"))
}

// watchTask shows the progress of a task until it has ended.
func watchTask(cmd *cobra.Command, e *search.Engine, t search.Task) (err error) {
	var done atomic.Int64
	total := t.Total
	display := progress.Show(cmd.ErrOrStderr(), func() progress.State {
		return progress.State{Text: "encoding documents", Done: done.Load(), Total: total}
	})
	defer display.Stop()
	for !t.Ended() {
		select {
		case <-cmd.Context().Done():
			return fmt.Errorf("stopped at %d of %d documents; run it again to continue", t.Done, t.Total)
		case <-time.After(100 * time.Millisecond):
		}
		if t, err = e.Task(cmd.Context(), t.ID); err != nil {
			return err
		}
		done.Store(t.Done)
	}
	display.Stop()
	if t.State != search.TaskSucceeded {
		return fmt.Errorf("%s: %s", t.State, t.Error)
	}
	var r struct {
		Model            search.ModelInfo
		Passages, Reused int
		Kept             string
	}
	if err := json.Unmarshal(t.Result, &r); err != nil {
		return err
	}
	text := fmt.Sprintf("%d documents re-embedded with %s: %d passages", t.Done, r.Model.Name, r.Passages)
	if r.Reused > 0 {
		text += fmt.Sprintf(", %d of them not encoded again", r.Reused)
	}
	if r.Kept != "" {
		text += "; the previous collection is " + r.Kept
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}
