package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"searchd/internal/settings"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/remote"
	"searchd/search/shards"
)

// What is copied from a cluster that is written to is brought up to date in passes until one finds little, or there were many.
const (
	littleLeft = 1000 // documents that a pass has found new, changed or gone
	mostPasses = 5
)

// spreadFlags name what is copied, and where to.
type spreadFlags struct {
	from, to []string
	more     bool
	back     bool
	reach    shardsFlags
}

func newSpreadCommand() *cobra.Command {
	var f spreadFlags
	cmd := &cobra.Command{
		Use: "spread --from DIR|URL[,...] --to DIR|URL[,...]", Short: "Copy a data folder, or a cluster, into a new cluster, or back, while it serves",
		Long: `Copies all collections with documents, passages, vectors, settings, aliases and API keys from a data folder, or from all shards of a
cluster, into new ones: several become the shards of a new cluster, in the order in which they are named, and one folder an ordinary data folder. Nothing is
encoded again. A cluster grows or shrinks in this way, too. Shards are named by their data folders, which no process uses, or by the URLs of running ones:
what is filled are new shards without a server in front.

With --more it makes one pass of several: what is copied may be written to meanwhile, and the copy stays marked as not complete, so that nothing serves it.
The next pass takes over what is new or changed, and deletes what is gone: what is the same is not copied again. It may copy from something else that is of
the same origin: the URLs of standbys, the folder of a replica, a restored backup.

Without --more the pass is the last one, and nobody writes to what is copied meanwhile. A folder is open to nobody else. Of a cluster that runs, passes are made
first, until little has changed; then it is claimed, so that the server in front of it writes no more, and goes on answering reads: start the server in
front of the new shards when the command has ended. The old shards say from then on that they have moved, and no server in front of them writes any
more. To go on with them instead, use --back, which takes that back, and start theirs again.

Interrupted, the command goes on where it stopped when it is run again. In the end the documents and passages of each collection are counted on both
sides. Tasks and snapshots are not copied, and documents have new revisions, larger than those before. Folders need memory for their graphs.`,
		Example: `  searchd spread --from /srv/searchd --to /srv/shard1,/srv/shard2,/srv/shard3
  searchd spread --from http://a:8090,http://b:8090 --to http://c:8090,http://d:8090,http://e:8090 --shard-key-file key --more
  searchd spread --from /srv/shard1,/srv/shard2,/srv/shard3 --to /srv/searchd
  searchd spread --from http://a:8090,http://b:8090 --back --shard-key-file key`,
		Args: cobra.NoArgs, PreRunE: fillSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.back {
				return f.takeBack(cmd)
			}
			return f.spread(cmd)
		},
	}
	cmd.Flags().StringSliceVar(&f.from, "from", nil, "data folder, or the folders or URLs of all shards of a cluster in their order")
	cmd.Flags().StringSliceVar(&f.to, "to", nil, "new data folder, or the folders or URLs of the shards of a new cluster")
	settings.Folders(cmd, "from", "to")
	cmd.Flags().BoolVar(&f.more, "more", false, "another pass follows: what is copied may be written to, and the copy is not complete yet")
	cmd.Flags().BoolVar(&f.back, "back", false, "copy nothing: have shards that were copied take writes again, which the copy does not get")
	f.reach.addAccess(cmd, "from and --to")
	return cmd
}

// isURL reports whether a running shard is named, and not a folder.
func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

