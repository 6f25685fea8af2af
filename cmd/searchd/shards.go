package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"searchd/search"
	"searchd/search/backend"
	"searchd/search/remote"
	"searchd/search/shards"
)

// Times of opening shards.
const (
	shardPause  = 500 * time.Millisecond // after one did not answer
	shardRemind = 30 * time.Second       // a line in the log that it still does not
)

// shardsFlags name the shards that a server answers for.
type shardsFlags struct {
	urls        []string
	keyFile, ca string
	reads       bool // another server writes to them
}

func (f *shardsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.urls, "shards", nil, "URLs of the shards of a cluster, all and always in the same order: documents are kept there, and not in a data folder")
	f.addAccess(cmd, "shards")
}

// addAccess adds the flags that say how the shards of another flag are reached.
func (f *shardsFlags) addAccess(cmd *cobra.Command, flag string) {
	cmd.Flags().StringVar(&f.keyFile, "shard-key-file", "", "file with the key of --"+flag+" (or "+shardKeyEnv+" in the environment)")
	cmd.Flags().StringVar(&f.ca, "shard-ca", "", "PEM file of the authorities that may have signed the certificates of --"+flag+" (default those of the system)")
}

// check refuses what cannot be before anything is opened.
func (f *shardsFlags) check(follow string) error {
	switch {
	case len(f.urls) == 0 && (f.keyFile != "" || f.ca != ""):
		return errors.New("--shard-key-file and --shard-ca go with --shards")
	case len(f.urls) == 0:
		return nil
	case follow != "":
		return errors.New("--shards and --follow: name one of them; a replica keeps its documents itself")
	case len(f.urls) > backend.MaxShards:
		return fmt.Errorf("--shards: got %d, allowed: at most %d", len(f.urls), backend.MaxShards)
	}
	for i, u := range f.urls {
		f.urls[i] = strings.TrimRight(strings.TrimSpace(u), "/")
		if f.urls[i] == "" {
			return errors.New("--shards: a URL is empty; they are joined by ','")
		}
		if slices.Contains(f.urls[:i], f.urls[i]) {
			return fmt.Errorf("--shards: %s is named twice", f.urls[i])
		}
	}
	return nil
}

// options say how a shard is reached.
func (f *shardsFlags) options() (remote.Options, error) {
	key, err := secret("shard-key-file", f.keyFile, shardKeyEnv)
	if err != nil {
		return remote.Options{}, err
	}
	var cas *x509.CertPool
	if cas, err = authorities("shard-ca", f.ca); err != nil {
		return remote.Options{}, err
	}
	return remote.Options{Key: key, CAs: cas}, nil
}

// open makes one backend of the shards, takes the right to write to them unless it only reads, and gives it to use, which closes it unless it fails. A shard that does not answer
// is waited for until ctx ends, as it may be started later, also where use finds it so, and so is the end of a copy that `searchd spread` fills them with; waiting is told for which.
func (f *shardsFlags) open(ctx context.Context, o remote.Options, log *slog.Logger, waiting func(what string), use func(*shards.Backend) error) error {
	var told time.Time
	for {
		err := f.openOnce(ctx, o, log, use)
		if err == nil || !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, search.ErrUnfinished) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		waiting("waiting for a shard: " + err.Error())
		if time.Since(told) >= shardRemind {
			told = time.Now()
			log.Warn("waiting for a shard", "error", err)
		}
		select {
		case <-time.After(shardPause):
		case <-ctx.Done():
		}
	}
}

// openOnce is open without waiting.
func (f *shardsFlags) openOnce(ctx context.Context, o remote.Options, log *slog.Logger, use func(*shards.Backend) error) (err error) {
	list := make([]backend.Shard, 0, len(f.urls))
	defer func() {
		if err != nil {
			for _, s := range list {
				s.Close()
			}
		}
	}()
	for _, u := range f.urls {
		s, err := remote.Dial(ctx, u, o)
		if err != nil {
			return err
		}
		list = append(list, s)
	}
	if err := search.Complete(list[0]); err != nil { // before they are claimed: who fills them could not go on
		return err
	}
	b, err := shards.Open(ctx, list, shards.Options{Names: f.urls, Reader: f.reads, Notice: func(text string) { log.Info(text) }, Alarm: func(text string) { log.Error(text) }})
	if err != nil {
		return err
	}
	return use(b)
}

// downloadShard writes the backup that a shard sends to w. Who reads it again finds out whether it is whole.
func downloadShard(ctx context.Context, shard string, o remote.Options, w io.Writer) (int64, error) {
	s, err := remote.Dial(ctx, shard, o)
	if err != nil {
		return 0, fmt.Errorf("--shard: %w", err)
	}
	defer s.Close()
	n, err := s.Backup(ctx, w)
	if err != nil {
		return n, fmt.Errorf("--shard: %w", err)
	}
	return n, nil
}
