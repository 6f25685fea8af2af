package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"searchd/internal/settings"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/shards"
)

// spreadFlags name the folders of a copy.
type spreadFlags struct{ from, to []string }

func newSpreadCommand() *cobra.Command {
	var f spreadFlags
	cmd := &cobra.Command{
		Use: "spread --from DIR[,DIR...] --to DIR[,DIR...]", Short: "Copy a data folder into those of a cluster, or back",
		Long: `Copies all collections with documents, passages, vectors, settings, aliases and API keys from a data folder, or from all folders of a
cluster, into new folders: several become the shards of a new cluster, in the order in which they are named, and one an ordinary data folder. Nothing is
encoded again. A cluster grows or shrinks in this way, too.

What is copied stays as it is and must not be served meanwhile. All of it is open at once, so that memory for the graphs of both is needed. Interrupted, the
command goes on where it stopped when it is run again; until it is done, the new folders are not served. In the end the documents and passages of each
collection are counted on both sides. Tasks and snapshots are not copied, and documents have new revisions, larger than those before.`,
		Example: `  searchd spread --from /srv/searchd --to /srv/shard1,/srv/shard2,/srv/shard3
  searchd spread --from /srv/shard1,/srv/shard2,/srv/shard3 --to /srv/searchd`,
		Args: cobra.NoArgs, PreRunE: fillSettings,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.spread(cmd) },
	}
	cmd.Flags().StringSliceVar(&f.from, "from", nil, "data folder, or all folders of a cluster in the order of its shards")
	cmd.Flags().StringSliceVar(&f.to, "to", nil, "new data folder, or those of a new cluster")
	settings.Folders(cmd, "from", "to")
	return cmd
}

func (f *spreadFlags) check() error {
	if len(f.from) == 0 || len(f.to) == 0 {
		return errors.New("name what is copied and the new folders: --from DIR --to DIR,DIR")
	}
	if len(f.to) > backend.MaxShards {
		return fmt.Errorf("--to: got %d folders, allowed: at most %d", len(f.to), backend.MaxShards)
	}
	var seen []string
	for _, dir := range slices.Concat(f.from, f.to) {
		path, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if dir == "" || slices.Contains(seen, path) {
			return fmt.Errorf("--from, --to: %q is empty or named twice", dir)
		}
		seen = append(seen, path)
	}
	for _, dir := range f.from {
		if _, err := os.Stat(filepath.Join(dir, "searchd.db")); err != nil {
			return fmt.Errorf("--from: %s is no data folder: %w", dir, err)
		}
	}
	return nil
}

func (f *spreadFlags) spread(cmd *cobra.Command) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	stop := showProgress(cmd.ErrOrStderr(), doing("opening "+strings.Join(f.from, ", ")))
	defer stop()
	from, err := openWhole(ctx, f.from, false)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := openWhole(ctx, f.to, true)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	stop()
	var done, total atomic.Int64
	stop = showProgress(cmd.ErrOrStderr(), func() string { return fmt.Sprintf("%d of %d documents", done.Load(), total.Load()) })
	list, err := search.Spread(ctx, from, to, func(d, t int64) {
		done.Store(d)
		total.Store(t)
	})
	stop()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped at %d of %d documents; run it again to go on", done.Load(), total.Load())
	}
	if errors.Is(err, search.ErrNotEmpty) {
		return fmt.Errorf("--to: %w", err)
	}
	if errors.Is(err, search.ErrDamaged) {
		return fmt.Errorf("--from: %w; `searchd check --repair --drop-damaged` mends a folder", err)
	}
	if err != nil {
		return err
	}
	for _, c := range list {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d documents, %d passages\n", c.Name, c.Documents, c.Passages)
	}
	return nil
}

// openWhole opens a data folder, or the folders of a cluster as one. With empty they are new ones, or those of a copy that was interrupted.
func openWhole(ctx context.Context, dirs []string, empty bool) (w search.Whole, err error) {
	list := make([]*embedded.Backend, 0, len(dirs))
	defer func() {
		if err != nil {
			for _, b := range list {
				b.Close()
			}
		}
	}()
	parts := make([]backend.Shard, 0, len(dirs))
	ofCluster := 0
	for _, dir := range dirs {
		b, err := embedded.OpenContext(ctx, dir, embedded.Options{Notice: tell})
		if err != nil {
			return nil, inUse(err)
		}
		list, parts = append(list, b), append(parts, b)
		id, err := b.Identity(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if id.Cluster != "" {
			ofCluster++
			continue
		}
		if empty && len(dirs) > 1 {
			if _, err := shardOf(ctx, b, dir); err != nil {
				return nil, fmt.Errorf("%w: %s; name new folders", search.ErrNotEmpty, dir)
			}
		}
	}
	switch {
	case len(dirs) == 1 && empty && ofCluster > 0:
		return nil, fmt.Errorf("%w: %s is a shard; name a new folder", search.ErrNotEmpty, dirs[0])
	case len(dirs) == 1 && ofCluster == 0:
		return list[0], nil
	case !empty && ofCluster < len(dirs):
		return nil, errors.New("not all of these are shards; an ordinary data folder is copied alone")
	}
	return shards.Open(ctx, parts, shards.Options{Names: dirs, Notice: tell})
}
