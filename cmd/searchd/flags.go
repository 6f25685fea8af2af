package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/encoder"
	"example.com/searchd/internal/settings"
	"example.com/searchd/search"
	"example.com/searchd/store"
)

// modelFlags choose a checkpoint and how it runs.
type modelFlags struct {
	model, pooling, precision string
}

func (f *modelFlags) add(cmd *cobra.Command) {
	f.addModel(cmd, "checkpoint: a folder in the sentence-transformers layout, a file .gguf, OWNER/NAME of a pulled one, or \"embedded\" (default)")
	cmd.Flags().StringVar(&f.pooling, "pooling", "", "instead of the checkpoint's: cls, mean, max, mean_sqrt_len, weightedmean, lasttoken, joined by '+'")
}

// addModel adds the flags that checkpoints without a pooling have, too.
func (f *modelFlags) addModel(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.model, "model", "", usage)
	f.addPrecision(cmd)
}

func (f *modelFlags) addPrecision(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.precision, "precision", encoder.Auto.String(), "arithmetic of the linear layers: f32, int8, or auto: int8 for the embedded checkpoint and where searchd.json of another says so, else f32")
	settings.Choices(cmd, "precision", "auto", "f32", "int8")
}

func (f *modelFlags) options() (encoder.Options, error) {
	p, err := encoder.ParsePrecision(f.precision)
	if err != nil {
		return encoder.Options{}, fmt.Errorf("--precision: %w", err)
	}
	return encoder.Options{Pooling: f.pooling, Precision: p}, nil
}

// engineFlags open an engine over a data folder.
type engineFlags struct {
	modelFlags
	data string
}

func (f *engineFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.data, "data", "", dataUsage)
	settings.Folders(cmd, "data")
	f.modelFlags.add(cmd)
}

// openToRead opens the engine over an existing data folder, for a command that does not change what
// is stored.
func (f *engineFlags) openToRead(cmd *cobra.Command) (*search.Engine, error) {
	if err := command.UseDefaultData(cmd, &f.data); err != nil {
		return nil, err
	}
	return f.openWith(cmd.Context(), search.Options{Notice: notices(cmd), NoTasks: true, MustExist: true})
}

// openWith opens the engine, until ctx ends.
func (f *engineFlags) openWith(ctx context.Context, so search.Options) (*search.Engine, error) {
	if !so.MustExist && so.Backend == nil {
		if err := command.CheckDataFolder(f.data); err != nil {
			return nil, err
		}
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	so.Model, so.Encoder = f.model, o
	e, err := search.OpenContext(ctx, f.data, so)
	return e, f.notOpened(err)
}

// dataUsage is the usage of --data.
const dataUsage = "data folder (default: searchd in your data folder, such as ~/.local/share/searchd)"

// openServer returns a client with few retries, for interactive commands.
func openServer(server, key string) (*client.Client, error) {
	return client.New(server, client.Options{Key: key, Retries: 2})
}

// inUse adds advice to the error that another program has the data folder open.
func inUse(err error) error {
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("%w; one program at a time: if it is a server, use --server, such as --server 127.0.0.1:8080", err)
	}
	return err
}

// noData is store.ErrNoStore in words for who names a folder.
type noData struct{ text string }

func (e noData) Error() string { return e.text }
func (e noData) Unwrap() error { return store.ErrNoStore }

// notOpened adds advice to the error that a data folder is in use or missing.
func (f *engineFlags) notOpened(err error) error {
	if errors.Is(err, store.ErrNoStore) {
		if files, _ := os.ReadDir(f.data); len(files) > 0 {
			return noData{fmt.Sprintf("--data: %s is not a data folder; `searchd ingest --data DIR PATH` makes one", f.data)}
		}
		return noData{fmt.Sprintf("--data: no documents yet in %s; `searchd ingest --data %s PATH` reads some", f.data, f.data)}
	}
	return inUse(err)
}

// notices returns what writes notices of the engine.
func notices(cmd *cobra.Command) func(string) {
	return func(text string) { command.Notify(cmd, text) }
}

// logger returns a logger to standard error.
func logger(format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, nil)), nil
	}
	return nil, fmt.Errorf("--log-format: got %q, allowed: text, json", format)
}

// onlyCollection returns the named collection of a data folder or a server; without a name the
// default one, or else the one there is.
func onlyCollection(name, where string, find func(name string) error, list func() ([]string, error)) (string, error) {
	asked := cmp.Or(name, defaultCollection)
	err := find(asked)
	if !errors.Is(err, search.ErrCollectionNotFound) && !errors.Is(err, client.ErrNotFound) && (name != "" || !errors.Is(err, client.ErrDenied)) {
		return asked, nil // with another error it will fail, too
	}
	names, err := list()
	switch {
	case err != nil && name != "":
		return name, nil
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", fmt.Errorf("%s holds no collection yet; `ingest` makes one", where)
	case name != "":
		return "", fmt.Errorf("--collection: %s has no %q, but %s", where, name, someOf(names))
	case len(names) > 1:
		return "", fmt.Errorf("--collection: %s has %d, name one: %s", where, len(names), someOf(names))
	}
	return names[0], nil
}

// someOf lists at most ten names.
func someOf(names []string) string {
	if n := len(names); n > 10 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:10], ", "), n-10)
	}
	return strings.Join(names, ", ")
}

// folderCollection is onlyCollection of a data folder.
func folderCollection(ctx context.Context, e *search.Engine, name string) (string, error) {
	find := func(name string) error { _, err := e.Collection(ctx, name); return err }
	return onlyCollection(name, "the data folder", find, func() (names []string, err error) {
		list, err := e.Collections(ctx)
		for _, c := range list {
			names = append(names, c.Name)
		}
		return names, err
	})
}

// defaultCollection is the collection of ingest without --collection.
const defaultCollection = "docs"
