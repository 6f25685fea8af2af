// Package remote speaks to a shard on another machine: [Dial] returns it as a [backend.Shard], [Handler] serves one. Both are of the same version of this
// program, or say so and refuse.
//
// Every method is one request, POST /shard/v1/METHOD, with JSON in both directions. Texts, lists of numbers, vectors and sets of documents are base64 in it:
// texts because JSON changes bytes that are not UTF-8, numbers because they arrive to the last bit and are read faster. An error has the codes of all the errors of
// the seam that it is. What stands between both, a proxy for one, is known by a header that it does not set.
//
// A client says with each request which shard of which cluster it means and by which claim it writes; see [backend.Identity]. A shard that is another one,
// because addresses were mixed up or its folder was replaced, refuses with [backend.ErrPlacement], and a write of an older claim with [backend.ErrClaimed].
//
//	POST /shard/v1/METHOD    a method of the seam
//	GET  /shard/v1/hello     protocol, version and identity
//	GET  /shard/v1/backup    the store as it is now
//	GET  /livez, /readyz     for load balancers; no key is asked for
//	/v1/replication/…        for a standby, as a server answers a replica
//
// A standby of a shard, a node whose identity says what it follows, is read and not written to.
package remote

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/search/backend"
)

// Node is a shard that can be served: one whose selections can be sent.
type Node interface {
	backend.Shard
	// Documents returns the numbers of the documents of a selection.
	Documents(sel backend.Selection) *roaring.Bitmap
	// Selected makes a selection of numbers of documents; with vectors it is for Nearest, too.
	Selected(ctx context.Context, collection string, docs *roaring.Bitmap, partial, vectors bool) (backend.Selection, error)
}

// Protocol is the number of what this package speaks. It changes with every message, so that nothing is read as what it is not.
const Protocol = 3

// dialTime is how long a shard has for its first answer.
const dialTime = 5 * time.Second

// Options of [Dial].
type Options struct {
	Key string         // sent as a bearer token; empty: none
	CAs *x509.CertPool // authorities of an https URL; nil: the system's
}

// Shard is a shard behind a URL. It is safe for concurrent use.
type Shard struct {
	url       string // without a slash at its end
	key       string
	transport *http.Transport

	place  atomic.Pointer[backend.Identity] // which shard this is; nil: not known to be of a cluster. Its Epoch is 0 until Claim or Expect
	closed atomic.Bool
	done   chan struct{}  // closed by Close
	holds  sync.WaitGroup // what keeps the logs held

	state struct { // the last answer of ReadOnly
		sync.Mutex
		at  time.Time
		err error
	}
}

var (
	_ backend.Shard  = (*Shard)(nil)
	_ backend.Joined = (*Shard)(nil)
	_ backend.Opener = (*Shard)(nil)
)

// hello is what a shard says of itself.
type hello struct {
	Protocol int              `json:"protocol"`
	Version  string           `json:"version"`
	Identity backend.Identity `json:"identity"`
}

// Dial returns the shard at url, such as http://10.0.0.7:8090, once it has answered. It returns [backend.ErrUnavailable] where it does not.
func Dial(ctx context.Context, address string, o Options) (*Shard, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("%w: shard %.200q: allowed: a URL such as http://10.0.0.7:8090", backend.ErrInvalid, address)
	}
	s := &Shard{url: strings.TrimRight(u.String(), "/"), key: o.Key, transport: newTransport(o.CAs), done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	h, err := s.hello(ctx)
	if err != nil {
		s.transport.CloseIdleConnections()
		return nil, err
	}
	if h.Identity.Cluster != "" {
		h.Identity.Epoch = 0
		s.place.Store(&h.Identity)
	}
	return s, nil
}

// hello asks what the shard is, and refuses one of another protocol.
func (s *Shard) hello(ctx context.Context) (h hello, err error) {
	a, err := s.send(ctx, request{verb: http.MethodGet, name: "hello", again: true})
	if err != nil {
		return h, err
	}
	defer a.release()
	if err := json.Unmarshal(a.body.Bytes(), &h); err != nil {
		return h, s.unavailable("its answer cannot be read: %v", err)
	}
	if h.Protocol != Protocol {
		return h, fmt.Errorf("shard %s is searchd %s and speaks protocol %d; this is searchd %s and speaks protocol %d: run the same version of both",
			s.url, h.Version, h.Protocol, ownVersion(), Protocol)
	}
	return h, nil
}

// Expect has the shard answer as long as it is the one that was seen to be id, claimed with its Epoch or a later one.
func (s *Shard) Expect(id backend.Identity) { s.place.Store(&id) }

// URL returns where the shard is.
func (s *Shard) URL() string { return s.url }

// Close lets go of the connections. The shard serves on.
func (s *Shard) Close() error {
	if !s.closed.Swap(true) {
		close(s.done)
		s.holds.Wait()
		s.transport.CloseIdleConnections()
	}
	return nil
}
