package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/searchd/search/backend"
)

// Times of the membership. They need clocks that run equally fast, not clocks that agree.
const (
	pingInterval = 300 * time.Millisecond
	leaseTime    = 3 * time.Second // after a question that a majority answered, a node may serve for so long
	goneTime     = 4 * time.Second // a node that a majority has not heard from for so long is gone; longer than leaseTime
	recentTime   = 1 * time.Second // how old the answer of a node may be to count for what it has heard
)

// moveTime is how long a node is gone until others take over its partitions.
const moveTime = 60 * time.Second

// ping is the question that nodes ask each other, and pong its answer.
type ping struct {
	From  string
	Nonce uint64
}

type pong struct {
	From    string
	Nonce   uint64
	Heard   map[string]time.Duration // since it last heard from others
	Applied uint64                   // revision of the catalogue that its replicas follow
	Serving map[string]uint64        // replicas that serve, by local name: up to which place they follow their log
}

// peer is what a node knows of another.
type peer struct {
	heard    time.Time // when something last came from it
	answered time.Time // when the last question that it answered was asked
	came     time.Time // when that answer came
	pong     pong
	serving  map[string]bool
}

// members is what a node knows of the others.
type members struct {
	applied atomic.Uint64
	lapses  atomic.Uint64 // how often contact with a majority was found again

	freshing sync.Mutex
	fresh    uint64 // one more than the lapses that the catalogue was followed since; under freshing
	mu       struct {
		sync.Mutex
		began   time.Time
		peers   map[string]*peer
		asked   map[uint64]time.Time // questions of the last seconds, by nonce
		nonce   uint64
		changed chan struct{}
	}
}

func (m *members) init() {
	m.mu.peers, m.mu.asked, m.mu.changed, m.mu.began = map[string]*peer{}, map[uint64]time.Time{}, make(chan struct{}), time.Now()
}

// wake tells who waits that something has changed.
func (m *members) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.mu.changed)
	m.mu.changed = make(chan struct{})
}

// peer returns what is known of a node. The caller holds mu.
func (m *members) peer(name string) *peer {
	p := m.mu.peers[name]
	if p == nil {
		p = &peer{heard: m.mu.began}
		m.mu.peers[name] = p
	}
	return p
}

// join enters the node in the catalogue, answers the others, and waits until its replicas are
// opened.
func (n *Backend) join(ctx context.Context) error {
	if err := n.answer(); err != nil {
		return err
	}
	if err := n.enter(ctx); err != nil {
		return err
	}
	n.wait.Go(n.ping)
	return n.retry(ctx, "opening the replicas of this node", func(ctx context.Context) error {
		n.catalogue.mu.Lock()
		revision, here := n.catalogue.mu.revision, n.catalogue.mu.nodes[n.name].Name != ""
		n.catalogue.mu.Unlock()
		if !here || n.members.applied.Load() < revision {
			n.catalogue.look()
			return fmt.Errorf("catalogue revision %d of %d", n.members.applied.Load(), revision)
		}
		return nil
	})
}

// answer subscribes to the questions of other nodes.
func (n *Backend) answer() error {
	subs := map[string]nats.MsgHandler{
		n.prefix + ".ping": n.takePing, n.prefix + ".pong." + n.name: n.takePong, n.prefix + ".call." + n.name: n.takeCall,
		n.prefix + ".relay." + n.name + ".*": n.takeRelay,
		leaderElected + "*":                  n.takeElection,
	}
	for subject, take := range subs {
		if _, err := n.nc.Subscribe(subject, take); err != nil {
			return err
		}
	}
	return n.nc.Flush()
}

// ping asks all nodes now and then, until the node is closed.
func (n *Backend) ping() {
	for {
		m := &n.members
		m.mu.Lock()
		m.mu.nonce++
		q, now := ping{From: n.name, Nonce: m.mu.nonce}, time.Now()
		m.mu.asked[q.Nonce] = now
		maps.DeleteFunc(m.mu.asked, func(_ uint64, at time.Time) bool { return now.Sub(at) > goneTime })
		m.mu.Unlock()
		if b, err := json.Marshal(q); err == nil {
			_ = n.nc.Publish(n.prefix+".ping", b)
		}
		n.watchNodes()
		select {
		case <-n.done:
			return
		case <-time.After(pingInterval):
		}
	}
}

