package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"searchd/search/embedded"
	"searchd/store"
)

// A standby of a shard is what a replica of a server is: a copy of its store, kept up to date by the same follower. It has no names, keys and
// checkpoints to keep in mind, so that the backend takes what comes.

// standby is the folder of a standby.
type standby struct{ *embedded.Backend }

// Take writes what the shard has sent, and drops what is gone there.
func (s standby) Take(ctx context.Context, n *store.News) (keys bool, err error) {
	if _, _, err := s.Backend.Take(ctx, n); err != nil {
		return false, err
	}
	gone, err := s.Gone(n)
	for _, c := range gone {
		err = errors.Join(err, s.Leave(ctx, c))
	}
	return false, err
}

// noKeys are the API keys of a shard: none.
type noKeys struct{}

func (noKeys) Uses() map[string]int64 { return nil }
func (noKeys) Refresh() error         { return nil }

// errNoShard keeps a standby from following what is no shard.
var errNoShard = errors.New("what answers there is no shard; `searchd serve --follow` follows a server")

// shardsOnly takes answers of shards alone.
type shardsOnly struct{ http.RoundTripper }

func (s shardsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if err == nil && res.StatusCode < http.StatusInternalServerError && res.Header.Get("Searchd-Shard") == "" {
		res.Body.Close()
		return nil, errNoShard
	}
	return res, err
}

// standby returns what follows the shard of --follow; nil where this is the shard.
func (f *shardFlags) standby(key string, log *slog.Logger) (*follower, error) {
	if f.follow.url == "" {
		if f.follow.ca != "" {
			return nil, errors.New("--follow-ca goes with --follow")
		}
		return nil, nil
	}
	return f.follow.dial(f.data, key, log, true)
}