func (f *spreadFlags) check() (err error) {
	if f.back && (len(f.from) == 0 || len(f.to) > 0 || f.more) {
		return errors.New("--back goes with --from alone, which names what was copied")
	}
	if len(f.from) == 0 || len(f.to) == 0 && !f.back {
		return errors.New("name what is copied and what is filled: --from DIR --to DIR,DIR; running shards by their URLs")
	}
	if len(f.to) > backend.MaxShards {
		return fmt.Errorf("--to: got %d, allowed: at most %d", len(f.to), backend.MaxShards)
	}
	var seen []string
	urls := false
	for _, list := range [][]string{f.from, f.to} {
		for i, name := range list {
			path := strings.TrimRight(strings.TrimSpace(name), "/")
			if isURL(path) {
				urls = true
			} else if path, err = filepath.Abs(name); err != nil {
				return err
			}
			if name == "" || slices.Contains(seen, path) {
				return fmt.Errorf("--from, --to: %q is empty or named twice", name)
			}
			list[i], seen = path, append(seen, path)
		}
	}
	if !urls && (f.reach.keyFile != "" || f.reach.ca != "") {
		return errors.New("--shard-key-file and --shard-ca go with URLs of shards")
	}
	for _, dir := range f.from {
		if isURL(dir) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "searchd.db")); err != nil {
			return fmt.Errorf("--from: %s is no data folder: %w", dir, err)
		}
	}
	return nil
}

// spread makes the passes.
func (f *spreadFlags) spread(cmd *cobra.Command) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	stop := showProgress(cmd.ErrOrStderr(), doing("opening "+strings.Join(slices.Concat(f.from, f.to), ", ")))
	defer stop()
	from, err := f.open(ctx, f.from)
	defer func() { err = errors.Join(err, from.close()) }()
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	to, err := f.open(ctx, f.to)
	defer func() { err = errors.Join(err, to.close()) }()
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if err := from.source(f.more); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	filled, err := to.filled(ctx, from)
	if err != nil {
		return fmt.Errorf("--to: %w", claimedMeanwhile(err))
	}
	stop()
	if f.more || from.running() {
		if err := f.passes(cmd, from, filled); err != nil || f.more {
			return err
		}
	}
	began := time.Now()
	whole, err := from.whole(ctx, false)
	if err != nil {
		return fmt.Errorf("--from: %w", claimedMeanwhile(err))
	}
	list, err := f.pass(cmd, "", false, whole, filled)
	if err != nil {
		if from.running() {
			err = fmt.Errorf("%w. What is copied takes no writes since this pass began: run it again; or to go on there start the server in front of it again, after `searchd spread --back` where it says that its documents have moved", err)
		}
		return err
	}
	for _, c := range list {
		tellSpread(cmd.OutOrStdout(), c)
	}
	switch {
	case from.running():
		fmt.Fprintf(cmd.ErrOrStderr(), "the copy is complete: start the server in front of it. What was copied takes no writes since %v, until `searchd spread --back`\n", time.Since(began).Round(time.Millisecond))
	case from.clustered():
		fmt.Fprintln(cmd.ErrOrStderr(), "the copy is complete. What was copied takes no writes any more, until `searchd spread --back`")
	default:
		fmt.Fprintln(cmd.ErrOrStderr(), "the copy is complete")
	}
	return nil
}

// takeBack has shards that were copied take writes again.
func (f *spreadFlags) takeBack(cmd *cobra.Command) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	from, err := f.open(cmd.Context(), f.from)
	defer func() { err = errors.Join(err, from.close()) }()
	if err == nil {
		err = from.takeBack(cmd.Context())
	}
	if err != nil {
		return fmt.Errorf("--from: %w", claimedMeanwhile(err))
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "they take writes again: start the server in front of them. What has been written to the copy is not here")
	return nil
}

// passes makes the passes while what is copied may be written to: one, or as many as leave little to the last one.
func (f *spreadFlags) passes(cmd *cobra.Command, from *places, filled search.Whole) error {
	whole, err := from.whole(cmd.Context(), true)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	for i := 1; i <= mostPasses; i++ {
		name := ""
		if !f.more {
			name = fmt.Sprintf("pass %d: ", i)
		}
		list, err := f.pass(cmd, name, true, whole, filled)
		if err != nil {
			return err
		}
		var found int64
		for _, c := range list {
			found += c.New + c.Changed + c.Deleted
			if f.more {
				tellSpread(cmd.OutOrStdout(), c)
			}
		}
		if f.more {
			fmt.Fprintln(cmd.ErrOrStderr(), "the copy is not complete: the last pass is without --more")
			return nil
		}
		if found <= littleLeft {
			return nil
		}
	}
	return nil
}