// takePing answers a question.
func (n *Backend) takePing(msg *nats.Msg) {
	var q ping
	if json.Unmarshal(msg.Data, &q) != nil || q.From == n.name || n.isRemoved(q.From) {
		return
	}
	a := pong{From: n.name, Nonce: q.Nonce, Heard: map[string]time.Duration{}, Serving: map[string]uint64{}, Applied: n.members.applied.Load()}
	n.catalogue.mu.Lock()
	for name, r := range n.catalogue.mu.replicas {
		if place, _, serving, _ := r.state(); serving {
			a.Serving[name] = place
		}
	}
	n.catalogue.mu.Unlock()
	m := &n.members
	m.mu.Lock()
	now := time.Now()
	m.peer(q.From).heard = now
	for name, p := range m.mu.peers {
		a.Heard[name] = now.Sub(p.heard)
	}
	m.mu.Unlock()
	if b, err := json.Marshal(a); err == nil {
		_ = n.nc.Publish(n.prefix+".pong."+q.From, b)
	}
}

// takePong takes an answer to a question of this node.
func (n *Backend) takePong(msg *nats.Msg) {
	var a pong
	if json.Unmarshal(msg.Data, &a) != nil {
		return
	}
	for name, place := range a.Serving {
		n.places.saw(name, place)
	}
	before := n.inContact()
	m := &n.members
	m.mu.Lock()
	if asked, ok := m.mu.asked[a.Nonce]; ok {
		if !before { // before the answer counts
			m.lapses.Add(1)
		}
		p := m.peer(a.From)
		p.heard, p.came = time.Now(), time.Now()
		if asked.After(p.answered) {
			p.answered, p.pong, p.serving = asked, a, map[string]bool{}
			for name := range a.Serving {
				p.serving[name] = true
			}
		}
	}
	m.mu.Unlock()
	m.wake()
}

// inContact reports whether a majority of the nodes has answered lately.
func (n *Backend) inContact() bool {
	nodes := n.nodes()
	m := &n.members
	m.mu.Lock()
	defer m.mu.Unlock()
	answered := 0
	for name := range nodes {
		if name == n.name || time.Since(m.peer(name).answered) < leaseTime {
			answered++
		}
	}
	return 2*answered > len(nodes)
}

// Leads implements [backend.Shared]: of the nodes that have answered lately the first by name
// leads.
func (n *Backend) Leads() bool {
	if !n.inContact() {
		return false
	}
	nodes := n.nodes()
	m := &n.members
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range nodes {
		if name < n.name && time.Since(m.peer(name).answered) <= leaseTime {
			return false
		}
	}
	return true
}

// gone reports whether a majority of the nodes has not heard from a node for goneTime.
func (n *Backend) gone(name string) bool {
	nodes := n.nodes()
	m := &n.members
	m.mu.Lock()
	defer m.mu.Unlock()
	missing := 0
	for other := range nodes {
		p := m.peer(other)
		switch {
		case other == n.name:
			if time.Since(m.peer(name).heard) > goneTime {
				missing++
			}
		case other != name && time.Since(p.came) < recentTime:
			if age, ok := p.pong.Heard[name]; ok && age > goneTime {
				missing++
			}
		}
	}
	return 2*missing > len(nodes)
}

// watchNodes marks nodes that are gone for long, so that others take over their partitions, and
// takes the mark off this one.
func (n *Backend) watchNodes() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for name, r := range n.nodes() {
		if name == n.name {
			if r.Away {
				_ = n.changeNode(ctx, name, func(r *nodeRecord) { r.Away = false })
			}
			continue
		}
		n.members.mu.Lock()
		silent := time.Since(n.members.peer(name).heard)
		n.members.mu.Unlock()
		if !r.Away && silent > n.o.moveTime && n.gone(name) {
			before := false
			if err := n.changeNode(ctx, name, func(r *nodeRecord) { before, r.Away = r.Away, true }); err == nil && !before {
				n.alarm(fmt.Sprintf("node %s has not answered for %s: its partitions are taken over by others", name, silent.Round(time.Second)))
			}
		}
	}
}

// hosts reports whether this node should have a replica of a partition.
func (n *Backend) hosts(c *collection, p int) bool {
	return slices.Contains(n.placed(c, p), n.name)
}

