package main

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"searchd/api"
	"searchd/client"
)

// followKeyEnv holds the API key that a replica shows its primary. It has no flag: a command line can be read by everybody on the machine.
const followKeyEnv = "SEARCHD_FOLLOW_KEY"

// followFlags name the primary of a replica.
type followFlags struct {
	url, keyFile, ca string
}

func (f *followFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "follow", "", "URL of a running server: be a replica of it, in an empty data folder or one that was a replica before")
	cmd.Flags().StringVar(&f.keyFile, "follow-key-file", "", "file with the API key for --follow, with the scope replication (or "+followKeyEnv+" in the environment)")
	f.addAuthorities(cmd)
}

func (f *followFlags) addAuthorities(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.ca, "follow-ca", "", "PEM file of the authorities that may have signed the certificate of --follow (default those of the system)")
}

// follower returns what follows the server that is named; nil where none is.
func (f *followFlags) follower(dir string, log *slog.Logger) (*follower, error) {
	if f.url == "" {
		if f.keyFile != "" || f.ca != "" {
			return nil, errors.New("--follow-key-file and --follow-ca go with --follow")
		}
		return nil, nil
	}
	if dir == "" {
		return nil, errNoData
	}
	key, err := secret("follow-key-file", f.keyFile, followKeyEnv)
	if err != nil {
		return nil, err
	}
	return f.dial(dir, key, log, false)
}

// dial returns what follows the server, or the shard, that is named and asks for key.
func (f *followFlags) dial(dir, key string, log *slog.Logger, shard bool) (*follower, error) {
	passing, err := transport("follow-ca", f.ca)
	if err != nil {
		return nil, err
	}
	t := passing.Clone()
	t.ResponseHeaderTimeout = silence
	asking, denied := http.RoundTripper(t), "the server wants a key with the scope replication for all collections (--follow-key-file, or "+followKeyEnv+")"
	if shard {
		asking, denied = shardsOnly{t}, "the shard has another key than this one (--key-file, or "+shardKeyEnv+")"
	}
	c, err := client.New(f.url, client.Options{HTTP: &http.Client{Transport: asking}, Key: key, Retries: -1})
	if err != nil {
		return nil, fmt.Errorf("--follow: %w", err)
	}
	u, err := url.Parse(f.url)
	if err != nil {
		return nil, fmt.Errorf("--follow: %w", err)
	}
	fo := &follower{log: log, dir: dir, url: u, client: c, transport: passing, denied: denied,
		first: firstPause, most: mostPause, copyPause: copyPause, reminds: remindEvery, wanted: make(chan struct{}, 1)}
	fo.mu.moved, fo.mu.Contact = make(chan struct{}), time.Now()
	return fo, nil
}

// transport carries what is passed on to another server, whose certificate an authority of the file that a flag names may have signed.
func transport(flag, ca string) (*http.Transport, error) {
	pool, err := authorities(flag, ca)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // vectors do not get smaller
	t.DialContext = (&net.Dialer{Timeout: dialWait, KeepAliveConfig: keepAlive}).DialContext
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	if pool != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t, nil
}

// keepAlive finds out within ten seconds that the primary's machine is gone, so that no write is sent on an open connection to it.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: dialWait, Interval: time.Second, Count: 5}

// primary is what the server needs to know of the one that it follows.
func (f *follower) primary() *api.Primary {
	return &api.Primary{URL: f.url, Transport: f.transport, State: f.state, Reached: f.waitFor}
}

// newName is the name by which a primary knows a replica.
func newName() string { return strings.ToLower(rand.Text()) }

// Times of following.
const (
	firstPause   = 250 * time.Millisecond // after the primary did not answer, then twice that and so on
	mostPause    = 10 * time.Second
	copyPause    = 20 * time.Second // at least, between one copy and the next, should the first not help; then twice that and so on
	longCopy     = 15 * time.Minute // the most of it; a copy that served so long has helped
	uselessPause = 2 * time.Minute  // after a copy for which there was no room, or that is of no use
	remindEvery  = 20 * time.Minute // of the hour that the primary waits
	dialWait     = 5 * time.Second  // for a connection to the primary, whose machine may be gone
	silence      = time.Minute      // without a byte from the primary it is taken to be away
)
