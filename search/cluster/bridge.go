package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Where only the link between two nodes is cut, both are in contact with a majority. Servers pass
// nothing on between others, so a log whose leader is one of the two has no other: the other end
// elects itself, again and again. So each of the two hands what it leads to a node that hears both,
// and calls between the two go through that node.

// bridgesInterval is how often a node looks for links that are cut.
const bridgesInterval = time.Second

// bridges returns the nodes that hear from a node that does not answer this one.
func (n *Backend) bridges(name string) (list []string) {
	nodes := n.nodes()
	m := &n.members
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := nodes[name]; !ok || name == n.name || time.Since(m.peer(name).answered) < leaseTime {
		return nil
	}
	for other := range nodes {
		p := m.peer(other)
		if age, ok := p.pong.Heard[name]; ok && other != n.name && other != name && age < recentTime && time.Since(p.came) < recentTime {
			list = append(list, other)
		}
	}
	slices.Sort(list)
	return list
}

// keepLeads hands over what this node leads while the link to another is cut.
func (n *Backend) keepLeads() {
	ctx, cancel := n.untilClosed()
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, bridgesInterval) {
		for name := range n.nodes() {
			to := n.bridges(name)
			if len(to) == 0 || n.server == nil {
				continue
			}
			if handed := n.handOver(ctx, to[0]); handed > 0 {
				n.notice(fmt.Sprintf("node %s does not answer this one, and answers %s, which gets the lead of %d logs", name, to[0], handed))
			}
		}
	}
}

// handOver asks the servers to make another node the leader of what this one leads, and returns of
// how many logs.
func (n *Backend) handOver(ctx context.Context, to string) (handed int) {
	within, cancel := context.WithTimeout(ctx, steadyTry)
	defer cancel()
	request := server.JSApiLeaderStepdownRequest{Placement: &server.Placement{Preferred: to}}
	b, err := json.Marshal(request)
	if err != nil {
		return 0
	}
	streams := []string{"KV_" + n.bucket}
	for _, c := range n.collections() {
		for p := range c.Partitions {
			streams = append(streams, n.streamName(c.ID, p, n.log(c.ID, p).Generation))
		}
	}
	for _, name := range streams {
		if n.server.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, name) {
			if _, err := n.nc.RequestWithContext(within, fmt.Sprintf(server.JSApiStreamLeaderStepDownT, name), b); err == nil {
				handed++
			}
		}
	}
	if n.server.JetStreamIsLeader() {
		if err := n.asSystem(within, server.JSApiLeaderStepDown, request); err != nil {
			n.notice(fmt.Sprintf("handing the lead of the servers to %s: %v", to, err))
		}
	}
	return handed
}

// subjectOf returns the subject of calls to a node: through another one that hears it where it does
// not answer this one.
func (n *Backend) subjectOf(node string) string {
	if n.silent(node) {
		if to := n.bridges(node); len(to) > 0 {
			return n.prefix + ".relay." + to[0] + "." + node
		}
	}
	return n.prefix + ".call." + node
}

// takeRelay passes the call of another node on, and brings the answer back.
func (n *Backend) takeRelay(msg *nats.Msg) {
	to := strings.TrimPrefix(msg.Subject, n.prefix+".relay."+n.name+".")
	n.catalogue.mu.Lock()
	defer n.catalogue.mu.Unlock()
	if n.closed() || n.catalogue.mu.nodes[to].Name == "" {
		return
	}
	n.wait.Go(func() {
		ctx, cancel := n.untilClosed()
		defer cancel()
		within, stop := context.WithTimeout(ctx, settleWait)
		defer stop()
		if answer, err := n.nc.RequestWithContext(within, n.prefix+".call."+to, msg.Data); err == nil {
			_ = msg.Respond(answer.Data)
		}
	})
}