// placed returns the nodes that should have a replica of a partition.
func (n *Backend) placed(c *collection, p int) []string {
	var names []string
	for name, r := range n.nodes() {
		if !r.Away && !r.Drained {
			names = append(names, name)
		}
	}
	return n.placedAmong(c.ID, p, names...)
}

// placedAmong returns the nodes of some that should have a replica of a partition: those with the
// highest hashes together with it (rendezvous hashing), so that few move when nodes come and go.
func (n *Backend) placedAmong(id string, p int, names ...string) []string {
	type candidate struct {
		name string
		hash uint64
	}
	var list []candidate
	for _, name := range names {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s/%d/%s", id, p, name)
		list = append(list, candidate{name, mix(h.Sum64())})
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.hash, a.hash), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, c := range list[:min(len(list), n.o.Copies)] {
		out = append(out, c.name)
	}
	return out
}

// others returns the other nodes of the catalogue.
func (n *Backend) others() (names []string) {
	for name := range n.nodes() {
		if name != n.name {
			names = append(names, name)
		}
	}
	return names
}

// spread waits until all nodes that are not gone follow the catalogue up to a revision.
func (n *Backend) spread(ctx context.Context, revision uint64) error {
	n.catalogue.look()
	return n.everywhere(ctx, func(ctx context.Context) (reply, error) { return reply{}, n.followed(ctx, revision) }, call{Revision: revision}, nil)
}

// followed waits until the replicas of this node follow the catalogue up to a revision.
func (n *Backend) followed(ctx context.Context, revision uint64) error {
	for n.members.applied.Load() < revision {
		n.members.mu.Lock()
		changed := n.members.mu.changed
		n.members.mu.Unlock()
		if n.members.applied.Load() >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-n.done:
			return backend.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// settle waits until all replicas of a partition that serve have applied its log up to a place, and
// that one does: it knows whether the log is still the one that it followed.
func (n *Backend) settle(ctx context.Context, c *collection, p int, at position) error {
	name := localName(c.ID, p)
	var served atomic.Bool
	err := n.everywhere(ctx, func(ctx context.Context) (reply, error) {
		ok, err := n.settledHere(ctx, name, at.generation, at.place)
		return reply{Settled: ok}, err
	}, call{Replica: name, Settle: at.place, Log: at.generation}, func(r reply) {
		if r.Settled {
			served.Store(true)
		}
	})
	if err == nil && !served.Load() {
		err = fmt.Errorf("%w: the outcome is unknown: no replica of partition %d serves", backend.ErrUnavailable, p)
	}
	return err
}

// settledHere waits until a replica of this node has applied a generation of its log up to a place,
// or does not serve: then the result is false.
func (n *Backend) settledHere(ctx context.Context, name string, generation int, place uint64) (bool, error) {
	n.catalogue.mu.Lock()
	r := n.catalogue.mu.replicas[name]
	n.catalogue.mu.Unlock()
	if r == nil {
		return false, nil
	}
	return r.settled(ctx, generation, place)
}

// everywhere does something on this node and asks all others to, until each has or is gone. It
// calls take, which may be nil, with the answers, from any goroutine.
func (n *Backend) everywhere(ctx context.Context, here func(ctx context.Context) (reply, error), there call, take func(reply)) error {
	if take == nil {
		take = func(reply) {}
	}
	within, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	errs := make(chan error)
	others := n.others()
	go func() {
		r, err := here(within)
		if err == nil {
			take(r)
		}
		errs <- err
	}()
	for _, name := range others {
		go func() {
			for {
				try, stop := context.WithTimeout(within, leaseTime)
				r, err := n.call(try, name, there)
				stop()
				if err == nil {
					take(r)
				}
				if err == nil || n.gone(name) {
					errs <- nil
					return
				}
				if within.Err() != nil || errors.Is(err, errLogLost) {
					errs <- fmt.Errorf("%w: node %s has not confirmed: %w", backend.ErrUnavailable, name, err)
					return
				}
				pause(within, pingInterval)
			}
		}()
	}
	var err error
	for range len(others) + 1 {
		if e := <-errs; err == nil {
			err = e
		}
	}
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		err = fmt.Errorf("%w: the outcome is unknown: %w", backend.ErrUnavailable, err)
	}
	return cmpContext(ctx, err)
}
