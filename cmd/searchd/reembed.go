package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"searchd/search"
)

func newReembedCommand() *cobra.Command {
	var f engineFlags
	var collection string
	var keep bool
	cmd := &cobra.Command{
		Use: "reembed --data DIR --model NAME|DIR", Short: "Give a collection the vectors of another checkpoint",
		Long: `Encodes every document of a collection with the checkpoint of --model, and puts the new vectors in the place of the old in one
transaction. Interrupted, it leaves the collection as it was, and goes on where it stopped when it is run again. For a folder that a server
has open: POST /v1/collections/COLLECTION/reembed, which goes on answering searches meanwhile.`,
		Args: cobra.NoArgs, PreRunE: fillSettings,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&collection, "collection", "", "which one (default: docs, or the one there is)")
	cmd.Flags().BoolVar(&keep, "keep-old", false, "keep the collection as it was, as COLLECTION-old")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		e, err := f.openWith(cmd.Context(), true, search.Options{Notice: tell})
		if err != nil {
			return err
		}
		defer e.Close()
		name, err := onlyCollection(cmd, e, collection)
		if err != nil {
			return err
		}
		t, err := e.Reembed(cmd.Context(), name, search.ReembedOptions{KeepOld: keep})
		if errors.Is(err, search.ErrTaskRunning) { // of an earlier run, which goes on
			t, err = unfinishedTask(cmd, e, name)
		}
		if err != nil {
			return err
		}
		return watchTask(cmd, e, t)
	}
	return cmd
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

// watchTask shows how far a task is until it has ended.
func watchTask(cmd *cobra.Command, e *search.Engine, t search.Task) (err error) {
	for said := time.Now(); !t.Ended(); {
		select {
		case <-cmd.Context().Done():
			return fmt.Errorf("stopped at %d of %d documents; run it again to go on", t.Done, t.Total)
		case <-time.After(100 * time.Millisecond):
		}
		if t, err = e.Task(cmd.Context(), t.ID); err != nil {
			return err
		}
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d documents\n", t.Done, t.Total)
		}
	}
	if t.State != search.TaskSucceeded {
		return fmt.Errorf("%s: %s", t.State, t.Error)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d documents re-embedded: %s\n", t.Done, t.Result)
	return nil
}