// pass makes a pass, which others follow where more says so.
func (f *spreadFlags) pass(cmd *cobra.Command, name string, more bool, from, to search.Whole) ([]search.SpreadCollection, error) {
	type state struct {
		done, total int64
		search.SpreadCounts
	}
	var now atomic.Pointer[state]
	now.Store(&state{})
	far := func() string {
		s := now.Load()
		return fmt.Sprintf("%s%d of %d documents, %s", name, s.done, s.total, counted(s.SpreadCounts))
	}
	stop := showProgress(cmd.ErrOrStderr(), far)
	list, err := search.Spread(cmd.Context(), from, to, search.SpreadOptions{More: more, To: strings.Join(f.to, ", "), Report: func(done, total int64, counts search.SpreadCounts) {
		now.Store(&state{done, total, counts})
	}})
	stop()
	switch {
	case err == nil && name != "":
		fmt.Fprintln(cmd.ErrOrStderr(), far())
	case cmd.Context().Err() != nil && errors.Is(err, context.Canceled):
		err = fmt.Errorf("stopped at %d of %d documents; run it again to go on", now.Load().done, now.Load().total)
	case errors.Is(err, search.ErrNotEmpty):
		err = fmt.Errorf("--to: %w", err)
	case errors.Is(err, search.ErrDamaged):
		err = fmt.Errorf("--from: %w; `searchd check --repair --drop-damaged` mends a folder", err)
	case errors.Is(err, backend.ErrUnavailable):
		err = fmt.Errorf("%w; run it again to go on", err)
	case errors.Is(err, backend.ErrNoSpace):
		err = fmt.Errorf("%w; make room there, and run it again to go on", err)
	}
	return list, claimedMeanwhile(err)
}

// claimedMeanwhile says what to do about an error that comes of a claim by somebody else; others it returns as they are.
func claimedMeanwhile(err error) error {
	if errors.Is(err, backend.ErrClaimed) {
		return fmt.Errorf("%w: a server in front was started meanwhile, or another spread; end that, and run it again to go on", err)
	}
	return err
}

// counted tells what was found in a pass.
func counted(c search.SpreadCounts) string {
	return fmt.Sprintf("%d new, %d changed, %d deleted, %d the same", c.New, c.Changed, c.Deleted, c.Same)
}

func tellSpread(w io.Writer, c search.SpreadCollection) {
	if c.Dropped {
		fmt.Fprintf(w, "%s: dropped\n", c.Name)
		return
	}
	fmt.Fprintf(w, "%s: %d documents, %d passages; %s\n", c.Name, c.Documents, c.Passages, counted(c.SpreadCounts))
}

// places are data folders and running shards, which are copied from or to.
type places struct {
	names  []string
	shards []backend.Shard
	ids    []backend.Identity // what each is
	folder *embedded.Backend  // the only one; nil where there are several, or a running one
}

// open opens what is named. The caller closes what it returns, also with an error.
func (f *spreadFlags) open(ctx context.Context, names []string) (*places, error) {
	p := &places{names: names}
	var o remote.Options
	if slices.ContainsFunc(names, isURL) {
		var err error
		if o, err = f.reach.options(); err != nil {
			return p, err
		}
	}
	for _, name := range names {
		var s backend.Shard
		if isURL(name) {
			running, err := remote.Dial(ctx, name, o)
			if err != nil {
				return p, err
			}
			s = running
		} else {
			b, err := embedded.OpenContext(ctx, name, embedded.Options{Notice: tell})
			if err != nil {
				return p, inUse(err)
			}
			if s = b; len(names) == 1 {
				p.folder = b
			}
		}
		p.shards = append(p.shards, s)
		id, err := s.Identity(ctx)
		if err != nil {
			return p, fmt.Errorf("%s: %w", name, err)
		}
		p.ids = append(p.ids, id)
	}
	return p, nil
}

