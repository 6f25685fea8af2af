package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
	"example.com/searchd/trace"
)

// Options of [Open].
type Options struct {
	Cluster string   // name, see [ValidName]
	Node    string   // name of this node, see [ValidName]; default: made of Listen
	Listen  string   // host:port for other nodes; empty: a cluster of this node alone
	Peers   []string // Listen of all nodes, this one too; fewer than two: a cluster of this node alone

	NATS        string // URLs of an existing NATS, with commas between, instead of an embedded server
	Credentials string // file for it

	Partitions int // of new collections; default: 8
	Copies     int // nodes with a replica of a partition; default: 2

	Security Security
	Embedded embedded.Options
	Tracer   *trace.Tracer // records spans of calls between nodes; default: none

	moveTime, missingWait time.Duration // for tests; default: those of the constants
}

// The defaults of Options.
const (
	defaultPartitions = 8
	defaultCopies     = 2
)

// MaxPartitions bounds the partitions of a collection.
const MaxPartitions = 256

// logReplicas is how many servers keep a stream, of a cluster of as many or more.
const logReplicas = 3

// maxPayload bounds a message of the embedded server.
const maxPayload = 64 << 20

// ValidName reports whether a cluster or a node may have a name: 1 to 32 letters, digits and -.
func ValidName(name string) bool {
	return name != "" && len(name) <= 32 && strings.IndexFunc(name, func(r rune) bool {
		return !(r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) < 0
}

// Backend is a node of a cluster. It is safe for concurrent use.
type Backend struct {
	name   string // of the node
	prefix string // of subjects
	bucket string // and of the names of streams
	o      Options
	former map[string][]byte // the catalogue of the single node that this one was
	oldLog string            // folder of its log; empty: there is none
	fresh  bool              // the folder was empty

	server *server.Server // nil: an existing NATS
	token  string         // with which this process connects to it
	nc     *nats.Conn
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	local  *embedded.Backend
	origin string
	notice func(text string)
	alarm  func(text string)

	catalogue catalogue
	members   members
	places    places
	repairs   repairs
	counters  counters
	caughtUp  atomic.Bool // once since the node was opened, see Ready
	removed   atomic.Bool // from the cluster, by somebody

	swept    bool // replicas of earlier runs were looked at; for reconcile alone
	done     chan struct{}
	stop     func()
	wait     sync.WaitGroup
	isClosed atomic.Bool
}

var _ backend.Backend = (*Backend)(nil)

// Open makes a folder a node of a cluster, or opens it again. It returns when the node follows the
// catalogue, which needs a majority of the nodes.
func Open(ctx context.Context, dir string, o Options) (*Backend, error) {
	o.Partitions, o.Copies = cmp.Or(o.Partitions, defaultPartitions), cmp.Or(o.Copies, defaultCopies)
	o.moveTime, o.missingWait = cmp.Or(o.moveTime, moveTime), cmp.Or(o.missingWait, missingWait)
	if err := o.check(); err != nil {
		return nil, err
	}
	n := &Backend{name: o.Node, o: o, prefix: "searchd." + o.Cluster, bucket: "SEARCHD-" + o.Cluster, notice: o.Embedded.Notice, alarm: o.Embedded.Alarm, done: make(chan struct{})}
	n.stop = sync.OnceFunc(func() { close(n.done) })
	if n.notice == nil {
		n.notice = func(string) {}
	}
	if n.alarm == nil {
		n.alarm = n.notice
	}
	n.catalogue.init()
	n.members.init()
	if err := n.open(ctx, dir); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// open opens the folder and joins the cluster. After an error the caller closes the node.
func (n *Backend) open(ctx context.Context, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := n.grow(ctx, dir); err != nil {
		return err
	}
	if n.local, err = embedded.OpenContext(ctx, filepath.Join(dir, "replicas"), n.o.Embedded); err != nil {
		return err
	}
	if err := n.checkRemoved(ctx); err != nil {
		return err
	}
	if err := n.connect(dir); err != nil {
		return err
	}
	if err := n.greet(ctx); err != nil {
		return err
	}
	if err := n.openCatalogue(ctx); err != nil {
		return err
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	n.endGrowth(dir)
	n.wait.Go(n.keepLogs)
	n.wait.Go(n.keepLeads)
	return nil
}

// check reports every wrong option, and completes the name of the node.
func (o *Options) check() error {
	var errs []error
	if !ValidName(o.Cluster) {
		errs = append(errs, fmt.Errorf("%w: cluster %q: allowed: 1 to 32 letters, digits and -", backend.ErrInvalid, o.Cluster))
	}
	if o.Node == "" {
		o.Node = cmp.Or(strings.Map(func(r rune) rune {
			if ValidName(string(r)) {
				return r
			}
			return '-'
		}, o.Listen), "node")
	}
	if !ValidName(o.Node) {
		errs = append(errs, fmt.Errorf("%w: node %q: allowed: 1 to 32 letters, digits and -", backend.ErrInvalid, o.Node))
	}
	if o.Partitions < 1 || o.Partitions > MaxPartitions {
		errs = append(errs, fmt.Errorf("%w: %d partitions: allowed: 1 to %d", backend.ErrInvalid, o.Partitions, MaxPartitions))
	}
	if o.Copies < 1 || o.Copies > 16 {
		errs = append(errs, fmt.Errorf("%w: %d copies: allowed: 1 to 16", backend.ErrInvalid, o.Copies))
	}
	return errors.Join(append(errs, o.Security.check(o.Listen, o.Peers)...)...)
}

// connect starts the embedded server, if there is no other, and connects to it.
func (n *Backend) connect(dir string) (err error) {
	options := []nats.Option{nats.Name(n.name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond), nats.RetryOnFailedConnect(true), nats.Timeout(5 * time.Second)}
	url := n.o.NATS
	if url == "" {
		n.token = rand.Text() // nobody else connects
		if n.server, err = n.startServer(dir); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(n.server), nats.UserInfo(nodeUser, n.token))
	} else if n.o.Credentials != "" {
		options = append(options, nats.UserCredentials(n.o.Credentials))
	}
	if n.nc, err = nats.Connect(url, options...); err != nil {
		return fmt.Errorf("NATS: %w", err)
	}
	n.js, err = jetstream.New(n.nc, jetstream.WithDefaultTimeout(5*time.Second))
	return err
}

// The users of the embedded server: the second may change what servers there are.
const (
	nodeUser   = "node"
	systemUser = "system"
)

// startServer starts a NATS server in this process, with JetStream in a folder.
func (n *Backend) startServer(dir string) (*server.Server, error) {
	system := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
	o := &server.Options{
		ServerName: n.name, DontListen: true, NoSigs: true, NoLog: true,
		Accounts: []*server.Account{system}, SystemAccount: system.Name,
		Users:     []*server.User{{Username: nodeUser, Password: n.token}, {Username: systemUser, Password: n.token, Account: system}},
		JetStream: true, StoreDir: filepath.Join(dir, logFolder), SyncAlways: true,
		MaxPayload: maxPayload, MaxPending: 4 * maxPayload,
	}
	if len(n.o.Peers) > 1 {
		if err := n.o.Security.routes(o, n.o); err != nil {
			return nil, err
		}
		l, err := net.Listen("tcp", n.o.Listen) // the server does not say that it cannot
		if err != nil {
			return nil, fmt.Errorf("address of the node: %w", err)
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT // the server takes no routes without
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(serverWait) {
		s.Shutdown()
		return nil, fmt.Errorf("NATS server: not ready for connections after %s", serverWait)
	}
	return s, nil
}

// serverWait is how long the embedded server may take to start.
const serverWait = time.Minute

// Times of retry.
const (
	openWait = 10 * time.Second // between two reports
	openTry  = 4 * time.Second  // of the first try; later ones may take longer
	openMost = 20 * time.Second // of a try
)

// untilClosed returns a context that ends when the node is closed.
func (n *Backend) untilClosed() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	n.wait.Go(func() {
		select {
		case <-n.done:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}

// retry calls f until it succeeds or ctx ends, and reports now and then why it does not.
func (n *Backend) retry(ctx context.Context, what string, f func(ctx context.Context) error) error {
	began, told := time.Now(), time.Now()
	for most := openTry; ; most = min(2*most, openMost) {
		within, cancel := context.WithTimeout(ctx, most)
		err := f(within)
		cancel()
		if err == nil || errors.Is(err, backend.ErrInvalid) {
			return err
		}
		if ctx.Err() != nil || n.closed() {
			return errors.Join(ctx.Err(), fmt.Errorf("%s: %w", what, err))
		}
		if time.Since(told) > openWait {
			n.notice(fmt.Sprintf("%s, for %s: %v", what, time.Since(began).Round(time.Second), err))
			told = time.Now()
		}
		pause(ctx, retryDelay)
	}
}

// Close ends the node's part in the cluster. Others go on without it.
func (n *Backend) Close() error {
	if n.isClosed.Swap(true) {
		return nil
	}
	n.stop()
	n.wait.Wait()
	n.catalogue.end()
	if n.nc != nil {
		n.nc.Close()
	}
	var err error
	if n.local != nil {
		err = n.local.Close()
	}
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}
	return err
}

func (n *Backend) closed() bool { return n.isClosed.Load() }

// localName returns the name of a replica in the embedded backend.
func localName(id string, p int) string { return fmt.Sprintf("%s/%d", id, p) }

// newID returns an id for a collection, which no other has had.
func newID() string { return strings.ToLower(rand.Text()[:16]) }