func (p *places) close() (err error) {
	for _, s := range p.shards {
		err = errors.Join(err, s.Close())
	}
	return err
}

// running reports whether what is copied may be served meanwhile.
func (p *places) running() bool { return slices.ContainsFunc(p.names, isURL) }

// clustered reports whether what is copied are shards, which say afterwards that they have moved.
func (p *places) clustered() bool { return p.ids[0].Cluster != "" }

// source returns an error for what cannot be copied, in a pass that others follow or in the last one.
func (p *places) source(more bool) error {
	for i, id := range p.ids {
		switch {
		case id.Cluster == "" && isURL(p.names[i]):
			return fmt.Errorf("%s is no shard of a cluster: no server has been in front of it yet", p.names[i])
		case id.Cluster == "" && p.folder == nil:
			return errors.New("not all of these are shards; an ordinary data folder is copied alone")
		case id.Follows != "" && !more:
			return fmt.Errorf("%s follows %s, which may hold more: copy from that, or with --more from this first", p.names[i], id.Follows)
		}
	}
	return nil
}

// whole makes one of what is copied, reading where it may be written to meanwhile, or else with the right to write, which nobody else has then.
func (p *places) whole(ctx context.Context, more bool) (search.Whole, error) {
	if p.folder != nil && !p.clustered() {
		return p.folder, nil
	}
	follows := slices.ContainsFunc(p.ids, func(id backend.Identity) bool { return id.Follows != "" })
	return shards.Open(ctx, p.shards, shards.Options{Names: p.names, Notice: tell, Reader: more && (p.running() || follows), Standbys: true, Moved: true})
}

// takeBack claims shards that have moved, and has them say that no more.
func (p *places) takeBack(ctx context.Context) error {
	if !slices.ContainsFunc(p.ids, func(id backend.Identity) bool { return id.Moved != "" }) {
		return errors.New("these have not moved: there is nothing to take back")
	}
	b, err := shards.Open(ctx, p.shards, shards.Options{Names: p.names, Notice: tell, Moved: true})
	if err != nil {
		return err
	}
	return b.Move(ctx, "")
}

// filled makes one of what is filled. Nothing is claimed before it is known to be new, or to be filled already.
func (p *places) filled(ctx context.Context, from *places) (search.Whole, error) {
	for i, id := range p.ids {
		if id.Cluster != "" && slices.ContainsFunc(from.ids, func(o backend.Identity) bool { return o.Cluster == id.Cluster }) {
			return nil, fmt.Errorf("%w: %s is a shard of the cluster that is copied", search.ErrNotEmpty, p.names[i])
		}
	}
	if p.folder != nil {
		if p.ids[0].Cluster != "" {
			return nil, fmt.Errorf("%w: %s is a shard; name a new folder", search.ErrNotEmpty, p.names[0])
		}
		return p.folder, nil
	}
	switch err := search.Complete(p.shards[0]); {
	case errors.Is(err, search.ErrUnfinished):
	case err != nil:
		return nil, err
	default:
		for i, s := range p.shards {
			if err := unused(ctx, s); err != nil {
				return nil, fmt.Errorf("%w: %s: %w; name new ones", search.ErrNotEmpty, p.names[i], err)
			}
		}
	}
	return shards.Open(ctx, p.shards, shards.Options{Names: p.names, Notice: tell})
}

// unused returns an error where a shard holds anything but what it is.
func unused(ctx context.Context, s backend.Shard) error {
	list, err := s.Collections(ctx)
	if err != nil {
		return err
	}
	values, err := s.Values("")
	if err != nil {
		return err
	}
	for key := range values {
		if strings.HasPrefix(key, ownValues) || strings.HasPrefix(key, "shard") {
			delete(values, key)
		}
	}
	if len(list)+len(values) > 0 {
		return fmt.Errorf("it holds %d collections and %d names, keys or tasks", len(list), len(values))
	}
	return nil
}
